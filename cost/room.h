/* SPDX-License-Identifier: MIT */
/* A kernel may count on this much of a core's second-level cache (room.c), in bytes. */
#ifndef COST_ROOM_H
#define COST_ROOM_H

#include "ir/target/target.h"

/* Returns the bytes that are not evicted between two kernels, or while one runs, as far as anybody
 * knows. */
int64_t room_whole(const struct target *t);
/* Returns the bytes for what lies between the contractions of one kernel, or is read again by every
 * panel, while weights pass through. */
int64_t room_strip(const struct target *t);
/* Returns the bytes for one of several things that a kernel keeps there at a time: scores, keys and
 * values. */
int64_t room_part(const struct target *t);
/* Returns the bytes for what is written, and read by the next kernel, where nothing passes through
 * in between. */
int64_t room_operand(const struct target *t);

#endif
