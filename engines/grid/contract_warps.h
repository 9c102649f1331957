/* SPDX-License-Identifier: MIT */
/* convolve_packed in fragments of warps (contract_warps.c): its tile, as the choice of a schedule
 * asks for it. */
#ifndef ENGINES_GRID_CONTRACT_WARPS_H
#define ENGINES_GRID_CONTRACT_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* The tile of sums that a block of the grid computes, and how. */
struct warp_tile {
        int positions;                  /* The positions of a block. */
        /* `warps` warps share the positions of a panel, and the block has `panels` panels, so it
         * has warps * panels warps. */
        int warps, panels;
        int stages;                     /* The iterations whose operands lie in shared memory at a
                                         * time. */
        int words;                      /* The words of channels that an iteration multiplies. */
        int parts;                      /* The blocks that share the channels of a tile
                                         * (split-K). */
        int rows;                       /* The positions of a fragment. */
        int vectors, lanes;             /* A panel has vectors * lanes outputs. */
        int group;                      /* The channels of a word. */
        int bytes;                      /* The bytes of an element of x. */
        int across;                     /* The blocks side by side in a cluster that has whole rows;
                                         * otherwise 1. */
        /* The bytes of an element of the residual that is copied into shared memory for the
         * epilogue; 0: none is copied. */
        int added;
        int64_t length;                 /* The elements of a whole row. */
        bool warp_group;                /* the block's warps multiply by warp-group MMA */
        bool cluster;                   /* The blocks of all parts, and those across, are a cluster,
                                         * which keeps their sums in distributed shared memory. */
        bool row_clusters;              /* A cluster has whole rows of the results, and processes
                                         * them further. */
        bool fused_pool;                /* a reduction over all positions of an image is stored in
                                         * place of the results */
        bool bulk;                      /* Weights come by bulk copies. */
};

/* Computes the tile that the schedule asks for. Returns false where the target has no such
 * multiply, or the tile does not fit. */
bool warp_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                  struct warp_tile *t);
/* The same for warp-group MMA (contract_warp_groups.c): they return the tile, its bytes of shared
 * memory, the registers of a lane, and the elements from a position to the next where results wait
 * in shared memory. */
bool group_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                   struct warp_tile *t);
int64_t group_tile_shared(const struct warp_tile *t);
int group_tile_registers(const struct warp_tile *t);
int64_t group_tile_out(const struct warp_tile *t);
/* Returns the blocks of the tile's cluster. */
int warp_tile_members(const struct warp_tile *t);
/* Return the elements from a position to the next in shared memory: of x, and of sums. */
int64_t warp_tile_row(const struct warp_tile *t);
int64_t warp_tile_out(const struct warp_tile *t);
/* Can the blocks that share a tile be a cluster of the target, if each needs `shared` bytes of
 * shared memory besides its sums? */
bool warp_tile_clusters(const struct warp_tile *t, const struct target *target, int64_t shared);
/* A block's sums in distributed shared memory are [panels][positions]: warp_tile_part_row returns
 * the elements from a position to the next, warp_tile_part all elements. */
int64_t warp_tile_part_row(const struct warp_tile *t);
int64_t warp_tile_part(const struct warp_tile *t);
/* Does `pool` reduce values of the shape of op's results over all positions of each image, and over
 * nothing else, and are there several? */
bool warps_pools(const struct op *op, const struct op *pool);
/* warps_of_image returns the positions of an image of op's results. warp_tile_images returns the
 * images that a tile has completely; 0 if it has other positions as well. */
int64_t warps_of_image(const struct op *op);
int64_t warp_tile_images(const struct op *op, const struct warp_tile *t);
/* Returns the outputs of a tile with a fused pool for which one block has the results of all
 * positions. */
int warp_tile_pool_outputs(const struct warp_tile *t);
/* Returns the elements of the residual from a position to the next in shared memory. */
int64_t warp_tile_added_row(const struct warp_tile *t);
/* warp_tile_shared returns the bytes of shared memory of a block; warp_tile_registers estimates the
 * registers of a lane; warp_tile_count returns the tiles of all groups, with `positions` positions
 * of all images and `panels` panels a group. */
int64_t warp_tile_shared(const struct warp_tile *t);
int warp_tile_registers(const struct multiply *m, const struct warp_tile *t);
int64_t warp_tile_count(const struct warp_tile *t, int64_t groups, int64_t positions,
                        int64_t panels);

#endif
