/* SPDX-License-Identifier: MIT */
/* Reductions, running sums, elements chosen by indices or by their order. */
#include "front/tensorflow/tensorflow_helpers.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_mask.h"
#include "front/compose/compose_matrix.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_reduce.h"
#include "front/compose/compose_sort.h"

/* ---- reductions ---- */

/* Keeps the axes where the node says so. */
static bool reduced(struct tf_import *im, struct tf_node *n, struct value *y, const int64_t *axes,
                    int count)
{
        const bool keeps = tf_bool(n, "keep_dims", false);
        return y && tf_output(im, n, 0,
                              keeps ? compose_keep(im->c, y, n->inputs[0].value->type, axes, count)
                                    : y);
}

bool tf_import_reduce(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        struct compose_reduction r = { .kind = tf_variant(n) };
        if (value_element(x) == E_BOOL)
                return tf_unsupported(im, "an operand %s", compose_text(im->c, x->type));
        return tf_axes(im, n, 1, value_rank(x), r.axes, &r.count) &&
               reduced(im, n, r.count ? compose_reduce_as(im->c, &r, x) : x, r.axes, r.count);
}

bool tf_import_reduce_truth(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        int64_t axes[RANK_MAX];
        int count;
        if (value_element(x) != E_BOOL)
                return tf_invalid(im, "an operand %s", compose_text(c, x->type));
        if (!tf_axes(im, n, 1, value_rank(x), axes, &count))
                return false;
        struct value *y = compose_reduce(c, (enum reducer)tf_variant(n), compose_cast(c, x, E_U8),
                                         axes, count, E_COMPUTE);
        return reduced(im, n, compose_cast(c, y, E_BOOL), axes, count);
}

bool tf_import_arg(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        const int64_t type = tf_type(n, "output_type", 9);
        int64_t stated;
        enum element e;
        if (!tf_one_int(im, n, 1, &stated))
                return false;
        const int axis = tf_axis(im, stated, value_rank(x));
        if (axis < 0 || !tf_element(type, &e))
                return axis < 0 ? false : tf_invalid(im, "output_type %lld", (long long)type);
        if (value_extent(x, axis) < 1)
                return tf_invalid(im, "a position among no elements");
        struct value *y = compose_arg_reduce(im->c, x, (enum reducer)tf_variant(n), axis, false);
        return tf_output(im, n, 0, compose_cast(im->c, y, e));
}

bool tf_import_cumulate(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        int64_t stated;
        if (!tf_one_int(im, n, 1, &stated))
                return false;
        const int axis = tf_axis(im, stated, value_rank(x));
        return axis >= 0 &&
               tf_output(im, n, 0,
                         compose_cumulate(im->c, x, (enum reducer)tf_variant(n), axis,
                                          tf_bool(n, "exclusive", false),
                                          tf_bool(n, "reverse", false)));
}

/* Half the sum of squares. */
bool tf_import_l2_loss(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        struct compose_reduction r = { .kind = REDUCE_OP_SUM_SQUARE };
        if (!tf_want_floats(im, n, 0))
                return false;
        r.count = compose_axes_from(0, value_rank(x), r.axes);
        struct value *y = r.count ? compose_reduce_as(c, &r, x) : mul(c, x, x);
        return tf_output(im, n, 0, times(c, y, 0.5));
}

bool tf_import_einsum(struct tf_import *im, struct tf_node *n)
{
        const Tf__AttrValue *a = tf_attr(n, "equation");
        struct value **operands = arena_array(im->arena, (size_t)n->input_count, sizeof *operands);
        if (!a || a->value_case != TF__ATTR_VALUE__VALUE_S || !a->s.len)
                return tf_invalid(im, "it has no equation");
        for (int i = 0; i < n->input_count; i++) {
                operands[i] = n->inputs[i].value;
                if (value_element(operands[i]) != value_element(operands[0]))
                        return tf_invalid(im, "operands of several types");
        }
        const struct compose_einsum e = { (const char *)a->s.data,
                                          (const char *)a->s.data + a->s.len, operands,
                                          n->input_count };
        return tf_output(im, n, 0, compose_einsum(im->c, &e));
}

/* ---- elements by indices ---- */

/* Returns operand i, of integers, as i64. */
static struct value *indices_of(struct tf_import *im, const struct tf_node *n, int i)
{
        struct value *v = n->inputs[i].value;
        if (element_is_integer(value_element(v)))
                return compose_cast(im->c, v, E_I64);
        tf_invalid(im, "indices %s", compose_text(im->c, v->type));
        return NULL;
}

static bool gathered(struct tf_import *im, struct tf_node *n, struct value *x, int axis)
{
        struct value *at = indices_of(im, n, 1);
        dim_t dims[2 * RANK_MAX];
        int rank = 0;
        if (!at)
                return false;
        for (int d = 0; d < value_rank(x); d++) {
                for (int k = 0; d == axis && k < value_rank(at); k++)
                        dims[rank++] = at->type->dims[k];
                if (d != axis)
                        dims[rank++] = x->type->dims[d];
        }
        if (rank > RANK_MAX)
                return tf_unsupported(im, "rank %d", rank);
        return compose_type(im->c, value_element(x), rank, dims) &&
               tf_output(im, n, 0, build_gather(im->c->b, x, at, axis));
}

/* Gather (variant 1) has no operand for its axis, which is 0. */
bool tf_import_gather(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        int64_t stated = 0;
        if (!tf_variant(n) && !tf_one_int(im, n, 2, &stated))
                return false;
        if (tf_int(n, "batch_dims", 0))
                return tf_unsupported(im, "batch_dims %lld", (long long)tf_int(n, "batch_dims", 0));
        const int axis = tf_axis(im, stated, value_rank(x));
        return axis >= 0 && gathered(im, n, x, axis);
}

bool tf_import_resource_gather(struct tf_import *im, struct tf_node *n)
{
        struct tf_variable *v = n->inputs[0].variable;
        if (!v || !n->inputs[1].value)
                return tf_invalid(im, "operand 0 is no variable");
        if (tf_int(n, "batch_dims", 0))
                return tf_unsupported(im, "batch_dims");
        struct value *x = tf_read_variable(im, v);
        if (x && !value_rank(x))
                return tf_invalid(im, "a variable of rank 0");
        return x && gathered(im, n, x, 0);
}

bool tf_import_gather_nd(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value, *at = indices_of(im, n, 1);
        dim_t dims[2 * RANK_MAX];
        int rank = 0;
        if (!at)
                return false;
        const int last = value_rank(at) - 1;
        if (last < 0 || value_extent(at, last) < 1 || value_extent(at, last) > value_rank(x))
                return tf_invalid(im, "indices %s of %s", compose_text(im->c, at->type),
                                  compose_text(im->c, x->type));
        for (int d = 0; d < last; d++)
                dims[rank++] = at->type->dims[d];
        for (int d = (int)value_extent(at, last); d < value_rank(x); d++)
                dims[rank++] = x->type->dims[d];
        if (rank > RANK_MAX)
                return tf_unsupported(im, "rank %d", rank);
        return compose_type(im->c, value_element(x), rank, dims) &&
               tf_output(im, n, 0,
                         value_build(im->c->b, OP_gather_nd, (struct value *[]){ x, at }, 2, NULL,
                                     NULL));
}

bool tf_import_top_k(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        const int axis = value_rank(x) - 1;
        const int64_t type = tf_type(n, "index_type", 3);
        int64_t k;
        enum element e;
        if (!tf_one_int(im, n, 1, &k) || !tf_element(type, &e))
                return false;
        if (axis < 0 || k < 0 || k > value_extent(x, axis))
                return tf_invalid(im, "the %lld largest of %s", (long long)k,
                                  compose_text(c, x->type));
        struct value *order = compose_argsort(c, x, axis, 1, k);
        return order && tf_output(im, n, 0, compose_gather_elements(c, x, order, axis)) &&
               tf_output(im, n, 1, compose_cast(c, order, e));
}

/* The nth smallest (or largest) number of each row. */
bool tf_import_nth_element(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        const int axis = value_rank(x) - 1;
        int64_t k;
        if (!tf_one_int(im, n, 1, &k))
                return false;
        if (axis < 0 || k < 0 || k >= value_extent(x, axis))
                return tf_invalid(im, "number %lld of %s", (long long)k, compose_text(c, x->type));
        struct value *order = compose_argsort(c, x, axis, tf_bool(n, "reverse", false), k + 1);
        struct value *y = order ? compose_gather_elements(c, x, order, axis) : NULL;
        return y && tf_output(im, n, 0, compose_pick(c, y, axis, k));
}

/* Is the prediction of the target's class one of the k largest of its row? */
bool tf_import_in_top_k(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        int64_t k, axis = 1;
        if (!tf_want_rank(im, n, 0, 2) || !tf_want_rank(im, n, 1, 1) || !tf_one_int(im, n, 2, &k))
                return false;
        if (value_extent(n->inputs[1].value, 0) != value_extent(x, 0) || value_extent(x, 1) < 1)
                return tf_invalid(im, "targets %s for predictions %s",
                                  compose_text(c, n->inputs[1].value->type),
                                  compose_text(c, x->type));
        struct value *target = indices_of(im, n, 1);
        /* A class that is none counts as the first one, and then as not predicted. */
        struct value *low = target ? compose_with(c, OP_ge, target, 0) : NULL,
                     *high = target ? compose_with(c, OP_lt, target,
                                                   (double)value_extent(x, 1)) : NULL;
        if (!low || !high)
                return false;
        struct value *is_class = both(c, low, high);
        struct value *at = clamp(c, target, 0, (double)value_extent(x, 1) - 1);
        const dim_t column[] = { x->type->dims[0], dim_of(1) };
        at = compose_reshape(c, at, 2, column);
        struct value *own = at ? compose_gather_elements(c, x, at, 1) : NULL;
        if (!own)
                return false;
        struct value *larger = compose_cast(c, compose_binary(c, OP_gt, x, own), E_I32);
        struct value *count = compose_reduce(c, REDUCE_sum, larger, &axis, 1, E_COMPUTE);
        struct value *magnitude = compose_unary(c, OP_abs, own);
        struct value *finite = magnitude ? compose_with(c, OP_lt, magnitude, (double)INFINITY)
                                         : NULL;
        finite = finite ? compose_reshape(c, finite, 1, column) : NULL;
        struct value *hit = count ? compose_with(c, OP_lt, count, (double)k) : NULL;
        return hit && finite && is_class &&
               tf_output(im, n, 0, both(c, both(c, hit, finite), is_class));
}

bool tf_import_one_hot(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *at = indices_of(im, n, 0), *on = n->inputs[2].value,
                     *off = n->inputs[3].value;
        int64_t depth;
        if (!at || !tf_one_int(im, n, 1, &depth))
                return false;
        const int rank = value_rank(at);
        if (depth < 0 || depth > NUMBER_MAX)
                return tf_invalid(im, "a depth of %lld", (long long)depth);
        if (rank == RANK_MAX)
                return tf_unsupported(im, "rank %d", rank + 1);
        const int64_t stated = tf_int(n, "axis", -1);
        const int axis = tf_axis(im, stated, rank + 1);
        if (axis < 0)
                return false;
        /* A negative index is none, here. */
        struct value *below = compose_with(c, OP_lt, at, 0);
        at = below ? compose_select(c, below, build_like(c->b, at, (double)depth), at) : NULL;
        struct value *hit = at ? compose_one_hot(c, at, axis, depth) : NULL;
        on = compose_one_number(c, "the value of ones", on, value_element(on));
        off = compose_one_number(c, "the value of others", off, value_element(off));
        return hit && on && off && tf_output(im, n, 0, compose_select(c, hit, on, off));
}
