/* SPDX-License-Identifier: MIT */
/* All models have this in common (core.c); costs are cycles of one core. */
#ifndef COST_CORE_H
#define COST_CORE_H

#include "ir/target/target.h"

/* Returns the cycles to read `bytes` bytes of weights from beyond the second-level cache, without
 * the part that is hidden. */
double cost_of_weights(double bytes, const struct target *target);
/* Returns the cycles of two activities that overlap: those of the longer one, and more the nearer
 * the other is to it. */
double cost_overlapped(double a, double b, const struct target *target);
/* Returns the multiply-adds of f32 that register tiles reach in a cycle. */
double cost_products_per_cycle(const struct target *target);

/* Does the core stall where a product needs a value that was loaded just before? */
bool core_waits(const struct target *target);

#endif
