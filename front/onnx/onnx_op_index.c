/* SPDX-License-Identifier: MIT */
/* These operators pick elements by an index tensor, or build masks out of indices. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_mask.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_softmax.h"

static bool want_index(struct onnx_import *im, const struct onnx_node *n, int input)
{
        const struct value *v = onnx_input(n, input);

        return value_element(v) == E_I64 || value_element(v) == E_I32 ||
               onnx_invalid(im, n, "indices are of %s, want i32 or i64",
                            element_info[value_element(v)].text);
}

bool onnx_import_gather(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *indices = n->inputs[1];
        int64_t stated;
        dim_t dims[2 * RANK_MAX];
        int axis, rank = 0;

        if (!want_index(im, n, 1) || !onnx_int(im, n, "axis", 0, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            !onnx_indices_fit(im, n, indices, &x->type->dims[axis], 1))
                return false;
        for (int d = 0; d < axis; d++)
                dims[rank++] = x->type->dims[d];
        for (int d = 0; d < value_rank(indices); d++)
                dims[rank++] = indices->type->dims[d];
        for (int d = axis + 1; d < value_rank(x); d++)
                dims[rank++] = x->type->dims[d];
        return compose_type(im->c, value_element(x), rank, dims) &&
               onnx_output(n, 0, build_gather(&im->b, x, indices, axis));
}

bool onnx_import_gather_elements(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *indices = n->inputs[1];
        int64_t stated, starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];
        int axis;

        if (!want_index(im, n, 1) || !onnx_int(im, n, "axis", 0, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            !onnx_want_rank(im, n, 1, value_rank(x), value_rank(x)) ||
            !onnx_indices_fit(im, n, indices, &x->type->dims[axis], 1))
                return false;
        for (int d = 0; d < value_rank(x); d++) {
                steps[d] = 1;
                dims[d] = d == axis ? x->type->dims[d] : indices->type->dims[d];
                if (dim_equal(dims[d], x->type->dims[d]) ||
                    onnx_counted_within(im, dims[d], dim_least(im->m, x->type->dims[d])))
                        continue;
                if (dim_extent(dims[d]) > value_extent(x, d))
                        return onnx_invalid(im, n, "indices are %s for an operand %s",
                                            compose_text(im->c, indices->type),
                                            compose_text(im->c, x->type));
        }
        x = build_slice(&im->b, x, starts, steps, dims);
        return onnx_output(n, 0, compose_gather_elements(im->c, x, indices, axis));
}

bool onnx_import_gather_nd(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *indices = n->inputs[1];
        int64_t batch = 0;
        dim_t dims[2 * RANK_MAX];
        int rank = 0;

        if (n->domain[0] && !(indices = compose_cast(im->c, indices, E_I64)))
                return false;           /* com.microsoft has i32, too. */
        if ((!n->domain[0] && !onnx_want_element(im, n, 1, E_I64)) ||
            !onnx_want_rank(im, n, 0, 1, RANK_MAX) || !onnx_want_rank(im, n, 1, 1, RANK_MAX))
                return false;
        int least = (int)compose_min(value_rank(x), value_rank(indices)),
            last = value_rank(indices) - 1;
        if (n->opset >= 12 && !onnx_int_range(im, n, "batch_dims", 0, 0, least - 1, &batch))
                return false;
        int64_t tuple = value_extent(indices, last);
        if (tuple < 1 || tuple > value_rank(x) - batch)
                return onnx_invalid(im, n, "index tuples of %lld for rank %d and batch_dims %lld",
                                    (long long)tuple, value_rank(x), (long long)batch);
        for (int d = 0; d < last; d++) {
                if (d < batch && !dim_equal(indices->type->dims[d], x->type->dims[d]))
                        return onnx_invalid(
                                im, n,
                                "batch dimension %d is %lld in the operand and %lld in the indices",
                                d, (long long)value_extent(x, d),
                                (long long)value_extent(indices, d));
                dims[rank++] = indices->type->dims[d];
        }
        for (int d = (int)(batch + tuple); d < value_rank(x); d++)
                dims[rank++] = x->type->dims[d];
        if (!compose_type(im->c, value_element(x), rank, dims))
                return false;
        struct attr *attrs = attrs_new(im->m, OP_gather_nd);
        attr_set(attrs, OP_gather_nd, "batch_dims", batch);
        return onnx_output(n, 0,
                           value_build(&im->b, OP_gather_nd, (struct value *[]){ x, indices }, 2,
                                       attrs, NULL));
}

/* ---- masks out of indices ---- */

/* The result is on where the class is the index (a negative one counts from the end), else off.
 * An index out of range is off everywhere. */
bool onnx_import_one_hot(struct onnx_import *im, struct onnx_node *n)
{
        struct value *indices = n->inputs[0], *values = n->inputs[2];
        int64_t stated;
        double depth;
        int axis, count, rank = value_rank(indices) + 1;
        bool known;

        if (!onnx_want_rank(im, n, 0, 0, RANK_MAX - 1) || !onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, rank, &axis) ||
            !onnx_operand_numbers(im, n, 1, &depth, 1, &count, &known))
                return false;
        if (value_rank(values) != 1 || value_extent(values, 0) != 2)
                return onnx_invalid(im, n, "values are %s, want two",
                                    compose_text(im->c, values->type));
        if (!known) {
                const struct type *declared =
                        onnx_declared_as(im, n, 0, value_element(values), rank);
                if (!declared)
                        return false;
                depth = (double)type_extent(declared, axis);
        } else if (count != 1 || !(depth >= 0 && depth <= NUMBER_MAX)) {
                return onnx_invalid(im, n, "depth is not one number from 0 to %d", NUMBER_MAX);
        }
        struct value *hit = compose_one_hot(im->c, indices, axis, (int64_t)depth);
        struct value *off = compose_pick(im->c, values, 0, 0);
        struct value *on = compose_pick(im->c, values, 0, 1);
        return onnx_output(n, 0, compose_select(im->c, hit, on, off));
}

bool onnx_import_trilu(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *k = compose_integer(im->c, E_I64, 0);
        int64_t upper;

        if (!onnx_want_rank(im, n, 0, 2, RANK_MAX) || !onnx_want_element(im, n, 1, E_I64) ||
            !onnx_int_range(im, n, "upper", 1, 0, 1, &upper))
                return false;
        if (onnx_input(n, 1))
                k = onnx_scalar(im, n, 1);
        return onnx_output(n, 0, compose_triangle(im->c, x, k, upper));
}

bool onnx_import_eye_like(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t k, number;
        enum element e = value_element(x);

        if (!onnx_want_rank(im, n, 0, 2, 2) || !onnx_int(im, n, "k", 0, &k) ||
            !onnx_int(im, n, "dtype", 0, &number) ||
            (onnx_has(n, "dtype") && !onnx_element_number(im, n, "dtype", number, &e)))
                return false;
        return onnx_output(n, 0,
                           compose_cast(im->c, compose_eye(im->c, x->type, k), e));
}

/* ---- losses ---- */

static bool loss_read(struct onnx_import *im, struct onnx_node *n, struct compose_loss *loss)
{
        static const char *const reductions[] = { "none", "sum", "mean", NULL };
        int rank = value_rank(n->inputs[0]);

        loss->target = n->inputs[1];
        loss->weight = onnx_input(n, 2);
        loss->ignores = onnx_has(n, "ignore_index");
        return onnx_want_float(im, n, 0) && onnx_want_rank(im, n, 0, 2, RANK_MAX) &&
               onnx_choice(im, n, "reduction", reductions, LOSS_MEAN, &loss->reduction) &&
               onnx_int(im, n, "ignore_index", 0, &loss->ignore_index) && want_index(im, n, 1) &&
               onnx_want_rank(im, n, 1, rank - 1, rank - 1);
}

bool onnx_import_likelihood_loss(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_loss loss;

        return loss_read(im, n, &loss) &&
               onnx_output(n, 0, compose_likelihood_loss(im->c, n->inputs[0], &loss));
}

/* The second output is the log softmax. */
bool onnx_import_cross_entropy_loss(struct onnx_import *im, struct onnx_node *n)
{
        struct value *logarithms = NULL;
        struct compose_loss loss;

        if (!loss_read(im, n, &loss))
                return false;
        struct value *y = compose_cross_entropy_loss(im->c, n->inputs[0], &loss,
                                                     onnx_wants(n, 1) ? &logarithms : NULL);
        return onnx_output(n, 0, y) && (!logarithms || onnx_output(n, 1, logarithms));
}
