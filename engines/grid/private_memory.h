/* SPDX-License-Identifier: MIT */
/* Memory of a kernel in grid form may be private in effect: no other warp, or no other lane,
 * touches what one has stored there. */
#ifndef ENGINES_GRID_PRIVATE_MEMORY_H
#define ENGINES_GRID_PRIVATE_MEMORY_H

#include "ir/loop/loop.h"

/* Is b memory of a warp, declared outside of this loop over its lanes, so that its lanes share it?
 * Such memory begins at a multiple of COPY_BYTES bytes. */
bool private_to_warp(const struct loop_stmt *lanes, const struct loop_buffer *b);

/* Each warp of the phase touches a part of these buffers that no other warp touches. */
struct private_memory { const struct loop_buffer **buffers; int count; };
/* `phase` is a block that holds the phase's loop alone, and `warps` the warps of one of its thread
 * blocks. The list is in the arena. */
struct private_memory private_memory_find(struct arena *arena, const struct loop_function *f,
                                          struct loop_block *phase, int64_t warps);
bool private_memory_has(const struct private_memory *m, const struct loop_buffer *b);

#endif
