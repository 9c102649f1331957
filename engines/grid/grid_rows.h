/* SPDX-License-Identifier: MIT */
/* grid: rows that a warp computes together (grid_rows.c). */
#ifndef ENGINES_GRID_GRID_ROWS_H
#define ENGINES_GRID_GRID_ROWS_H

#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_grid.h"
#include "passes/vectorize/vectorize.h"

struct grid_row {
        struct arena *arena;
        const struct loop_bounds *bounds;
        const struct map *averages;     /* of the kernel */
        bool exact;
        const struct loop_block *body;  /* what one iteration of the independent loops does */
};

/* Reductions over neighbours in memory, long enough for all lanes, and what is made of them? */
bool grid_row_is_for_warp(const struct grid_row *row);
/* such a body, in loops over lanes; its statements are used up */
struct loop_block *grid_row_write(const struct grid_row *row);

/* ---- inside: grid_rows.c, grid_kept.c ---- */

/* how many iterations, one by one; 0: not known */
int64_t grid_row_trip(const struct loop_stmt *loop);
/* neighbours that a lane has of the loop */
int64_t grid_row_side(const struct grid_row *row, const struct loop_stmt *loop);

#endif
