/* SPDX-License-Identifier: MIT */
/* The pass grid writes sums over nests of loops so that the lanes of a warp share them by this
 * (grid_nests.c). */
#ifndef ENGINES_GRID_GRID_NESTS_H
#define ENGINES_GRID_GRID_NESTS_H

#include "engines/grid/grid_rows.h"

enum { GRID_NEST_MOST = 6 };

/* A nest has `depth` loops, from the outermost one on, which iterate `trips` times; the loops
 * between the outermost and the innermost one iterate `between` times together. */
struct grid_nest {
        struct loop_stmt *loops[GRID_NEST_MOST];
        int64_t trips[GRID_NEST_MOST], between;
        int depth;
        struct loop_variable *first;    /* grid_nest_write sets this: the first neighbour of an
                                         * iteration. */
};

/* Is the loop, which does nothing but add to variables, the outermost one of a nest that can become
 * one loop? */
bool grid_nest_find(struct loop_stmt *loop, struct grid_nest *nest);
/* Makes it one loop. */
void grid_nest_write(struct arena *arena, struct grid_nest *nest);

#endif
