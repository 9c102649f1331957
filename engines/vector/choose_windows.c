/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of reductions of windows (engines/vector/reduce_windows.c): as many columns
 * as registers hold. */
#include "engines/vector/vector_engine.h"
#include "engines/vector/lanes_cost.h"
#include "schedule/choose.h"

struct schedule windows_choose(const struct op *op, const struct schedule_machine *machine,
                               struct arena *arena)
{
        (void)arena;
        const struct type *y = op_result(op)->type;
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers;
        int most = target_vector_registers(machine->target) - 6;
        if (y->rank < 4)
                return schedule_of_registers(s, NULL);
        int64_t columns = dim_bound(op_module(op), y->dims[y->rank - 2]),
                rows = y->rank > 4 ? dim_bound(op_module(op), y->dims[y->rank - 3]) : 1,
                window = 1;
        s.columns = most > 16 ? 16 : most;
        if (columns < s.columns)
                s.columns = columns > 0 ? (int)columns : 1;
        for (int d = 0; d < y->rank; d++)
                window *= op_ints(op, "window", NULL)[d];
        const struct module *m = op_module(op);
        const double elements = (double)(type_most_elements(m, y) * window),
                     bytes = (double)type_most_bytes(m, op_operand(op, 0)->type);
        const struct shared_work work = { .rows = rows,
                                          .panels = type_extent(y, 1),
                                          .cycles = windows_cost(elements, machine->target),
                                          .operand = bytes };
        schedule_share(&s, op, &work, machine);
        return schedule_of_registers(s, NULL);
}
