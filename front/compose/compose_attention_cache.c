/* SPDX-License-Identifier: MIT */
/* A cache of keys or values may hold integers of few bits, and the latest positions alone. */
#include "front/compose/compose_attention.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "ir/tensor/block_weights.h"

enum { HALF_RANGE = 8 };                /* Numbers of 4 bits are stored plus this. */

/* Returns whether the scale broadcasts to these numbers. */
static bool scale_fits(struct compose *c, const struct value *scale, const struct value *x)
{
        const int skip = 4 - value_rank(scale);
        bool fits = skip >= 0;

        for (int d = 0; d < value_rank(scale) && fits; d++)
                fits = value_extent(scale, d) == 1 ||
                       (skip + d != 2 && value_extent(scale, d) == value_extent(x, skip + d));
        return fits || compose_invalid(c, "the scale of a cache is %s, for %s",
                                       compose_text(c, scale->type), compose_text(c, x->type));
}

struct value *compose_cache_encode(struct compose *c, struct value *x, struct value *scale,
                                   int bits)
{
        const double least = bits == 8 ? -128 : -HALF_RANGE;

        if (!scale_fits(c, scale, x))
                return NULL;
        x = compose_cast(c, x, E_F32);
        x = compose_unary(c, OP_round, divide(c, x, scale));
        x = clamp(c, x, least, -least - 1);
        if (bits == 8 || !x)
                return compose_cast(c, x, E_I8);
        if (value_extent(x, 3) % 2) {
                compose_invalid(c, "heads of %lld elements, two in a byte",
                                (long long)value_extent(x, 3));
                return NULL;
        }
        const dim_t *d = x->type->dims;
        const dim_t pairs[5] = { d[0], d[1], d[2], dim_of(dim_extent(d[3]) / 2), dim_of(2) };
        x = compose_cast(c, plus(c, x, HALF_RANGE), E_U8);
        x = compose_reshape(c, x, 5, pairs);
        struct value *high = compose_with(c, OP_shl, compose_pick(c, x, 4, 1), 4);
        return compose_binary(c, OP_or, compose_pick(c, x, 4, 0), high);
}

struct value *compose_cache_decode(struct compose *c, struct value *numbers, struct value *scale,
                                   int bits)
{
        const dim_t *d = numbers->type->dims;
        struct value *x = numbers;

        if (bits == 4) {
                const dim_t dims[4] = { d[0], d[1], d[2], dim_of(2 * dim_extent(d[3])) };
                x = compose_reshape(c, build_bits_apart(c->b, x, 4, 4), 4, dims);
                x = plus(c, compose_cast(c, x, E_F32), -HALF_RANGE);
        }
        return mul(c, compose_cast(c, x, E_F32), scale);
}

/* With g = room - window + 1, the keys that are left over are a multiple of g. */
struct value *compose_cache_resident(struct compose *c, struct value *total, int64_t room,
                                     int64_t window)
{
        const double g = (double)(room - window + 1);
        struct value *over = compose_with(c, OP_max, plus(c, total, -(double)room), 0);
        struct value *times_g = compose_with(c, OP_div, plus(c, over, g - 1), g);

        return sub(c, total, times(c, times_g, g));
}

struct value *compose_cache_from(struct compose *c, struct value *cache, struct value *begin,
                                 int64_t room)
{
        const dim_t *d = cache->type->dims;
        const dim_t dims[4] = { d[0], d[1], dim_of(room), d[3] };
        const struct type *t = type_tensor(c->m, E_I64, 4, dims);
        struct value *first = compose_spread(c, begin, t, (const int64_t[]){ 0 });
        struct value *at = first ? add(c, build_iota(c->b, t, 2), first) : NULL;

        at = clamp(c, at, 0, (double)(value_extent(cache, 2) - 1));
        return at ? compose_gather_elements(c, cache, at, 2) : NULL;
}
