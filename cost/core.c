/* SPDX-License-Identifier: MIT */
/* Predicts what a core spends on reading from memory, beside its computations.
 *
 * Weights first come from beyond the second-level cache: in a network they were last read a whole
 * run ago; part of that time is hidden. Of two activities that overlap and take equally long both
 * are slowed down, with the fifth power of how near they are to each other. Fitted together with
 * the model of convolve_packed (packed_cost.c). */
#include "cost/core.h"

#include "ir/target/rates.h"

double cost_of_weights(double bytes, const struct target *target)
{
        return (1 - rate_weights_hidden(target)) * bytes / rate_memory(target);
}

double cost_overlapped(double a, double b, const struct target *target)
{
        double longer = a > b ? a : b, share = (a < b ? a : b) / longer;
        return longer * (1 + rate_contention(target) * share * share * share * share * share);
}

double cost_products_per_cycle(const struct target *target)
{
        double peak = target_lanes(target, E_F32) * rate_issue(target);
        return rate_reached(target) * (target_has_fma(target) ? peak : peak / 2);
}

bool core_waits(const struct target *target) { return rate_load_wait(target) > 0; }
