/* SPDX-License-Identifier: MIT */
/* Fixed-point arithmetic of tensors. Of a product x * m * 2^(shift - 31) with a shift to the right
 * of e = -shift bits, two roundings are one shift:
 *
 *      ((x * m + 2^30 >> 31) + 2^(e - 1) - negative) >> e, where `negative` is 1 where what is in
 *      brackets is less than 0
 *      == (x * m + 2^30 + (2^(e - 1) - negative) * 2^31) >> (31 + e)
 *
 * Where results below the zero point are cut off (a ReLU), `negative` changes none, so all is what
 * the operation requantize computes. */
#include "front/compose/compose_fixed.h"

#include "front/compose/compose_arithmetic.h"

enum { SUM_BITS = 31 };

/* Returns i64 numbers, one for each multiplier, spread over x. */
static struct value *spread(struct compose *c, const struct compose_multipliers *by,
                            int64_t (*number)(const struct compose_multiplier *), enum element e,
                            const struct type *to)
{
        int64_t *numbers = arena_array(c->arena, (size_t)by->count, sizeof *numbers);
        for (int64_t i = 0; i < by->count; i++)
                numbers[i] = number(&by->m[i]);
        if (by->count == 1)
                return compose_spread(c, compose_integer(c, e, numbers[0]), to, NULL);
        struct value *v = compose_cast(c, constant_ints(c->m, numbers, (int)by->count), e);
        return compose_spread(c, v, to, (const int64_t[]){ by->axis });
}

static int64_t factor(const struct compose_multiplier *m) { return m->m; }
static int64_t left_shift(const struct compose_multiplier *m)
{
        return m->shift > 0 ? m->shift : 0;
}
static int64_t right_shift(const struct compose_multiplier *m)
{
        return m->shift < 0 ? -m->shift : 0;
}
/* Where a product is rounded once, the whole shift, and half of what it divides by. */
static int64_t once_shift(const struct compose_multiplier *m) { return SUM_BITS - m->shift; }
static int64_t once_half(const struct compose_multiplier *m)
{
        return INT64_C(1) << (SUM_BITS - m->shift - 1);
}
/* Returns half of what the right shift divides by, or 0. */
static int64_t half(const struct compose_multiplier *m)
{
        return m->shift < 0 ? INT64_C(1) << (-m->shift - 1) : 0;
}
/* Returns 1 where a right shift rounds halves away from 0. */
static int64_t rounds(const struct compose_multiplier *m) { return m->shift < 0; }

static bool any(const struct compose_multipliers *by,
                int64_t (*number)(const struct compose_multiplier *))
{
        for (int64_t i = 0; i < by->count; i++)
                if (number(&by->m[i]))
                        return true;
        return false;
}

static bool all_alike(const struct compose_multipliers *by)
{
        for (int64_t i = 1; i < by->count; i++)
                if (by->m[i].shift != by->m[0].shift)
                        return false;
        return true;
}

static struct value *shifted_left(struct compose *c, struct value *x,
                                  const struct compose_multipliers *by)
{
        if (!any(by, left_shift))
                return x;
        return compose_binary(c, OP_shl, x, spread(c, by, left_shift, E_I32, x->type));
}

/* Returns x * m as i64, where `bound` says that negative results need not be exact. */
static struct value *product(struct compose *c, struct value *x,
                             const struct compose_multipliers *by, bool bound)
{
        if (!x || !(x = shifted_left(c, x, by)))
                return NULL;
        const struct type *t = x->type;
        struct value *m = spread(c, by, factor, E_I64, t);
        struct value *high = mul(c, compose_cast(c, x, E_I64), m);
        high = compose_with(c, OP_shr, plus(c, high, (double)(1 << 30)), SUM_BITS);
        if (!any(by, right_shift))
                return high;
        struct value *y = add(c, high, spread(c, by, half, E_I64, t));
        if (!bound) {
                struct value *negative = compose_with(c, OP_shr, high, 63);
                if (!all_alike(by)) /* Those without a shift are not rounded again. */
                        negative = mul(c, negative, spread(c, by, rounds, E_I64, t));
                y = add(c, y, negative);
        }
        return compose_binary(c, OP_shr, y, spread(c, by, right_shift, E_I64, t));
}

struct value *compose_bounded(struct compose *c, struct value *x, int64_t low, int64_t high,
                              enum element to)
{
        x = compose_with(c, OP_max, x, (double)low);
        return compose_cast(c, compose_with(c, OP_min, x, (double)high), to);
}

/* Returns what the operation requantize makes of x by one shift for all. */
static struct value *requantized(struct compose *c, struct value *x,
                                 const struct compose_rescale *r, int64_t shift, int64_t rounding)
{
        const struct type *t = x->type;
        struct attr *attrs = attrs_new(c->m, OP_requantize);
        attr_set(attrs, OP_requantize, "shift", shift);
        attr_set(attrs, OP_requantize, "low", r->low);
        attr_set(attrs, OP_requantize, "high", r->high);
        attr_set(attrs, OP_requantize, "to", r->to);
        struct value *m = spread(c, &r->by, factor, E_I32, t);
        struct value *b = compose_spread(
                c, compose_integer(c, E_I64, rounding + r->zero * (INT64_C(1) << shift)), t, NULL);
        struct value *even = compose_spread(c, compose_integer(c, E_I32, 0), t, NULL);
        return m && b && even ? value_build(c->b, OP_requantize,
                                            (struct value *[]){ x, m, b, even }, 4, attrs, NULL)
                              : NULL;
}

/* Adds the zero point, and bounds the sum. */
static struct value *placed(struct compose *c, struct value *y, const struct compose_rescale *r)
{
        if (r->zero)
                y = plus(c, y, (double)r->zero);
        return compose_bounded(c, y, r->low, r->high, r->to);
}

/* Can one shift of all, by `shift` bits, be what requantize computes? A zero point of 9 bits has
 * room in 63 bits beside it. */
static bool has_one_shift(const struct compose_rescale *r, int64_t shift)
{
        enum { SHIFT_MOST = 53 };
        return all_alike(&r->by) && element_info[r->to].bytes == 1 && r->zero >= INT8_MIN &&
               r->zero <= UINT8_MAX && shift > 0 && shift <= SHIFT_MOST;
}

static struct value *rescaled_once(struct compose *c, struct value *x,
                                   const struct compose_rescale *r)
{
        const struct compose_multiplier *m = r->by.m;
        const struct type *t = x->type;
        if (has_one_shift(r, once_shift(m)))
                return requantized(c, x, r, once_shift(m), once_half(m));
        struct value *y = spread(c, &r->by, factor, E_I64, t);
        y = mul(c, compose_cast(c, x, E_I64), y);
        y = add(c, y, spread(c, &r->by, once_half, E_I64, t));
        y = compose_binary(c, OP_shr, y, spread(c, &r->by, once_shift, E_I64, t));
        return placed(c, y, r);
}

struct value *compose_rescale(struct compose *c, struct value *x, const struct compose_rescale *r)
{
        const bool bound = r->low >= r->zero;
        if (!x)
                return NULL;
        if (r->once)
                return rescaled_once(c, x, r);
        if (!(x = shifted_left(c, x, &r->by)))
                return NULL;
        const int64_t right = right_shift(r->by.m), shift = SUM_BITS + right;
        if ((bound || !any(&r->by, right_shift)) && has_one_shift(r, shift))
                return requantized(c, x, r, shift,
                                   (INT64_C(1) << (SUM_BITS - 1)) +
                                           (right ? INT64_C(1) << (shift - 1) : 0));
        struct compose_multiplier *rest = arena_array(c->arena, (size_t)r->by.count, sizeof *rest);
        for (int64_t i = 0; i < r->by.count; i++)
                rest[i] =
                        (struct compose_multiplier){ r->by.m[i].m,
                                                     r->by.m[i].shift < 0 ? r->by.m[i].shift : 0 };
        const struct compose_multipliers by = { rest, r->by.count, r->by.axis };
        return placed(c, product(c, x, &by, bound), r);
}

struct value *compose_scaled(struct compose *c, struct value *x,
                             const struct compose_multipliers *by)
{
        return compose_cast(c, product(c, x, by, false), E_I32);
}

/* A multiplier of 15 bits, and the shift of its product. */
static int64_t narrow(const struct compose_multiplier *m)
{
        return m->m < 0x7fff0000 ? (m->m + (1 << 15)) >> 16 : 0x7fff;
}
static int64_t narrow_shift(const struct compose_multiplier *m) { return 15 - m->shift; }
static int64_t narrow_half(const struct compose_multiplier *m)
{
        return INT64_C(1) << (15 - m->shift - 1);
}

struct value *compose_rescale_wide(struct compose *c, struct value *x,
                                   const struct compose_rescale *r)
{
        enum { SHIFT_END = 8 };
        if (!x)
                return NULL;
        for (int64_t i = 0; i < r->by.count; i++)
                if (r->by.m[i].shift >= SHIFT_END) {
                        compose_unsupported(c, "sums that are multiplied by 2^%d",
                                            r->by.m[i].shift);
                        return NULL;
                }
        const struct type *t = x->type;
        struct value *y = mul(c, x, spread(c, &r->by, narrow, E_I64, t));
        y = add(c, y, spread(c, &r->by, narrow_half, E_I64, t));
        y = compose_binary(c, OP_shr, y, spread(c, &r->by, narrow_shift, E_I64, t));
        /* It is cut to 32 bits. */
        return placed(c, compose_cast(c, compose_cast(c, y, E_I32), E_I64), r);
}

struct value *compose_shifted(struct compose *c, struct value *x, int exponent)
{
        if (!exponent)
                return x;
        struct value *negative = compose_with(c, OP_shr, x, 31);
        x = plus(c, compose_cast(c, x, E_I64), (double)(INT64_C(1) << (exponent - 1)));
        x = add(c, x, compose_cast(c, negative, E_I64));
        return compose_cast(c, compose_with(c, OP_shr, x, exponent), E_I32);
}

struct value *compose_looked_up(struct compose *c, struct value *x, struct value *table,
                                int64_t least)
{
        struct value *at = compose_cast(c, x, E_I32);
        if (least)
                at = plus(c, at, (double)-least);
        return at && table ? build_gather(c->b, table, at, 0) : NULL;
}

struct value *compose_round_away(struct compose *c, struct value *x)
{
        struct value *whole = compose_unary(c, OP_trunc, x);
        struct value *rest = sub(c, x, whole);
        struct value *more = compose_with(c, OP_ge, compose_unary(c, OP_abs, rest), 0.5);
        return compose_select(c, more, add(c, whole, compose_unary(c, OP_sign, rest)), whole);
}
