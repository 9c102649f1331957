/* SPDX-License-Identifier: MIT */
/* grid: several turns of a lane (grid_turns.c). */
#ifndef ENGINES_GRID_GRID_TURNS_H
#define ENGINES_GRID_GRID_TURNS_H

#include "ir/loop/loop_grid.h"

enum { GRID_TURNS_MAX = 32 };           /* of a lane at a time, which keeps a value of each in registers */

/* Values, and stores behind them, all of it under a condition or not? */
bool grid_turns_can(const struct loop_block *body);
/* Such a body, of `turn`, for 0 to count: all values first, then what stores them. Appended to the lane's block; the body is used up. */
void grid_turns_write(struct arena *arena, struct loop_variable *turn, int64_t count, struct loop_block *body, struct loop_block *lane);

#endif
