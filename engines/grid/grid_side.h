/* SPDX-License-Identifier: MIT */
/* The pass grid lets one lane execute neighbouring iterations by this (grid_side.c). */
#ifndef ENGINES_GRID_GRID_SIDE_H
#define ENGINES_GRID_GRID_SIDE_H

#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_grid.h"

/* Returns how many neighbouring iterations of the loop a lane may have while at least `lanes` lanes
 * have work; `total` is the iterations of the loop and of all loops around it. 1: each iteration
 * has its own lane. */
int64_t grid_side_of(struct arena *scratch, const struct loop_bounds *bounds,
                     const struct loop_stmt *loop, int64_t total, int64_t lanes);
/* Is everything that the loop loads and stores either a word of `side` neighbours or the same for
 * all of them? */
bool grid_side_is_words(struct arena *scratch, const struct loop_bounds *bounds,
                        const struct loop_stmt *loop, int64_t side);
/* Names what is set or stored by a let before it, so that loads of neighbours follow each other. */
void grid_side_name(struct arena *arena, struct loop_block *block);
/* Makes the loop's body compute `side` iterations at a time. Returns false where the loop stays as
 * it is. */
bool grid_side_write(struct arena *arena, struct loop_stmt *loop, int64_t side);

#endif
