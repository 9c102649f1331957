/* SPDX-License-Identifier: MIT */
/* convolve_packed in fragments of warps (contract_warps.c): what the choice of a schedule asks
 * about it. */
#ifndef ENGINES_GRID_CONTRACT_WARPS_H
#define ENGINES_GRID_CONTRACT_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* The tile of sums that a block of the grid computes, and how. */
struct warp_tile {
        int positions;                  /* of a block */
        int warps, panels;              /* warps that share the positions of a panel; panels of a
                                         * block. It has warps * panels warps */
        int stages;                     /* iterations whose operands lie in shared memory at a time
                                         * / */
        int words;                      /* of channels that an iteration multiplies */
        int parts;                      /* blocks that share the channels of a tile (split-K) */
        int rows;                       /* positions of a fragment */
        int vectors, lanes;             /* a panel has vectors * lanes outputs */
        int group;                      /* channels of a word */
        int bytes;                      /* of an element of x */
        int across;                     /* blocks side by side in a cluster that has whole rows;
                                         * else 1 */
        int added;                      /* bytes of an element of the residual that is copied into
                                         * shared memory for the epilogue; 0: none is */
        int64_t length;                 /* elements of a whole row */
        bool warp_group;                /* the block's warps multiply by warp-group MMA */
        bool cluster;                   /* blocks of all parts, and those across, are a cluster,
                                         * which keeps their sums in distributed shared memory */
        bool row_clusters;              /* a cluster has whole rows of the results, and goes on with
                                         * them */
        bool fused_pool;                /* a reduction over all positions of an image is stored in
                                         * place of the results */
        bool bulk;                      /* weights come by bulk copies */
};

/* The tile that the schedule asks for; false: the target has no such multiply, or the tile does not
 * fit. */
bool warp_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                  struct warp_tile *t);
/* The same for warp-group MMA (contract_warp_groups.c): the tile, its bytes of shared memory,
 * registers of a lane, and elements from a position to the next where results wait in shared
 * memory. */
bool group_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                   struct warp_tile *t);
int64_t group_tile_shared(const struct warp_tile *t);
int group_tile_registers(const struct warp_tile *t);
int64_t group_tile_out(const struct warp_tile *t);
/* Blocks of the tile's cluster. */
int warp_tile_members(const struct warp_tile *t);
/* Elements from a position to the next in shared memory: of x; of sums. */
int64_t warp_tile_row(const struct warp_tile *t);
int64_t warp_tile_out(const struct warp_tile *t);
/* Can the blocks that share a tile be a cluster of the target, if each needs `shared` bytes of
 * shared memory besides its sums? */
bool warp_tile_clusters(const struct warp_tile *t, const struct target *target, int64_t shared);
/* Of a block's sums in distributed shared memory, [panels][positions]: elements from a position to
 * the next; elements in all. */
int64_t warp_tile_part_row(const struct warp_tile *t);
int64_t warp_tile_part(const struct warp_tile *t);
/* Does `pool` reduce values of the shape of op's results over all positions of each image, and over
 * nothing else, and are there several? */
bool warps_pools(const struct op *op, const struct op *pool);
/* Positions of an image of op's results; images that a tile has completely, 0 if it has other
 * positions as well. */
int64_t warps_of_image(const struct op *op);
int64_t warp_tile_images(const struct op *op, const struct warp_tile *t);
/* Outputs of a tile with a fused pool of which one block has the results of all positions. */
int warp_tile_pool_outputs(const struct warp_tile *t);
/* Elements of the residual from a position to the next in shared memory. */
int64_t warp_tile_added_row(const struct warp_tile *t);
/* Bytes of shared memory of a block; registers of a lane, by estimate; tiles of all groups, with
 * `positions` positions of all images and `panels` panels a group. */
int64_t warp_tile_shared(const struct warp_tile *t);
int warp_tile_registers(const struct multiply *m, const struct warp_tile *t);
int64_t warp_tile_count(const struct warp_tile *t, int64_t groups, int64_t positions,
                        int64_t panels);

#endif
