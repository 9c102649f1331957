/* SPDX-License-Identifier: MIT */
/* In a meeting, a position of a tile meets an offset of a window, along one dimension. Meetings
 * that read the same element of x share its load. */
#ifndef KERNELS_MEETING_H
#define KERNELS_MEETING_H

#include <stdint.h>

/* `at` is the index of the element, counted from the first position's window. */
struct meeting { int position, offset; int64_t at; };

/* Lists all meetings (m has room for positions * window), sorted so that those that read the same
 * element are contiguous and each position sees its offsets in order. Returns their number. */
int meetings_find(struct meeting *m, int positions, int window, int64_t x_step, int64_t x_window);
/* Returns the end of the meetings that read the same element as number `from`. */
int meetings_end(const struct meeting *m, int from, int count);

#endif
