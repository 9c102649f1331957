/* SPDX-License-Identifier: MIT */
/* grid: neighbours that are one lane's (grid_side.c). */
#ifndef ENGINES_GRID_GRID_SIDE_H
#define ENGINES_GRID_GRID_SIDE_H

#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_grid.h"

/* How many iterations of the loop, side by side, a lane may have, of at least so many lanes that
 * are to be busy; total: iterations of all loops around it and of itself. 1: each has its own. */
int64_t grid_side_of(struct arena *scratch, const struct loop_bounds *bounds,
                     const struct loop_stmt *loop, int64_t total, int64_t lanes);
/* Is all that the loop loads, and stores, words of so many neighbours, or the same for all of
 * them? */
bool grid_side_is_words(struct arena *scratch, const struct loop_bounds *bounds,
                        const struct loop_stmt *loop, int64_t side);
/* What is set or stored becomes a value before it: so loads of neighbours follow each other. */
void grid_side_name(struct arena *arena, struct loop_block *block);
/* The loop over so many at a time: its body is for all of them. false: it stays as it is. */
bool grid_side_write(struct arena *arena, struct loop_stmt *loop, int64_t side);

#endif
