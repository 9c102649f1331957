/* SPDX-License-Identifier: MIT */
#include "passes/simplify/fixed.h"

#include <math.h>

#include "passes/simplify/ranges.h"

enum { LOW = 31 };                      /* A multiplier has so many bits behind the point. */

struct fixed fixed_of(const struct op *op)
{
        const struct whole_range all = whole_range_of_element((enum element)op_int(op, "to"));
        const int64_t least = (int64_t)all.low, most = (int64_t)all.high, low = op_int(op, "low"),
                      high = op_int(op, "high");
        return (struct fixed){ .once = op_int(op, "once"),
                               .zero = op_int(op, "zero"),
                               .low = low < least ? least : low > most ? most : low,
                               .high = high > most ? most : high < least ? least : high };
}

/* Returns x / 2^shift, rounded down. */
static int64_t floored(int64_t x, int shift)
{
        return x >= 0 ? x >> shift : -((-x - 1) >> shift) - 1;
}

int64_t fixed_at(const struct fixed *f, int64_t x)
{
        const int64_t half = INT64_C(1) << (LOW - 1);
        int64_t y = x * f->m;
        if (f->once) {
                y = floored(y + half * (INT64_C(1) << f->e), LOW + f->e);
        } else {
                y = floored(y + half, LOW);
                if (f->e)
                        y = floored(y + (INT64_C(1) << (f->e - 1)) - (y < 0), f->e);
        }
        y += f->zero;
        return y < f->low ? f->low : y > f->high ? f->high : y;
}

double fixed_slope(const struct fixed *f) { return ldexp(f->m, -LOW - f->e); }
