/* SPDX-License-Identifier: MIT */
#include "ir/target/cache_sets.h"

static int64_t common_divisor(int64_t a, int64_t b)
{
        while (b) {
                const int64_t rest = a % b;
                a = b;
                b = rest;
        }
        return a;
}

int64_t cache_sets_excess(const struct target *t, int64_t count, int64_t step)
{
        const int64_t way = target_l1_way_bytes(t), line = target_line_bytes(t);
        if (!way || step < line)
                return 0;
        const int64_t sets = way / line, met = sets / common_divisor(step / line, sets),
                      room = target_l1_bytes(t) / way * met;
        return count > room ? count - room : 0;
}

int64_t cache_sets_pitch(const struct target *t, int64_t bytes)
{
        if (!cache_sets_excess(t, CACHE_SETS_ROWS, bytes))
                return bytes;
        const int64_t line = target_line_bytes(t);
        return ((bytes + line - 1) / line | 1) * line;
}
