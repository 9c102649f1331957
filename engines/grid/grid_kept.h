/* SPDX-License-Identifier: MIT */
/* The pass grid lets lanes load elements of a row once and keep them by this (grid_kept.c). */
#ifndef ENGINES_GRID_GRID_KEPT_H
#define ENGINES_GRID_GRID_KEPT_H

#include "engines/grid/grid_rows.h"

enum { GRID_KEPT_MOST = 96 };           /* A lane keeps at most this many elements, each in a
                                         * register. */

struct grid_kept {
        int64_t elements, side;         /* A lane keeps `elements` elements of each memory, `side`
                                         * of which are neighbours; 0: it keeps nothing. */
        struct loop_variable *own;      /* It says which of the lane's elements is read or stored;
                                         * the writer of iterations sets it. */
        struct loop_block *memory;      /* It holds the allocs of the memory. */
        struct loop_block *loops;       /* These loops load it, and must be written for lanes like
                                         * those of the row. */
};

/* Replaces loads by reads of kept elements, in loops that have iterations like the first one's. */
struct grid_kept grid_kept_write(const struct grid_row *row);
/* Does the loop touch kept elements? */
bool grid_kept_has(const struct grid_kept *kept, const struct loop_stmt *loop);

#endif
