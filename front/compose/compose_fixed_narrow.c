/* SPDX-License-Identifier: MIT */
/* Functions of tensors of 16 bits in fixed point, which are kept in i32: e^x by a Taylor series
 * and a product of powers of e, 1 / (1 + x) by three steps of Newton and Raphson. */
#include "front/compose/compose_lstm.h"

#include "front/compose/compose_arithmetic.h"

enum { BITS = 15, ONE = INT16_MAX };

/* Returns the rounded high half of twice the product. */
static struct value *high(struct compose *c, struct value *a, struct value *b)
{
        return compose_with(c, OP_shr, plus(c, mul(c, a, b), 1 << (BITS - 1)), BITS);
}

static struct value *high_by(struct compose *c, struct value *a, double number)
{
        return compose_with(c, OP_shr, plus(c, times(c, a, number), 1 << (BITS - 1)), BITS);
}

static struct value *left(struct compose *c, struct value *x, int exponent)
{
        return clamp(c, compose_with(c, OP_shl, x, exponent), INT16_MIN, INT16_MAX);
}

static struct value *right(struct compose *c, struct value *x, int exponent)
{
        struct value *negative = compose_with(c, OP_shr, x, 31);
        x = add(c, plus(c, x, 1 << (exponent - 1)), negative);
        return compose_with(c, OP_shr, x, exponent);
}

/* Returns e^a for a in [-1/4, 0). */
static struct value *exp_near(struct compose *c, struct value *a)
{
        const double constant = 28918, third = 10923;
        struct value *x = plus(c, a, 1 << (BITS - 3));
        struct value *x2 = high(c, x, x), *x3 = high(c, x2, x), *x4 = high(c, x2, x2);
        struct value *sum = add(c, right(c, x4, 2), x3);
        sum = right(c, add(c, high_by(c, sum, third), x2), 1);
        struct value *y = plus(c, high_by(c, add(c, x, sum), constant), constant);
        return clamp(c, y, INT16_MIN, INT16_MAX);
}

/* Returns e^a for a <= 0. */
static struct value *exp_of(struct compose *c, struct value *a, int integer_bits)
{
        static const int powers[] = { 25520, 19875, 12055, 4435, 600, 11, 0 };
        const int fraction_bits = BITS - integer_bits, quarter = 1 << (fraction_bits - 2);
        struct value *part = plus(c, compose_with(c, OP_and, a, quarter - 1), -quarter);
        struct value *y = exp_near(c, left(c, part, integer_bits));
        struct value *rest = sub(c, part, a);
        for (int k = -2; k < 5 && k < integer_bits; k++) {
                struct value *set = compose_with(
                        c, OP_ne, compose_with(c, OP_and, rest, 1 << (fraction_bits + k)), 0);
                y = compose_select(c, set, high_by(c, y, powers[k + 2]), y);
        }
        struct value *none = compose_with(c, OP_eq, a, 0);
        return y && none ? compose_select(c, none, build_like(c->b, y, ONE), y) : NULL;
}

/* Returns 1 / ((1 + a) / 2) for a in [0, 1], with 2 integer bits. */
static struct value *inverse_of_half(struct compose *c, struct value *a)
{
        struct value *half = compose_with(c, OP_shr, plus(c, a, ONE + 1), 1);
        struct value *x = plus(c, high_by(c, half, -15420), 23130);
        for (int i = 0; i < 3; i++) {
                struct value *error = compose_from(c, OP_sub, 1 << (BITS - 2), high(c, half, x));
                x = add(c, x, left(c, high(c, x, error), 2));
        }
        return x;
}

static struct value *below_zero(struct compose *c, struct value *x)
{
        return compose_unary(c, OP_neg, compose_unary(c, OP_abs, x));
}

/* Returns the magnitude y with the sign of x, where `other` is y of a negative x; `middle` where x
 * is 0. */
static struct value *by_sign(struct compose *c, struct value *x, struct value *y,
                             struct value *other, double middle)
{
        struct value *positive = compose_with(c, OP_gt, x, 0), *none = compose_with(c, OP_eq, x, 0);
        y = compose_select(c, positive, y, other);
        return y && none ? compose_select(c, none, build_like(c->b, y, middle), y) : NULL;
}

struct value *compose_narrow_logistic(struct compose *c, struct value *x, int integer_bits)
{
        struct value *e = exp_of(c, below_zero(c, x), integer_bits);
        struct value *y = left(c, inverse_of_half(c, e), 1);
        return by_sign(c, x, y, compose_from(c, OP_sub, ONE, y), 1 << (BITS - 1));
}

struct value *compose_narrow_tanh(struct compose *c, struct value *x, int integer_bits)
{
        struct value *e = exp_of(c, below_zero(c, x), integer_bits + 1);
        struct value *y = left(c, plus(c, inverse_of_half(c, e), -(1 << (BITS - 2))), 2);
        return by_sign(c, x, y, compose_unary(c, OP_neg, y), 0);
}
