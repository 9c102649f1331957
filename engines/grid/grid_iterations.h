/* SPDX-License-Identifier: MIT */
/* grid: several iterations of a lane (grid_iterations.c). */
#ifndef ENGINES_GRID_GRID_ITERATIONS_H
#define ENGINES_GRID_GRID_ITERATIONS_H

#include "ir/loop/loop_grid.h"

enum { GRID_ITERATIONS_MAX = 32 };           /* of a lane at a time, which keeps a value of each in
                                              * registers */

/* Values, and stores behind them, all of it under a condition or not? */
bool grid_iterations_can(const struct loop_block *body);
/* Such a body, of `iteration`, for 0 to count: all values first, then what stores them. Appended
 * to the lane's block; the body is used up. */
void grid_iterations_write(struct arena *arena, struct loop_variable *iteration, int64_t count,
                           struct loop_block *body, struct loop_block *lane);

#endif
