/* SPDX-License-Identifier: MIT */
/* Reads the resources and the predicted time of a launch of a kernel in grid form off its
 * statements (launch_cost.c). */
#ifndef ENGINES_GRID_LAUNCH_COST_H
#define ENGINES_GRID_LAUNCH_COST_H

#include "ir/loop/loop_grid.h"
#include "ir/target/target.h"

struct grid_cost {
        int64_t blocks;                 /* The launch has this many blocks, or at most so many
                                         * where a run says how many. */
        int64_t warps;                  /* A block has this many warps. */
        int64_t lanes;                  /* This many lanes of a warp have work. */
        int64_t shared;                 /* A block has this many bytes of shared memory. */
        int registers;                  /* The schedule assumed that a lane has this many registers;
                                         * 0: there is no schedule, and the compiler decides. */
        int resident;                   /* A multiprocessor holds this many blocks at a time, as far
                                         * as that is known. */
        double waves;                   /* The blocks take this many waves over the
                                         * multiprocessors. */
        double seconds;                 /* The launch is predicted to take this many seconds. */
};

/* Returns the lanes of each warp of a phase with this body: as many as its largest loop over lanes
 * has, or GRID_LANES if a warp does anything else. 0: the phase does nothing, and is not
 * launched. */
int64_t grid_lanes(const struct loop_block *block);
/* Returns the bytes of shared memory that a block which needs `shared` is launched with. A
 * dependent launch finds room on some multiprocessors while the launch before it still occupies the
 * others, and its blocks would crowd on those; so a block that needs much memory asks for so much
 * that no more blocks fit on a multiprocessor than have to. */
int64_t grid_shared_asked(const struct target *t, int64_t blocks, int64_t cluster, int64_t shared);
/* Returns the cost of a phase, which is a loop over blocks of f. cold: its constants come from
 * memory, not from L2. */
struct grid_cost grid_cost_of(const struct target *t, const struct loop_function *f,
                              const struct loop_stmt *phase, bool cold);
/* Is it faster that `blocks` blocks of a launch also store `bytes` bytes, which they read anyway,
 * than that a separate launch copies them? */
bool grid_stores_within_launch(const struct target *t, int64_t blocks, double bytes);
/* Does a kernel prefetch a constant, or an input of the model, of `bytes` bytes to L2 before it
 * waits for the preceding launch? copied: the kernel copies it into shared memory; otherwise its
 * lanes load it. */
bool grid_prefetches_constant(const struct target *t, int64_t bytes, bool copied);
bool grid_prefetches_input(const struct target *t, int64_t bytes, bool copied);
/* Do p's constants come from memory in every run (warps_are_cold)? */
bool grid_is_cold(const struct target *t, const struct loop_program *p);

#endif
