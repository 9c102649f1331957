/* SPDX-License-Identifier: MIT */
/* What products by blocks of warps are predicted to take.
 *
 *      a turn     the slowest of
 *                     one warp: copies of each lane, products, and where they meet
 *                     a multiprocessor, for all its blocks: products, and instructions that copy; or products, and what they do not hide
 *                     shared memory, and the second cache, for all its blocks
 *                     the time a copy takes to arrive, shared by the turns that are under way
 *      a wave     the first copies, all turns, the results, row by row of a warp
 *      all        waves over the multiprocessors; no less than memory takes for every byte once
 *      parts      a launch more, which reads what the first one left in the second cache; or, in a cluster, two barriers and what
 *                 blocks read of each other, on multiprocessors that are neighbours
 *      attention  (warps_attention_cost) has what it does between products, too
 *      rows       that something sums over behind the product: a launch more, or, where a cluster has them, a barrier and the
 *                 rows of a warp, one after the other
 *      pool       of all positions of an image: a launch more, or, where a block has them, a barrier and the positions of a lane, one
 *                 after the other. Counted, not measured
 *
 * Fitted to 557 schedules of 23 layers, f16, on an H100 (test/bench/cuda/sweep.py; least squares of logarithms, those near the fastest of a layer
 * counting most): 10 % off in the mean; of the schedules that were tried, the one of least predicted time takes 1.04 times the fastest's. Those are
 * layers whose operands lie in the second cache, each kernel in a row of its kind. What is different where a network's weights come from memory is fitted to
 * 54 kernels of ResNet-50 and BERT-base under two sets of schedules, 12 % off; where launches do not begin early, to 132 schedules of 13
 * layers within both on an H200, when they did not (sweep_model.py): there all copies take three times as long to arrive. */
#include "engines/grid/warp_cost.h"

#include <math.h>

#include "base/size.h"
#include "ir/loop_grid.h"
#include "ir/rates.h"

enum {
        LANES = 32,
        LANE_REGISTERS = 255,           /* that an instruction can name */
        REGISTER_UNIT = 8,              /* lanes are given so many at a time */
        BLOCKS = 32                     /* that a multiprocessor holds */
};

int warps_registers(const struct multiply *m, int rows, int columns, int lane, int words)
{
        enum { PLACES = 40 };           /* subscripts, an epilogue */
        const int parts = m->instructions > 1 ? rows * 4 + columns * 4 : 0;       /* operands in parts */
        return rows * columns * lane + rows * 4 + columns + words + PLACES + parts;
}

bool warps_are_cold(const struct grid_machine *g, double bytes) { return bytes > (double)g->l2_bytes / 2; }

int warps_resident(const struct grid_machine *g, const struct warp_work *work)
{
        int64_t registers = round_up(work->registers, REGISTER_UNIT), shared = work->shared + GRID_BLOCK_SHARED;
        if (work->registers > LANE_REGISTERS || work->shared > g->shared_bytes || work->warps > g->warps)
                return 0;
        int64_t count = g->registers / (registers * LANES * work->warps),
                by_memory = (g->shared_bytes + GRID_BLOCK_SHARED) / shared, by_warps = g->warps / work->warps;
        count = by_memory < count ? by_memory : count;
        count = by_warps < count ? by_warps : count;
        return (int)(count < BLOCKS ? count : BLOCKS);
}

/* blocks that the busiest multiprocessor has in all */
static double blocks_of_one(const struct grid_machine *g, const struct warp_work *work)
{
        int64_t blocks = (int64_t)work->blocks, multiprocessors = g->multiprocessors;
        if (work->cluster > 2)          /* of some there are not enough neighbours */
                multiprocessors = g->clustered;
        return (double)divide_up(blocks, multiprocessors);
}

double warps_waves(const struct grid_machine *g, const struct warp_work *work)
{
        int resident = warps_resident(g, work);
        return resident ? (double)divide_up((int64_t)blocks_of_one(g, work), resident) : 0;
}

static double larger(double a, double b) { return a > b ? a : b; }

static double row_cost(const struct target *t, double length) { return rate_grid_row_sums(t) + length / LANES * rate_grid_row_element(t); }

/* cycles of the rows that each warp goes on with, which it reads of all blocks of its cluster */
static double rows_of_warp(const struct target *t, const struct warp_work *work, double blocks, double share)
{
        const double rows = work->tile / work->cluster, bytes = rows * work->length * sizeof(float);
        return larger(ceil(rows / work->warps) * row_cost(t, work->length), blocks * bytes * share);
}

double warps_rows_cost(const struct target *t, double rows, double length)
{
        const struct grid_machine *g = target_grid(t);
        const double bytes = 2 * rows * length * sizeof(float), waves = ceil(rows / (g->multiprocessors * (double)g->warps));
        return g->launch + larger(waves * (rate_grid_arrival(t) + row_cost(t, length)) / g->clock, bytes / g->l2_rate);
}

double warps_pool_cost(const struct target *t, double positions, double columns)
{
        const struct grid_machine *g = target_grid(t);
        const double bytes = positions * columns * sizeof(float), waves = ceil(columns / LANES / (g->multiprocessors * (double)g->warps));
        return g->launch + larger(waves * (rate_grid_arrival(t) + positions * rate_grid_pool_position(t)) / g->clock, bytes / g->l2_rate);
}

static double pool_cost(const struct target *t, const struct warp_work *work)
{
        const double lane = rate_grid_pool(t) + work->pooled * rate_grid_pool_position(t);
        return work->pooled ? rate_grid_meeting(t) + ceil(work->columns / (work->warps * LANES)) * lane : 0;
}

double warps_cluster_cost(const struct target *t, const struct warp_work *work, double blocks)
{
        const struct grid_machine *g = target_grid(t);
        const double crowd = larger(1, blocks * work->warps / (2 * rate_grid_issue(t))), barrier = rate_grid_cluster(t), share = g->clock * g->multiprocessors / g->cluster_rate;
        if (!work->cluster)
                return 0;
        const int parts = work->across ? work->cluster / work->across : work->cluster;
        const double others = work->partial / work->blocks * (parts - 1) / parts;
        const double joining = (parts > 1 ? barrier : 0) + larger(work->rows / parts * rate_grid_row(t) * crowd, blocks * others * share);
        return rate_grid_cluster_leave(t) + joining + (work->across ? barrier + rows_of_warp(t, work, blocks, share) : 0);
}

/* cycles of a wave of so many blocks on each multiprocessor */
static double wave_cost(const struct target *t, const struct warp_work *work, double multiply, double blocks)
{
        const struct grid_machine *g = target_grid(t);
        const bool is_late = work->cold && g->early, is_far = work->cold && !g->early;
        /* until a copy is there, and what meeting costs an iteration, where operands come from L2, from memory, or from memory while other
         * launches overlap with this one */
        const double arrival = is_late ? rate_grid_arrival_overlapped(t) : is_far ? rate_grid_arrival_memory(t) : rate_grid_arrival(t);
        const double iteration = is_late ? rate_grid_iteration_overlapped(t) : is_far ? rate_grid_iteration_memory(t) : rate_grid_iteration(t);
        const double share = g->clock * g->multiprocessors / g->l2_rate;          /* cycles of one for a byte of the second cache */
        const double by_cache = work->copied_w + rate_grid_x_share(t) * (work->copied - work->copied_w);
        double copies = work->x_copies * (rate_grid_copy_x(t) + (work->windows ? rate_grid_copy_window(t) : 0)) + work->w_copies * rate_grid_copy_w(t);
        const double ahead = is_late ? fmin(work->turns, work->stages - 1) : 0;
        double own = iteration + copies + work->multiplies / work->warps * rate_grid_multiply(t) + work->instructions;
        double issued = blocks * (work->multiplies * multiply + work->warps * (copies * rate_grid_copy_issue(t) + work->instructions) / rate_grid_issue(t));
        double shared = blocks * (work->copied + work->read) / rate_grid_shared(t), cache = blocks * by_cache * share;
        const double hidden = blocks * work->multiplies * multiply + rate_grid_meeting(t) + rate_grid_shared_exposed(t) * shared;
        const double turn = larger(larger(larger(own, issued), larger(shared, cache)), hidden), under_way = work->stages - 1;
        const double turns = ahead * larger(turn, rate_grid_arrival(t) / under_way) + (work->turns - ahead) * larger(turn, arrival / under_way);
        /* weights of all stages are copied before the first x, where a launch waits for that */
        const double first = g->early ? rate_grid_first_waited(t) * (by_cache + (fmin(work->stages - 1, work->turns) - 1) * work->copied_w) : by_cache;
        double crowd = blocks * work->warps / (2 * rate_grid_issue(t));   /* rows of that many warps are written at the pace of one */
        double results = work->rows * rate_grid_row(t) * (work->partial ? 0.5 : 1) * larger(1, crowd);
        return rate_grid_fill(t) + blocks * first * share + turns + results + warps_cluster_cost(t, work, blocks) + pool_cost(t, work);
}

double warps_launch_cost(const struct grid_machine *g, const struct warp_work *work, double cycles)
{
        double memory = (work->operands + work->results) / g->memory_rate;
        double joining = work->partial && !work->cluster ? g->launch + (work->partial + work->results) / g->l2_rate : 0;
        return g->launch + larger(cycles / g->clock, memory) + joining;
}

double warps_judged(const struct target *t, const struct warp_work *work, double seconds, double behind)
{
        /* Of an H100's kernels those in clusters of eight took 0.87 of what is predicted, others 1.2. Of rows in a cluster and rows behind that are alike, by
         * what predictions are off, the one launch. */
        if (work->partial && !work->cluster)
                seconds *= rate_grid_second_launch(t);
        return behind && !work->across ? (seconds + behind) * rate_grid_rows_behind(t) : seconds;
}

double warps_cost(const struct target *t, const struct multiply *m, const struct warp_work *work)
{
        const struct grid_machine *g = target_grid(t);
        const double resident = warps_resident(g, work), waves = warps_waves(g, work);
        if (resident < 1)
                return 0;
        double multiply = rate_multiply(t, m), last = blocks_of_one(g, work) - (waves - 1) * resident;
        double cycles = wave_cost(t, work, multiply, last);
        if (waves > 1)
                cycles += (waves - 1) * wave_cost(t, work, multiply, resident);
        return warps_launch_cost(g, work, cycles);
}

double warps_pace(const struct target *t, double warps)
{
        return larger(rate_grid_pace(t), rate_grid_pace_crowded(t) * warps / rate_grid_issue(t));
}

/* Fitted to three kernels of f16 on an H100, in a row with others: of 16 rows a warp by 128 keys, a turn (6.29 us, here 6.4) and three of them
 * (17.4, here 15.5), and 4096 keys of 128 channels (931, here 855). Their copies came behind the products and were waited for at once, and they took
 * twice as many instructions; what became of them is counted, and takes 1.25 to 1.4 times that (4.0, 11.2 and 782). A warp alone issues every other cycle, as it waits
 * for its own results; four on a scheduler hardly more often than two. */
double warps_attention_cost(const struct target *t, const struct multiply *m, const struct attention_work *work)
{
        enum { OF_PARTS = 20 };         /* instructions that make parts of a product's operands */
        const struct grid_machine *g = target_grid(t);
        const struct warp_work *w = &work->of;
        const double resident = warps_resident(g, w), waves = warps_waves(g, w), of_one = blocks_of_one(g, w), share = g->clock * g->multiprocessors / g->l2_rate;
        double cycles = 0;
        if (resident < 1)
                return 0;
        for (double wave = 0; wave < waves && wave < 2; wave++) {         /* the last one; those before it, which are alike */
                const double count = wave ? resident : of_one - (waves - 1) * resident;
                const double pace = warps_pace(t, count * w->warps), busy = w->blocks < count * g->multiprocessors ? w->blocks / g->multiprocessors : count;
                const double own = w->multiplies / w->warps * m->instructions * rate_grid_attention_multiply(t), units = count * w->multiplies * rate_multiply(t, m);
                const double products = larger(larger(own, units), count * w->read / rate_grid_shared(t) * rate_grid_attention_shared(t));
                const double instructions = w->instructions + (m->instructions > 1 ? w->multiplies / w->warps * OF_PARTS : 0);
                const double byte = larger(count / rate_grid_port(t), busy * share), computed = instructions * pace + products + rate_grid_attention_wait(t);
                const double arrival = larger(rate_grid_arrival(t) + w->copied * byte - computed, 0);
                const double one = rate_grid_attention_block(t) + rate_grid_arrival(t) + work->first * byte + work->once * pace + w->turns * computed + (w->turns - 1) * arrival;
                cycles += one * (wave ? waves - 1 : 1);
        }
        return warps_launch_cost(g, w, cycles);
}

int warps_attention_registers(const struct multiply *m, int rows, int keys, int width)
{
        /* Subscripts, operands of products; what masks add to scores, if there is room. Of floats, whose parts are many, nvcc 13 takes all that there are:
         * enough, it was found, for so many sums and weighted keys and channels. */
        enum { PLACES = 110, PARTS_MOST = 120 };
        const int sums = rows * (keys + width) / LANES, all = sums + PLACES + keys / 3;
        if (element_info[m->x.memory].bytes == sizeof(float))
                return sums + keys * 3 / 4 + width / 4 <= PARTS_MOST ? LANE_REGISTERS : LANE_REGISTERS + 1;
        return sums + PLACES <= LANE_REGISTERS && all > LANE_REGISTERS ? LANE_REGISTERS : all;
}

/* What arrives is from a form before, in which blocks met for each step: 129 keys of 64 channels for 12 rows took 4.35 us in a row on an H100, where this
 * said 4.4 of its 1000 cycles for each of three meetings. What warps do is counted, as nvcc 13 makes it: 3.8, and 3.2 measured. */
double warps_row_attention_cost(const struct target *t, const struct row_attention *of)
{
        enum {
                WORD = 16, KEY_LANES = 8,         /* bytes; lanes of a key */
                OF_WORD = 8, OF_TURN = 6,         /* instructions of a lane's word of keys, which it loads, multiplies and stores; of a turn beside */
                OF_SCORES = 110,        /* of lanes' keys, whenever there are some: what others found, score and share */
                OF_KEY = 2, OF_VALUE = 2, OF_COPY = 5,    /* of a warp's key of values, and for each vector of its channels; of a word that is copied and stored */
                OF_BLOCK = 150,         /* to begin, and to bring together what warps have */
                STEPS = 5               /* how often something is handed on through shared memory, one after the other */
        };
        const struct grid_machine *g = target_grid(t);
        const double lanes = of->warps * LANES, bytes = of->keys * (of->depth + of->width) * 4, pace = warps_pace(t, of->warps);
        const double copies = larger(bytes / rate_grid_port(t), bytes * of->blocks * g->clock / g->l2_rate);
        const double scores = of->turns * (OF_TURN + of->depth * 4 / WORD / KEY_LANES * OF_WORD) + of->times * OF_SCORES;
        const double values = of->keys / of->warps * (OF_KEY + ceil(of->width / LANES) * OF_VALUE) + of->keys * of->width * 4 / WORD / lanes * OF_COPY;
        const double others = of->parts > 1 ? rate_grid_cluster(t) + rate_grid_cluster_leave(t) + (of->width + 2) * 4 * of->parts * g->clock / (g->cluster_rate / g->multiprocessors) : 0;
        const double arrival = rate_grid_arrival_memory(t) + (of->times - 1) * rate_grid_arrival(t);
        return arrival + copies + (scores + values + OF_BLOCK) * pace + (STEPS + of->times - 1) * rate_grid_handed_on(t) + others;
}

double warps_window_cost(const struct target *t, const struct multiply *m, const struct window_products *w)
{
        enum { TILE = 32, PANEL = 64, WARPS = 4, DEPTH = 64, STAGES = 4 };
        const struct grid_machine *g = target_grid(t);
        const int64_t depth = w->channels < DEPTH ? w->channels : DEPTH;
        const double bytes = element_info[m->x.memory].bytes, words = (double)depth / m->group;
        const struct warp_work work = {
                .blocks = (double)(divide_up(w->positions, TILE) * divide_up(w->outputs, PANEL)), .turns = (double)w->taps * (double)divide_up(w->channels, depth),
                .multiplies = (double)TILE / m->positions * PANEL / m->outputs * (double)depth / multiply_row(m),
                .copied = (TILE + PANEL) * (double)depth * bytes, .copied_w = PANEL * (double)depth * bytes, .read = 2 * (TILE + PANEL) * (double)depth * bytes,
                .x_copies = ceil(TILE * words / (WARPS * LANES)), .w_copies = ceil(PANEL * words / (WARPS * LANES)), .windows = w->taps > 1, .rows = TILE,
                .operands = (w->inputs + (double)(w->outputs * w->taps * w->channels)) * bytes, .results = (double)(w->positions * w->outputs) * bytes,
                .stages = STAGES, .warps = WARPS, .registers = 64, .shared = STAGES * (int64_t)((TILE + PANEL) * (double)depth * bytes)
        };
        const int times = w->copies ? 3 : 1;        /* a slice, where these are put together, and channels last */
        return warps_cost(t, m, &work) + (w->copies ? w->copies + 2 : 0) * g->launch + times * w->inputs * rate_grid_moved(t) / (g->clock * g->multiprocessors);
}

double row_warps_cost(const struct target *t, int turns, double bytes)
{
        const struct grid_machine *g = target_grid(t);
        return g->launch + (turns + 1) * rate_grid_load(t) / g->clock + bytes / g->memory_rate;
}
