/* SPDX-License-Identifier: MIT */
/* Which schedule, where sums are in fragments of warps (kernels/contract_warps.c): the tile of a
 * block, its warps and stages of least predicted time (cost/warps.c), of warps each for itself or of four
 * together; and how many outputs a panel has, which comes before all that. */
#include <limits.h>
#include <math.h>

#include "cost/warps.h"
#include "kernels/contract_warps.h"
#include "schedule/choose.h"

enum { PARTS_MOST = 32 };

struct choice {
        struct warp_operands operands;
        const struct target *target;
        double images, groups, positions, panels;
        double result_bytes;            /* of one */
        struct schedule best;
        double seconds, waves;
        int registers;
};

static struct warp_work work_of(const struct choice *c, const struct multiply *m, const struct warp_tile *t)
{
        double width = t->vectors * t->lanes, depth = (double)t->words * t->group, channels = (double)c->operands.words * t->group;
        double blocks = t->parts * (double)warp_tile_count(t, (int64_t)c->images, (int64_t)c->groups, (int64_t)c->positions, (int64_t)c->panels);
        /* who reads operands: warps, or groups of them, of so many positions */
        double readers = t->warps * t->panels / t->together, own = (double)t->positions * t->together / t->warps;
        double sums = c->images * c->groups * c->positions * c->panels * width;
        return (struct warp_work){
                .blocks = blocks, .turns = ceil(channels / depth) / t->parts,
                .multiplies = readers * own / m->positions * t->vectors * depth / multiply_row(m),
                .copied = (t->positions + t->panels * width) * depth * t->bytes,
                .read = readers * (own + width) * depth * t->bytes,
                .operands = (c->images * c->groups * c->positions + c->groups * c->panels * width) * channels * t->bytes,
                .results = sums * c->result_bytes,
                .partial = t->parts > 1 ? sums * t->parts * 4 : 0,
                .stages = t->stages - warp_tile_together(t), .together = warp_tile_together(t), .warps = t->warps * t->panels, .registers = warp_tile_registers(t),
                .shared = warp_tile_shared(t)
        };
}

static void try_one(struct choice *c, struct schedule s)
{
        struct warp_tile t;
        const struct multiply *m = warp_tile_of(&c->operands, c->target, &s, &t);
        if (!m)
                return;
        const struct warp_work work = work_of(c, m, &t);
        const struct grid_machine *g = target_grid(c->target);
        if (!warps_resident(g, &work))
                return;
        double seconds = warps_cost(c->target, m, &work);
        if (seconds >= c->seconds)
                return;
        c->seconds = seconds;
        c->waves = warps_waves(g, &work);
        c->registers = work.registers;
        c->best = s;
}

static void try_alone(struct choice *c)
{
        const struct multiply *m = multiply_of_warps(c->target, c->operands.x, c->operands.w, false, c->operands.lanes, c->operands.group);
        if (!m)
                return;
        for (int tile = 16; tile <= 256; tile += tile < 64 ? 16 : 64)
                for (int warps = 1; warps <= 8; warps *= 2)
                        for (int panels = 1; panels <= 8; panels *= 2)
                                for (int depth = multiply_row(m); depth <= 128; depth *= 2)
                                        for (int stages = 2; stages <= 5; stages++)
                                                for (int parts = 1; parts <= PARTS_MOST; parts *= 2) {
                                                        struct schedule s = schedule_preset();
                                                        s.tile = tile;
                                                        s.warps = warps;
                                                        s.panels = panels;
                                                        s.depth = depth;
                                                        s.stages = stages;
                                                        s.parts = parts;
                                                        try_one(c, s);
                                                }
}

static void try_together(struct choice *c)
{
        const struct multiply *m = multiply_of_warps(c->target, c->operands.x, c->operands.w, true, c->operands.lanes, c->operands.group);
        for (int tile = m ? m->positions : INT_MAX; tile <= 256; tile += m->positions)
                for (int depth = 2 * multiply_row(m); depth <= 128; depth *= 2)
                        for (int stages = 3; stages <= 5; stages++)
                                for (int parts = 1; parts <= PARTS_MOST; parts *= 2) {
                                        struct schedule s = schedule_preset();
                                        s.tile = tile;
                                        s.warps = tile / m->positions * MULTIPLY_WARPS;
                                        s.together = MULTIPLY_WARPS;
                                        s.depth = depth;
                                        s.stages = stages;
                                        s.parts = parts;
                                        try_one(c, s);
                                }
}

struct schedule warps_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena)
{
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        struct choice c = { .operands = warp_operands_of(op), .target = machine->target, .seconds = INFINITY, .best = schedule_preset() };
        c.groups = (double)op_int(op, "groups");
        c.images = (double)y->dims[0];
        c.panels = (double)w->dims[0] / c.groups;
        c.positions = 1;
        c.result_bytes = element_info[y->element].bytes;
        for (int d = 2; d + 1 < y->rank; d++)
                c.positions *= (double)y->dims[d];
        try_alone(&c);
        try_together(&c);
        if (c.best.tile)
                c.best.why = arena_printf(arena, "%.3g us in %.0f waves, %d registers", c.seconds * 1e6, c.waves, c.registers);
        return c.best;
}

int64_t schedule_panel(const struct target *target, const struct multiply *m, const struct schedule_product *p, int64_t vectors)
{
        double least = INFINITY;
        int64_t best = vectors;
        const int64_t words = p->channels / m->group, inner = p->inner / m->group, wide[] = { vectors, 8, 16, 24, 32 };
        for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
                const int64_t panels = divide_up(p->outputs, wide[i] * m->outputs);
                struct choice c = { .target = target, .seconds = INFINITY, .images = 1, .groups = (double)p->groups,
                                    .positions = (double)p->positions, .panels = (double)panels, .result_bytes = sizeof(float),
                                    .operands = { m->x.memory, m->w.memory, (int)wide[i], m->outputs, m->group, inner, words } };
                try_alone(&c);
                try_together(&c);
                if (c.seconds < least) {
                        least = c.seconds;
                        best = wide[i];
                }
        }
        return best;
}
