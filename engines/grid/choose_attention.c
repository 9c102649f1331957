/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of attention by blocks of warps (engines/grid/attention_warps.c): the rows,
 * warps and keys of a block that have the least predicted time. */
#include "engines/grid/grid_engine.h"
#include <math.h>

#include "engines/grid/warp_group_cost.h"
#include "ir/loop/loop_grid.h"
#include "engines/grid/attention_row_warps.h"
#include "engines/grid/attention_warps.h"
#include "schedule/choose.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, WARPS = 8 };         /* WARPS is the most warps of a
                                                             * block. */

/* Returns which fraction of the columns the blocks of this tile look at, where a mask hides all but
 * a band. */
static double seen(struct band band, const struct attention_tile *t)
{
        const int64_t all = t->iterations, keys = attention_tile_keys(t);
        double count = 0, blocks = 0;
        for (int64_t from = 0; from < band.rows; from += t->rows, blocks++) {
                int64_t low = (from + band.low > 0 ? from + band.low : 0) / keys,
                        high = divide_up(from + t->rows + band.high, keys);
                high = high < all ? high : all;
                count += high > low ? (double)(high - low) : 0;
        }
        return count / (blocks * (double)all);
}

static struct attention_work work_of(const struct attention *a, struct band band,
                                     const struct attention_tile *t, const struct multiply *m)
{
        /* nvcc 13 makes this many instructions for attention in f16: for a score, more where its
         * share is not rounded (exp_negative of ir/library); for a sum that is rescaled; for what a
         * lane keeps of a row; for a copy; for a result, more where parts are added up; for a
         * block. */
        enum {
                OF_SCORE = 9,
                OF_EXACT = 13,
                OF_SUM = 1,
                OF_ROW = 34,
                OF_COPY = 4,
                OF_RESULT = 8,
                OF_PART = 2,
                OF_BLOCK = 100
        };
        const struct type *scores = a->scores->type;
        const int warps = attention_tile_warps(t), rows = t->rows / t->warps;
        const double keys = attention_tile_keys(t), depths = t->depth + t->width,
                     groups = (double)type_extent(scores, GROUP),
                     lanes = (double)warps * GRID_LANES;
        const struct module *module = op_module(a->first);
        const double images = (double)type_extent(scores, 0),
                     all_rows = (double)dim_bound(module, scores->dims[ROW]),
                     down = ceil(all_rows / t->rows),
                     columns = (double)dim_bound(module, scores->dims[COLUMN]);
        const double copied = keys * depths * t->bytes,
                     queries = (double)t->rows * t->depth * t->bytes,
                     iterations = ceil((double)t->iterations * seen(band, t));
        const double score = t->bytes < (int)sizeof(float) ? OF_SCORE : OF_SCORE + OF_EXACT,
                     again = t->iterations > 1 ? t->width * OF_SUM : 0;
        const double results = t->rows * (double)t->width / lanes *
                               (OF_RESULT + (t->parts > 1 ? t->parts * OF_PART : 0));
        const double left = t->parts > 1 ? rows * (t->width * OF_SUM + TILE_ROW_LANES * OF_ROW) /
                                                   (double)GRID_LANES
                                         : 0;
        const double of_iteration = rows * (t->keys * score + again + TILE_ROW_LANES * OF_ROW) /
                                    GRID_LANES,
                     copies = copied / COPY_BYTES / lanes * OF_COPY;
        return (struct attention_work){
                .of = { .blocks = images * groups * down,
                        .iterations = iterations,
                        .multiplies = t->rows * keys * depths /
                                      (m->positions * m->outputs * (double)multiply_row(m)),
                        .copied = copied,
                        .read = warps * (double)rows * t->depth * t->bytes + t->warps * copied,
                        .instructions = of_iteration + (t->iterations > 1 ? copies : 0),
                        .operands = images * groups * (columns + all_rows) * depths * t->bytes,
                        .results = images * groups * all_rows * t->width *
                                   element_info[a->result->type->element].bytes,
                        .stages = attention_tile_stages(t),
                        .warps = warps,
                        .registers = warps_attention_registers(m, rows, t->keys, t->width),
                        .shared = attention_tile_shared(t) },
                .scores = t->depth / depths,
                .once = OF_BLOCK + copies + results + left,
                .first = queries + keys * (t->iterations > 1 ? depths : t->depth) * t->bytes
        };
}

/* Chooses the schedule for few rows: as many warps as fit, and as many parts as pay for a cluster,
 * on multiprocessors that would otherwise be idle. */
static bool choose_rows(const struct attention *a, const struct target *target, struct arena *arena,
                        struct schedule *best)
{
        /* A cluster must be predicted to be this much faster, because predictions are not more
         * accurate. */
        static const double worth = 1.2;
        const struct gpu *g = target_gpu(target);
        const struct type *scores = a->scores->type;
        struct row_attention of = {
                .depth = (double)type_extent(op_operand(a->first, 0)->type, COLUMN),
                .width = (double)type_extent(op_result(a->second)->type, COLUMN)
        };
        double least = INFINITY;
        for (int warps = WARPS; warps && least == INFINITY; warps /= 2)
                for (int parts = 1; parts == 1 || parts <= g->cluster; parts *= 2) {
                        struct schedule_grid s = schedule_preset(SCHEDULE_grid).grid;
                        s.warps = of.warps = warps;
                        s.parts = of.parts = parts;
                        of.blocks = (double)(type_extent(scores, GROUP) * type_extent(scores, ROW) *
                                             parts);
                        of.keys = (double)divide_up(type_extent(scores, COLUMN), parts);
                        if (!attention_row_fits(a, target, &s) ||
                            (parts > 1 && of.blocks > g->multiprocessors))
                                continue;
                        const struct row_iterations iterations = attention_row_iterations(a, &s);
                        of.iterations = (double)iterations.all;
                        of.times = (double)iterations.times;
                        const double cycles = warps_row_attention_cost(target, &of),
                                     judged = cycles * (parts > 1 ? worth : 1);
                        if (judged >= least)
                                continue;
                        least = judged;
                        *best = schedule_of_grid(
                                s, arena_printf(arena, "%.3g us",
                                                (g->launch + cycles / g->clock) * 1e6));
                }
        return least < INFINITY;
}

struct choice {
        const struct attention *attention;
        const struct target *target;
        struct band band;
        struct schedule_grid best;
        double least, waves;
        int registers;
};

static void try_tile(struct choice *c, int rows, int warps, int parts, int keys, bool warp_group)
{
        struct schedule_grid s = schedule_preset(SCHEDULE_grid).grid;
        struct attention_tile t;
        s.tile = rows;
        s.warps = warps;
        s.parts = parts;
        s.keys = keys;
        s.warp_group = warp_group;
        if (!attention_tile_of(c->attention, c->target, &s, &t))
                return;
        const struct multiply *m = attention_tile_multiply(c->attention, c->target, &t);
        const struct attention_work work = work_of(c->attention, c->band, &t, m);
        if (!warps_resident(target_gpu(c->target), &work.of))
                return;
        const double seconds =
                (warp_group ? groups_attention_cost : warps_attention_cost)(c->target, m, &work);
        if (seconds >= c->least)
                return;
        c->least = seconds;
        c->waves = warps_waves(target_gpu(c->target), &work.of);
        c->registers = work.of.registers;
        c->best = s;
}

/* Of matrices all columns are looked at, whatever a mask hides. */
static struct band whole_band(const struct attention *a)
{
        const dim_t rows = a->scores->type->dims[ROW];
        return (struct band){ -ATTENTION_FAR, ATTENTION_FAR, dim_bound(op_module(a->first), rows),
                              rows, dim_of(0) };
}

bool attention_choose(const struct attention *a, const struct target *target, struct arena *arena,
                      struct schedule *best)
{
        const bool fixed = op_is_static(a->first) && op_is_static(a->second);
        if (a->first->code == OP_dot && fixed && choose_rows(a, target, arena, best))
                return true;
        struct choice c = {
                .attention = a, .target = target, .least = INFINITY
        };
        c.band = a->first->code == OP_dot ? whole_band(a) : attention_band(a);
        for (int rows = 16; rows <= GRID_LANES; rows *= 2)
                for (int warps = 1; warps <= WARPS; warps++)
                        for (int parts = 1; parts * warps <= WARPS; parts++)
                                for (int keys = 16; keys <= 128; keys *= 2)
                                        try_tile(&c, rows * warps, warps, parts, keys, false);
        for (int warps = MULTIPLY_WARPS; warps <= WARPS; warps += MULTIPLY_WARPS)
                for (int keys = 32; keys <= 128; keys *= 2)
                        try_tile(&c, warps * TILE_OWN_ROWS, warps, 1, keys, true);
        if (c.least == INFINITY)
                return false;
        *best = schedule_of_grid(c.best, arena_printf(arena, "%.3g us in %.0f waves, %d registers",
                                                      c.least * 1e6, c.waves, c.registers));
        return true;
}
