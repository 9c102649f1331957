/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of a product by fragments of warps (engines/grid/contract_warps.c): of all
 * tiles, warps, depths, stages and parts those of least predicted time
 * (engines/grid/warp_cost.c). */
#include "engines/grid/grid_engine.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "engines/grid/warp_cost.h"
#include "ir/loop/loop_grid.h"
#include "ir/lower/lower.h"
#include "engines/grid/contract_warps.h"
#include "kernels/kernels.h"
#include "engines/grid/row_warps.h"
#include "ir/tensor/packed_multiply.h"
#include "schedule/choose.h"

/* These are bounds of the search. STAGES_GOOD is the number of stages that is preferred at equal
 * cost; five stages leave no room for the first blocks of the next launch. */
enum { PARTS_MOST = 32, ROW_PANELS_MOST = 16, STAGES_GOOD = 4 };

struct choice {
        const struct op *op;
        const struct target *target;
        const struct multiply *multiply;
        double groups, positions, panels, channels;       /* `channels` counts the channels of all
                                                           * offsets of the window. */
        bool windows, cold;
        double behind;                  /* A launch that reduces over rows of the results takes this
                                         * many seconds, if it stays a launch; 0: there is none. */
        /* A launch that reduces over positions of the results takes this many seconds, if it stays
         * a launch; 0: there is none. */
        double pool;
        struct schedule_grid best;
        double judged, seconds, waves;
        int registers;
};

static struct warp_work work_of(const struct choice *c, const struct warp_tile *t)
{
        double width = t->vectors * t->lanes, depth = (double)t->words * t->group;
        double blocks =
                t->parts * (double)warp_tile_count(t, (int64_t)c->groups, (int64_t)c->positions,
                                                   (int64_t)c->panels);
        double warps = t->warps * t->panels, own = (double)t->positions / t->warps;
        const struct multiply *m = c->multiply;
        double sums = c->groups * c->positions * c->panels * width;
        return (struct warp_work){
                .blocks = blocks,
                .iterations = ceil(c->channels / depth) / t->parts,
                .multiplies = warps * own / m->positions * t->vectors * depth / multiply_row(m),
                .copied = (t->positions + t->panels * width) * depth * t->bytes,
                .copied_w = t->panels * width * depth * t->bytes,
                .read = warps * (own + width) * depth * t->bytes,
                .x_copies = ceil(t->positions * (double)t->words / (warps * GRID_LANES)),
                .w_copies = ceil(t->panels * width * t->words / (warps * GRID_LANES)),
                .windows = c->windows,
                .cold = c->cold,
                .rows = own,
                .operands = (c->groups * c->positions + c->groups * c->panels * width) *
                            c->channels * t->bytes,
                .results = sums * element_info[op_result(c->op)->type->element].bytes /
                           (t->fused_pool ? (double)warps_of_image(c->op) : 1),
                .partial = t->cluster || t->parts > 1 ? sums * t->parts * 4 : 0,
                .cluster = t->cluster ? warp_tile_members(t) : 0,
                .across = t->row_clusters ? t->across : 0,
                .length = (double)t->length,
                .tile = t->positions,
                .fused_pool = t->fused_pool ? (double)warps_of_image(c->op) : 0,
                .columns = t->fused_pool ? (double)(warp_tile_images(c->op, t) *
                                                    warp_tile_pool_outputs(t))
                                         : 0,
                .stages = t->stages,
                .warps = t->warps * t->panels,
                .registers = warp_tile_registers(m, t),
                .shared = warp_tile_shared(t)
        };
}

static void try_one(struct choice *c, struct schedule_grid s)
{
        struct warp_tile t;
        if (!warp_tile_of(c->op, c->target, &s, &t) || t.row_clusters != s.row_clusters ||
            t.fused_pool != s.fused_pool)
                return;
        const struct warp_work work = work_of(c, &t);
        const struct gpu *g = target_gpu(c->target);
        if (!warps_resident(g, &work))
                return;
        const double seconds = warps_cost(c->target, c->multiply, &work),
                     judged = warps_judged(c->target, &work, seconds, c->behind) +
                              (t.fused_pool ? 0 : c->pool);
        if (judged > c->judged ||
            (judged == c->judged &&
             abs(s.stages - STAGES_GOOD) >= abs(c->best.stages - STAGES_GOOD)))
                return;
        c->judged = judged;
        c->seconds = seconds;
        c->waves = warps_waves(g, &work);
        c->registers = work.registers;
        c->best = s;
}

/* Blocks store one of these: results, whole rows of results, or reductions over their positions. */
enum kind { RESULTS, ROWS, POOL };

/* Tries all tiles of `panels` panels, with up to `parts_most` parts. */
static void try_all(struct choice *c, int panels, int parts_most, enum kind kind)
{
        for (int tile = 16; tile <= 256; tile += tile < 64 ? 16 : tile < 128 ? 32 : 64)
                for (int warps = 1; warps <= 8; warps *= 2)
                        for (int depth = multiply_row(c->multiply); depth <= 128; depth *= 2)
                                for (int stages = 2; stages <= 5; stages++)
                                        for (int parts = 1; parts <= parts_most; parts *= 2) {
                                                struct schedule_grid s =
                                                        schedule_preset(SCHEDULE_grid).grid;
                                                s.tile = tile;
                                                s.warps = warps;
                                                s.panels = panels;
                                                s.depth = depth;
                                                s.stages = stages;
                                                s.parts = parts;
                                                s.row_clusters = kind == ROWS;
                                                s.fused_pool = kind == POOL;
                                                try_one(c, s);
                                        }
}

/* Does a region hold a reduction over the innermost dimension of `shape` alone, and no scheduled
 * kernel? */
static bool sums_rows(const struct region *region, const struct type *shape,
                      const struct target *target)
{
        bool found = false;
        for (struct op *op = region->first; op; op = op->next) {
                unsigned along;
                if (kernels_lowering(op, target))
                        return false;
                found |= op->code == OP_reduce && type_same_dims(op_operand(op, 0)->type, shape) &&
                         rows_reduce(op, shape, &along) && along == 1u << (shape->rank - 1);
        }
        return found;
}

/* Is the kernel's result read by a kernel that reduces over its rows and stores an element for each
 * of its elements, such as a norm or softmax? */
static bool is_summed_over(const struct op *op, const struct target *target)
{
        const struct op *kernel =
                op->region->owner && op->region->owner->code == OP_fusion ? op->region->owner : op;
        const struct type *y = op_result(op)->type;
        if (kernel->result_count != 1 || !type_same_dims(kernel->results[0].type, y) ||
            kernel->results[0].type->element != y->element || !type_is_static(y))
                return false;
        for (const struct use *u = kernel->results[0].uses; u; u = u->next) {
                const struct op *reader = u->user;
                while (reader && reader->region != kernel->region)
                        reader = reader->region->owner;
                if (reader && reader->code == OP_fusion &&
                    type_same_dims(reader->results[0].type, y) &&
                    sums_rows(reader->regions[0], y, target))
                        return true;
        }
        return false;
}

/* Is the kernel's only reader a reduction over positions that can become part of it? */
static bool has_pool(const struct op *op)
{
        const struct op *kernel =
                op->region->owner && op->region->owner->code == OP_fusion ? op->region->owner : op;
        const struct value *made = &kernel->results[0];
        const struct op *reader = value_has_one_use(made) ? made->uses->user : NULL;
        if (!reader || kernel->result_count != 1 ||
            made->type->element != op_result(op)->type->element || !warps_pools(op, reader))
                return false;
        return reader->region == kernel->region ||
               (reader->region->owner->code == OP_fusion &&
                reader->region->owner->region == kernel->region);
}

/* Chooses the schedule for few rows: of the schedules whose warps share the words evenly, the one
 * with the fewest iterations. Returns false where there are too many rows, or the target has no
 * such multiply. */
static bool choose_rows(const struct op *op, const struct target *target, struct arena *arena,
                        struct schedule *best)
{
        struct schedule_grid chosen;
        enum { STEPS_MOST = 8, WARPS_MOST = 16 };
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        const int64_t words = type_extent(w, w->rank - 3);
        int least = INT_MAX;
        for (int warps = 1; warps <= WARPS_MOST; warps++)
                for (int steps = 1; steps <= STEPS_MOST; steps++) {
                        struct schedule_grid s = schedule_preset(SCHEDULE_grid).grid;
                        struct row_tile t;
                        const struct multiply *m = packed_multiply(op, target, SUMS_OF_ROWS);
                        if (!m || y->rank != 4 || !op_is_static(op))
                                return false;
                        s.tile = type_extent(y, 2) <= ROW_WARPS_MOST ? (int)type_extent(y, 2) : 0;
                        s.warps = warps;
                        s.depth = steps * multiply_row(m);
                        if (!s.tile || !row_tile_of(op, target, &s, &t))
                                continue;
                        const int iterations = (int)(words / (warps * t.words));
                        if (iterations >= least)
                                continue;
                        least = iterations;
                        chosen = s;
                }
        if (least == INT_MAX)
                return false;
        const double seconds = row_warps_cost(target, least, (double)type_bytes(w));
        *best = schedule_of_grid(
                chosen, arena_printf(arena, "%.3g us, %d iterations", seconds * 1e6, least));
        return true;
}

struct schedule warps_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena)
{
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type,
                          *x = op_operand(op, 0)->type;
        struct choice c = { .op = op,
                            .target = machine->target,
                            .cold = machine->cold,
                            .judged = INFINITY,
                            .best = schedule_preset(SCHEDULE_grid).grid };
        struct schedule chosen;
        if (choose_rows(op, machine->target, arena, &chosen))
                return chosen;
        c.multiply = packed_multiply(op, machine->target, SUMS_IN_TILES);
        c.groups = (double)op_int(op, "groups");
        c.panels = (double)type_extent(w, 0) / c.groups;
        c.positions = (double)dim_bound(op_module(op), y->dims[0]);
        for (int d = 2; d + 1 < y->rank; d++)
                c.positions *= (double)dim_bound(op_module(op), y->dims[d]);
        for (int d = 2; d + 3 < w->rank; d++)
                c.windows |= type_extent(w, d) > 1;
        c.channels = (double)(type_elements(w) / type_extent(w, 0) / packed_panel(x, w));
        if (is_summed_over(op, machine->target))
                c.behind = warps_rows_cost(machine->target, c.positions,
                                           (double)type_extent(y, y->rank - 1));
        if (op_is_static(op) && has_pool(op))
                c.pool = warps_pool_cost(machine->target, (double)warps_of_image(op),
                                         (double)type_extent(y, 0) * c.groups *
                                                 (double)op_int(op, "outputs"));
        for (int panels = 1; panels <= 8; panels += panels < 4 ? 1 : 2) {
                try_all(&c, panels, PARTS_MOST, RESULTS);
                if (c.pool)
                        try_all(&c, panels, PARTS_MOST, POOL);
        }
        for (int panels = 1; c.behind && panels <= ROW_PANELS_MOST; panels++)
                try_all(&c, panels, target_gpu(machine->target)->cluster, ROWS);
        return schedule_of_grid(
                c.best, c.best.tile ? arena_printf(arena, "%.3g us in %.0f waves, %d registers",
                                                   c.seconds * 1e6, c.waves, c.registers)
                                    : NULL);
}
