/* SPDX-License-Identifier: MIT */
/* Predicts what layers cost over a few images of a batch (microbatch_cost.c), in cycles. */
#ifndef COST_MICROBATCH_COST_H
#define COST_MICROBATCH_COST_H

#include "ir/target/target.h"

/* Returns the bytes of the second-level caches of the cores that so many threads run on. */
double microbatch_room(int threads, const struct target *target);
/* Returns the cycles of one core to read `bytes` bytes between whose last touch and this one
 * `touched` others were read or written; INFINITY: since the last run. */
double microbatch_reading_cost(double bytes, double touched, int threads,
                               const struct target *target);
/* Return the cycles to compute, from operands in registers: so many products, or element-wise
 * results, of `width` bytes each. */
double microbatch_products_cost(double products, int width, const struct target *target);
double microbatch_elements_cost(double elements, int width, const struct target *target);
/* Returns the cycles to call a kernel once more. */
double microbatch_entry_cost(int threads, const struct target *target);

#endif
