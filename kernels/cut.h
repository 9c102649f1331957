/* SPDX-License-Identifier: MIT */
/* A dimension in tiles: the first `large` of them have `size` elements, the others one less. */
#ifndef KERNELS_CUT_H
#define KERNELS_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/size.h"

struct cut { int64_t extent, count, large; int size; };

/* as few tiles of `most` elements at most as there can be */
static inline struct cut cut_evenly(int64_t extent, int most)
{
        struct cut cut = { .extent = extent, .count = divide_up(extent, most) };
        cut.size = (int)divide_up(extent, cut.count);
        cut.large = extent - cut.count * (cut.size - 1);
        return cut;
}

static inline int cut_size(const struct cut *cut, bool large)
{
        return large ? cut->size : cut->size - 1;
}

#endif
