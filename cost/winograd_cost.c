/* SPDX-License-Identifier: MIT */
/* Predicts what a convolution by windows costs.
 *
 *      direct     products, and reading the weights
 *      Winograd   reading U; for every batch of tiles, U again from the second-level cache, or,
 *                 where it does not stay there beside V and M, from beyond it, which costs hardly
 *                 more than the products hide; the products; the transforms' arithmetic; V and M
 *                 written and read, the slower the more of the second-level cache they fill
 *      threads    each thread that has tiles of its own reads all of U; in phases, every phase
 *                 reads what all threads have made in the one before
 *
 * Weights first come from beyond the second-level cache: in a network they were last read a whole
 * run ago. That overlaps with little else. Fitted to the 42 layers of the zoo that have the
 * algorithm: the batches chosen are 1 % slower than the best in the mean, 14 % at worst
 * (docs/measurements/schedules.md). */
#include "cost/winograd_cost.h"

#include "base/size.h"
#include "cost/core.h"
#include "ir/target/rates.h"

static double matrix_bytes(const struct winograd_work *w, double tiles)
{
        return 4 * w->f->elements * tiles * (w->channels + w->outputs);
}

static double panels_bytes(const struct winograd_work *w)
{
        return 4 * w->f->elements * w->channels * w->outputs;
}

/* Returns the cycles of one iteration of the transforms of a vector of channels. */
static double lines_cycles(const struct winograd_line *down, const struct winograd_line *across,
                           const struct target *target)
{
        return winograd_steps(down, across) / rate_issue(target);
}

/* Returns the cycles to write and read V and M; what exceeds the cache is also fetched before it is
 * written. */
static double matrices_cycles(const struct winograd_work *w, double batch,
                              const struct target *target)
{
        double bytes = matrix_bytes(w, w->tiles),
               filled = matrix_bytes(w, batch) / (double)target_l2_bytes(target);
        double cycles = 2 * bytes / rate_l2(target) * (1 + filled),
               most = 3 * bytes / rate_memory(target);
        return cycles < most ? cycles : most;
}

double winograd_cost(const struct winograd_work *w, double batches, const struct target *target)
{
        double lanes = target_lanes(target, E_F32), panels = panels_bytes(w),
               batch = matrix_bytes(w, w->tiles / batches);
        double products = w->f->elements * w->tiles * w->channels * w->outputs /
                          cost_products_per_cycle(target);
        bool stays = panels + batch <= (double)target_l2_bytes(target);
        double first = panels / rate_memory(target),
               again = stays ? 0 : (batches - 1) * first;
        double weights = first + (1 - rate_again_hidden(target)) * again +
                         (1 - rate_l2_hidden(target)) * batches * panels / rate_l2(target);
        const struct winograd *down = &w->f->along[0], *across = &w->f->along[1];
        double transforms =
                w->channels / lanes * lines_cycles(&down->input, &across->input, target) +
                w->outputs / lanes * lines_cycles(&down->output, &across->output, target);
        return weights + cost_overlapped(products, again, target) + w->tiles * transforms +
               matrices_cycles(w, w->tiles / batches, target);
}

int64_t winograd_batches(const struct winograd_work *w, int64_t least, const struct target *target,
                         double *cycles)
{
        enum { TILES_LEAST = 8 };               /* A batch has at least this many tiles. */
        int64_t best = least;
        *cycles = winograd_cost(w, (double)least, target);
        for (int64_t batches = 2 * least; (double)(batches * TILES_LEAST) <= w->tiles;
             batches += least) {
                double some = winograd_cost(w, (double)batches, target);
                best = some < *cycles ? batches : best;
                *cycles = some < *cycles ? some : *cycles;
        }
        return best;
}

double winograd_weights_cost(const struct winograd_work *w, double taps,
                             const struct target *target)
{
        /* They are read, moved, and read again; U is fetched before it is written. */
        enum { MOVES = 3, RESULTS = 2 };
        const double windows = w->channels * w->outputs;
        return taps * windows * w->f->elements / cost_products_per_cycle(target) +
               4 * windows * (MOVES * taps + RESULTS * w->f->elements) / rate_memory(target);
}

double winograd_tiles(int64_t images, int64_t rows, int64_t columns,
                      const struct winograd_square *f)
{
        return (double)(images * divide_up(rows, f->along[0].tile) *
                        divide_up(columns, f->along[1].tile));
}

double winograd_direct_cost(double weights, double positions, const struct target *target)
{
        return weights * positions / cost_products_per_cycle(target) +
               4 * weights / rate_memory(target);
}

double winograd_tiles_wait(const struct winograd_work *w, double threads,
                           const struct target *target)
{
        return panels_bytes(w) * (1 - 1 / threads) / rate_memory(target);
}

double winograd_phases_wait(const struct winograd_work *w, double threads,
                            const struct target *target)
{
        enum { PHASES = 3 };
        return matrix_bytes(w, w->tiles) / threads * (1 - 1 / threads) / rate_foreign(target) +
               (PHASES - 1) * rate_hand_off(target);
}
