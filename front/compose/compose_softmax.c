/* SPDX-License-Identifier: MIT */
/* This file has the softmax family, and losses over its logarithms. */
#include "front/compose/compose_softmax.h"

#include <float.h>
#include <math.h>

#include "front/compose/compose_arithmetic.h"

/* ---- softmax ---- */

struct value *compose_softmax(struct compose *c, struct value *x, const int64_t *axes, int count,
                              bool logarithm)
{
        if (!x)
                return NULL;
        const struct type *t = x->type;
        x = sub(c, x,
                compose_unreduce(c, compose_reduce(c, REDUCE_max, x, axes, count, E_COMPUTE), t,
                                 axes, count));
        struct value *e = compose_unary(c, OP_exp, x),
                     *sum = compose_reduce(c, REDUCE_sum, e, axes, count, E_COMPUTE);
        if (logarithm)
                return sub(c, x,
                           compose_unreduce(c, compose_unary(c, OP_log, sum), t, axes, count));
        return divide(c, e, compose_unreduce(c, sum, t, axes, count));
}

struct value *compose_masked_softmax(struct compose *c, struct value *x, const int64_t *axes,
                                     int count)
{
        if (!x)
                return NULL;
        /* A row of -inf has the lowest number as its largest: its exponentials are 0, and so is
         * their quotient by 1. The sum of any other row is at least 1, which its largest element's
         * exponential is. */
        const struct type *t = x->type;
        struct value *most =
                compose_with(c, OP_max, compose_reduce(c, REDUCE_max, x, axes, count, E_COMPUTE),
                             t->element == E_F64 ? -DBL_MAX : -(double)FLT_MAX);
        struct value *e =
                compose_unary(c, OP_exp, sub(c, x, compose_unreduce(c, most, t, axes, count)));
        struct value *sum = compose_with(
                c, OP_max, compose_reduce(c, REDUCE_sum, e, axes, count, E_COMPUTE), 1);
        return divide(c, e, compose_unreduce(c, sum, t, axes, count));
}

struct value *compose_softmax_with_sink(struct compose *c, struct value *x, struct value *sink)
{
        if (!x || !sink)
                return NULL;
        const struct type *t = x->type;
        const int64_t last[1] = { t->rank - 1 }, heads[1] = { t->rank - 3 };
        struct value *most = compose_reduce(c, REDUCE_max, x, last, 1, E_COMPUTE);
        if (!most)
                return NULL;
        sink = compose_spread(c, compose_cast(c, sink, t->element), most->type, heads);
        most = compose_binary(c, OP_max, most, sink);
        struct value *of_sink = compose_unary(c, OP_exp, sub(c, sink, most)),
                     *e = compose_unary(c, OP_exp,
                                        sub(c, x, compose_unreduce(c, most, t, last, 1)));
        struct value *sum = add(c, compose_reduce(c, REDUCE_sum, e, last, 1, E_COMPUTE), of_sink);
        return divide(c, e, compose_unreduce(c, sum, t, last, 1));
}

/* ---- losses: the class picked by target, weighted, ignored where target is ignore_index ---- */

/* Returns the elements of x <N x C x ...> at these indices: <N x 1 x ...>. */
static struct value *pick(struct compose *c, struct value *x, struct value *indices)
{
        struct attr *attrs = attrs_new(c->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", 1);
        return indices ? value_build(c->b, OP_gather_elements, (struct value *[]){ x, indices }, 2,
                                     attrs, NULL)
                       : NULL;
}

static struct value *or_zero(struct compose *c, struct value *ignored, struct value *x)
{
        return ignored && x ? compose_select(c, ignored, build_like(c->b, x, 0), x) : x;
}

/* Returns the loss of logarithms of probabilities <N x C x ...>, of the wide type, in type e,
 * which these had before. */
static struct value *likelihood_loss(struct compose *c, struct value *log_probabilities,
                                     enum element e, const struct compose_loss *in)
{
        struct value *target = in->target, *weight = in->weight;
        const struct type *t = log_probabilities->type, *target_type = target->type;
        int64_t axes[RANK_MAX];
        dim_t kept[RANK_MAX];

        for (int d = 0; d < t->rank; d++) {
                kept[d] = d == 1 ? dim_of(1) : t->dims[d];
                if (d != 1 && !dim_equal(target_type->dims[d - (d > 1)], t->dims[d])) {
                        compose_invalid(c, "target is %s for an operand %s",
                                        compose_text(c, target_type), compose_text(c, t));
                        return NULL;
                }
        }
        if (weight && (value_rank(weight) != 1 || !dim_equal(t->dims[1], weight->type->dims[0]) ||
                       value_element(weight) != e)) {
                compose_invalid(c, "weight is %s for an operand %s", compose_text(c, weight->type),
                                compose_text(c, t));
                return NULL;
        }
        struct value *at = compose_reshape(c, target, t->rank, kept), *ignored = NULL,
                     *factor = NULL;
        if (in->ignores) {
                ignored = compose_binary(c, OP_eq, compose_cast(c, at, E_I64),
                                         compose_integer(c, E_I64, in->ignore_index));
                at = compose_select(c, ignored, compose_integer(c, value_element(target), 0), at);
        }
        struct value *loss =
                compose_unary(c, OP_neg, or_zero(c, ignored, pick(c, log_probabilities, at)));
        if (weight)
                factor = or_zero(
                        c, ignored,
                        build_gather(c->b, compose_wide(c, weight), ignored ? at : target, 0));
        else if (ignored)
                factor = or_zero(c, ignored, build_like(c->b, loss, 1));
        loss = compose_reshape(c, loss, target_type->rank, target_type->dims);
        factor = compose_reshape(c, factor, target_type->rank, target_type->dims);
        if (weight || ignored)
                loss = mul(c, loss, factor);
        if (in->reduction == LOSS_NONE)
                return loss;
        int count = compose_axes_from(0, target_type->rank, axes);
        if (in->reduction == LOSS_MEAN && !factor)
                return compose_mean(c, loss, axes, count);
        struct value *sum = compose_reduce(c, REDUCE_sum, loss, axes, count, E_COMPUTE);
        return in->reduction == LOSS_SUM
                       ? sum
                       : divide(c, sum,
                                compose_reduce(c, REDUCE_sum, factor, axes, count, E_COMPUTE));
}

struct value *compose_likelihood_loss(struct compose *c, struct value *x,
                                      const struct compose_loss *loss)
{
        enum element e = value_element(x);

        x = compose_wide(c, x);
        return compose_cast(c, x ? likelihood_loss(c, x, e, loss) : NULL, e);
}

struct value *compose_cross_entropy_loss(struct compose *c, struct value *x,
                                         const struct compose_loss *loss, struct value **logarithms)
{
        int64_t classes_last[RANK_MAX], back[RANK_MAX];
        const int rank = value_rank(x);
        const int64_t last[1] = { rank - 1 };
        enum element e = value_element(x);

        for (int d = 0; d < rank; d++) {
                classes_last[d] = d == rank - 1 ? 1 : d + (d > 0);
                back[classes_last[d]] = d;
        }
        x = compose_transpose(c, compose_wide(c, x), classes_last);
        x = compose_transpose(c, compose_softmax(c, x, last, 1, true), back);
        if (!x || (logarithms && !(*logarithms = compose_cast(c, x, e))))
                return NULL;
        return compose_cast(c, likelihood_loss(c, x, e, loss), e);
}

struct value *compose_hardmax(struct compose *c, struct value *x, int axis)
{
        const int64_t axes[1] = { axis };
        struct value *at = compose_arg_reduce(c, x, REDUCE_max, axis, false);

        if (!at)
                return NULL;
        const struct type *index = type_with_element(c->m, x->type, value_element(at));
        at = compose_unreduce(c, at, index, axes, 1);
        return compose_cast(c, compose_binary(c, OP_eq, at, build_iota(c->b, index, axis)),
                            value_element(x));
}

struct value *compose_softmax_nonzero(struct compose *c, struct value *x)
{
        const int64_t axis = 1;
        struct value *some = compose_with(c, OP_gt, compose_unary(c, OP_abs, x), 1e-7),
                     *none = x ? build_like(c->b, x, 0) : NULL;
        struct value *most =
                compose_select(c, some, x, x ? build_like(c->b, x, -(double)INFINITY) : NULL);

        most = compose_reduce(c, REDUCE_max, most, &axis, 1, E_COMPUTE);
        if (!most)
                return NULL;
        struct value *e =
                compose_unary(c, OP_exp, sub(c, x, compose_unreduce(c, most, x->type, &axis, 1)));
        e = compose_select(c, some, e, none);
        struct value *sum = compose_reduce(c, REDUCE_sum, e, &axis, 1, E_COMPUTE);
        sum = sum ? compose_select(c, compose_with(c, OP_eq, sum, 0), build_like(c->b, sum, 1), sum)
                  : NULL;
        return sum ? divide(c, e, compose_unreduce(c, sum, x->type, &axis, 1)) : NULL;
}
