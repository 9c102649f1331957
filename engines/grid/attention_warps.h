/* SPDX-License-Identifier: MIT */
/* Attention by blocks of warps (attention_warps.c), as far as a choice asks about it. */
#ifndef ENGINES_GRID_ATTENTION_WARPS_H
#define ENGINES_GRID_ATTENTION_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "kernels/attention.h"

/* A block's rows, shared by `warps` of its warps, and the keys (columns) that one has at a time; parts: so many times as many warps, which have
 * the same rows and other keys. turns: of keys; depth: of queries and keys; width: of values; fragments of `fragment` rows by `lanes` outputs;
 * words of `group` channels; bytes: of an element that is multiplied; together: four warps multiply as one (attention_warp_groups.c). */
struct attention_tile { int rows, warps, parts, keys, depth, width, fragment, lanes, group, bytes; int64_t turns; bool together; };

static inline int attention_tile_warps(const struct attention_tile *t) { return t->warps * t->parts; }
/* keys of a turn: of all parts */
static inline int attention_tile_keys(const struct attention_tile *t) { return t->keys * t->parts; }
/* turns of keys and values that are in shared memory at a time: the next one's are copied while one's are multiplied */
static inline int attention_tile_stages(const struct attention_tile *t) { return t->turns > 1 ? 2 : 1; }

/* as the second product's schedule has it; false: the target has no such multiplies, or it cannot be */
bool attention_tile_of(const struct attention *a, const struct target *target, const struct schedule *s, struct attention_tile *t);
/* by which its products are made */
const struct multiply *attention_tile_multiply(const struct attention *a, const struct target *target, const struct attention_tile *t);
/* bytes of shared memory */
int64_t attention_tile_shared(const struct attention_tile *t);

#endif
