/* SPDX-License-Identifier: MIT */
/* Floats are quantized as they run, multiplied by weights of 8 bits, and become floats again:
 * scale(x) * scale(w) * sum + bias. */
#include "front/compose/compose_fixed.h"

#include <string.h>

#include "front/compose/compose_arithmetic.h"

/* Numbers less their zero point (i32), and the scale of each sample (f32 [N]). */
struct numbers {
        struct value *q, *scale;
};

/* Returns v, a number for each sample, or each row of matrices, as a factor of each number of x. */
static struct value *over_sample(struct compose *c, struct value *v, const struct type *x)
{
        int64_t axes[RANK_MAX];
        compose_axes_from(0, v ? value_rank(v) : 0, axes);
        return compose_spread(c, v, x, axes);
}

/* Returns x / scale rounded, halves away from 0, where the largest magnitude is 127. */
static bool quantize_symmetric(struct compose *c, struct value *x, struct value *least,
                               struct value *most, struct numbers *n)
{
        least = compose_unary(c, OP_abs, least);
        most = compose_unary(c, OP_abs, most);
        struct value *range = compose_binary(c, OP_max, least, most);
        struct value *none = compose_with(c, OP_eq, range, 0);
        if (!none)
                return false;
        range = compose_select(c, none, build_like(c->b, range, 127), range);
        n->scale = compose_with(c, OP_div, range, 127);
        struct value *inverse = over_sample(c, compose_from(c, OP_div, 127, range), x->type);
        struct value *q = compose_round_away(c, mul(c, x, inverse));
        n->q = compose_cast(c, q ? clamp(c, q, -127, 127) : NULL, E_I32);
        return n->q && n->scale;
}

/* Returns the zero point: that for which the end of the range with the smaller error is exact. */
static struct value *zero_point(struct compose *c, struct value *least, struct value *most,
                                struct value *scale)
{
        const double low = -128, high = 127;
        struct value *below = divide(c, least, scale), *above = divide(c, most, scale);
        struct value *from_least = compose_from(c, OP_sub, low, below);
        struct value *from_most = compose_from(c, OP_sub, high, above);
        struct value *least_error = plus(c, compose_unary(c, OP_abs, below), -low);
        struct value *most_error = plus(c, compose_unary(c, OP_abs, above), high);
        struct value *smaller = compose_binary(c, OP_lt, least_error, most_error);
        struct value *zero = compose_select(c, smaller, from_least, from_most);
        return zero ? compose_round_away(c, clamp(c, zero, low, high)) : NULL;
}

static bool quantize_asymmetric(struct compose *c, struct value *x, struct value *least,
                                struct value *most, struct numbers *n)
{
        least = compose_cast(c, compose_with(c, OP_min, least, 0), E_F64);
        most = compose_cast(c, compose_with(c, OP_max, most, 0), E_F64);
        struct value *none = compose_binary(c, OP_eq, least, most);
        struct value *scale = compose_with(c, OP_div, sub(c, most, least), 255);
        if (!none || !scale)
                return false;
        scale = compose_select(c, none, build_like(c->b, scale, 1), scale);
        struct value *zero = compose_cast(c, zero_point(c, least, most, scale), E_F32);
        if (!zero)
                return false;
        zero = compose_select(c, none, build_like(c->b, zero, 0), zero);
        n->scale = compose_cast(c, scale, E_F32);
        struct value *inverse = over_sample(c, compose_from(c, OP_div, 1, n->scale), x->type);
        struct value *wide = over_sample(c, zero, x->type);
        struct value *q = compose_round_away(c, add(c, wide, mul(c, x, inverse)));
        q = q ? sub(c, clamp(c, q, -128, 127), wide) : NULL;
        n->q = compose_cast(c, q, E_I32);
        return n->q != NULL;
}

/* Quantizes x: the dimensions from `first` on have one scale. */
static bool quantize(struct compose *c, struct value *x, int first, bool asymmetric,
                     struct numbers *n)
{
        int64_t axes[RANK_MAX];
        const int reduced = compose_axes_from(first, value_rank(x), axes);
        struct value *least = compose_reduce(c, REDUCE_min, x, axes, reduced, E_COMPUTE);
        struct value *most = compose_reduce(c, REDUCE_max, x, axes, reduced, E_COMPUTE);
        return least && most &&
               (asymmetric ? quantize_asymmetric : quantize_symmetric)(c, x, least, most, n);
}

struct value *compose_hybrid(struct compose *c, const struct compose_hybrid *h)
{
        struct value *x = h->x, *w = compose_cast(c, h->w, E_I32), *sum;
        const int64_t outputs = value_extent(h->w, 0), count = h->scale_count;
        struct numbers n = { 0 };

        if (count != 1 && count != outputs) {
                compose_invalid(c, "the weights have %lld scales, want 1 or %lld", (long long)count,
                                (long long)outputs);
                return NULL;
        }
        if (!w || !quantize(c, x, 1, h->asymmetric, &n))
                return NULL;
        if (!h->window)
                sum = compose_dot(c, n.q, w, 0, 1, 1, E_I32);
        else
                sum = compose_conv_place(c, n.q, w, h->window, h->groups)
                              ? compose_convolve(c, n.q, w, h->window, h->groups, E_I32)
                              : NULL;
        if (!sum)
                return NULL;
        const struct type *scales = type_static(c->m, E_F32, 1, &count);
        struct value *factor =
                compose_along(c, constant_dense(c->m, scales, h->scales, NULL), sum->type, 1);
        struct value *y = mul(c, compose_cast(c, sum, E_F32), factor);
        y = y ? mul(c, y, over_sample(c, n.scale, y->type)) : NULL;
        return compose_with_bias(c, y, h->bias);
}

struct value *compose_hybrid_matmul(struct compose *c, struct value *x, struct value *w,
                                    double scale, bool asymmetric)
{
        struct numbers n = { 0 };
        if (!quantize(c, x, value_rank(x) - 1, asymmetric, &n))
                return NULL;
        struct value *sum = compose_matmul_as(c, n.q, compose_cast(c, w, E_I32), E_I32);
        struct value *y = compose_with(c, OP_mul, compose_cast(c, sum, E_F32), scale);
        dim_t column[RANK_MAX];
        memcpy(column, x->type->dims, (size_t)value_rank(x) * sizeof *column);
        column[value_rank(x) - 1] = dim_of(1);
        struct value *pair[] = { y, compose_reshape(c, n.scale, value_rank(x), column) };
        return y && pair[1] && compose_broadcast(c, pair, 2) ? mul(c, pair[0], pair[1]) : NULL;
}
