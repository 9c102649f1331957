/* SPDX-License-Identifier: MIT */
/* grid: what lanes load of a row once, and keep (grid_kept.c). */
#ifndef ENGINES_GRID_GRID_KEPT_H
#define ENGINES_GRID_GRID_KEPT_H

#include "engines/grid/grid_rows.h"

enum { GRID_KEPT_MOST = 96 };           /* elements that a lane keeps, each in a register */

struct grid_kept {
        int64_t elements, side;         /* of a lane: of each memory that it keeps; neighbours in
                                         * it. 0: it keeps nothing */
        struct loop_variable *own;      /* which of the lane's, where that memory is read and
                                         * stored: for the writer of iterations to say */
        struct loop_block *memory;      /* allocs of it */
        struct loop_block *loops;       /* that load it; to be written for lanes like those of the
                                         * row */
};

/* Of loops that have iterations like the first one's, loads become such of what is kept. */
struct grid_kept grid_kept_write(const struct grid_row *row);
/* Does the loop touch what is kept? */
bool grid_kept_has(const struct grid_kept *kept, const struct loop_stmt *loop);

#endif
