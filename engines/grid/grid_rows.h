/* SPDX-License-Identifier: MIT */
/* The pass grid writes rows that a warp computes together by this (grid_rows.c). */
#ifndef ENGINES_GRID_GRID_ROWS_H
#define ENGINES_GRID_GRID_ROWS_H

#include "ir/loop/loop_bounds.h"
#include "ir/loop/loop_grid.h"
#include "passes/vectorize/vectorize.h"

struct grid_row {
        struct arena *arena;
        const struct loop_bounds *bounds;
        const struct map *averages;     /* It maps the averages of the kernel. */
        bool exact;
        const struct loop_block *body;  /* This is the body of the independent loops. */
};

/* Is the body reductions over neighbours in memory, long enough for all lanes, and statements that
 * use their results? */
bool grid_row_is_for_warp(const struct grid_row *row);
/* Writes such a body as loops over lanes; its statements are consumed. */
struct loop_block *grid_row_write(const struct grid_row *row);

/* ---- shared by grid_rows.c and grid_kept.c ---- */

/* Returns the iterations of a loop with step 1; 0: their number is not constant. */
int64_t grid_row_trip(const struct loop_stmt *loop);
/* Returns how many neighbouring iterations of the loop a lane has. */
int64_t grid_row_side(const struct grid_row *row, const struct loop_stmt *loop);

#endif
