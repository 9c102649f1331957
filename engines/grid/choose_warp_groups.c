/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of a product by warp-group MMA (engines/grid/contract_warp_groups.c): of all
 * tiles, stages and parts those of least predicted time (engines/grid/warp_group_cost.c). Before
 * weights are packed, it also chooses how many outputs a panel has. */
#include "engines/grid/grid_engine.h"
#include <math.h>

#include "engines/grid/warp_group_cost.h"
#include "engines/grid/contract_warps.h"
#include "ir/tensor/packed_multiply.h"
#include "schedule/choose.h"

enum { PARTS_MOST = 32, TILE_MOST = 256, STAGES_LEAST = 3, STAGES_MOST = 5 };

struct choice {
        const struct target *target;
        const struct multiply *multiply;
        double groups, positions, panels, iterations;
        int result_bytes;
        struct schedule_grid best;
        double judged, seconds, waves;
        int registers;
};

static struct warp_work work_of(const struct choice *c, const struct warp_tile *t)
{
        const struct multiply *m = c->multiply;
        const double width = t->vectors * t->lanes, line = (double)t->words * t->group * t->bytes,
                     sums = c->groups * c->positions * c->panels * width;
        return (struct warp_work){
                .blocks = t->parts * (double)warp_tile_count(t, (int64_t)c->groups,
                                                             (int64_t)c->positions,
                                                             (int64_t)c->panels),
                .iterations = c->iterations / t->parts,
                .multiplies = (double)t->positions / m->positions * t->vectors,
                .copied = (t->positions + width) * line,
                .read = (t->positions + t->positions / m->positions * width) * line,
                .operands = (c->groups * c->positions + c->groups * c->panels * width) *
                            c->iterations * line,
                .results = sums * c->result_bytes,
                .partial = t->parts > 1 ? sums * t->parts * 4 : 0,
                .cluster = t->cluster ? t->parts : 0,
                .stages = t->stages,
                .warps = t->warps,
                .registers = group_tile_registers(t),
                .shared = group_tile_shared(t)
        };
}

static void try_tile(struct choice *c, const struct schedule_grid *s, const struct warp_tile *t)
{
        const struct warp_work work = work_of(c, t);
        const struct gpu *g = target_gpu(c->target);
        if (!warps_resident(g, &work))
                return;
        const double seconds = groups_cost(c->target, c->multiply, &work),
                     judged = warps_judged(c->target, &work, seconds, 0);
        if (judged >= c->judged)
                return;
        c->judged = judged;
        c->seconds = seconds;
        c->waves = warps_waves(g, &work);
        c->registers = work.registers;
        c->best = *s;
}

static struct schedule_grid schedule_of(const struct multiply *m, int tile, int stages, int parts)
{
        struct schedule_grid s = schedule_preset(SCHEDULE_grid).grid;
        s.tile = tile;
        s.warps = tile / m->positions * MULTIPLY_WARPS;
        s.depth = multiply_row(m);
        s.stages = stages;
        s.parts = parts;
        return s;
}

struct schedule groups_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena)
{
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type,
                          *x = op_operand(op, 0)->type;
        struct choice c = { .target = machine->target,
                            .judged = INFINITY,
                            .best = schedule_preset(SCHEDULE_grid).grid,
                            .result_bytes = element_info[y->element].bytes };
        const struct multiply *m = c.multiply = packed_multiply(op, machine->target, SUMS_IN_TILES);
        c.groups = (double)op_int(op, "groups");
        c.panels = (double)type_extent(w, 0) / c.groups;
        c.iterations = (double)(type_elements(w) / type_extent(w, 0) / packed_panel(x, w)) /
                  multiply_row(m);
        c.positions = (double)type_extent(y, 0);
        for (int d = 2; d + 1 < y->rank; d++)
                c.positions *= (double)type_extent(y, d);
        for (int tile = m->positions; tile <= TILE_MOST; tile += m->positions)
                for (int stages = STAGES_MOST; stages >= STAGES_LEAST;
                     /* The most stages are tried first, so that they are preferred at equal
                      * cost. */
                     stages--)
                        for (int parts = 1; parts <= PARTS_MOST; parts *= 2) {
                                struct schedule_grid s = schedule_of(m, tile, stages, parts);
                                struct warp_tile t;
                                s.bulk = op_int(op, "crossed") != 0;
                                if (group_tile_of(op, machine->target, &s, &t))
                                        try_tile(&c, &s, &t);
                        }
        return schedule_of_grid(
                c.best, c.best.tile ? arena_printf(arena, "%.3g us in %.0f waves, %d registers",
                                                   c.seconds * 1e6, c.waves, c.registers)
                                    : NULL);
}

int64_t group_panel(const struct target *target, const struct multiply *m,
                    const struct schedule_product *p)
{
        double least = INFINITY;
        int64_t best = 1;
        for (int width = 64; width <= MULTIPLY_WIDE; width += 64) {
                struct choice c = { .target = target,
                                    .multiply = m,
                                    .judged = INFINITY,
                                    .groups = (double)p->groups,
                                    .positions = (double)p->positions,
                                    .panels = (double)divide_up(p->outputs, width),
                                    .iterations = (double)divide_up(p->channels, multiply_row(m)),
                                    .result_bytes = sizeof(float) };
                for (int tile = m->positions; tile <= TILE_MOST; tile += m->positions) {
                        const struct schedule_grid s = schedule_of(m, tile, STAGES_MOST - 1, 1);
                        const struct warp_tile t = { .positions = tile,
                                                     .warps = s.warps,
                                                     .panels = 1,
                                                     .stages = s.stages,
                                                     .words = MULTIPLY_SWIZZLE,
                                                     .parts = 1,
                                                     .rows = m->positions / MULTIPLY_WARPS,
                                                     .vectors = width / m->outputs,
                                                     .lanes = m->outputs,
                                                     .group = m->channels / MULTIPLY_SWIZZLE,
                                                     .bytes = element_info[m->x.memory].bytes,
                                                     .warp_group = true };
                        if (group_tile_shared(&t) <= target_gpu(target)->shared_bytes)
                                try_tile(&c, &s, &t);
                }
                /* At equal cost the wider panel is taken, because then positions are read less
                 * often. */
                if (c.seconds <= least) {
                        least = c.seconds;
                        best = width / m->outputs;
                }
        }
        return best;
}
