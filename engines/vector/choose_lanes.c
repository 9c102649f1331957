/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of convolve_lanes (engines/vector/convolve_lanes.c): the register tile that
 * is predicted to take the least time, with the tasks that share it. */
#include "engines/vector/vector_engine.h"
#include "engines/vector/lanes_cost.h"
#include "schedule/choose.h"

/* Returns the best tile that registers have room for, with its tasks. */
struct schedule lanes_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena)
{
        (void)arena;
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type,
                          *w = op_operand(op, 1)->type;
        const int64_t *strides = op_ints(op, "strides", NULL);
        /* The sums are floats. */
        const struct multiply *m = multiply_for(machine->target, E_F32, E_F32, false);
        int k = y->rank - 3,
            registers = target_vector_registers(machine->target) - 2 - (m ? m->spare : 0),
            lanes = target_lanes(machine->target, E_F32);
        const struct module *module = op_module(op);
        bool two = k > 1;
        const struct lanes_shape sh = { .rows = two ? dim_bound(module, y->dims[k]) : 1,
                                        .columns = dim_bound(module, y->dims[k + 1]),
                                        .stride = { two ? strides[k - 2] : 1, strides[k - 1] },
                                        .window = { two ? type_extent(w, k - 1) : 1,
                                                    type_extent(w, k) } };
        int64_t window = sh.window[0] * sh.window[1];
        bool at_once = window <= registers / 3;
        bool resident = at_once && dim_is(w->dims[w->rank - 1], lanes);
        int64_t unroll = at_once                        ? window
                         : sh.window[1] < registers / 2 ? sh.window[1]
                                                        : registers / 2;
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers, chosen = s;
        s.unroll = (int)unroll;
        int most = registers - s.unroll - 1;
        struct shared_work work = { .panels = type_extent(y, 1),
                                    .weights = (double)type_bytes(w),
                                    .operand = (double)type_most_bytes(op_module(op), x) };
        double vectors = (double)type_most_elements(op_module(op), y) /
                         (double)sh.columns / lanes,
               best = 0;
        const int rows_most = two && !dim_is_static(y->dims[k]) ? 1 : 4;
        for (s.rows = 1; s.rows <= rows_most && s.rows <= sh.rows; s.rows++)
                for (s.columns = 1; s.rows * s.columns <= most && s.columns <= sh.columns;
                     s.columns++) {
                        if (machine->compact && (sh.rows % s.rows || sh.columns % s.columns))
                                continue;
                        int64_t tiles = divide_up(sh.columns, s.columns);
                        work.rows = two ? divide_up(sh.rows, s.rows) : tiles;
                        work.cycles = lanes_cost(&sh, s.rows, s.columns, at_once, resident,
                                                machine->target) *
                                      (double)(tiles * s.columns) * vectors;
                        double cycles = schedule_share(&s, op, &work, machine);
                        if (best > 0 && cycles >= best)
                                continue;
                        best = cycles;
                        chosen = s;
                }
        return schedule_of_registers(chosen, NULL);
}
