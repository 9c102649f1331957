/* SPDX-License-Identifier: MIT */
/* Predicts the time of warp-group MMA: products of four warps as one, which read their operands
 * from shared memory.
 *
 * - An iteration takes the longest of: the MMA of all blocks that are resident on a multiprocessor;
 *   the MMA of one block and what else it waits for; the transfer of operands from L2; the latency
 *   of a bulk copy, divided by the iterations under way.
 * - A wave takes the first copies, all iterations, and the results.
 * - A launch takes all waves, and at least the time of memory for every byte once.
 * - In attention, an iteration computes its scores; then lanes compute shares while the products of
 *   the iteration before go on; it takes at least the time of all MMA.
 *
 * The rates grid_group_iteration and grid_group_l2 and those of the multiplies were measured by
 * test/bench/cuda/groups_product.cu on an H200, for a product of 4096 x 4096 x 4096 in bf16: tiles
 * of 128 x 128 took 872 cycles an iteration, of which MMA is 512 by the data sheet, tiles of 128 x
 * 256 took 1478, of which it is 1024. The instructions of attention are counted in the code that
 * nvcc 13 makes; attention has not been timed. */
#include "engines/grid/warp_group_cost.h"

#include "base/size.h"
#include "ir/target/rates.h"

static double larger(double a, double b) { return a > b ? a : b; }

double groups_cost(const struct target *t, const struct multiply *m, const struct warp_work *work)
{
        const struct gpu *g = target_gpu(t);
        const double resident = warps_resident(g, work), waves = warps_waves(g, work),
                     share = g->clock * g->multiprocessors;
        if (resident < 1)
                return 0;
        const double blocks_each =
                larger(1, (double)divide_up((int64_t)work->blocks, g->multiprocessors) / waves);
        const double products = work->multiplies * rate_multiply(t, m);
        double iteration = larger(blocks_each * products, products + rate_grid_group_iteration(t));
        iteration = larger(iteration, blocks_each * work->copied / rate_grid_group_l2(t));
        iteration = larger(iteration, rate_grid_load(t) / (double)(work->stages - 2));
        const double stored = work->partial ? work->partial : work->results;
        const double results = stored / work->blocks * blocks_each * share / g->l2_rate;
        const double cycles = waves * (2 * rate_grid_load(t) + work->iterations * iteration +
                                       results + warps_cluster_cost(t, work, blocks_each));
        return warps_launch_cost(g, work, cycles);
}

/* Returns the cycles of a wave of attention with `count` blocks on each multiprocessor. */
static double attention_wave(const struct target *t, const struct multiply *m,
                             const struct attention_work *work, double count)
{
        const struct warp_work *w = &work->of;
        const double pace = warps_pace(t, count * w->warps);
        const double products = count * w->multiplies * rate_multiply(t, m),
                     made = products * work->scores + w->instructions * pace;
        const double iteration = larger(larger(products, made) + rate_grid_group_iteration(t),
                                        count * w->copied / rate_grid_group_l2(t));
        return 2 * rate_grid_load(t) + count * work->first / rate_grid_group_l2(t) +
               work->once * pace + w->iterations * iteration;
}

double groups_attention_cost(const struct target *t, const struct multiply *m,
                             const struct attention_work *work)
{
        const struct gpu *g = target_gpu(t);
        const double resident = warps_resident(g, &work->of), waves = warps_waves(g, &work->of);
        if (resident < 1)
                return 0;
        const double of_one = (double)divide_up((int64_t)work->of.blocks, g->multiprocessors),
                     last = of_one - (waves - 1) * resident;
        const double cycles = attention_wave(t, m, work, last) +
                              (waves > 1 ? (waves - 1) * attention_wave(t, m, work, resident) : 0);
        return warps_launch_cost(g, &work->of, cycles);
}

double groups_products(const struct target *t, const struct multiply *m, int64_t positions,
                       int64_t outputs, int64_t channels)
{
        const struct gpu *g = target_gpu(t);
        const double multiplies = (double)divide_up(positions, m->positions) *
                                  (double)divide_up(outputs, m->outputs) *
                                  (double)divide_up(channels, multiply_row(m));
        const double seconds = multiplies * rate_multiply(t, m) / (g->clock * g->multiprocessors);
        if (!multiply_by_warp_group(m))
                return seconds;
        const double tiles = (double)(divide_up(positions, m->positions) *
                                      divide_up(outputs, MULTIPLY_WIDE)),
                     busy = tiles < g->multiprocessors ? tiles / g->multiprocessors : 1;
        return seconds / busy + (double)(positions * outputs) * rate_grid_group_result(t) /
                                        (g->clock * g->multiprocessors);
}
