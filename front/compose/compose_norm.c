/* SPDX-License-Identifier: MIT */
/* Normalizations are sums over axes and element-wise arithmetic. */
#include "front/compose/compose_norm.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_reduce.h"

static struct value *square(struct compose *c, struct value *x) { return mul(c, x, x); }

/* Returns x; under --exact it is in units that keep sums and squares of f32 within its range: the
 * power of two next to the largest magnitude along axes, so that a quotient by it is exact. Where
 * epsilon decides about small numbers, units are at least 1. *unit is that of each sum. Where it is
 * NULL, x is as it was, as in onnxruntime and PyTorch, in whose kernels a variance beyond 3.4e38 is
 * infinite. */
static struct value *in_units(struct compose *c, struct value *x, const int64_t *axes, int count,
                              double epsilon, struct value **unit)
{
        enum { EXPONENT_BITS = 0x7f800000 };
        const double least = 0x1p-100, decides = 0x1p-80;

        *unit = NULL;
        if (!x || !c->exact || x->type->element != E_F32)
                return x;
        struct value *most = compose_reduce(c, REDUCE_max, compose_unary(c, OP_abs, x), axes, count,
                                            E_COMPUTE),
                     *bits = compose_with(c, OP_and, compose_as_bits(c, most, E_I32),
                                          EXPONENT_BITS);
        *unit = compose_with(c, OP_max, compose_as_bits(c, bits, E_F32),
                             epsilon > decides ? 1 : least);
        return divide(c, x, compose_unreduce(c, *unit, x->type, axes, count));
}

/* Returns, in units, 1 / sqrt(x + epsilon), where x is in squares of units. */
static struct value *inverse_root(struct compose *c, struct value *x, double epsilon,
                                  struct value *unit)
{
        struct value *sum =
                unit ? add(c, x, divide(c, compose_from(c, OP_div, epsilon, unit), unit))
                     : plus(c, x, epsilon);
        return compose_unary(c, OP_reciprocal, compose_unary(c, OP_sqrt, sum));
}

/* Returns x - mean, and the mean. In units, the rounding error of the mean is subtracted, too:
 * it would be as large as deviations from a mean that is 2^24 times theirs. */
static struct value *deviations(struct compose *c, struct value *x, const int64_t *axes, int count,
                                const struct value *unit, struct value **mean)
{
        *mean = compose_mean(c, x, axes, count);
        struct value *deviation = sub(c, x, compose_unreduce(c, *mean, x->type, axes, count));
        if (!unit)
                return deviation;
        struct value *error = compose_mean(c, deviation, axes, count);
        *mean = add(c, *mean, error);
        return sub(c, deviation, compose_unreduce(c, error, x->type, axes, count));
}

/* Returns (x - mean) / sqrt(variance + epsilon) along axes; *mean and *inverse are set to the mean
 * and the factor that the function makes on its way. */
static struct value *standardize(struct compose *c, struct value *x, const int64_t *axes, int count,
                                 double epsilon, struct value **mean, struct value **inverse)
{
        struct value *unit;

        if (!(x = in_units(c, x, axes, count, epsilon, &unit)))
                return NULL;
        struct value *deviation = deviations(c, x, axes, count, unit, mean);
        *mean = unit ? mul(c, *mean, unit) : *mean;
        *inverse =
                inverse_root(c, compose_mean(c, square(c, deviation), axes, count), epsilon, unit);
        struct value *y = mul(c, deviation, compose_unreduce(c, *inverse, x->type, axes, count));
        *inverse = unit ? divide(c, *inverse, unit) : *inverse;
        return y;
}

/* Returns x / sqrt(mean square + epsilon) along axes, and *inverse, the factor of x. */
static struct value *scale_to_one(struct compose *c, struct value *x, const int64_t *axes,
                                  int count, double epsilon, struct value **inverse)
{
        struct value *unit;

        if (!(x = in_units(c, x, axes, count, epsilon, &unit)))
                return NULL;
        *inverse = inverse_root(c, compose_mean(c, square(c, x), axes, count), epsilon, unit);
        struct value *y = mul(c, x, compose_unreduce(c, *inverse, x->type, axes, count));
        *inverse = unit ? divide(c, *inverse, unit) : *inverse;
        return y;
}

/* Returns x with the dimensions from the axis on side by side, as one. */
static struct value *as_rows(struct compose *c, struct value *x, int axis)
{
        const dim_t dims[2] = { type_product(c->m, x->type, 0, axis),
                                type_product(c->m, x->type, axis, value_rank(x)) };

        return compose_reshape(c, x, 2, dims);
}

/* ---- batches ---- */

/* Checks a parameter of x's channels, or of every element but the batch. */
static bool parameter_fits(struct compose *c, const char *what, const struct type *t,
                           const struct type *x, bool each)
{
        int rank = each ? x->rank - 1 : 1;
        bool fits = t->rank == rank && element_is_float(t->element);

        for (int d = 0; d < rank && fits; d++)
                fits = dim_is(t->dims[d], x->rank > 1 ? type_extent(x, d + 1) : 1);
        return fits || compose_invalid(c, "%s %s for an input %s", what, compose_text(c, t),
                                       compose_text(c, x));
}

/* Sets the mean and variance in b to those of x itself, and the running ones to what follows from
 * those of `given`. */
static bool batch_statistics(struct compose *c, const struct type *x_given, struct value *x,
                             const struct compose_batch_norm *given, struct compose_batch_norm *b,
                             struct value **running)
{
        const struct type *t = x->type;
        struct value *old[2] = { b->mean, b->variance };
        int64_t axes[RANK_MAX];
        int count = 0;

        if (x_given->rank < 2)
                return compose_invalid(c, "the input is of rank %d, want at least 2", t->rank);
        for (int d = 0; d < t->rank; d++)
                if (d != 1)
                        axes[count++] = d;
        b->mean = compose_mean(c, x, axes, count);
        struct value *centered = sub(c, x, compose_unreduce(c, b->mean, t, axes, count));
        b->variance = compose_mean(c, square(c, centered), axes, count);
        for (int i = 0; i < 2; i++) {
                struct value *own =
                        times(c, i ? b->variance : b->mean, 1 - (double)given->momentum);
                struct value *next = add(c, times(c, old[i], given->momentum), own);
                running[i] =
                        compose_cast(c, next, value_element(i ? given->variance : given->mean));
                if (!running[i])
                        return false;
        }
        return true;
}

struct value *compose_batch_norm(struct compose *c, struct value *x,
                                 const struct compose_batch_norm *given, struct value *running[2])
{
        static const char *const what[4] = { "the scale is", "the bias is", "the mean is",
                                             "the variance is" };
        struct compose_batch_norm p = *given;
        struct value **v[4] = { &p.scale, &p.bias, &p.mean, &p.variance };
        const struct type *was = x->type;
        int64_t dims[RANK_MAX];

        x = compose_wide(c, x);
        for (int i = 0; i < 4; i++) {
                if (!x || !parameter_fits(c, what[i], (*v[i])->type, was, given->each))
                        return NULL;
                *v[i] = compose_cast(c, *v[i], value_element(x));
        }
        if (given->training && !batch_statistics(c, was, x, given, &p, running))
                return NULL;
        const struct type *t = x->type;
        for (int d = 0; d < t->rank; d++)
                dims[d] = d + 1;
        /* y = x a + b with a = scale / sqrt(variance + epsilon), b = bias - mean a, which are
         * constants for a trained network. */
        struct value *root = compose_unary(c, OP_sqrt, plus(c, p.variance, p.epsilon));
        struct value *a = divide(c, p.scale, root);
        struct value *b = sub(c, p.bias, mul(c, p.mean, a));
        if (t->rank == 1) {             /* There is one channel. */
                a = compose_along(c, a, t, 0);
                b = compose_along(c, b, t, 0);
        } else {
                a = compose_spread(c, a, t, dims);
                b = compose_spread(c, b, t, dims);
        }
        return compose_cast(c, add(c, mul(c, x, a), b), was->element);
}

/* ---- layers ---- */

/* Returns v broadcast, from the right, to x's shape. NULL after an error. */
static struct value *parameter(struct compose *c, const char *what, struct value *v,
                               const struct type *x, enum element e)
{
        for (int d = 0; d < value_rank(v); d++) {
                int at = x->rank - value_rank(v) + d;
                if (at < 0 ||
                    (!dim_is(v->type->dims[d], 1) && !dim_equal(x->dims[at], v->type->dims[d]))) {
                        compose_invalid(c, "%s %s, which does not broadcast to %s", what,
                                        compose_text(c, v->type), compose_text(c, x));
                        return NULL;
                }
        }
        return build_broadcast_numpy(c->b, compose_cast(c, v, e), x->rank, x->dims);
}

struct value *compose_layer_norm(struct compose *c, struct value *x,
                                 const struct compose_layer_norm *l, struct value **mean,
                                 struct value **inverse)
{
        struct value *middle = NULL, *root = NULL, *y, *scale = NULL, *bias = NULL;
        int64_t axes[RANK_MAX];

        x = compose_cast(c, x, l->computed);
        if (!x)
                return NULL;
        const struct type *t = x->type;
        int count = compose_axes_from(l->axis, t->rank, axes);
        if (l->centered) {
                struct value *rows = count > 1 ? as_rows(c, x, l->axis) : x;
                y = standardize(c, rows, (const int64_t[]){ value_rank(rows) - 1 }, 1, l->epsilon,
                                &middle, &root);
                y = compose_reshape(c, y, t->rank, t->dims);
        } else {
                y = scale_to_one(c, x, axes, count, l->epsilon, &root);
        }
        if (l->scale && !(scale = parameter(c, "the scale is", l->scale, t, l->computed)))
                return NULL;
        if (l->bias && !(bias = parameter(c, "the bias is", l->bias, t, l->computed)))
                return NULL;
        y = scale ? mul(c, y, scale) : y;
        y = bias ? add(c, y, bias) : y;
        if (mean && middle)
                *mean = compose_cast(c, compose_keep(c, middle, t, axes, count), l->stash);
        if (inverse && root)
                *inverse = compose_cast(c, compose_keep(c, root, t, axes, count), l->stash);
        return y;
}

/* ---- images ---- */

struct value *compose_instance_norm(struct compose *c, struct value *x, struct value *scale,
                                    struct value *bias, double epsilon)
{
        enum element e = value_element(x);
        int64_t axes[RANK_MAX];
        struct value *mean, *inverse;

        x = compose_wide(c, x);
        if (!x)
                return NULL;
        int count = compose_axes_from(2, value_rank(x), axes);
        scale = compose_along(c, compose_cast(c, scale, value_element(x)), x->type, 1);
        bias = compose_along(c, compose_cast(c, bias, value_element(x)), x->type, 1);
        struct value *y = standardize(c, x, axes, count, epsilon, &mean, &inverse);
        return compose_cast(c, add(c, mul(c, y, scale), bias), e);
}

struct value *compose_group_norm(struct compose *c, struct value *x,
                                 const struct compose_group_norm *g)
{
        const struct type *t = x->type;
        struct value *mean, *inverse;

        const dim_t pixels = type_product(c->m, t, 2, t->rank),
                    channels[3] = { t->dims[0], t->dims[1], pixels },
                    split[3] = { t->dims[0], dim_of(g->groups),
                                 dim_binary(c->m, DIM_MUL, pixels,
                                            dim_of(type_extent(t, 1) / g->groups)) };
        struct value *scale = compose_cast(c, g->scale, g->computed),
                     *bias = compose_cast(c, g->bias, g->computed);
        x = compose_reshape(c, compose_cast(c, x, g->computed), 3, split);
        struct value *y = standardize(c, x, (const int64_t[]){ 2 }, 1, g->epsilon, &mean, &inverse);
        y = g->of_groups ? y : compose_reshape(c, y, 3, channels);
        if (!y || !scale || !bias)
                return NULL;
        bias = compose_along(c, bias, y->type, 1);
        y = add(c, mul(c, y, compose_along(c, scale, y->type, 1)), bias);
        return compose_cast(c, compose_reshape(c, y, t->rank, t->dims), t->element);
}

struct value *compose_mean_variance_norm(struct compose *c, struct value *x, const int64_t *axes,
                                         int count)
{
        const double epsilon = 1e-9;    /* It is added to the root. */
        enum element e = value_element(x);
        struct value *unit, *mean;

        if (!(x = in_units(c, compose_wide(c, x), axes, count, epsilon, &unit)))
                return NULL;
        struct value *deviation = deviations(c, x, axes, count, unit, &mean);
        struct value *root =
                compose_unary(c, OP_sqrt, compose_mean(c, square(c, deviation), axes, count));
        root = unit ? add(c, root, compose_from(c, OP_div, epsilon, unit)) : plus(c, root, epsilon);
        root = compose_unreduce(c, root, x->type, axes, count);
        return compose_cast(c, divide(c, deviation, root), e);
}

/* ---- by a norm, by neighbouring channels ---- */

struct value *compose_lp_norm(struct compose *c, struct value *x, int axis, int p)
{
        const int64_t axes[1] = { axis };
        enum element e = value_element(x);

        x = compose_wide(c, x);
        if (!x)
                return NULL;
        if (p == 2 && !type_is_empty(x->type)) {
                /* Dividing x by a number first does not change x / norm(x). */
                struct value *most = compose_reduce(c, REDUCE_max, compose_unary(c, OP_abs, x),
                                                    axes, 1, E_COMPUTE);
                most = compose_norm_scale(c, most);
                x = divide(c, x, compose_unreduce(c, most, x->type, axes, 1));
        }
        if (!x)
                return NULL;
        struct value *norm = p == 1 ? compose_unary(c, OP_abs, x) : square(c, x);
        norm = compose_reduce(c, REDUCE_sum, norm, axes, 1, E_COMPUTE);
        norm = p == 2 ? compose_unary(c, OP_sqrt, norm) : norm;
        /* A quotient of 0 / 0 is 0 here. */
        norm = compose_select(c, compose_with(c, OP_eq, norm, 0),
                              norm ? build_like(c->b, norm, 1) : NULL, norm);
        norm = compose_unreduce(c, norm, x->type, axes, 1);
        return compose_cast(c, divide(c, x, norm), e);
}

struct value *compose_local_response_norm(struct compose *c, struct value *x, int64_t size,
                                          double alpha, double beta, double bias)
{
        int64_t window[RANK_MAX], pads[2 * RANK_MAX] = { 0 };
        enum element e = value_element(x);
        int rank = value_rank(x);

        x = compose_wide(c, x);
        for (int d = 0; d < rank; d++)
                window[d] = d == 1 ? size : 1;
        pads[1] = (size - 1) / 2;
        pads[rank + 1] = size - 1 - (size - 1) / 2;
        struct attr *attrs = attrs_new(c->m, OP_reduce_window);
        attr_set(attrs, OP_reduce_window, "kind", REDUCE_sum);
        attr_set_ints(c->m, attrs, OP_reduce_window, "window", window, rank);
        attr_set_ints(c->m, attrs, OP_reduce_window, "pads", pads, 2 * rank);
        struct value *squares = x ? square(c, x) : NULL;
        if (!squares)
                return NULL;
        struct value *sum = value_build(c->b, OP_reduce_window, &squares, 1, attrs, NULL);
        struct value *base = times(c, sum, alpha / (double)size);
        base = plus(c, base, bias);
        return compose_cast(c, divide(c, x, compose_with(c, OP_pow, base, beta)), e);
}
