/* SPDX-License-Identifier: MIT */
/* What a launch of a kernel in grid form takes of a device, and how long that is predicted to be (grid.c). */
#ifndef COST_GRID_H
#define COST_GRID_H

#include "ir/loop.h"
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
struct grid_cost grid_cost_of(const struct target *t, const struct loop_function *f, const struct loop_stmt *phase, bool cold);
/* Do so many blocks of a launch store that many bytes, which they read anyway, sooner than a launch of its own copies them? */
bool grid_stores_beside(const struct grid_machine *g, int64_t blocks, double bytes);
/* Do p's, in every run? */
bool grid_is_cold(const struct target *t, const struct loop_program *p);

#endif
