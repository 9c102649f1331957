/* SPDX-License-Identifier: MIT */
/* Meetings: where the positions of a tile meet the offsets of a window, along one dimension.
 * Several that read the same element of x share its load. */
#ifndef KERNELS_MEETING_H
#define KERNELS_MEETING_H

#include <stdint.h>

struct meeting { int position, offset; int64_t at; };     /* at: elements of x behind the first
                                                           * position's window */

/* All of them (room for positions * window), those that read the same one after the other; for each
 * position in the order of the offsets. Returns how many. */
int meetings_find(struct meeting *m, int positions, int window, int64_t x_step, int64_t x_window);
/* the end of those that read the same as number `from` */
int meetings_end(const struct meeting *m, int from, int count);

#endif
