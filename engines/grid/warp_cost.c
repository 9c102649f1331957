/* SPDX-License-Identifier: MIT */
/* Predicts the time of products whose sums lie in fragments of warps.
 *
 * - An iteration takes the longest of: one warp's copies, MMA and barrier; on a multiprocessor, for
 *   all resident blocks, MMA and the instructions that copy, or MMA and what it does not hide; the
 *   reads of shared memory, and of L2, for all resident blocks; the latency of a copy, divided by
 *   the iterations under way.
 * - A wave takes the first copies, all iterations, and the results, which a warp writes row by row.
 * - A launch takes all waves, and at least the time of memory for every byte once.
 * - Split-K adds one launch, which reads partial sums from L2; in a cluster, two barriers and reads
 *   of distributed shared memory.
 * - Attention adds the instructions between its products (warps_attention_cost).
 * - A reduction over rows of the results adds one launch; if a cluster has whole rows, one barrier,
 *   and the rows of a warp one after the other.
 * - A reduction over all positions of an image adds one launch; if a block has them all, one
 *   barrier, and the positions of a lane one after the other.
 *
 * Accuracy: 10 % off in the mean over 557 schedules of 23 layers in f16 on an H100
 * (test/bench/cuda/sweep.py: least squares of logarithms, in which schedules near the fastest of a
 * layer count most); of the schedules tried for a layer, the one of least predicted time takes 1.04
 * times as long as the fastest. There operands came from L2. If weights come from memory, as in a
 * whole network: 12 % off for 54 kernels of ResNet-50 and BERT-base
 * (test/bench/cuda/sweep_model.py). */
#include "engines/grid/warp_cost.h"

#include <math.h>

#include "base/size.h"
#include "ir/loop/loop_grid.h"
#include "ir/target/rates.h"

enum {
        LANES = 32,
        LANE_REGISTERS = 255,           /* An instruction can name this many registers (CUDA C
                                         * Programming Guide, compute capabilities). */
        REGISTER_UNIT = 8,              /* Registers are allocated to a lane in units of this
                                         * size. */
        BLOCKS = 32                     /* At most this many blocks are resident on a
                                         * multiprocessor. */
};

int warps_registers(const struct multiply *m, int rows, int columns, int lane, int words)
{
        enum { PLACES = 40 };           /* Subscripts and the epilogue take this many registers, in
                                         * code of nvcc 13. */
        /* The parts that a float operand is split into take these registers. */
        const int parts = m->instructions > 1 ? rows * 4 + columns * 4 : 0;
        return rows * columns * lane + rows * 4 + columns + words + PLACES + parts;
}

bool warps_are_cold(const struct gpu *g, double bytes) { return bytes > (double)g->l2_bytes / 2; }

int warps_resident(const struct gpu *g, const struct warp_work *work)
{
        int64_t registers = round_up(work->registers, REGISTER_UNIT),
                shared = work->shared + GRID_BLOCK_SHARED;
        if (work->registers > LANE_REGISTERS || work->shared > g->shared_bytes ||
            work->warps > g->warps)
                return 0;
        int64_t count = g->registers / (registers * LANES * work->warps),
                by_memory = (g->shared_bytes + GRID_BLOCK_SHARED) / shared,
                by_warps = g->warps / work->warps;
        count = by_memory < count ? by_memory : count;
        count = by_warps < count ? by_warps : count;
        return (int)(count < BLOCKS ? count : BLOCKS);
}

/* Returns the blocks that the busiest multiprocessor runs in all. */
static double blocks_of_one(const struct gpu *g, const struct warp_work *work)
{
        int64_t blocks = (int64_t)work->blocks, multiprocessors = g->multiprocessors;
        /* Some multiprocessors have no room for a larger cluster. */
        if (work->cluster > 2)
                multiprocessors = g->clustered;
        return (double)divide_up(blocks, multiprocessors);
}

double warps_waves(const struct gpu *g, const struct warp_work *work)
{
        int resident = warps_resident(g, work);
        return resident ? (double)divide_up((int64_t)blocks_of_one(g, work), resident) : 0;
}

static double larger(double a, double b) { return a > b ? a : b; }

static double row_cost(const struct target *t, double length)
{
        return rate_grid_row_sums(t) + length / LANES * rate_grid_row_element(t);
}

/* Returns the cycles in which each warp reads its rows out of all blocks of its cluster, and
 * reduces them. */
static double rows_of_warp(const struct target *t, const struct warp_work *work, double blocks,
                           double share)
{
        const double rows = work->tile / work->cluster, bytes = rows * work->length * sizeof(float);
        return larger(ceil(rows / work->warps) * row_cost(t, work->length), blocks * bytes * share);
}

double warps_rows_cost(const struct target *t, double rows, double length)
{
        const struct gpu *g = target_gpu(t);
        const double bytes = 2 * rows * length * sizeof(float),
                     waves = ceil(rows / (g->multiprocessors * (double)g->warps));
        return g->launch + larger(waves * (rate_grid_arrival(t) + row_cost(t, length)) / g->clock,
                                  bytes / g->l2_rate);
}

double warps_pool_cost(const struct target *t, double positions, double columns)
{
        const struct gpu *g = target_gpu(t);
        const double bytes = positions * columns * sizeof(float),
                     waves = ceil(columns / LANES / (g->multiprocessors * (double)g->warps));
        return g->launch +
               larger(waves * (rate_grid_arrival(t) + positions * rate_grid_pool_position(t)) /
                              g->clock,
                      bytes / g->l2_rate);
}

static double pool_cost(const struct target *t, const struct warp_work *work)
{
        const double lane = rate_grid_pool(t) + work->fused_pool * rate_grid_pool_position(t);
        return work->fused_pool
                       ? rate_grid_meeting(t) + ceil(work->columns / (work->warps * LANES)) * lane
                       : 0;
}

double warps_cluster_cost(const struct target *t, const struct warp_work *work, double blocks)
{
        const struct gpu *g = target_gpu(t);
        const double crowd = larger(1, blocks * work->warps / (2 * rate_grid_issue(t))),
                     barrier = rate_grid_cluster(t),
                     share = g->clock * g->multiprocessors / g->cluster_rate;
        if (!work->cluster)
                return 0;
        const int parts = work->across ? work->cluster / work->across : work->cluster;
        const double others = work->partial / work->blocks * (parts - 1) / parts;
        const double joining =
                (parts > 1 ? barrier : 0) +
                larger(work->rows / parts * rate_grid_row(t) * crowd, blocks * others * share);
        return rate_grid_cluster_leave(t) + joining +
               (work->across ? barrier + rows_of_warp(t, work, blocks, share) : 0);
}

/* Returns the cycles of a wave with `blocks` blocks on each multiprocessor. */
static double wave_cost(const struct target *t, const struct warp_work *work, double multiply,
                        double blocks)
{
        const struct gpu *g = target_gpu(t);
        const bool is_late = work->cold && g->dependent_launch,
                   is_far = work->cold && !g->dependent_launch;
        /* A copy arrives after this time, and a barrier costs an iteration this much, where
         * operands come from L2, from memory, or from memory while other launches overlap with this
         * one. */
        const double arrival = is_late  ? rate_grid_arrival_overlapped(t)
                               : is_far ? rate_grid_arrival_memory(t)
                                        : rate_grid_arrival(t);
        const double meeting = is_late  ? rate_grid_iteration_overlapped(t)
                               : is_far ? rate_grid_iteration_memory(t)
                                        : rate_grid_iteration(t);
        /* A byte from L2 takes a multiprocessor this many cycles, if all multiprocessors read. */
        const double share = g->clock * g->multiprocessors / g->l2_rate;
        const double by_cache =
                work->copied_w + rate_grid_x_share(t) * (work->copied - work->copied_w);
        double copies = work->x_copies * (rate_grid_copy_x(t) +
                                          (work->windows ? rate_grid_copy_window(t) : 0)) +
                        work->w_copies * rate_grid_copy_w(t);
        const double ahead = is_late ? fmin(work->iterations, work->stages - 1) : 0;
        double own = meeting + copies + work->multiplies / work->warps * rate_grid_multiply(t) +
                     work->instructions;
        double issued =
                blocks * (work->multiplies * multiply +
                          work->warps * (copies * rate_grid_copy_issue(t) + work->instructions) /
                                  rate_grid_issue(t));
        double shared = blocks * (work->copied + work->read) / rate_grid_shared(t),
               cache = blocks * by_cache * share;
        const double hidden = blocks * work->multiplies * multiply + rate_grid_meeting(t) +
                              rate_grid_shared_exposed(t) * shared;
        const double iteration = larger(larger(larger(own, issued), larger(shared, cache)), hidden),
                     under_way = work->stages - 1;
        const double iterations =
                ahead * larger(iteration, rate_grid_arrival(t) / under_way) +
                (work->iterations - ahead) * larger(iteration, arrival / under_way);
        /* A dependent launch copies the weights of all stages before it waits, and the first x
         * after it. */
        const double first =
                g->dependent_launch
                        ? rate_grid_first_waited(t) *
                                  (by_cache +
                                   (fmin(work->stages - 1, work->iterations) - 1) * work->copied_w)
                        : by_cache;
        /* This many warps write their rows in the time of one. */
        double crowd = blocks * work->warps / (2 * rate_grid_issue(t));
        double results =
                work->rows * rate_grid_row(t) * (work->partial ? 0.5 : 1) * larger(1, crowd);
        return rate_grid_fill(t) + blocks * first * share + iterations + results +
               warps_cluster_cost(t, work, blocks) + pool_cost(t, work);
}

double warps_launch_cost(const struct gpu *g, const struct warp_work *work, double cycles)
{
        double memory = (work->operands + work->results) / g->memory_rate;
        double joining = work->partial && !work->cluster
                                 ? g->launch + (work->partial + work->results) / g->l2_rate
                                 : 0;
        return g->launch + larger(cycles / g->clock, memory) + joining;
}

double warps_judged(const struct target *t, const struct warp_work *work, double seconds,
                    double behind)
{
        /* Where a cluster with whole rows and a second launch are predicted to take equally long,
         * the cluster is preferred. */
        if (work->partial && !work->cluster)
                seconds *= rate_grid_second_launch(t);
        return behind && !work->across ? (seconds + behind) * rate_grid_rows_behind(t) : seconds;
}

double warps_cost(const struct target *t, const struct multiply *m, const struct warp_work *work)
{
        const struct gpu *g = target_gpu(t);
        const double resident = warps_resident(g, work), waves = warps_waves(g, work);
        if (resident < 1)
                return 0;
        double multiply = rate_multiply(t, m),
               last = blocks_of_one(g, work) - (waves - 1) * resident;
        double cycles = wave_cost(t, work, multiply, last);
        if (waves > 1)
                cycles += (waves - 1) * wave_cost(t, work, multiply, resident);
        return warps_launch_cost(g, work, cycles);
}

double warps_pace(const struct target *t, double warps)
{
        return larger(rate_grid_pace(t), rate_grid_pace_crowded(t) * warps / rate_grid_issue(t));
}

/* Fitted to three kernels in f16 on an H100, measured among others: 16 rows a warp by 128 keys in
 * one iteration (6.29 us, predicted 6.4) and in three (17.4, predicted 15.5), and 4096 keys of 128
 * channels (931, predicted 855). Those kernels started copies after their products and waited for
 * them at once, and had twice the instructions; the kernels of today take 4.0, 11.2 and 782 us,
 * which is 1.25 to 1.4 times what is predicted for them. */
double warps_attention_cost(const struct target *t, const struct multiply *m,
                            const struct attention_work *work)
{
        enum { OF_PARTS = 20 };         /* This many instructions split an operand of a product into
                                         * parts. */
        const struct gpu *g = target_gpu(t);
        const struct warp_work *w = &work->of;
        const double resident = warps_resident(g, w), waves = warps_waves(g, w),
                     of_one = blocks_of_one(g, w),
                     share = g->clock * g->multiprocessors / g->l2_rate;
        double cycles = 0;
        if (resident < 1)
                return 0;
        /* The last wave is first, then come the waves before it, which are alike. */
        for (double wave = 0; wave < waves && wave < 2; wave++) {
                const double count = wave ? resident : of_one - (waves - 1) * resident;
                const double pace = warps_pace(t, count * w->warps),
                             busy = w->blocks < count * g->multiprocessors
                                            ? w->blocks / g->multiprocessors
                                            : count;
                const double own = w->multiplies / w->warps * m->instructions *
                                   rate_grid_attention_multiply(t),
                             units = count * w->multiplies * rate_multiply(t, m);
                const double products =
                        larger(larger(own, units), count * w->read / rate_grid_shared(t) *
                                                           rate_grid_attention_shared(t));
                const double instructions =
                        w->instructions +
                        (m->instructions > 1 ? w->multiplies / w->warps * OF_PARTS : 0);
                const double byte = larger(count / rate_grid_port(t), busy * share),
                             computed =
                                     instructions * pace + products + rate_grid_attention_wait(t);
                const double arrival =
                        larger(rate_grid_arrival(t) + w->copied * byte - computed, 0);
                const double one = rate_grid_attention_block(t) + rate_grid_arrival(t) +
                                   work->first * byte + work->once * pace +
                                   w->iterations * computed + (w->iterations - 1) * arrival;
                cycles += one * (wave ? waves - 1 : 1);
        }
        return warps_launch_cost(g, w, cycles);
}

int warps_attention_registers(const struct multiply *m, int rows, int keys, int width)
{
        /* PLACES is the registers for subscripts and operands; what masks add to scores stays in
         * registers if there is room. For products of floats, whose operands are split into parts,
         * nvcc 13 takes all registers; trials showed no spills up to PARTS_MOST of the sum
         * below. */
        enum { PLACES = 110, PARTS_MOST = 120 };
        const int sums = rows * (keys + width) / LANES, all = sums + PLACES + keys / 3;
        if (element_info[m->x.memory].bytes == sizeof(float))
                return sums + keys * 3 / 4 + width / 4 <= PARTS_MOST ? LANE_REGISTERS
                                                                     : LANE_REGISTERS + 1;
        return sums + PLACES <= LANE_REGISTERS && all > LANE_REGISTERS ? LANE_REGISTERS : all;
}

/* Latencies are those of an earlier kernel, whose blocks met at each step: 129 keys of 64 channels
 * for 12 rows took 4.35 us on an H100, predicted 4.4. The instructions of warps are counted in the
 * code that nvcc 13 makes: predicted 3.8 us, measured 3.2. */
double warps_row_attention_cost(const struct target *t, const struct row_attention *of)
{
        enum {
                WORD = 16,              /* A lane loads this many bytes at a time. */
                KEY_LANES = 8,          /* This many lanes share a key. */
                OF_WORD = 8,            /* A word of keys takes this many instructions: to load it,
                                         * multiply it and store it. */
                OF_ITERATION = 6,       /* An iteration has this many other instructions. */
                OF_SCORES = 110,        /* This many instructions make shares of the scores of a
                                         * lane's keys, once for each of the `times` rounds. */
                OF_KEY = 2,             /* A warp executes this many instructions for a key's
                                         * values. */
                OF_VALUE = 2,           /* It executes this many for each vector of their
                                         * channels. */
                OF_COPY = 5,            /* This many instructions copy a word into the cache of keys
                                         * and values. */
                OF_BLOCK = 150,         /* This many instructions begin a block, and combine what
                                         * its warps have. */
                STEPS = 5               /* This many values are passed through shared memory one
                                         * after the other. */
        };
        const struct gpu *g = target_gpu(t);
        const double lanes = of->warps * LANES, bytes = of->keys * (of->depth + of->width) * 4,
                     pace = warps_pace(t, of->warps);
        const double copies =
                larger(bytes / rate_grid_port(t), bytes * of->blocks * g->clock / g->l2_rate);
        const double scores =
                of->iterations * (OF_ITERATION + of->depth * 4 / WORD / KEY_LANES * OF_WORD) +
                of->times * OF_SCORES;
        const double values = of->keys / of->warps * (OF_KEY + ceil(of->width / LANES) * OF_VALUE) +
                              of->keys * of->width * 4 / WORD / lanes * OF_COPY;
        const double others = of->parts > 1 ? rate_grid_cluster(t) + rate_grid_cluster_leave(t) +
                                                      (of->width + 2) * 4 * of->parts * g->clock /
                                                              (g->cluster_rate / g->multiprocessors)
                                            : 0;
        const double arrival = rate_grid_arrival_memory(t) + (of->times - 1) * rate_grid_arrival(t);
        return arrival + copies + (scores + values + OF_BLOCK) * pace +
               (STEPS + of->times - 1) * rate_grid_handed_on(t) + others;
}

double warps_window_cost(const struct target *t, const struct multiply *m,
                         const struct window_products *w)
{
        enum { TILE = 32, PANEL = 64, WARPS = 4, DEPTH = 64, STAGES = 4 };
        const struct gpu *g = target_gpu(t);
        const int64_t depth = w->channels < DEPTH ? w->channels : DEPTH;
        const double bytes = element_info[m->x.memory].bytes, words = (double)depth / m->channels;
        const struct warp_work work = {
                .blocks = (double)(divide_up(w->positions, TILE) * divide_up(w->outputs, PANEL)),
                .iterations = (double)w->taps * (double)divide_up(w->channels, depth),
                .multiplies = (double)TILE / m->positions * PANEL / m->outputs * (double)depth /
                              multiply_row(m),
                .copied = (TILE + PANEL) * (double)depth * bytes,
                .copied_w = PANEL * (double)depth * bytes,
                .read = 2 * (TILE + PANEL) * (double)depth * bytes,
                .x_copies = ceil(TILE * words / (WARPS * LANES)),
                .w_copies = ceil(PANEL * words / (WARPS * LANES)),
                .windows = w->taps > 1,
                .rows = TILE,
                .operands = (w->inputs + (double)(w->outputs * w->taps * w->channels)) * bytes,
                .results = (double)(w->positions * w->outputs) * bytes,
                .stages = STAGES,
                .warps = WARPS,
                .registers = 64,
                .shared = STAGES * (int64_t)((TILE + PANEL) * (double)depth * bytes)
        };
        /* A concatenation takes three passes over the input: it is sliced, joined, and brought to
         * channels last. */
        const int times = w->copies ? 3 : 1;
        return warps_cost(t, m, &work) + (w->copies ? w->copies + 2 : 0) * g->launch +
               times * w->inputs * rate_grid_moved(t) / (g->clock * g->multiprocessors);
}

double row_warps_cost(const struct target *t, int iterations, double bytes)
{
        const struct gpu *g = target_gpu(t);
        return g->launch + (iterations + 1) * rate_grid_load(t) / g->clock + bytes / g->memory_rate;
}
