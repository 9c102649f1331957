/* SPDX-License-Identifier: MIT */
/* grid: elements of a row that lanes load once and keep (grid_kept.c). */
#ifndef ENGINES_GRID_GRID_KEPT_H
#define ENGINES_GRID_GRID_KEPT_H

#include "engines/grid/grid_rows.h"

enum { GRID_KEPT_MOST = 96 };           /* The elements that a lane keeps, each in a register. */

struct grid_kept {
        int64_t elements, side;         /* The elements of each memory that a lane keeps, and how
                                         * many of them are neighbours; 0: it keeps nothing. */
        struct loop_variable *own;      /* Which of the lane's elements is read or stored; the
                                         * writer of iterations sets it. */
        struct loop_block *memory;      /* The allocs of the memory. */
        struct loop_block *loops;       /* The loops that load it, to be written for lanes like
                                         * those of the row. */
};

/* Replaces loads by reads of kept elements, in loops that have iterations like the first one's. */
struct grid_kept grid_kept_write(const struct grid_row *row);
/* Does the loop touch kept elements? */
bool grid_kept_has(const struct grid_kept *kept, const struct loop_stmt *loop);

#endif
