/* SPDX-License-Identifier: MIT */
/* This is the cost model of sums in hardware tiles (tiles_cost.c): predicted cycles of one core. */
#ifndef COST_TILES_COST_H
#define COST_TILES_COST_H

#include "ir/target/target.h"

/* Returns the cost of `blocks` blocks of sums, each with `products` products of tiles in every
 * step, and `loads` loads that products do not hide. */
double tiles_cost(const struct target *t, const struct multiply *m, double blocks, double steps,
                  double products, double loads);
/* Returns the cost of a step of one tile of positions by `panels` panels of `vectors` tiles of
 * outputs. */
double tiles_panels_cost(const struct target *t, const struct multiply *m, int64_t panels,
                         int64_t vectors);
/* Returns the cost, for each panel, where blocks have two shapes. */
double tiles_shapes_cost(const struct target *t);

#endif
