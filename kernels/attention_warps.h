/* SPDX-License-Identifier: MIT */
/* Attention by blocks of warps (attention_warps.c), as far as a choice asks about it. */
#ifndef KERNELS_ATTENTION_WARPS_H
#define KERNELS_ATTENTION_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "kernels/attention.h"

/* A block's rows, shared by its warps, and the keys (columns) that it has at a time. depth: of queries and keys; width: of
 * values; fragments of `fragment` rows by `lanes` outputs; words of `group` channels; bytes: of an element that is
 * multiplied. */
struct attention_tile { int rows, warps, keys, depth, width, fragment, lanes, group, bytes; };

/* as the second product's schedule has it; false: the target has no such multiplies, or it cannot be */
bool attention_tile_of(const struct attention *a, const struct target *target, const struct schedule *s, struct attention_tile *t);
/* bytes of shared memory; registers of a lane, about */
int64_t attention_tile_shared(const struct attention_tile *t);
int attention_tile_registers(const struct attention_tile *t);

#endif
