/* SPDX-License-Identifier: MIT */
/* The cost model of sums in hardware tiles (tiles_cost.c): predicted cycles of one core. */
#ifndef COST_TILES_COST_H
#define COST_TILES_COST_H

#include "ir/target/target.h"

/* Of so many blocks of sums, each with so many products of tiles in every step, and loads beside
 * those that products hide. */
double tiles_cost(const struct target *t, const struct multiply *m, double blocks, double steps,
                  double products, double loads);
/* where blocks have two shapes, for each panel */
/* of a step of one tile of positions by so many panels of `vectors` tiles of outputs */
double tiles_panels_cost(const struct target *t, const struct multiply *m, int64_t panels,
                         int64_t vectors);
double tiles_shapes_cost(const struct target *t);

#endif
