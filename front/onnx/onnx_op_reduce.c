/* SPDX-License-Identifier: MIT */
/* This file imports reductions along axes: Reduce*, ArgMax, ArgMin, Hardmax, the global pools,
 * CumSum, CumProd. Where axes are run-time values, the result's shape is the declared one. */
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_reduce.h"
#include "front/compose/compose_softmax.h"
#include "front/compose/compose_window.h"

/* Reduces along axes that only a run knows, kept as extents of 1, one dimension after the other:
 * an element of x becomes the result of its row where the axes name that dimension, and the first
 * element of each such row is taken. */
static bool reduce_counted(struct onnx_import *im, struct onnx_node *n,
                           const struct compose_reduction *r)
{
        struct value *x = n->inputs[0];
        struct compose_reduction one = { .kind = r->kind, .count = 1 };
        const struct type *full = x->type;
        struct value *named = compose_axes_scatter(
                im->c, r->stated, constant_number(im->m, r->stated->type, 1), full->rank, 0);

        if (r->kind == REDUCE_OP_L1)
                one.kind = REDUCE_OP_SUM;
        else if (r->kind != REDUCE_OP_SUM && r->kind != REDUCE_OP_MEAN &&
                 r->kind != REDUCE_OP_MAX && r->kind != REDUCE_OP_MIN &&
                 r->kind != REDUCE_OP_PROD)
                return onnx_unsupported(im, n, "axes that only a run knows, of a result whose "
                                               "shape is not declared");
        if (r->kind == REDUCE_OP_L1 && element_info[value_element(x)].class != CLASS_UINT)
                x = compose_unary(im->c, OP_abs, x);
        dim_t dims[RANK_MAX];
        for (int d = 0; d < full->rank && x && named; d++) {
                struct value *is_named = compose_with(im->c, OP_ne,
                                                      compose_pick(im->c, named, 0, d), 0);
                struct value *extent = compose_select(im->c, is_named,
                                                      compose_integer(im->c, E_I64, 1),
                                                      compose_extent(im->c, full->dims[d]));
                one.axes[0] = d;
                struct value *row = compose_unreduce(im->c, compose_reduce_as(im->c, &one, x), full,
                                                     one.axes, 1);
                x = compose_select(im->c, is_named, row, x);
                dims[d] = onnx_counted(im, n, 0, d, extent,
                                       compose_max(1, dim_bound(im->m, full->dims[d])));
                if (dim_equal(dims[d], DIM_NONE))
                        return false;
        }
        for (int d = 0; d < full->rank && x; d++)
                x = dim_equal(dims[d], full->dims[d]) ? x : onnx_first(im, x, d, dims[d]);
        return x && named && onnx_output(n, 0, x);
}

bool onnx_import_reduce(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct compose_reduction r = { .kind = onnx_variant(n) };
        const int rank = value_rank(x);
        struct onnx_axes axes;
        int64_t keep, no_op = 0;
        bool by_operand = n->opset >= (r.kind == REDUCE_OP_SUM ? 13 : 18);

        if (!onnx_int_range(im, n, "keepdims", 1, 0, 1, &keep) ||
            (by_operand && !onnx_int_range(im, n, "noop_with_empty_axes", 0, 0, 1, &no_op)) ||
            !onnx_axes_read(im, n, by_operand ? 1 : -1, "axes", rank, &axes))
                return false;
        if (value_element(x) == E_BOOL && r.kind != REDUCE_OP_MAX && r.kind != REDUCE_OP_MIN)
                return onnx_invalid(im, n, "operand 0 is of bool");
        r.count = axes.count;
        for (int i = 0; i < axes.count; i++)
                r.axes[i] = axes.axes[i];
        if (axes.state == AXES_RUNTIME) {
                r.stated = axes.operand;
                if (keep && !type_is_empty(x->type) && !onnx_is_declared(im, n, 0, rank))
                        return reduce_counted(im, n, &r);
                r.result = onnx_declared_as(im, n, 0, value_element(x),
                                            keep ? rank : rank - axes.count);
                return r.result && onnx_output(n, 0, compose_reduce_as(im->c, &r, x));
        }
        if (r.count == 0 && !no_op)
                r.count = compose_axes_from(0, rank, r.axes);
        struct value *y = compose_reduce_as(im->c, &r, x);
        return onnx_output(n, 0, keep ? compose_keep(im->c, y, x->type, r.axes, r.count) : y);
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
        if (dim_is(x->type->dims[axis], 0))
                return onnx_invalid(im, n, "axis %d is of extent 0", axis);
        struct value *y = compose_cast(
                im->c, compose_arg_reduce(im->c, x, (enum reducer)onnx_variant(n), axis, last),
                E_I64);
        return onnx_output(
                n, 0, keep ? compose_keep(im->c, y, x->type, (const int64_t[]){ axis }, 1) : y);
}

/* The result is 1 at the first maximum, else 0; before opset 13 it is over all dimensions from axis
 * on. */
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
                const dim_t dims[2] = { type_product(im->m, t, 0, axis),
                                        type_product(im->m, t, axis, t->rank) };
                flat = compose_reshape(im->c, x, 2, dims);
                axis = 1;
        }
        if (!flat || type_is_empty(t))
                return onnx_output(n, 0, x);
        return onnx_output(
                n, 0, compose_reshape(im->c, compose_hardmax(im->c, flat, axis), t->rank, t->dims));
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
                       onnx_output(n, 0,
                                   compose_cumulate(im->c, x, kind, axis, exclusive, reverse));
        /* A run-time axis chooses among the results of all. */
        struct value *chosen = compose_axes_wrap(
                im->c, compose_cast(im->c, onnx_scalar(im, n, 1), E_I64), value_rank(x));
        for (int d = 0; d < value_rank(x); d++) {
                struct value *here = compose_cumulate(im->c, x, kind, d, exclusive, reverse);
                y = y ? compose_select(im->c, compose_with(im->c, OP_eq, chosen, d), here, y)
                      : here;
                if (!y)
                        return false;
        }
        return onnx_output(n, 0, y);
}
