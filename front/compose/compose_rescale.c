/* SPDX-License-Identifier: MIT */
/* Fixed-point arithmetic of tensors. Products of sums of 32 bits are the operation rescale, which
 * passes turn into what a machine does fast; those of 64 bits are ordinary operations. */
#include "front/compose/compose_fixed.h"

#include "front/compose/compose_arithmetic.h"

/* Returns numbers, one for each multiplier, spread over x. */
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
static bool any(const struct compose_multipliers *by,
                int64_t (*number)(const struct compose_multiplier *))
{
        for (int64_t i = 0; i < by->count; i++)
                if (number(&by->m[i]))
                        return true;
        return false;
}

static struct value *shifted_left(struct compose *c, struct value *x,
                                  const struct compose_multipliers *by)
{
        if (!any(by, left_shift))
                return x;
        return compose_binary(c, OP_shl, x, spread(c, by, left_shift, E_I32, x->type));
}

struct value *compose_bounded(struct compose *c, struct value *x, int64_t low, int64_t high,
                              enum element to)
{
        x = compose_with(c, OP_max, x, (double)low);
        return compose_cast(c, compose_with(c, OP_min, x, (double)high), to);
}

/* Adds the zero point, and bounds the sum. */
static struct value *placed(struct compose *c, struct value *y, const struct compose_rescale *r)
{
        if (r->zero)
                y = plus(c, y, (double)r->zero);
        return compose_bounded(c, y, r->low, r->high, r->to);
}

static int64_t whole_shift(const struct compose_multiplier *m) { return 31 - m->shift; }
static int64_t whole_half(const struct compose_multiplier *m)
{
        return INT64_C(1) << (30 - m->shift);
}

/* Rounds a product once by shifts of less than 31 bits, too: x, shifted left, need not fit into 32
 * bits. */
static struct value *rescaled_wide(struct compose *c, struct value *x,
                                   const struct compose_rescale *r)
{
        const struct type *t = x->type;
        struct value *m = spread(c, &r->by, factor, E_I64, t);
        struct value *y = mul(c, compose_cast(c, x, E_I64), m);
        y = add(c, y, spread(c, &r->by, whole_half, E_I64, t));
        y = compose_binary(c, OP_shr, y, spread(c, &r->by, whole_shift, E_I64, t));
        return placed(c, y, r);
}

struct value *compose_rescale(struct compose *c, struct value *x, const struct compose_rescale *r)
{
        if (x && r->once && any(&r->by, left_shift))
                return rescaled_wide(c, x, r);
        if (!x || !(x = shifted_left(c, x, &r->by)))
                return NULL;
        struct value *m = spread(c, &r->by, factor, E_I32, x->type),
                     *e = spread(c, &r->by, right_shift, E_I32, x->type);
        struct attr *attrs = attrs_new(c->m, OP_rescale);
        attr_set(attrs, OP_rescale, "once", r->once);
        attr_set(attrs, OP_rescale, "zero", r->zero);
        attr_set(attrs, OP_rescale, "low", r->low);
        attr_set(attrs, OP_rescale, "high", r->high);
        attr_set(attrs, OP_rescale, "to", r->to);
        return m && e ? value_build(c->b, OP_rescale, (struct value *[]){ x, m, e }, 3, attrs, NULL)
                      : NULL;
}

struct value *compose_scaled(struct compose *c, struct value *x,
                             const struct compose_multipliers *by)
{
        return compose_rescale(c, x,
                               &(struct compose_rescale){ .by = *by,
                                                          .low = INT32_MIN,
                                                          .high = INT32_MAX,
                                                          .to = E_I32 });
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
