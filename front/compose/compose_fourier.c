/* SPDX-License-Identifier: MIT */
/* A Fourier transform is a product with the matrix of its roots of unity, which tensor operations
 * compute from indices reduced modulo the period, so angles stay small and exact; one of many
 * elements is several small ones (J. W. Cooley and J. W. Tukey, An algorithm for the machine
 * calculation of complex Fourier series, 1965). */
#include "front/compose/compose_fourier.h"

#include "front/compose/compose_arithmetic.h"

static const double turn = 6.283185307179586477; /* It is 2 pi. */

/* Returns cos(turn * (i k / period + quarters / 4)). */
static struct value *cosines(struct compose *c, struct value *i, struct value *k,
                             struct value *quarters, int64_t period)
{
        struct value *at = times(c, compose_with(c, OP_rem, mul(c, i, k), (double)period), 4);

        at = add(c, at, times(c, quarters, (double)period));
        return compose_unary(c, OP_cos,
                             times(c, compose_cast(c, at, E_F64), turn / (4 * (double)period)));
}

/* Returns the matrix of the transform, <in x in_parts x out x out_parts x f64>. Part 1 is the
 * imaginary one, a quarter turn away; the inverse turns the other way. */
static struct value *roots(struct compose *c, const struct compose_transform *t)
{
        const dim_t dims[4] = { dim_of(t->in), dim_of(t->in_parts), dim_of(t->out),
                                dim_of(t->out_parts) };
        const struct type *index = compose_type(c, E_I64, 4, dims);

        if (!index)
                return NULL;
        struct value *i = build_iota(c->b, index, 0), *k = build_iota(c->b, index, 2);
        struct value *right = build_iota(c->b, index, t->inverse ? 3 : 1);
        struct value *quarters = sub(c, build_iota(c->b, index, t->inverse ? 1 : 3), right);
        struct value *root = cosines(c, i, k, quarters, t->period);
        if (t->folded) { /* Every element but the first, and the middle one, stands for two. */
                struct value *middle = compose_with(c, OP_eq, times(c, i, 2), (double)t->period);
                struct value *one = compose_binary(c, OP_or, compose_with(c, OP_eq, i, 0), middle);
                root = compose_select(c, one, root, times(c, root, 2));
        }
        return t->inverse ? compose_with(c, OP_div, root, (double)t->period) : root;
}

/* ---- in steps ---- */

/* Returns the factor of n that the first step transforms, or n itself where one step does all. */
static int64_t factor_of(int64_t n)
{
        enum { ONE_STEP = 32, FACTOR_MAX = 16 };

        for (int64_t factor = FACTOR_MAX; factor > 1 && n > ONE_STEP; factor--)
                if (n % factor == 0)
                        return factor;
        return n;
}

/* Returns y <rows x q x 2 x p> times exp(-turn i (row of q) (column of p) / (p q)). The inverse
 * turns the other way. */
static struct value *twiddled(struct compose *c, struct value *y, bool inverse)
{
        const int64_t onto[3] = { 1, 2, 3 }, starts[4] = { 0, 0, 1, 0 }, steps[4] = { 1, 1, -1, 1 };
        const struct type *index = y ? type_tensor(c->m, E_I64, 3, y->type->dims + 1) : NULL;

        if (!y)
                return NULL;
        struct value *i = build_iota(c->b, index, 0), *part = build_iota(c->b, index, 1),
                     *k = build_iota(c->b, index, 2);
        int64_t period = type_extent(index, 0) * type_extent(index, 2);
        struct value *same = cosines(c, i, k, times(c, part, 0), period);
        struct value *quarters = compose_with(c, OP_sub, times(c, part, 2), 1);
        struct value *other =
                cosines(c, i, k, inverse ? compose_unary(c, OP_neg, quarters) : quarters, period);
        same = compose_spread(c, compose_cast(c, same, value_element(y)), y->type, onto);
        other = compose_spread(c, compose_cast(c, other, value_element(y)), y->type, onto);
        struct value *swapped = build_slice(c->b, y, starts, steps, y->type->dims);
        struct value *right = mul(c, swapped, other);
        return add(c, mul(c, y, same), right);
}

/* Returns the transform of x <rows x parts x n>, <rows x 2 x n>. With n = p q, p transforms follow
 * q ones of every q-th element:
 *     y[k1 + p k2] = sum over i2 of w_q^(i2 k2) w_n^(i2 k1) (sum over i1 of w_p^(i1 k1)
 *     x[q i1 + i2]) */
static struct value *spectrum(struct compose *c, struct value *x, bool inverse)
{
        const int64_t over_x[2] = { 1, 2 }, over_roots[2] = { 0, 1 };
        struct attr *attrs = attrs_new(c->m, OP_dot);

        if (!x)
                return NULL;
        int64_t rows = value_extent(x, 0), length = value_extent(x, 2), p = factor_of(length),
                q = length / p;
        const struct compose_transform t = { .period = p,
                                             .in = p,
                                             .in_parts = value_extent(x, 1),
                                             .out = p,
                                             .out_parts = 2,
                                             .inverse = inverse };
        struct value *matrix = compose_cast(c, roots(c, &t), value_element(x));
        matrix = compose_transpose(c, matrix, (const int64_t[]){ 1, 0, 3, 2 });
        x = compose_reshape(
                c, x, 4, (const dim_t[]){ dim_of(rows), dim_of(t.in_parts), dim_of(p), dim_of(q) });
        if (!x || !matrix)
                return NULL;
        attr_set_ints(c->m, attrs, OP_dot, "contract_a", over_x, 2);
        attr_set_ints(c->m, attrs, OP_dot, "contract_b", over_roots, 2);
        x = value_build(c->b, OP_dot, (struct value *[]){ x, matrix }, 2, attrs, NULL);
        if (q > 1) {
                x = twiddled(c, x, inverse);
                x = compose_transpose(c, x, (const int64_t[]){ 0, 3, 2, 1 });
                x = spectrum(
                        c,
                        compose_reshape(c, x, 3,
                                        (const dim_t[]){ dim_of(rows * p), dim_of(2), dim_of(q) }),
                        inverse);
                x = compose_reshape(
                        c, x, 4, (const dim_t[]){ dim_of(rows), dim_of(p), dim_of(2), dim_of(q) });
                x = compose_transpose(c, x, (const int64_t[]){ 0, 2, 3, 1 });
        }
        return compose_reshape(c, x, 3, (const dim_t[]){ dim_of(rows), dim_of(2), dim_of(length) });
}

/* Returns x, whose last dimension is the parts, transformed along the axis in several steps. */
static struct value *in_steps(struct compose *c, struct value *x, int axis,
                              const struct compose_transform *t)
{
        int rank = value_rank(x), k = 0;
        int64_t perm[RANK_MAX], back[RANK_MAX], starts[RANK_MAX] = { 0 }, steps[RANK_MAX], rows = 1;
        dim_t dims[RANK_MAX];

        for (int d = 0; d < rank; d++)
                if (d != axis)
                        perm[k++] = d;
        perm[k] = axis;
        for (int d = 0; d < rank; d++) {
                back[perm[d]] = d;
                steps[d] = 1;
                dims[d] = dim_of(d < rank - 2    ? value_extent(x, (int)perm[d])
                                 : d == rank - 2 ? 2
                                                 : t->period);
                rows *= d < rank - 2 ? dim_extent(dims[d]) : 1;
        }
        x = compose_transpose(c, x, perm);
        x = spectrum(c,
                     compose_reshape(c, x, 3,
                                     (const dim_t[]){ dim_of(rows), dim_of(t->in_parts),
                                                      dim_of(t->period) }),
                     t->inverse);
        x = compose_reshape(c, x, rank, dims);
        dims[rank - 1] = dim_of(t->out);
        x = x ? build_slice(c->b, x, starts, steps, dims) : NULL;
        return compose_transpose(c, x, back);
}

struct value *compose_transform(struct compose *c, struct value *x, int axis,
                                const struct compose_transform *t)
{
        int last = value_rank(x) - 1;
        const int64_t over_x[2] = { axis, last }, over_roots[2] = { 0, 1 };
        struct attr *attrs = attrs_new(c->m, OP_dot);
        int64_t perm[RANK_MAX];

        x = compose_fitted(c, x, axis, t->in);
        if (x && !t->folded && factor_of(t->period) < t->period)
                return in_steps(c, x, axis, t);
        struct value *matrix = x ? compose_cast(c, roots(c, t), value_element(x)) : NULL;
        if (!matrix)
                return NULL;
        attr_set_ints(c->m, attrs, OP_dot, "contract_a", over_x, 2);
        attr_set_ints(c->m, attrs, OP_dot, "contract_b", over_roots, 2);
        x = value_build(c->b, OP_dot, (struct value *[]){ x, matrix }, 2, attrs, NULL);
        /* The transformed dimension is the last but one; it goes where it was. */
        for (int d = 0; d <= last; d++)
                perm[d] = d == last ? last : d < axis ? d : d == axis ? last - 1 : d - 1;
        return compose_transpose(c, x, perm);
}

bool compose_transform_of(const struct type *x, int axis, int64_t length, bool inverse,
                          bool onesided, struct compose_transform *t)
{
        int64_t extent = type_extent(x, axis), parts = type_extent(x, x->rank - 1);

        *t = (struct compose_transform){ .inverse = inverse,
                                         .folded = inverse && onesided,
                                         .in_parts = parts };
        t->period = length >= 0 ? length : t->folded ? 2 * (extent - 1) : extent;
        t->in = t->folded ? t->period / 2 + 1 : t->period;
        t->out = onesided && !inverse ? t->period / 2 + 1 : t->period;
        t->out_parts = t->folded ? 1 : 2;
        return (parts == 1 || parts == 2) && t->period >= 1 && t->period <= NUMBER_MAX;
}

/* ---- frames and windows ---- */

struct value *compose_frames(struct compose *c, const struct compose_frames *f, int64_t length,
                             int64_t other)
{
        const dim_t dims[4] = { dim_of(value_extent(f->x, 0)), dim_of(f->count), dim_of(length),
                                dim_of(value_extent(f->x, 2)) };
        const struct type *cut = compose_type(c, value_element(f->x), 4, dims),
                          *table = cut ? compose_type(c, E_I64, 2, dims + 1) : NULL;
        struct compose_transform t;

        if (!table)
                return NULL;
        struct value *index = mul(c, build_iota(c->b, table, 0), f->step);
        index = add(c, index, build_iota(c->b, table, 1));
        if (f->length) {
                struct value *fits = compose_with(c, OP_eq, f->length, (double)length);
                struct value *outside =
                        compose_select(c, compose_with(c, OP_eq, f->length, (double)other),
                                       compose_integer(c, E_I64, 0),
                                       compose_integer(c, E_I64, value_extent(f->x, 1)));
                index = compose_select(c, fits, index, outside);
        }
        struct value *x = index ? build_gather(c->b, f->x, index, 1) : NULL;
        if (f->window)
                x = mul(c, x, compose_spread(c, f->window, cut, (const int64_t[]){ 2 }));
        if (!x)
                return NULL;
        if (!compose_transform_of(x->type, 2, -1, false, f->onesided, &t)) {
                compose_invalid(c, "the signal is %s", compose_text(c, f->x->type));
                return NULL;
        }
        return compose_type(c, value_element(x), 4,
                            (const dim_t[]){ dims[0], dim_of(f->count), dim_of(t.out), dim_of(2) })
                       ? compose_transform(c, x, 2, &t)
                       : NULL;
}

struct value *compose_frames_open(struct compose *c, const struct compose_frames *f, int64_t bins)
{
        const int64_t lengths[2] = { f->onesided ? 2 * bins - 1 : bins,
                                     f->onesided ? 2 * bins - 2 : 0 };
        struct value *y = NULL;

        for (int k = 0; k < 2; k++) {
                if (lengths[k] < 1 || lengths[k] > value_extent(f->x, 1))
                        continue;
                bool other = lengths[1 - k] >= 1 && lengths[1 - k] <= value_extent(f->x, 1);
                struct value *here = compose_frames(c, f, lengths[k], other ? lengths[1 - k] : -1);
                if (!here)
                        return NULL;
                y = y ? compose_select(c, compose_with(c, OP_eq, f->length, (double)lengths[k]),
                                       here, y)
                      : here;
        }
        if (!y)
                compose_invalid(c, "no frame of a signal of %lld has %lld bins, as is declared",
                                (long long)value_extent(f->x, 1), (long long)bins);
        return y;
}

struct value *compose_cosine_window(struct compose *c, const double a[3], int64_t size,
                                    bool periodic)
{
        const int64_t period = periodic ? size : size - 1;
        struct value *i = compose_iota(c, E_F64, size);
        struct value *x = times(c, i, period > 0 ? turn / (double)period : 0);
        struct value *w =
                compose_from(c, OP_sub, a[0], times(c, compose_unary(c, OP_cos, x), a[1]));

        if (a[2] != 0)
                w = add(c, w, times(c, compose_unary(c, OP_cos, times(c, x, 2)), a[2]));
        return w;
}
