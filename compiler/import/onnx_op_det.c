/* SPDX-License-Identifier: MIT */
/* Det: Gaussian elimination with partial pivoting, all matrices of a batch at once. */
#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

/* x <batch x rows x columns>: a row or a column of each matrix */
static struct value *line(struct onnx_import *im, struct value *x, int axis, int64_t number)
{
        return x ? build_gather(&im->b, x, compose_integer(im->c, E_I64, number), axis) : NULL;
}

/* v over x's dimensions but `without` */
static struct value *over(struct onnx_import *im, struct value *v, const struct value *x, int without)
{
        return v && x ? compose_spread(im->c, v, x->type,
                                       (const int64_t[]){ 0, without == 1 ? 2 : 1 })
                      : NULL;
}

/* One step: the row whose first entry is largest changes places with the first row, and is taken from all
 * others so often that they begin with 0. *factor: that entry, negative where rows changed places.
 * Returns what is below and right of it, <batch x n - 1 x n - 1>. */
static struct value *eliminated(struct onnx_import *im, struct value *x, struct value **factor)
{
        const int64_t starts[3] = { 0, 1, 1 }, steps[3] = { 1, 1, 1 };
        struct value *first = line(im, x, 2, 0);
        struct value *best = first ? compose_arg_reduce(im->c, compose_unary(im->c, OP_abs, first),
                                                        REDUCE_max, 1, false)
                                   : NULL;

        *factor = NULL;
        if (!best)
                return NULL;
        const dim_t *dims = x->type->dims, row[3] = { dims[0], dim_of(1), dims[2] };
        const struct type *rows = type_tensor(im->m, value_element(best), 3, row);
        struct value *at = compose_spread(im->c, best, rows, (const int64_t[]){ 0 });
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", 1);
        struct value *chosen =
                at ? value_build(&im->b, OP_gather_elements, (struct value *[]){ x, at }, 2, attrs, NULL) : NULL;
        chosen = compose_reshape(im->c, chosen, 2, (const dim_t[]){ dims[0], dims[2] });
        struct value *pivot = line(im, chosen, 1, 0);
        if (!pivot)
                return NULL;
        struct value *same = compose_with(im->c, OP_eq, best, 0);
        *factor = compose_select(im->c, same, pivot, compose_unary(im->c, OP_neg, pivot));
        if (dim_is(dims[1], 1))
                return x;
        const struct type *index = type_with_element(im->m, x->type, value_element(best));
        struct value *number = build_iota(&im->b, index, 1);
        struct value *here = compose_binary(
                im->c, OP_eq, number, compose_spread(im->c, best, index, (const int64_t[]){ 0 }));
        x = compose_select(im->c, here, over(im, line(im, x, 1, 0), x, 1), x);
        /* a pivot of 0: all below it is 0, and so is the determinant */
        pivot = compose_select(im->c, compose_with(im->c, OP_eq, pivot, 0),
                               build_like(&im->b, pivot, 1), pivot);
        struct value *share = line(im, x, 2, 0);
        share = share ? compose_binary(
                                im->c, OP_div, share,
                                compose_spread(im->c, pivot, share->type, (const int64_t[]){ 0 }))
                      : NULL;
        share = over(im, share, x, 2);
        x = sub(im->c, x, mul(im->c, share, over(im, chosen, x, 1)));
        return x ? build_slice(&im->b, x, starts, steps,
                               (const dim_t[]){ dims[0], dim_of(dim_extent(dims[1]) - 1),
                                                dim_of(dim_extent(dims[2]) - 1) })
                 : NULL;
}

/* the steps as a loop: what is left lies in the corner of a matrix of the same extents, the rest is 0 */
static struct value *in_loop(struct onnx_import *im, struct value *x, struct value *one)
{
        const int64_t steps = value_extent(x, 1);
        struct value *const first[2] = { x, one };
        struct value *yielded[2], *factor;
        const struct compose_loop_parts parts = { .steps = steps, .first = first, .carried = 2 };
        struct compose_loop loop;

        if (!one || !compose_loop_open(im->c, &parts, &loop))
                return NULL;
        struct value *held = &loop.held[0], *product = &loop.held[1];
        held = eliminated(im, held, &factor);
        held = held ? compose_fitted(im->c, held, 1, steps) : NULL;
        yielded[0] = held ? compose_fitted(im->c, held, 2, steps) : NULL;
        yielded[1] = mul(im->c, product, factor);
        return compose_loop_close(im->c, &loop, yielded) ? &loop.op->results[1] : NULL;
}

/* Matrices in the last two dimensions; of none is 1 */
bool onnx_import_det(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int rank = value_rank(x), outer = rank - 2;
        int64_t batch, extents[RANK_MAX];

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, RANK_MAX))
                return false;
        int64_t extent = value_extent(x, outer);
        if (extent != value_extent(x, outer + 1))
                return onnx_invalid(im, n,
                                    "matrices of %lld rows and %lld columns, want square ones",
                                    (long long)extent, (long long)value_extent(x, outer + 1));
        dims_extents(extents, outer, x->type->dims);
        if (!compose_elements(im->c, outer, extents, &batch))
                return false;
        enum element e = value_element(x);
        struct value *y =
                constant_number(im->m, type_static(im->m, compose_wide_element(e), 1, &batch), 1);
        x = compose_reshape(im->c, compose_wide(im->c, x), 3,
                            (const dim_t[]){ dim_of(batch), dim_of(extent), dim_of(extent) });
        if (extent && batch && extent > im->context->limits.unrolled_steps) {
                y = in_loop(im, x, y);
        } else if (batch) {
                for (int64_t k = 0; k < extent; k++) {
                        struct value *factor;
                        x = eliminated(im, x, &factor);
                        y = k ? mul(im->c, y, factor) : factor;
                }
        }
        return onnx_output(
                n, 0,
                compose_cast(im->c, compose_reshape(im->c, y, outer, n->inputs[0]->type->dims), e));
}
