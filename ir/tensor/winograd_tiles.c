/* SPDX-License-Identifier: MIT */
#include "ir/tensor/winograd_tiles.h"

#include <stddef.h>

static const struct winograd table[] = {
        { .tile = 2,
          .size = 4,
          .input = { 4,
                     4,
                     { { 0, 2, -1 }, { 1, 2, 1 }, { 2, 1, -1 }, { 1, 3, -1 } },
                     4,
                     { 4, 5, 6, 7 } },
          .output = { 4, 2, { { 0, 1, 1 }, { 4, 2, 1 }, { 1, 2, -1 }, { 6, 3, -1 } }, 4, { 5, 7 } },
          .window = { { 1, 0, 0 }, { .5, .5, .5 }, { .5, -.5, .5 }, { 0, 0, 1 } } },
        { .tile = 4,
          .size = 6,
          .input = { 6,
                     6,
                     { { 4, 2, -5 },
                       { 6, 0, 4 }, /* 4 x0 - 5 x2 + x4 */
                       { 4, 2, -4 },
                       { 3, 1, -4 },
                       { 8, 9, 1 },
                       { 8, 9, -1 }, /* (x4 - 4 x2) +- (x3 - 4 x1) */
                       { 4, 2, -1 },
                       { 3, 1, -1 },
                       { 12, 13, 2 },
                       { 12, 13, -2 }, /* (x4 - x2) +- 2 (x3 - x1) */
                       { 5, 3, -5 },
                       { 16, 1, 4 } }, /* 4 x1 - 5 x3 + x5 */
                     12,
                     { 7, 10, 11, 14, 15, 17 } },
          .output = { 6,
                      4,
                      { { 1, 2, 1 },
                        { 1, 2, -1 },
                        { 3, 4, 1 },
                        { 3, 4, -1 }, /* s, d = x1 +- x2; p, q = x3 +- x4 */
                        { 0, 6, 1 },
                        { 10, 8, 1 }, /* x0 + s + p */
                        { 7, 9, 2 },
                        { 6, 8, 4 }, /* d + 2 q, s + 4 p */
                        { 7, 9, 8 },
                        { 14, 5, 1 } }, /* d + 8 q + x5 */
                      10,
                      { 11, 12, 13, 15 } },
          .window = { { 1. / 4, 0, 0 },
                      { -1. / 6, -1. / 6, -1. / 6 },
                      { -1. / 6, 1. / 6, -1. / 6 },
                      { 1. / 24, 1. / 12, 1. / 6 },
                      { 1. / 24, -1. / 12, 1. / 6 },
                      { 0, 0, 1 } } },
};

const struct winograd *winograd_find(int64_t tile)
{
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (table[i].tile == tile)
                        return &table[i];
        return NULL;
}

double winograd_flops(const struct winograd_line *line)
{
        double flops = 0;
        for (int i = 0; i < line->step_count; i++)
                flops += line->steps[i].k == 1 || line->steps[i].k == -1 ? 1 : 2;
        return flops * (line->count + line->results);
}
