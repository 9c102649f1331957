/* SPDX-License-Identifier: MIT */
/* What of a core's second cache a kernel may count on (room.c), in bytes. */
#ifndef COST_ROOM_H
#define COST_ROOM_H

#include "ir/target/target.h"

/* what is not evicted between two kernels, or while one runs, as far as anybody knows */
int64_t room_whole(const struct target *t);
/* of what lies between the contractions of one kernel, or is read again by every panel, beside
 * weights that pass through */
int64_t room_strip(const struct target *t);
/* of one of several things that a kernel has there at a time: scores, keys and values */
int64_t room_part(const struct target *t);
/* of what is written, and read by the next kernel, where nothing passes through between them */
int64_t room_operand(const struct target *t);

#endif
