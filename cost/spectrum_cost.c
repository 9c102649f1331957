/* SPDX-License-Identifier: MIT */
/* Predicts what a convolution by Fourier transforms costs.
 *
 *      blocks         x is copied into blocks that overlap, and the result out of them; where
 *                     channels are added up, these become neighbours and are separated again
 *      transforms     their arithmetic, and a complex number written and read for each axis
 *      products       a complex product for each frequency and weight: four, at the rate of
 *                     products; weights are read from memory, once
 *
 * Rates were set by three layers on a Zen 4 (docs/measurements/fourier.md). The error over other
 * layers has not been recorded: such a convolution must be predicted to take 60 % of the time. */
#include "cost/spectrum_cost.h"

#include "cost/core.h"
#include "cost/layout_cost.h"
#include "ir/target/rates.h"
#include "ir/tensor/spectrum_plan.h"

enum { WORD = 4, COMPLEX = 2 * WORD };

/* Returns the frequencies of a block, half of which follow from the others. */
static double frequencies(const struct spectrum_work *w)
{
        const int half = w->dims - 1;
        return (double)(w->size[half] / 2 + 1) * (w->dims > 1 ? (double)w->size[0] : 1);
}

double spectrum_weights(const struct spectrum_work *w)
{
        return COMPLEX * frequencies(w) * (double)(w->groups * w->channels * w->outputs);
}

/* Returns the cycles of the transforms of one channel of one block. */
static double transforms_cycles(const struct spectrum_work *w, const struct target *target)
{
        const double lanes = target_lanes(target, E_F32);
        double flops = 0, moved = 0, elements = 1;
        for (int d = 0; d < w->dims; d++)
                elements *= (double)w->size[d];
        for (int d = w->dims - 1; d >= 0; d--) {
                const struct spectrum_plan plan = spectrum_plan(w->size[d]);
                const double lines =
                        (d == w->dims - 1 ? elements : 2 * frequencies(w)) / (double)w->size[d];
                flops += lines * spectrum_flops(&plan) / (d == w->dims - 1 ? 1 : 2);
                moved += 2 * COMPLEX * lines * (double)w->size[d];
        }
        return flops / (lanes * rate_spectrum_operations(target)) + moved / rate_l2(target);
}

double spectrum_cost(const struct spectrum_work *w, const struct target *target)
{
        const double inputs = (double)(w->groups * w->channels),
                     outputs = (double)(w->groups * w->outputs), blocks = (double)w->blocks;
        const double transforms = blocks * (inputs + outputs) * transforms_cycles(w, target);
        double elements = WORD;
        for (int d = 0; d < w->dims; d++)
                elements *= (double)w->size[d];
        const double moved = elements * blocks * (inputs + outputs);
        const double products = 4 * frequencies(w) * blocks * inputs * (double)w->outputs;
        const double weights = spectrum_weights(w) / rate_memory(target);
        if (spectrum_is_separate(w))
                return transforms + layout_copy_cost(2 * moved, target) + weights +
                       3 * products * WORD / rate_copied(target);
        return transforms + layout_conversion_cost(2 * moved, false, target) +
               cost_overlapped(products / cost_products_per_cycle(target), weights, target);
}

double spectrum_direct_cost(double products, double weights, bool depthwise,
                            const struct target *target)
{
        const double cycles = products / (double)target_lanes(target, E_F32) / rate_issue(target);
        return (depthwise ? layout_reached_cost(cycles, target) : cycles / rate_reached(target)) +
               WORD * weights / rate_memory(target);
}
