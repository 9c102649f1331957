/* SPDX-License-Identifier: MIT */
/* Predicts what depthwise convolutions and pools cost.
 *
 *      products   of a register tile, or the time that a sum waits for the one before
 *      loads      of x, and of weights that do not stay in registers; they overlap with products,
 *                 half hidden
 *      tile       the cost of each before it begins
 *
 * Fitted to the 14 depthwise layers of the zoo: those chosen are 1 to 4 % slower than the best in
 * the mean, 4 to 13 % at worst (docs/measurements/schedules.md). Pools cost a cycle for an element
 * of each lane, which only serves to decide how threads share them. */
#include "engines/vector/lanes_cost.h"

#include "ir/target/rates.h"

double lanes_cost(const struct lanes_shape *sh, int rows, int columns, bool at_once, bool resident,
                  const struct target *t)
{
        double offsets = (double)sh->window[0] * (double)sh->window[1],
               positions = (double)rows * columns;
        double loads = (double)((columns - 1) * sh->stride[1] + sh->window[1]);
        loads *= at_once ? (double)((rows - 1) * sh->stride[0] + sh->window[0])
                         : (double)(rows * sh->window[0]);
        loads += resident ? 0 : offsets;
        double issue = rate_lanes_issue(t), wait = rate_latency(t),
               cycles = positions > wait * issue ? positions * offsets / issue : wait * offsets;
        return (cycles + loads * rate_lanes_load(t) + rate_lanes_tile(t)) / positions;
}

double windows_cost(double elements, const struct target *t)
{
        return elements / target_lanes(t, E_F32) * rate_window_step(t);
}

bool lanes_unroll_window(int64_t offsets, const struct target *t)
{
        return offsets <= rate_lanes_window(t);
}
