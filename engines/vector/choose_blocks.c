/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of dot_blocks (engines/vector/dot_blocks.c): the tile of rows that is
 * predicted to take the least time. Sums and totals of a tile, weights and a word of x stay in
 * registers. */
#include "engines/vector/vector_engine.h"
#include "engines/vector/dot_blocks_cost.h"
#include "cost/core.h"
#include "schedule/choose.h"

struct schedule blocks_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena)
{
        (void)arena;
        const struct target *target = machine->target;
        const struct type *y = op_result(op)->type, *x = op_operand(op, 0)->type;
        const struct packed_bits p = packed_bits_of(op);
        int64_t rows = dim_bound(op_module(op), y->dims[2]),
                panels = type_extent(op_operand(op, 1)->type, 0),
                vectors = p.vectors * p.lanes / target_lanes(target, E_F32);
        int registers = target_vector_registers(target);
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers, chosen = s;
        double best = 0;
        struct shared_work work = { .panels = panels,
                                    .weights = blocks_weights(op),
                                    .operand = (double)type_most_elements(op_module(op), x) };
        for (int64_t v = vectors; v >= 1; v = v % 2 ? 0 : v / 2)
                for (int64_t r = 1; r <= rows; r++) {
                        if (r * v > 1 && 2 * r * v + v + 2 > registers)
                                break;
                        int64_t tiles = divide_up(rows, r), each = divide_up(rows, tiles);
                        s.columns = (int)each;
                        s.vectors = (int)v;
                        work.rows = tiles;
                        work.cycles = blocks_tile_cost(op, each, v, target) *
                                      (double)(tiles * panels * (vectors / v) * type_extent(y, 0));
                        double cycles = schedule_share(&s, op, &work, machine);
                        if (best > 0 && cycles >= best)
                                continue;
                        best = cycles;
                        chosen = s;
                }
        return schedule_of_registers(chosen, NULL);
}
