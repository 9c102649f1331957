/* SPDX-License-Identifier: MIT */
/* What products by blocks of warps are predicted to take.
 *
 *      a turn     the slowest of products, shared memory, and the second cache, for all blocks that a
 *                 multiprocessor has at a time; no less than a copy takes to arrive, shared by the
 *                 turns that are under way
 *      a wave     the first copies, all turns, the results
 *      all        waves over the multiprocessors; no less than memory takes for every byte once
 *      parts      a launch more, which reads what the first one left in the second cache
 *
 * From data sheets and from what others measured; nothing here was measured yet by this project. */
#include "cost/warps.h"

#include "base/size.h"
#include "ir/rates.h"

enum {
        LANES = 32,
        LANE_REGISTERS = 255,           /* that an instruction can name */
        REGISTER_UNIT = 8,              /* lanes are given so many at a time */
        BLOCKS = 32,                    /* that a multiprocessor holds */
        BLOCK_SHARED = 1024,            /* bytes that every block takes beside its own */
        SHARED_BYTES = 128,             /* that a multiprocessor reads in a cycle */
        ARRIVAL = 700,                  /* cycles until a copy from the second cache is there */
        MULTIPLY_WAIT = 34              /* cycles until the sums of a multiply may be added to */
};

int warps_registers(int rows, int columns, int lane, int words)
{
        enum { PLACES = 76, OF_COPY = 4 };        /* subscripts, an epilogue; copies under way */
        return rows * columns * lane + rows * 4 + columns + OF_COPY * words + PLACES;
}

int warps_resident(const struct grid_machine *g, const struct warp_work *work)
{
        int64_t registers = round_up(work->registers, REGISTER_UNIT), shared = work->shared + BLOCK_SHARED;
        if (work->registers > LANE_REGISTERS || work->shared > g->shared_bytes || work->warps > g->warps)
                return 0;
        int64_t count = g->registers / (registers * LANES * work->warps),
                by_memory = (g->shared_bytes + BLOCK_SHARED) / shared, by_warps = g->warps / work->warps;
        count = by_memory < count ? by_memory : count;
        count = by_warps < count ? by_warps : count;
        return (int)(count < BLOCKS ? count : BLOCKS);
}

/* blocks that the busiest multiprocessor has in all */
static double blocks_of_one(const struct grid_machine *g, const struct warp_work *work)
{
        int64_t blocks = (int64_t)work->blocks;
        return (double)divide_up(blocks, g->multiprocessors);
}

double warps_waves(const struct grid_machine *g, const struct warp_work *work)
{
        int resident = warps_resident(g, work);
        return resident ? (double)divide_up((int64_t)blocks_of_one(g, work), resident) : 0;
}

static double larger(double a, double b) { return a > b ? a : b; }

double warps_cost(const struct target *t, const struct multiply *m, const struct warp_work *work)
{
        const struct grid_machine *g = target_grid(t);
        const double resident = warps_resident(g, work), waves = warps_waves(g, work),
                     share = g->clock * g->multiprocessors;           /* a second's cycles of all */
        if (resident < 1)
                return 0;
        double together = larger(1, blocks_of_one(g, work) / waves);
        double products = work->multiplies * rate_multiply(t, m),
               own = work->multiplies / work->warps * MULTIPLY_WAIT / 4, /* a warp has few sums of its own */
               shared = (work->copied + work->read) / SHARED_BYTES, cache = work->copied * share / g->l2_rate;
        double turn = together * larger(larger(products, shared), cache);
        turn = larger(turn, ARRIVAL / (double)(work->stages - 1));
        turn = larger(turn, own > products ? products : own);
        double stored = work->partial ? work->partial : work->results;
        double results = stored / work->blocks * together * share / g->l2_rate;
        double cycles = waves * (2 * ARRIVAL + work->turns * turn + results);
        double memory = (work->operands + work->results) / g->memory_rate;
        double joining = work->partial ? g->launch + 2 * ARRIVAL / g->clock + (work->partial + work->results) / g->l2_rate : 0;
        return g->launch + larger(cycles / g->clock, memory) + joining;
}
