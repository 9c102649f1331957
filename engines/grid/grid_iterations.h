/* SPDX-License-Identifier: MIT */
/* The pass grid writes several iterations of a lane by this (grid_iterations.c). */
#ifndef ENGINES_GRID_GRID_ITERATIONS_H
#define ENGINES_GRID_GRID_ITERATIONS_H

#include "ir/loop/loop_grid.h"

/* A lane executes at most this many iterations at a time: it keeps a value of each in registers. */
enum { GRID_ITERATIONS_MAX = 32 };

/* Does the body consist of values and stores after them, all of it under a condition or not? */
bool grid_iterations_can(const struct loop_block *body);
/* Writes such a body, for `iteration` from 0 to count: first all values, then the stores. Both are
 * appended to the lane's block; the body is consumed. */
void grid_iterations_write(struct arena *arena, struct loop_variable *iteration, int64_t count,
                           struct loop_block *body, struct loop_block *lane);

#endif
