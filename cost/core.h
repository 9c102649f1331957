/* SPDX-License-Identifier: MIT */
/* What all models have in common (core.c): cycles of one core. */
#ifndef COST_CORE_H
#define COST_CORE_H

#include "ir/target/target.h"

/* to read so many bytes of weights from beyond the second cache, as far as it takes time */
double cost_of_weights(double bytes, const struct target *target);
/* of two things that run beside each other: those of the longer one, and more the less it is
 * longer */
double cost_overlapped(double a, double b, const struct target *target);
/* multiply-adds of f32 that register tiles reach in a cycle */
double cost_products_per_cycle(const struct target *target);

/* Does it stand still where a product wants what was loaded just before? */
bool core_waits(const struct target *target);

#endif
