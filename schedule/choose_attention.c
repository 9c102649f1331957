/* SPDX-License-Identifier: MIT */
/* Attention by blocks of warps (kernels/attention_warps.c): the rows of a block, its warps and keys of least predicted time. */
#include <math.h>

#include "cost/warps.h"
#include "ir/loop.h"
#include "kernels/attention_row_warps.h"
#include "kernels/attention_warps.h"
#include "schedule/choose.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3 };

/* of the columns, those that blocks of so many rows and keys look at */
static double seen(const struct attention *a, const struct attention_tile *t)
{
        const int64_t columns = a->scores->type->dims[COLUMN], all = divide_up(columns, t->keys);
        const struct band band = attention_band(a);
        double count = 0, blocks = 0;
        for (int64_t from = 0; from < band.rows; from += t->rows, blocks++) {
                int64_t low = (from + band.low > 0 ? from + band.low : 0) / t->keys, high = divide_up(from + t->rows + band.high, t->keys);
                high = high < all ? high : all;
                count += high > low ? (double)(high - low) : 0;
        }
        return count / (blocks * (double)all);
}

static struct warp_work work_of(const struct attention *a, const struct attention_tile *t, const struct multiply *m)
{
        /* instructions beside products, as a compiler makes of attention of f16 by blocks of 32 keys: of a score, of a sum that is brought to
         * the largest score, of what a lane has of a row */
        enum { OF_SCORE = 21, OF_SUM = 1, OF_ROW = 34 };
        const struct type *scores = a->scores->type;
        const double keys = t->keys, rows = (double)t->rows / t->warps, depths = t->depth + t->width, groups = (double)scores->dims[GROUP];
        const double down = (double)divide_up(scores->dims[ROW], t->rows), columns = (double)scores->dims[COLUMN];
        return (struct warp_work){
                .blocks = groups * down, .turns = ceil(ceil(columns / keys) * seen(a, t)),
                .multiplies = t->rows * keys * depths / (m->positions * m->outputs * (double)multiply_row(m)),
                .copied = keys * depths * t->bytes,
                .read = t->warps * (rows * t->depth + keys * depths) * t->bytes,
                .instructions = rows * (keys * OF_SCORE + t->width * OF_SUM + TILE_ROW_LANES * OF_ROW) / GRID_LANES,
                .operands = groups * (columns + (double)scores->dims[ROW]) * depths * t->bytes,
                .results = groups * (double)scores->dims[ROW] * t->width * element_info[a->result->type->element].bytes,
                .stages = 2, .warps = t->warps, .registers = attention_tile_registers(t), .shared = attention_tile_shared(t)
        };
}

/* of few rows: as many warps as have room, and as many parts as are worth a cluster, on multiprocessors that would have nothing to do */
static bool choose_rows(const struct attention *a, const struct target *target, struct arena *arena, struct schedule *best)
{
        static const double worth = 1.2;        /* predictions are no better than that */
        const struct grid_machine *g = target_grid(target);
        const struct type *scores = a->scores->type;
        struct row_attention of = { .depth = (double)op_operand(a->first, 0)->type->dims[COLUMN], .width = (double)op_result(a->second)->type->dims[COLUMN] };
        double least = INFINITY;
        for (int warps = 8; warps && least == INFINITY; warps /= 2)
                for (int parts = 1; parts == 1 || parts <= g->cluster; parts *= 2) {
                        struct schedule s = schedule_preset();
                        s.warps = of.warps = warps;
                        s.parts = of.parts = parts;
                        of.blocks = (double)(scores->dims[GROUP] * scores->dims[ROW] * parts);
                        of.keys = (double)divide_up(scores->dims[COLUMN], parts);
                        const double cycles = warps_row_attention_cost(g, &of), judged = cycles * (parts > 1 ? worth : 1);
                        if (!attention_row_fits(a, target, &s) || (parts > 1 && of.blocks > g->multiprocessors) || judged >= least)
                                continue;
                        least = judged;
                        *best = s;
                        best->why = arena_printf(arena, "%.3g us", (g->launch + cycles / g->clock) * 1e6);
                }
        return least < INFINITY;
}

bool attention_choose(const struct attention *a, const struct target *target, struct arena *arena, struct schedule *best)
{
        if (a->first->code == OP_dot)
                return choose_rows(a, target, arena, best);
        const struct grid_machine *g = target_grid(target);
        const struct type *x = op_operand(a->first, 0)->type, *w = op_operand(a->first, 1)->type;
        const struct multiply *m = multiply_find(target, (enum element)x->element, (enum element)w->element, true, (int)packed_lanes(x, w),
                                                 (int)packed_group(x, w), 0);
        double least = INFINITY, waves = 0;
        int registers = 0;
        for (int rows = 16; m && rows <= GRID_LANES; rows *= 2)
                for (int warps = 1; warps <= 8; warps *= 2)
                        for (int keys = 16; keys <= 128; keys *= 2) {
                                struct schedule s = schedule_preset();
                                struct attention_tile t;
                                s.tile = rows * warps;
                                s.warps = warps;
                                s.keys = keys;
                                if (!attention_tile_of(a, target, &s, &t))
                                        continue;
                                const struct warp_work work = work_of(a, &t, m);
                                const double seconds = warps_resident(g, &work) ? warps_cost(target, m, &work) : INFINITY;
                                if (seconds >= least)
                                        continue;
                                least = seconds;
                                waves = warps_waves(g, &work);
                                registers = work.registers;
                                *best = s;
                        }
        if (least < INFINITY)
                best->why = arena_printf(arena, "%.3g us in %.0f waves, %d registers", least * 1e6, waves, registers);
        return least < INFINITY;
}
