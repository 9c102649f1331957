/* SPDX-License-Identifier: MIT */
/* Chooses the schedule where sums are in hardware tiles (kernels/contract_tiles.c): the block of
 * positions that takes the least time, and what follows from it. */
#include "engines/tile/tile_engine.h"
#include "cost/tiles_cost.h"
#include "kernels/access.h"
#include "kernels/contract.h"
#include "schedule/choose.h"

#include <math.h>

enum { POSITIONS_MAX = 64 };            /* A row of a block has at most this many positions. */
enum { PREFETCH_MAX = 16 };
enum { ITERATION_BYTES = 64 };          /* An iteration of the innermost loop has this many bytes of
                                         * a row. */

/* Choices compare these blocks of a panel's sums. */
struct panel {
        const struct target *target;
        const struct multiply *multiply;
        int vectors;
        int64_t steps;
};

/* Returns the cycles for `count` blocks, for each vector. */
static double block_cycles(const struct panel *panel, const struct tile_block *block,
                           int64_t count)
{
        int64_t loads = 1 + (tile_block_takes_turns(panel->multiply, block, panel->vectors)
                                     ? divide_up(block->tiles, 2)
                                     : 0);
        return tiles_cost(panel->target, panel->multiply, (double)count, (double)panel->steps,
                          (double)block->tiles, (double)loads);
}

/* Chooses the tile size for `extent` rows (or columns, in one row) that takes the least time. All
 * blocks have one shape, so that the shape need not be set again for each panel. */
static int choose_tiling(const struct panel *panel, int64_t extent, bool rows, int64_t columns,
                      int64_t pitch)
{
        const struct multiply *m = panel->multiply;
        double best = INFINITY;
        int chosen = 1;
        for (int n = (int)(extent < POSITIONS_MAX ? extent : POSITIONS_MAX); n >= 1; n--) {
                struct tiling tiling = tiling_even(extent, n);
                double cycles = tiling.large < tiling.count ? tiles_shapes_cost(panel->target) : 0;
                bool fit = true;
                for (int large = 0; large < 2; large++) {
                        int64_t count = large ? tiling.large : tiling.count - tiling.large,
                                size = tiling_size(&tiling, large);
                        struct tile_block block = tile_block_of(m, rows ? size : 1,
                                                                rows ? columns : size,
                                                                rows ? pitch : 0);
                        fit &= !count || tile_block_fits(m, &block, panel->vectors);
                        cycles += count ? block_cycles(panel, &block, count) : 0;
                }
                if (fit && cycles < best) {
                        best = cycles;
                        chosen = tiling.size;
                }
        }
        return chosen;
}

/* Returns the pitch of what op reads, as it lies in memory. */
static int64_t pitch_in_memory(const struct op *op)
{
        const struct op *owner = op->region->owner;
        const int64_t *strides = op_ints(op, "strides", NULL);
        int last = op_result(op)->type->rank - 2;
        struct access x;
        if (last < 3 || !access_read(owner && owner->code == OP_fusion ? op->region : NULL,
                                     op_operand(op, 0), &x))
                return 0;
        return tile_pitch(x.stride[last - 1] * strides[last - 3],
                          x.stride[last] * strides[last - 2]);
}

/* Returns the products in an iteration: several for small tiles. */
static int unroll_of(const struct op *op, const struct multiply *m)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t words = type_extent(w, w->rank - 3) / m->depth;
        int unroll = ITERATION_BYTES / (element_info[x->element].bytes * multiply_row(m));
        while (unroll > 1 && words % unroll)
                unroll /= 2;
        return unroll > 1 ? unroll : 1;
}

struct schedule tiles_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena)
{
        (void)arena;
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        const struct target *target = machine->target;
        const struct multiply *m = contract_multiply(op, target, true);
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers;
        int k = y->rank - 3, vectors = (int)type_extent(w, w->rank - 2);
        bool flat = k > 1 && schedule_can_flatten(op);
        int64_t columns = type_extent(y, y->rank - 2),
                rows = k > 1 ? type_extent(y, y->rank - 3) : 1;
        for (int d = 0; d < k && flat; d++)
                columns = d ? columns * type_extent(y, 2 + d) : type_extent(y, 2);
        rows = flat ? 1 : rows;
        s.flat = flat;
        s.vectors = vectors;
        s.unroll = unroll_of(op, m);
        const struct type *x = op_operand(op, 0)->type;
        int64_t steps =
                type_elements(w) / type_extent(w, 0) / vectors / m->outputs / multiply_row(m);
        const struct panel panel = { target, m, vectors, steps };
        int64_t pitch = pitch_in_memory(op);
        s.columns = choose_tiling(&panel, columns, false, 0, 0);
        if (rows > 1 && s.columns == columns)
                s.rows = choose_tiling(&panel, rows, true, columns, pitch);
        int64_t row_tiles = divide_up(rows, s.rows),
                tiles = row_tiles * divide_up(columns, s.columns),
                lines = (int64_t)m->depth * vectors;
        const int bytes = element_info[x->element].bytes;
        const int64_t images = dim_bound(op_module(op), y->dims[0]);
        int64_t products = tile_block_of(m, s.rows, s.columns, pitch).tiles * vectors;
        double cycles =
                tiles_cost(target, m, (double)(tiles * type_extent(w, 0) * images),
                           (double)steps, (double)products, 0);
        const struct shared_work work = { .rows = rows > 1 ? row_tiles : tiles,
                                          .panels = type_extent(w, 0) / op_int(op, "groups"),
                                          .cycles = cycles,
                                          .weights = (double)(bytes * type_elements(w)),
                                          .operand = (double)type_most_bytes(op_module(op), x) };
        schedule_share(&s, op, &work, machine);
        lines = divide_up(lines * s.row_tasks, tiles);
        s.prefetch = (int)(lines < PREFETCH_MAX ? lines : PREFETCH_MAX);
        return schedule_of_registers(s, NULL);
}
