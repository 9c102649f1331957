/* SPDX-License-Identifier: MIT */
/* convolve_packed by blocks of warps (contract_warps.c), as far as a choice asks about it. */
#ifndef KERNELS_CONTRACT_WARPS_H
#define KERNELS_CONTRACT_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "ir/tensor.h"

/* What is multiplied: elements of x and w, panels of `vectors` x lanes outputs, words of `group` channels; words of
 * a block of x, and all that a sum has, with the window's offsets. */
struct warp_operands { enum element x, w; int vectors, lanes, group; int64_t inner, words; };
struct warp_operands warp_operands_of(const struct op *op);

/* A block's tile of sums: positions by panels, of `vectors` x lanes outputs each; `warps` warps for
 * each panel. In shared memory `stages` turns, of `words` of `group` channels; `parts` blocks share all
 * turns. together: warps of one multiply; rows: positions of a fragment; bytes: of an element of x. */
struct warp_tile { int positions, warps, together, panels, stages, words, parts, rows, vectors, lanes, group, bytes; };

/* as the schedule has it; NULL: there is no such multiply, or it cannot be */
const struct multiply *warp_tile_of(const struct warp_operands *o, const struct target *target, const struct schedule *s,
                                    struct warp_tile *t);
static inline bool warp_tile_together(const struct warp_tile *t) { return t->together > 1; }
/* vectors of a warp's sums that leave their fragments at a time */
int warp_tile_part(const struct warp_tile *t);
/* elements from a position to the next in shared memory: of x, of sums; from a word of x to the next */
int64_t warp_tile_row(const struct warp_tile *t);
int64_t warp_tile_out(const struct warp_tile *t);
int64_t warp_tile_apart(const struct warp_tile *t);
/* bytes of shared memory; registers of a lane, about; tiles, of so many panels of a group */
int64_t warp_tile_shared(const struct warp_tile *t);
int warp_tile_registers(const struct warp_tile *t);
int64_t warp_tile_count(const struct warp_tile *t, int64_t images, int64_t groups, int64_t positions, int64_t panels);

#endif
