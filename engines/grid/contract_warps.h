/* SPDX-License-Identifier: MIT */
/* This declares the tile of convolve_packed in fragments of warps (warp_tile.c), as the choice
 * of a schedule asks for it. */
#ifndef ENGINES_GRID_CONTRACT_WARPS_H
#define ENGINES_GRID_CONTRACT_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* A block of the grid computes this tile of sums, in this way. */
struct warp_tile {
        int positions;                  /* A block has this many positions. */
        /* `warps` warps share the positions of a panel, and the block has `panels` panels, so it
         * has warps * panels warps. */
        int warps, panels;
        int stages;                     /* The operands of this many iterations lie in shared memory
                                         * at a time. */
        int words;                      /* An iteration multiplies this many words of channels. */
        int parts;                      /* This many blocks share the channels of a tile
                                         * (split-K). */
        int rows;                       /* A fragment has this many positions. */
        int vectors, lanes;             /* A panel has vectors * lanes outputs. */
        int group;                      /* A word has this many channels. */
        int bytes;                      /* An element of x has this many bytes. */
        int across;                     /* A cluster that has whole rows has this many blocks side
                                         * by side; otherwise it is 1. */
        /* An element of the residual that is copied into shared memory for the epilogue has this
         * many bytes; 0: none is copied. */
        int added;
        int64_t length;                 /* A whole row has this many elements. */
        bool warp_group;                /* The block's warps multiply by warp-group MMA. */
        bool cluster;                   /* The blocks of all parts, and those across, are a cluster,
                                         * which keeps their sums in distributed shared memory. */
        bool row_clusters;              /* A cluster has whole rows of the results, and processes
                                         * them further. */
        bool fused_pool;                /* A reduction over all positions of an image is stored in
                                         * place of the results. */
        bool bulk;                      /* Weights come by bulk copies. */
};

/* Computes the tile that the schedule asks for. Returns false where the target has no such
 * multiply, or the tile does not fit. */
bool warp_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                  struct warp_tile *t);
/* warps_decoded returns the value, [outputs, channels ..], of which the weights of op, a packed
 * contraction, are the elements, if its kernel can compute these where it would copy them; NULL: it
 * cannot. warps_computed returns it where op is in such a kernel. */
const struct value *warps_decoded(const struct op *op, const struct target *target);
const struct value *warps_computed(const struct op *op, const struct target *target);
/* These do the same for warp-group MMA (contract_warp_groups.c): they return the tile, its bytes of
 * shared memory, the registers of a lane, and the elements from a position to the next where
 * results wait in shared memory. */
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
