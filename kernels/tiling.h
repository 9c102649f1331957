/* SPDX-License-Identifier: MIT */
/* The tiles of a dimension have two sizes: the first `large` of them have `size` elements, the
 * others one less. */
#ifndef KERNELS_TILING_H
#define KERNELS_TILING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/size.h"

struct tiling { int64_t extent, count, large; int size; };

/* Returns as few tiles of at most `most` elements as possible. */
static inline struct tiling tiling_even(int64_t extent, int most)
{
        struct tiling tiling = { .extent = extent, .count = divide_up(extent, most) };
        tiling.size = (int)divide_up(extent, tiling.count);
        tiling.large = extent - tiling.count * (tiling.size - 1);
        return tiling;
}

static inline int tiling_size(const struct tiling *tiling, bool large)
{
        return large ? tiling->size : tiling->size - 1;
}

#endif
