/* SPDX-License-Identifier: MIT */
/* Axes that only a run knows go straight into the reduce operation. */
#include "front/compose/compose_reduce.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"

struct value *compose_reduce(struct compose *c, enum reducer kind, struct value *x,
                             const int64_t *axes, int count, int accumulator)
{
        if (!x || count == 0)
                return x;
        struct attr *attrs = attrs_new(c->m, OP_reduce);
        attr_set(attrs, OP_reduce, "kind", kind);
        attr_set(attrs, OP_reduce, "accumulator", accumulator);
        return value_build(c->b, OP_reduce,
                           (struct value *[]){ x, constant_ints(c->m, axes, count) }, 2, attrs,
                           NULL);
}

struct value *compose_unreduce(struct compose *c, struct value *reduced, const struct type *full,
                               const int64_t *axes, int count)
{
        int64_t dims[RANK_MAX];
        int kept = 0;

        for (int d = 0, a = 0; d < full->rank; d++) {
                if (a < count && axes[a] == d)
                        a++;
                else
                        dims[kept++] = d;
        }
        return compose_spread(c, reduced, full, dims);
}

struct value *compose_keep(struct compose *c, struct value *reduced, const struct type *full,
                           const int64_t *axes, int count)
{
        dim_t dims[RANK_MAX];

        for (int d = 0, a = 0; d < full->rank; d++) {
                dims[d] = full->dims[d];
                if (a < count && axes[a] == d) {
                        dims[d] = dim_of(1);
                        a++;
                }
        }
        return compose_reshape(c, reduced, full->rank, dims);
}

struct value *compose_count(struct compose *c, struct value *x, const int64_t *axes, int count,
                            enum element e)
{
        int64_t product = 1;
        struct value *open = NULL;

        for (int i = 0; i < count; i++) {
                int d = (int)axes[i];
                if (dim_is_static(x->type->dims[d])) {
                        product *= value_extent(x, d);
                        continue;
                }
                struct value *extent = build_extent(c->b, x, d);
                open = open ? compose_binary(c, OP_mul, open, extent) : extent;
        }
        if (!open)
                return build_scalar(c->b, e, (double)product);
        return compose_cast(c, compose_with(c, OP_mul, open, (double)product), e);
}

struct value *compose_mean(struct compose *c, struct value *x, const int64_t *axes, int count)
{
        x = compose_wide(c, x);
        if (!x)
                return NULL;
        struct value *sum = compose_reduce(c, REDUCE_sum, x, axes, count, E_COMPUTE),
                     *number = compose_count(c, x, axes, count, value_element(x));
        return sum && number ? compose_binary(c, OP_div, sum, number) : NULL;
}

int compose_axes_from(int first, int rank, int64_t *axes)
{
        int count = 0;

        while (first + count < rank) {
                axes[count] = first + count;
                count++;
        }
        return count;
}

struct value *compose_arg_reduce(struct compose *c, struct value *x, enum reducer kind, int axis,
                                 bool last)
{
        /* Where only a run knows the extent, its bound is behind all positions, too. */
        const int64_t axes[1] = { axis }, extent = dim_bound(c->m, x->type->dims[axis]);
        const struct type *index =
                type_with_element(c->m, x->type, extent <= INT32_MAX ? E_I32 : E_I64);
        struct value *best = compose_unreduce(c, compose_reduce(c, kind, x, axes, 1, E_COMPUTE),
                                              x->type, axes, 1);
        struct value *hit = compose_binary(c, OP_eq, x, best);

        if (element_is_float(value_element(x)))
                hit = compose_binary(c, OP_or, hit, compose_binary(c, OP_ne, x, x));
        struct value *at = build_iota(c->b, index, axis);
        at = compose_select(c, hit, at, build_like(c->b, at, last ? 0 : (double)extent));
        return compose_reduce(c, last ? REDUCE_max : REDUCE_min, at, axes, 1, E_COMPUTE);
}

/* ---- axes that only a run knows ---- */

struct value *compose_axes_wrap(struct compose *c, struct value *axes, int rank)
{
        return compose_below_zero(c, axes, plus(c, axes, rank));
}

struct value *compose_axes_scatter(struct compose *c, struct value *axes, struct value *values,
                                   int rank, int64_t preset)
{
        if (!axes || !values)
                return NULL;
        const struct type *table = type_tensor(
                c->m, E_I64, 2, (const dim_t[]){ dim_of(rank), dim_of(value_extent(axes, 0)) });
        struct value *right =
                compose_spread(c, compose_axes_wrap(c, axes, rank), table, (const int64_t[]){ 1 });
        struct value *here = build_binary(c->b, OP_eq, build_iota(c->b, table, 0), right);
        struct value *sum = compose_reduce(
                c, REDUCE_sum,
                compose_select(c, here, compose_spread(c, values, table, (const int64_t[]){ 1 }),
                               compose_integer(c, E_I64, 0)),
                (const int64_t[]){ 1 }, 1, E_COMPUTE);
        struct value *hits = compose_reduce(c, REDUCE_sum, compose_cast(c, here, E_I64),
                                            (const int64_t[]){ 1 }, 1, E_COMPUTE);
        return compose_select(c, compose_with(c, OP_gt, hits, 0), sum,
                              compose_integer(c, E_I64, preset));
}

/* ---- kinds of reductions ---- */

struct value *compose_norm_scale(struct compose *c, struct value *largest)
{
        if (!largest)
                return NULL;
        struct value *usual = compose_with(c, OP_gt, largest, 0);
        usual = compose_binary(c, OP_and, usual, compose_with(c, OP_lt, largest, INFINITY));
        return compose_select(c, usual, largest, build_like(c->b, largest, 1));
}

struct reduction {
        const struct compose_reduction *in;
        const struct type *full;        /* It is the type of the operand. */
};

static struct value *reduce(struct compose *c, const struct reduction *r, enum reducer kind,
                            struct value *x)
{
        if (!x || !r->in->stated)
                return compose_reduce(c, kind, x, r->in->axes, r->in->count, E_COMPUTE);
        struct attr *attrs = attrs_new(c->m, OP_reduce);
        attr_set(attrs, OP_reduce, "kind", kind);
        struct value *axes = compose_axes_wrap(c, r->in->stated, r->full->rank);
        return axes ? value_build(c->b, OP_reduce, (struct value *[]){ x, axes }, 2, attrs,
                                  type_with_element(c->m, r->in->result, value_element(x)))
                    : NULL;
}

static struct value *magnitude(struct compose *c, struct value *x)
{
        return x && element_info[value_element(x)].class == CLASS_UINT
                       ? x
                       : compose_unary(c, OP_abs, x);
}

/* Returns the maximum along the axes, broadcast to x's shape again. */
static struct value *spread_maximum(struct compose *c, const struct reduction *r, struct value *x)
{
        if (!r->in->stated)
                return compose_unreduce(c, reduce(c, r, REDUCE_max, x), r->full, r->in->axes,
                                        r->in->count);
        /* The maximum is taken dimension by dimension, where the axes name it. */
        struct value *named = compose_axes_scatter(
                c, r->in->stated, constant_number(c->m, r->in->stated->type, 1), r->full->rank, 0);
        for (int d = 0; d < r->full->rank && x && named; d++) {
                const int64_t axis[1] = { d };
                struct value *is_named = compose_with(c, OP_ne, compose_pick(c, named, 0, d), 0);
                struct value *most = compose_unreduce(
                        c, compose_reduce(c, REDUCE_max, x, axis, 1, E_COMPUTE), r->full, axis, 1);
                x = compose_select(c, is_named, most, x);
        }
        return x;
}

/* Returns log(sum(exp(x))), computed as the maximum plus the logarithm of what is left. A set of
 * -inf gives -inf, a set with +inf gives +inf. */
static struct value *log_sum_exp(struct compose *c, const struct reduction *r, struct value *x)
{
        if (type_is_empty(r->full)) /* An empty set has no maximum. */
                return compose_unary(c, OP_log,
                                     reduce(c, r, REDUCE_sum, compose_unary(c, OP_exp, x)));
        struct value *most = spread_maximum(c, r, x);
        struct value *finite = compose_with(c, OP_lt, compose_unary(c, OP_abs, most), INFINITY);

        if (!most)
                return NULL;
        most = compose_select(c, finite, most, build_like(c->b, most, 0));
        struct value *sum = reduce(c, r, REDUCE_sum, compose_unary(c, OP_exp, sub(c, x, most)));
        /* Every element of `most` along the axes is the same, so it is their maximum. */
        struct value *offset = reduce(c, r, REDUCE_max, most);
        return add(c, compose_unary(c, OP_log, sum), offset);
}

/* Returns sqrt(sum(x * x)). Elements are divided by the largest of their set first, so that no
 * square overflows or underflows where the root does not; those of a set of zeros, or with an
 * infinity, are divided by 1. */
static struct value *euclidean(struct compose *c, const struct reduction *r, struct value *x)
{
        if (type_is_empty(r->full))
                return compose_unary(c, OP_sqrt, reduce(c, r, REDUCE_sum, mul(c, x, x)));
        struct value *scale =
                compose_norm_scale(c, spread_maximum(c, r, compose_unary(c, OP_abs, x)));
        struct value *share = scale ? divide(c, x, scale) : NULL;
        struct value *root =
                compose_unary(c, OP_sqrt, reduce(c, r, REDUCE_sum, mul(c, share, share)));
        /* Every element of `scale` along the axes is the same, so it is their maximum. */
        return mul(c, root, reduce(c, r, REDUCE_max, scale));
}

static struct value *compute(struct compose *c, const struct reduction *r, int variant,
                             struct value *x)
{
        switch (variant) {
        case REDUCE_OP_SUM: return reduce(c, r, REDUCE_sum, x);
        case REDUCE_OP_MAX: return reduce(c, r, REDUCE_max, x);
        case REDUCE_OP_MIN: return reduce(c, r, REDUCE_min, x);
        case REDUCE_OP_PROD: return reduce(c, r, REDUCE_prod, x);
        case REDUCE_OP_L1: return reduce(c, r, REDUCE_sum, magnitude(c, x));
        case REDUCE_OP_LOG_SUM: return compose_unary(c, OP_log, reduce(c, r, REDUCE_sum, x));
        case REDUCE_OP_LOG_SUM_EXP: return log_sum_exp(c, r, x);
        case REDUCE_OP_SUM_SQUARE: return reduce(c, r, REDUCE_sum, mul(c, x, x));
        case REDUCE_OP_L2: return euclidean(c, r, x);
        default: { /* In a mean, how many were added follows from the shapes. */
                struct value *sum = reduce(c, r, REDUCE_sum, x);
                if (sum && !r->in->stated)
                        return compose_binary(c, OP_div, sum,
                                              compose_count(c, x, r->in->axes, r->in->count,
                                                            value_element(sum)));
                int64_t results = sum ? type_elements(sum->type) : 0;
                return compose_with(c, OP_div, sum,
                                    results ? (double)(type_elements(r->full) / results) : 0);
        }
        }
}

/* Returns whether integer operands are converted to f64, as roots and logarithms need. */
static bool wants_float(int variant)
{
        return variant == REDUCE_OP_L2 || variant == REDUCE_OP_LOG_SUM ||
               variant == REDUCE_OP_LOG_SUM_EXP;
}

struct value *compose_reduce_as(struct compose *c, const struct compose_reduction *in,
                                struct value *x)
{
        const enum element e = value_element(x);
        const struct reduction r = { .in = in, .full = x->type };

        x = compose_cast(c, x,
                         wants_float(in->kind) && element_is_integer(e) ? E_F64
                                                                        : compose_wide_element(e));
        return compose_cast(c, compute(c, &r, in->kind, x), e);
}
