/* SPDX-License-Identifier: MIT */
/* Reductions along axes: Reduce*, ArgMax, ArgMin, Hardmax, the global pools, CumSum, CumProd. Axes
 * that are run-time values go straight into the reduce operation; the result's shape is then the
 * declared one. */
#include <math.h>
#include <string.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_norm.h"

struct reduction {
        struct onnx_axes axes;
        const struct type *full; /* of the operand */
        const struct type *declared; /* run-time axes: dims of the result; element of no account */
};

static struct value *reduce(struct onnx_import *im, const struct reduction *r, enum reducer kind,
                            struct value *x)
{
        if (!x || r->axes.state != AXES_RUNTIME)
                return compose_reduce(im->c, kind, x, r->axes.axes, r->axes.count, E_COMPUTE);
        struct attr *attrs = attrs_new(im->m, OP_reduce);
        attr_set(attrs, OP_reduce, "kind", kind);
        struct value *axes = onnx_axes_wrap(im, r->axes.operand, r->full->rank);
        return axes ? value_build(&im->b, OP_reduce, (struct value *[]){ x, axes }, 2, attrs,
                                  type_with_element(im->m, r->declared, value_element(x)))
                    : NULL;
}

static struct value *magnitude(struct onnx_import *im, struct value *x)
{
        return x && element_info[value_element(x)].class == CLASS_UINT
                       ? x
                       : compose_unary(im->c, OP_abs, x);
}

/* the maximum along the axes, spread over x's shape again */
static struct value *spread_maximum(struct onnx_import *im, const struct reduction *r,
                                    struct value *x)
{
        if (r->axes.state != AXES_RUNTIME)
                return compose_unreduce(im->c, reduce(im, r, REDUCE_max, x), r->full, r->axes.axes,
                                        r->axes.count);
        /* Dimension by dimension, as far as the axes name it. */
        struct value *named = onnx_scatter_axes(im, r->axes.operand,
                                                constant_number(im->m, r->axes.operand->type, 1),
                                                r->full->rank, 0);
        for (int d = 0; d < r->full->rank && x && named; d++) {
                const int64_t axis[1] = { d };
                struct value *is_named = compose_with(
                        im->c, OP_ne,
                        build_gather(&im->b, named, compose_integer(im->c, E_I64, d), 0), 0);
                struct value *most = compose_unreduce(
                        im->c, compose_reduce(im->c, REDUCE_max, x, axis, 1, E_COMPUTE), r->full,
                        axis, 1);
                x = compose_select(im->c, is_named, most, x);
        }
        return x;
}

/* log(sum(exp(x))) with the maximum taken out; a set of -inf gives -inf, one with +inf gives
 * +inf */
static struct value *log_sum_exp(struct onnx_import *im, const struct reduction *r, struct value *x)
{
        if (type_elements(r->full) == 0)        /* an empty set has no maximum */
                return compose_unary(im->c, OP_log,
                                     reduce(im, r, REDUCE_sum, compose_unary(im->c, OP_exp, x)));
        struct value *most = spread_maximum(im, r, x);
        struct value *finite =
                compose_with(im->c, OP_lt, compose_unary(im->c, OP_abs, most), INFINITY);

        if (!most)
                return NULL;
        most = compose_select(im->c, finite, most, build_like(&im->b, most, 0));
        struct value *sum =
                reduce(im, r, REDUCE_sum,
                       compose_unary(im->c, OP_exp, compose_binary(im->c, OP_sub, x, most)));
        /* every element of `most` along the axes is the same: its maximum is it */
        struct value *offset = reduce(im, r, REDUCE_max, most);
        return compose_binary(im->c, OP_add, compose_unary(im->c, OP_log, sum), offset);
}

/* sqrt(sum(x * x)), of elements divided by the largest of their set, so that no square overflows or
 * underflows where the root does not; a set of zeros or with an infinity is divided by 1 */
static struct value *euclidean(struct onnx_import *im, const struct reduction *r, struct value *x)
{
        if (type_elements(r->full) == 0)
                return compose_unary(
                        im->c, OP_sqrt,
                        reduce(im, r, REDUCE_sum, compose_binary(im->c, OP_mul, x, x)));
        struct value *scale =
                compose_norm_scale(im->c, spread_maximum(im, r, compose_unary(im->c, OP_abs, x)));
        struct value *share = scale ? compose_binary(im->c, OP_div, x, scale) : NULL;
        struct value *root = compose_unary(
                im->c, OP_sqrt,
                reduce(im, r, REDUCE_sum, compose_binary(im->c, OP_mul, share, share)));
        /* every element of `scale` along the axes is the same: its maximum is it */
        return compose_binary(im->c, OP_mul, root, reduce(im, r, REDUCE_max, scale));
}

static struct value *compute(struct onnx_import *im, const struct reduction *r, int variant,
                             struct value *x)
{
        switch (variant) {
        case REDUCE_OP_SUM: return reduce(im, r, REDUCE_sum, x);
        case REDUCE_OP_MAX: return reduce(im, r, REDUCE_max, x);
        case REDUCE_OP_MIN: return reduce(im, r, REDUCE_min, x);
        case REDUCE_OP_PROD: return reduce(im, r, REDUCE_prod, x);
        case REDUCE_OP_L1: return reduce(im, r, REDUCE_sum, magnitude(im, x));
        case REDUCE_OP_LOG_SUM: return compose_unary(im->c, OP_log, reduce(im, r, REDUCE_sum, x));
        case REDUCE_OP_LOG_SUM_EXP: return log_sum_exp(im, r, x);
        case REDUCE_OP_SUM_SQUARE:
                return reduce(im, r, REDUCE_sum, compose_binary(im->c, OP_mul, x, x));
        case REDUCE_OP_L2: return euclidean(im, r, x);
        default: { /* mean: how many were added follows from the shapes */
                struct value *sum = reduce(im, r, REDUCE_sum, x);
                int64_t results = sum ? type_elements(sum->type) : 0;
                return compose_with(im->c, OP_div, sum,
                                    results ? (double)(type_elements(r->full) / results) : 0);
        }
        }
}

/* of an integer operand, the roots and logarithms are computed in f64 */
static bool wants_float(int variant)
{
        return variant == REDUCE_OP_L2 || variant == REDUCE_OP_LOG_SUM ||
               variant == REDUCE_OP_LOG_SUM_EXP;
}

bool onnx_import_reduce(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct reduction r = { .full = x->type };
        enum element e = value_element(x);
        int variant = onnx_variant(n);
        int64_t keep, no_op = 0;
        bool by_operand = n->opset >= (variant == REDUCE_OP_SUM ? 13 : 18);

        if (!onnx_int_range(im, n, "keepdims", 1, 0, 1, &keep) ||
            (by_operand && !onnx_int_range(im, n, "noop_with_empty_axes", 0, 0, 1, &no_op)) ||
            !onnx_axes_read(im, n, by_operand ? 1 : -1, "axes", value_rank(x), &r.axes))
                return false;
        if (e == E_BOOL && variant != REDUCE_OP_MAX && variant != REDUCE_OP_MIN)
                return onnx_invalid(im, n, "operand 0 is of bool");
        if (r.axes.state != AXES_RUNTIME && r.axes.count == 0 && !no_op) {
                r.axes.state = AXES_KNOWN;
                r.axes.count = compose_axes_from(0, value_rank(x), r.axes.axes);
        }
        if (r.axes.state == AXES_RUNTIME) {
                r.declared = onnx_declared_as(im, n, 0, e,
                                              keep ? value_rank(x) : value_rank(x) - r.axes.count);
                if (!r.declared)
                        return false;
        }
        struct value *y = compose_cast(
                im->c, x,
                wants_float(variant) && element_is_integer(e) ? E_F64 : compose_wide_element(e));
        y = compose_cast(im->c, compute(im, &r, variant, y), e);
        if (keep && r.axes.state != AXES_RUNTIME)
                y = compose_keep(im->c, y, x->type, r.axes.axes, r.axes.count);
        return onnx_output(n, 0, y);
}

/* ---- positions of extremes ---- */

bool onnx_import_arg_reduce(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, keep, last = 0;
        int axis;

        if (!onnx_int(im, n, "axis", 0, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            !onnx_int_range(im, n, "keepdims", 1, 0, 1, &keep) ||
            (n->opset >= 12 && !onnx_int_range(im, n, "select_last_index", 0, 0, 1, &last)))
                return false;
        if (value_extent(x, axis) == 0)
                return onnx_invalid(im, n, "axis %d is of extent 0", axis);
        struct value *y = compose_cast(
                im->c, compose_arg_reduce(im->c, x, (enum reducer)onnx_variant(n), axis, last),
                E_I64);
        return onnx_output(
                n, 0, keep ? compose_keep(im->c, y, x->type, (const int64_t[]){ axis }, 1) : y);
}

/* 1 at the first maximum, else 0; before opset 13 over all dimensions from axis on */
bool onnx_import_hardmax(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *flat = x;
        const struct type *t = x->type;
        int64_t stated;
        int axis;

        if (!onnx_want_float(im, n, 0) || !onnx_int(im, n, "axis", n->opset < 13 ? 1 : -1, &stated))
                return false;
        if (n->opset < 13 && stated == t->rank)
                return onnx_output(n, 0, build_like(&im->b, x, 1));
        if (!onnx_axis(im, n, stated, t->rank, &axis))
                return false;
        if (n->opset < 13) {
                dim_t dims[2] = { dim_of(1), dim_of(1) };
                for (int d = 0; d < t->rank; d++)
                        dims[d < axis ? 0 : 1] =
                                dim_of(dim_extent(dims[d < axis ? 0 : 1]) * type_extent(t, d));
                flat = compose_reshape(im->c, x, 2, dims);
                axis = 1;
        }
        if (!flat || type_elements(t) == 0)
                return onnx_output(n, 0, x);
        struct value *at = compose_arg_reduce(im->c, flat, REDUCE_max, axis, false);
        if (!at)
                return false;
        const struct type *index = type_with_element(im->m, flat->type, value_element(at));
        at = compose_unreduce(im->c, at, index, (const int64_t[]){ axis }, 1);
        struct value *hit = compose_cast(
                im->c, compose_binary(im->c, OP_eq, at, build_iota(&im->b, index, axis)),
                t->element);
        return onnx_output(n, 0, compose_reshape(im->c, hit, t->rank, t->dims));
}

/* ---- global pools: over all spatial dimensions, which stay as 1 ---- */

bool onnx_import_global_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *y;
        int64_t axes[RANK_MAX];

        if (!onnx_want_rank(im, n, 0, 2, RANK_MAX) || !onnx_want_float(im, n, 0))
                return false;
        int count = compose_axes_from(2, value_rank(x), axes);
        y = onnx_variant(n) == REDUCE_OP_MAX
                    ? compose_reduce(im->c, REDUCE_max, x, axes, count, E_COMPUTE)
                    : compose_mean(im->c, x, axes, count);
        return onnx_output(n, 0,
                           compose_keep(im->c, compose_cast(im->c, y, value_element(x)), x->type,
                                        axes, count));
}

bool onnx_import_global_lp_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *y = compose_unary(im->c, OP_abs, compose_wide(im->c, x));
        int64_t axes[RANK_MAX], p;

        if (!onnx_want_rank(im, n, 0, 2, RANK_MAX) || !onnx_want_float(im, n, 0) ||
            !onnx_int_range(im, n, "p", 2, 1, 1000, &p))
                return false;
        int count = compose_axes_from(2, value_rank(x), axes);
        y = compose_reduce(im->c, REDUCE_sum, compose_with(im->c, OP_pow, y, (double)p), axes,
                           count, E_COMPUTE);
        y = compose_cast(im->c, compose_with(im->c, OP_pow, y, 1.0 / (double)p), value_element(x));
        return onnx_output(n, 0, compose_keep(im->c, y, x->type, axes, count));
}

/* ---- running sums and products: a window that reaches back to the first element ---- */

/* x from the last element along the axis to the first */
static struct value *reversed(struct onnx_import *im, struct value *x, int axis)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];

        if (!x)
                return NULL;
        for (int d = 0; d < value_rank(x); d++)
                steps[d] = d == axis ? -1 : 1;
        starts[axis] = value_extent(x, axis) - 1;
        return build_slice(&im->b, x, starts, steps, x->type->dims);
}

static struct value *cumulate(struct onnx_import *im, struct value *x, enum reducer kind, int axis,
                              bool exclusive, bool reverse)
{
        int rank = value_rank(x);
        int64_t window[RANK_MAX], pads[2 * RANK_MAX] = { 0 };
        struct attr *attrs = attrs_new(im->m, OP_reduce_window);

        if (type_elements(x->type) == 0)
                return x;
        for (int d = 0; d < rank; d++)
                window[d] = 1;
        window[axis] = value_extent(x, axis);
        pads[axis] = window[axis] - 1 + exclusive;
        pads[rank + axis] = -exclusive;
        attr_set(attrs, OP_reduce_window, "kind", kind);
        attr_set_ints(im->m, attrs, OP_reduce_window, "window", window, rank);
        attr_set_ints(im->m, attrs, OP_reduce_window, "pads", pads, 2 * rank);
        if (reverse)
                x = reversed(im, x, axis);
        struct value *y = x ? value_build(&im->b, OP_reduce_window, &x, 1, attrs, NULL) : NULL;
        return reverse ? reversed(im, y, axis) : y;
}

bool onnx_import_cumulative(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *y = NULL;
        enum reducer kind = (enum reducer)onnx_variant(n);
        int64_t exclusive, reverse, stated;
        int axis;
        bool known;

        if (!onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_int_range(im, n, "exclusive", 0, 0, 1, &exclusive) ||
            !onnx_int_range(im, n, "reverse", 0, 0, 1, &reverse) ||
            !onnx_operand_int(im, n, 1, 0, &stated, &known))
                return false;
        if (known)
                return onnx_axis(im, n, stated, value_rank(x), &axis) &&
                       onnx_output(n, 0, cumulate(im, x, kind, axis, exclusive, reverse));
        /* a run-time axis chooses among the results of all */
        struct value *chosen = onnx_axes_wrap(im, compose_cast(im->c, onnx_scalar(im, n, 1), E_I64),
                                              value_rank(x));
        for (int d = 0; d < value_rank(x); d++) {
                struct value *here = cumulate(im, x, kind, d, exclusive, reverse);
                y = y ? compose_select(im->c, compose_with(im->c, OP_eq, chosen, d), here, y)
                      : here;
                if (!y)
                        return false;
        }
        return onnx_output(n, 0, y);
}
