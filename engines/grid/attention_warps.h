/* SPDX-License-Identifier: MIT */
/* This declares the tile of attention by fragments of warps (attention_warps.c), as the choice of a
 * schedule asks for it. */
#ifndef ENGINES_GRID_ATTENTION_WARPS_H
#define ENGINES_GRID_ATTENTION_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "kernels/attention.h"

/* This is the tile of a block. It has `rows` rows of scores, which `warps` warps share, and parts *
 * warps warps: the warps of different parts have the same rows and other keys. A warp has `keys`
 * keys in an iteration. depth is the channels of queries and keys, width the channels of values.
 * Fragments have `fragment` rows by `lanes` outputs; words have `group` channels of `bytes` bytes
 * each. iterations counts the iterations over the keys. warp_group: the block uses warp-group MMA
 * (attention_warp_groups.c). */
struct attention_tile {
        int rows, warps, parts, keys, depth, width, fragment, lanes, group, bytes;
        int64_t iterations;
        bool warp_group;
};

static inline int attention_tile_warps(const struct attention_tile *t)
{
        return t->warps * t->parts;
}
/* Returns the keys of an iteration, of all parts together. */
static inline int attention_tile_keys(const struct attention_tile *t) { return t->keys * t->parts; }
/* Returns how many iterations' keys and values lie in shared memory at a time: those of the next
 * iteration are copied while those of this one are multiplied. */
static inline int attention_tile_stages(const struct attention_tile *t)
{
        return t->iterations > 1 ? 2 : 1;
}

/* Computes the tile that the second product's schedule asks for. Returns false where the target has
 * no such multiplies, or the tile does not fit. */
bool attention_tile_of(const struct attention *a, const struct target *target,
                       const struct schedule_grid *s, struct attention_tile *t);
/* Returns the multiply of the tile's products. */
const struct multiply *attention_tile_multiply(const struct attention *a,
                                               const struct target *target,
                                               const struct attention_tile *t);
/* Returns the bytes of shared memory of a block. */
int64_t attention_tile_shared(const struct attention_tile *t);

#endif
