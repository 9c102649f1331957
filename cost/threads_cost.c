/* SPDX-License-Identifier: MIT */
/* Predicts what a contraction costs that threads share: by rows of tiles, or panels, or both.
 *
 *      thread      runs the largest share of the tiles
 *      weights     are read by every thread that has rows of its own, all of them where panels are
 *                  not shared
 *      operand     what other threads wrote lies in their caches, and comes from there slowly: most
 *                  of it where a thread reads all channels, none where the operand was shared as
 *                  this contraction is, by rows or (where panels read channels of their own) by
 *                  panels
 *      result      the same for its readers, in the way that they will share it
 *      gathered    every thread gathers what goes into strips, for the rows that it has
 *      hand-off    starting the other threads, and waiting for them
 *
 * Where one of two kernels is computed by one thread and the other by several, the reader of the
 * two reads from another core's cache what the other kernel has stored. Fitted on two cores of a
 * Xeon: 128 KB take 8 us from the other core's second-level cache, 0.8 us from the own one
 * (docs/measurements/schedules.md); not fitted on more than two cores. */
#include "cost/threads_cost.h"

#include "base/size.h"
#include "cost/core.h"
#include "ir/target/rates.h"

static double share_of(int64_t count, int64_t threads)
{
        return (double)divide_up(count, threads) / (double)count;
}

/* Returns the largest share of the tiles. Panels that cannot be shared evenly are divided
 * (kernels/kernel_state.c). */
static double tiles_share(const struct shared_work *work, int rows, int panels)
{
        bool divided = rows == 1 && work->panels >= panels && !work->gathered;
        return divided ? share_of(work->rows * work->panels, panels)
                   : share_of(work->rows, rows) * share_of(work->panels, panels);
}

/* Returns the cycles to read, of `bytes` bytes, those that other threads wrote, where `tasks` tasks
 * wrote them. */
static double foreign(const struct target *target, double bytes, bool agree, int tasks)
{
        if (agree || tasks == 1 || bytes <= 0)
                return 0;
        return rate_foreign_first(target) + bytes * (1 - 1.0 / tasks) / rate_foreign(target);
}

bool shared_is_worth(double cycles, const struct target *target)
{
        return cycles >= rate_worth_sharing(target);
}

double shared_cost(const struct shared_work *work, const struct shared_how *how,
                   const struct target *target)
{
        int tasks = how->rows * how->panels;
        double operand = work->operand / how->rows / (how->apart ? how->panels : 1),
               cycles = work->cycles * tiles_share(work, how->rows, how->panels);
        cycles += work->gathered / rate_packed_gathered(target) * share_of(work->rows, how->rows) +
                  cost_of_weights(work->weights, target) * share_of(work->panels, how->panels);
        cycles += foreign(target, operand, how->reads_own, how->team) +
                  foreign(target, work->result / how->team, how->read_by_own, how->team);
        return cycles + (tasks > 1 ? rate_hand_off(target) : 0);
}
