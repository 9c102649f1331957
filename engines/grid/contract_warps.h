/* SPDX-License-Identifier: MIT */
/* convolve_packed by blocks of warps (contract_warps.c), as far as a choice asks about it. */
#ifndef ENGINES_GRID_CONTRACT_WARPS_H
#define ENGINES_GRID_CONTRACT_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "ir/tensor.h"

/* A block's tile of sums: positions by panels, of `vectors` x lanes outputs each; `warps` warps for
 * each panel. In shared memory `stages` turns, of `words` of `group` channels; `parts` blocks share all
 * turns. rows: positions of a fragment; bytes: of an element of x; together: all warps multiply as one; cluster: the blocks of
 * all parts are one, whose memory has their sums; whole: so are all blocks side by side, `across` (else 1), which have rows of `length`; pooled: a reduction over all
 * positions of an image is stored, and no results; runs: weights are copied by the machine itself; added: bytes of an element of what is added to the sums out of memory and lies in shared memory before they are there, or 0. */
struct warp_tile { int positions, warps, panels, stages, words, parts, rows, vectors, lanes, group, bytes, across, added; int64_t length; bool together, cluster, whole, pooled, runs; };

/* as the schedule has it; false: there is no such multiply, or it cannot be */
bool warp_tile_of(const struct op *op, const struct target *target, const struct schedule *s,
                  struct warp_tile *t);
/* the same for warps together (contract_warp_groups.c) */
bool group_tile_of(const struct op *op, const struct target *target, const struct schedule *s, struct warp_tile *t);
int64_t group_tile_shared(const struct warp_tile *t);
int group_tile_registers(const struct warp_tile *t);
int64_t group_tile_out(const struct warp_tile *t);
/* blocks of a cluster */
int warp_tile_members(const struct warp_tile *t);
/* elements from a position to the next in shared memory: of x, of sums */
int64_t warp_tile_row(const struct warp_tile *t);
int64_t warp_tile_out(const struct warp_tile *t);
/* Can the blocks of all parts be a cluster of the target, beside so many other bytes that a block shares? */
bool warp_tile_clusters(const struct warp_tile *t, const struct target *target, int64_t shared);
/* of a block's sums in the cluster's memory: elements from a position to the next, and of all [panels][positions] of them */
int64_t warp_tile_part_row(const struct warp_tile *t);
int64_t warp_tile_part(const struct warp_tile *t);
/* Does `pool` reduce what has the shape of op's results over all positions, and nothing else, of which there are several? */
bool warps_pools(const struct op *op, const struct op *pool);
/* of op: positions of an image; images of which a tile has all positions, whole ones alone; 0: of none */
int64_t warps_of_image(const struct op *op);
int64_t warp_tile_images(const struct op *op, const struct warp_tile *t);
/* of a pooled tile: outputs of which a block has the results of all positions */
int warp_tile_pooled(const struct warp_tile *t);
/* of what is added, from a position to the next in shared memory */
int64_t warp_tile_added_row(const struct warp_tile *t);
/* bytes of shared memory; registers of a lane, about; tiles, of so many panels of a group, positions of all images */
int64_t warp_tile_shared(const struct warp_tile *t);
int warp_tile_registers(const struct multiply *m, const struct warp_tile *t);
int64_t warp_tile_count(const struct warp_tile *t, int64_t groups, int64_t positions, int64_t panels);

#endif
