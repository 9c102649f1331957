/* SPDX-License-Identifier: MIT */
/* What a launch of a kernel in grid form takes of a device, and how long that is predicted to be (grid.c). */
#ifndef ENGINES_GRID_LAUNCH_COST_H
#define ENGINES_GRID_LAUNCH_COST_H

#include "ir/loop_grid.h"
#include "ir/target.h"

struct grid_cost {
        int64_t blocks, warps, lanes, shared;   /* shared: bytes of a block */
        int registers;                          /* of a lane, that its schedule counted on; 0: it has none, and a compiler decides */
        int resident;                           /* blocks that a multiprocessor has at a time, as far as that is known */
        double waves, seconds;
};

/* Of each warp of a phase, whose body this is: one whose warps do nothing but loops over so few lanes has no more of them. 0: it does
 * nothing, and is not launched. */
int64_t grid_lanes(const struct loop_block *block);
/* Of a phase, a loop over blocks of f; cold: its constants come from memory. */
/* Bytes that a block of a launch asks for, which needs `shared`. A launch that begins early finds room on some multiprocessors while the one in front is
 * on the others, and its blocks crowd there; so a block of much memory asks for as much as leaves no room for more of them than there have to be. */
int64_t grid_shared_asked(const struct target *t, int64_t blocks, int64_t cluster, int64_t shared);
struct grid_cost grid_cost_of(const struct target *t, const struct loop_function *f, const struct loop_stmt *phase, bool cold);
/* Do so many blocks of a launch store that many bytes, which they read anyway, sooner than a launch of its own copies them? */
bool grid_stores_within_launch(const struct target *t, int64_t blocks, double bytes);
/* Do kernels that wait for the launch in front prefetch a parameter of so many bytes to L2 meanwhile? copied: it is copied into shared memory
 * rather than loaded by lanes. */
bool grid_prefetches_constant(const struct target *t, int64_t bytes, bool copied);
bool grid_prefetches_input(const struct target *t, int64_t bytes, bool copied);
/* Do p's, in every run? */
bool grid_is_cold(const struct target *t, const struct loop_program *p);

#endif
