/* SPDX-License-Identifier: MIT */
/* Lines of a core's first-level data cache lie in sets by their addresses: of lines that are a
 * multiple of l1_way_bytes apart, only as many as the cache has ways stay in it, however large it
 * is (Lam, Rothberg and Wolf, The cache performance and optimizations of blocked algorithms,
 * ASPLOS 1991).
 *
 *      32 KB in 8 ways of 64 lines, rows of 3,072 floats: each row begins in the set that the row
 *      before begins in; of 14 rows that a tile reads side by side, 6 lines find no room, and are
 *      evicted before their next elements are read
 *
 * Where a target does not say how its cache is made, all lines find room. */
#ifndef IR_TARGET_CACHE_SETS_H
#define IR_TARGET_CACHE_SETS_H

#include "ir/target/target.h"

/* Returns how many of `count` lines, the first ones of rows `step` bytes apart, find no room. */
int64_t cache_sets_excess(const struct target *t, int64_t count, int64_t step);
/* Returns the pitch for rows of so many bytes: as many, or up to two lines more, so that the first
 * lines of CACHE_SETS_ROWS rows find room. */
int64_t cache_sets_pitch(const struct target *t, int64_t bytes);
enum { CACHE_SETS_ROWS = 16 };          /* Tiles have about as many rows at most. */

#endif
