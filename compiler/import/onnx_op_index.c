/* SPDX-License-Identifier: MIT */
/* Operators that pick elements by an index tensor, or build masks out of indices. */
#include "compiler/import/onnx_helpers.h"

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
                dims[rank++] = dim_of(value_extent(x, d));
        for (int d = 0; d < value_rank(indices); d++)
                dims[rank++] = dim_of(value_extent(indices, d));
        for (int d = axis + 1; d < value_rank(x); d++)
                dims[rank++] = dim_of(value_extent(x, d));
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
                dims[d] = dim_of(d == axis ? value_extent(x, d) : value_extent(indices, d));
                if (dim_extent(dims[d]) > value_extent(x, d))
                        return onnx_invalid(im, n, "indices are %s for an operand %s",
                                            type_text(im->arena, im->m, indices->type),
                                            type_text(im->arena, im->m, x->type));
        }
        x = build_slice(&im->b, x, starts, steps, dims);
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", axis);
        return x && onnx_output(n, 0,
                                value_build(&im->b, OP_gather_elements,
                                            (struct value *[]){ x, indices }, 2, attrs, NULL));
}

bool onnx_import_gather_nd(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *indices = n->inputs[1];
        int64_t batch = 0;
        dim_t dims[2 * RANK_MAX];
        int rank = 0;

        if (!onnx_want_element(im, n, 1, E_I64) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_want_rank(im, n, 1, 1, RANK_MAX))
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
                if (d < batch && value_extent(indices, d) != value_extent(x, d))
                        return onnx_invalid(
                                im, n,
                                "batch dimension %d is %lld in the operand and %lld in the indices",
                                d, (long long)value_extent(x, d),
                                (long long)value_extent(indices, d));
                dims[rank++] = dim_of(value_extent(indices, d));
        }
        for (int d = (int)(batch + tuple); d < value_rank(x); d++)
                dims[rank++] = dim_of(value_extent(x, d));
        if (!compose_type(im->c, value_element(x), rank, dims))
                return false;
        struct attr *attrs = attrs_new(im->m, OP_gather_nd);
        attr_set(attrs, OP_gather_nd, "batch_dims", batch);
        return onnx_output(n, 0,
                           value_build(&im->b, OP_gather_nd, (struct value *[]){ x, indices }, 2,
                                       attrs, NULL));
}

/* ---- masks out of indices ---- */

/* on where the class is the index (negative ones wrap), else off; an index out of range is off
 * everywhere */
bool onnx_import_one_hot(struct onnx_import *im, struct onnx_node *n)
{
        struct value *indices = n->inputs[0], *values = n->inputs[2];
        int64_t stated, others[RANK_MAX];
        dim_t dims[RANK_MAX + 1];
        double depth;
        int axis, count, rank = value_rank(indices) + 1;
        bool known;

        if (!onnx_want_rank(im, n, 0, 0, RANK_MAX - 1) || !onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, rank, &axis) ||
            !onnx_operand_numbers(im, n, 1, &depth, 1, &count, &known))
                return false;
        if (value_rank(values) != 1 || value_extent(values, 0) != 2)
                return onnx_invalid(im, n, "values are %s, want two",
                                    type_text(im->arena, im->m, values->type));
        if (!known) {
                const struct type *declared =
                        onnx_declared_as(im, n, 0, value_element(values), rank);
                if (!declared)
                        return false;
                depth = (double)type_extent(declared, axis);
        } else if (count != 1 || !(depth >= 0 && depth <= NUMBER_MAX)) {
                return onnx_invalid(im, n, "depth is not one number from 0 to %d", NUMBER_MAX);
        }
        for (int d = 0, k = 0; d < rank; d++) {
                dims[d] = dim_of(d == axis ? (int64_t)depth : value_extent(indices, k));
                if (d != axis)
                        others[k++] = d;
        }
        const struct type *to = compose_type(im->c, E_I64, rank, dims);
        if (!to)
                return false;
        indices = compose_cast(im->c, indices, E_I64);
        indices = compose_below_zero(im->c, indices, compose_with(im->c, OP_add, indices, depth));
        struct value *right = build_iota(&im->b, to, axis);
        struct value *hit =
                compose_binary(im->c, OP_eq, compose_spread(im->c, indices, to, others), right);
        struct value *off = build_gather(&im->b, values, compose_integer(im->c, E_I64, 0), 0);
        struct value *on = build_gather(&im->b, values, compose_integer(im->c, E_I64, 1), 0);
        return onnx_output(n, 0, compose_select(im->c, hit, on, off));
}

/* column - row of the last two dimensions of t, as i64 */
static struct value *diagonal(struct onnx_import *im, const struct type *t)
{
        const struct type *index = type_with_element(im->m, t, E_I64);
        struct value *row = build_iota(&im->b, index, t->rank - 2);

        return compose_binary(im->c, OP_sub, build_iota(&im->b, index, t->rank - 1), row);
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
        struct value *kept = compose_binary(im->c, upper ? OP_ge : OP_le, diagonal(im, x->type), k);
        return onnx_output(n, 0, compose_select(im->c, kept, x, build_like(&im->b, x, 0)));
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
                           compose_cast(im->c,
                                        compose_binary(im->c, OP_eq, diagonal(im, x->type),
                                                       compose_integer(im->c, E_I64, k)),
                                        e));
}

/* ---- losses: the class picked by target, weighted, ignored where target is ignore_index ---- */

enum loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN };

/* <N x 1 x ...>: the elements of x <N x C x ...> at these indices */
static struct value *pick(struct onnx_import *im, struct value *x, struct value *indices)
{
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", 1);
        return indices ? value_build(&im->b, OP_gather_elements, (struct value *[]){ x, indices },
                                     2, attrs, NULL)
                       : NULL;
}

static struct value *or_zero(struct onnx_import *im, struct value *ignored, struct value *x)
{
        return ignored && x ? compose_select(im->c, ignored, build_like(&im->b, x, 0), x) : x;
}

/* log_probabilities <N x C x ...>, target <N x ...> */
static struct value *likelihood_loss(struct onnx_import *im, struct onnx_node *n,
                                     struct value *log_probabilities)
{
        static const char *const reductions[] = { "none", "sum", "mean", NULL };
        struct value *target = n->inputs[1], *weight = onnx_input(n, 2);
        const struct type *t = log_probabilities->type, *target_type = target->type;
        bool has_ignore = onnx_has(n, "ignore_index");
        int64_t ignore_index, axes[RANK_MAX];
        dim_t kept[RANK_MAX];
        int reduction;

        if (!onnx_choice(im, n, "reduction", reductions, LOSS_MEAN, &reduction) ||
            !onnx_int(im, n, "ignore_index", 0, &ignore_index) || !want_index(im, n, 1) ||
            !onnx_want_rank(im, n, 0, 2, RANK_MAX) ||
            !onnx_want_rank(im, n, 1, t->rank - 1, t->rank - 1))
                return NULL;
        for (int d = 0; d < t->rank; d++) {
                kept[d] = dim_of(d == 1 ? 1 : type_extent(t, d));
                if (d != 1 && !dim_equal(target_type->dims[d - (d > 1)], t->dims[d])) {
                        onnx_invalid(im, n, "target is %s for an operand %s",
                                     type_text(im->arena, im->m, target_type),
                                     type_text(im->arena, im->m, t));
                        return NULL;
                }
        }
        if (weight && (value_rank(weight) != 1 || !dim_is(t->dims[1], value_extent(weight, 0)) ||
                       value_element(weight) != value_element(n->inputs[0]))) {
                onnx_invalid(im, n, "weight is %s for an operand %s",
                             type_text(im->arena, im->m, weight->type),
                             type_text(im->arena, im->m, t));
                return NULL;
        }
        struct value *at = compose_reshape(im->c, target, t->rank, kept), *ignored = NULL,
                     *factor = NULL;
        if (has_ignore) {
                ignored = compose_binary(im->c, OP_eq, compose_cast(im->c, at, E_I64),
                                         compose_integer(im->c, E_I64, ignore_index));
                at = compose_select(im->c, ignored,
                                    compose_integer(im->c, value_element(target), 0), at);
        }
        struct value *loss =
                compose_unary(im->c, OP_neg, or_zero(im, ignored, pick(im, log_probabilities, at)));
        if (weight)
                factor = or_zero(im, ignored,
                                 build_gather(&im->b, compose_wide(im->c, weight),
                                              ignored ? at : target, 0));
        else if (ignored)
                factor = or_zero(im, ignored, build_like(&im->b, loss, 1));
        loss = compose_reshape(im->c, loss, target_type->rank, target_type->dims);
        factor = compose_reshape(im->c, factor, target_type->rank, target_type->dims);
        if (weight || ignored)
                loss = compose_binary(im->c, OP_mul, loss, factor);
        if (reduction == LOSS_NONE)
                return loss;
        int count = compose_axes_from(0, target_type->rank, axes);
        if (reduction == LOSS_MEAN && !factor)
                return compose_mean(im->c, loss, axes, count);
        struct value *sum = compose_reduce(im->c, REDUCE_sum, loss, axes, count, E_COMPUTE);
        return reduction == LOSS_SUM ? sum
                                     : compose_binary(im->c, OP_div, sum,
                                                      compose_reduce(im->c, REDUCE_sum, factor,
                                                                     axes, count, E_COMPUTE));
}

bool onnx_import_likelihood_loss(struct onnx_import *im, struct onnx_node *n)
{
        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, RANK_MAX))
                return false;
        struct value *x = compose_wide(im->c, n->inputs[0]);
        struct value *loss = x ? likelihood_loss(im, n, x) : NULL;
        return onnx_output(n, 0, compose_cast(im->c, loss, value_element(n->inputs[0])));
}

/* the same of log softmax along axis 1, which is the second output */
bool onnx_import_cross_entropy_loss(struct onnx_import *im, struct onnx_node *n)
{
        const int64_t last[1] = { 2 }, classes_last[3] = { 0, 2, 1 };
        dim_t flat[3] = { dim_of(0), dim_of(0), dim_of(1) };

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, RANK_MAX))
                return false;
        struct value *x = compose_wide(im->c, n->inputs[0]);
        if (!x)
                return false;
        const struct type *t = x->type;
        for (int d = 0; d < t->rank; d++)
                flat[compose_min(d, 2)] =
                        dim_of(d < 2 ? type_extent(t, d) : dim_extent(flat[2]) * type_extent(t, d));
        x = onnx_softmax(im,
                         build_transpose(&im->b, compose_reshape(im->c, x, 3, flat), classes_last),
                         last, 1, true);
        x = compose_reshape(im->c, x ? build_transpose(&im->b, x, classes_last) : NULL, t->rank,
                            t->dims);
        if (!x || (onnx_wants(n, 1) &&
                   !onnx_output(n, 1, compose_cast(im->c, x, value_element(n->inputs[0])))))
                return false;
        return onnx_output(
                n, 0, compose_cast(im->c, likelihood_loss(im, n, x), value_element(n->inputs[0])));
}
