/* SPDX-License-Identifier: MIT */
/* Reductions, positions of extremes, the softmax. */
#include "front/tflite/tflite_helpers.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_softmax.h"

struct axes {
        int count;
        int64_t axes[RANK_MAX];
        int64_t elements;
};

/* Reads the axes of operand 1, sorted, each once. */
static bool axes_read(struct tflite_import *im, const struct tflite_node *n, struct axes *a)
{
        const struct type *x = n->inputs[0]->value->type;
        int64_t stated[RANK_MAX];
        bool reduced[RANK_MAX] = { false };
        int count;
        if (!tflite_ints(im, n, 1, stated, RANK_MAX, &count))
                return false;
        *a = (struct axes){ .elements = 1 };
        for (int i = 0; i < count; i++) {
                const int axis = tflite_axis(im, stated[i], x->rank);
                if (axis < 0)
                        return false;
                reduced[axis] = true;
        }
        for (int d = 0; d < x->rank; d++)
                if (reduced[d]) {
                        a->axes[a->count++] = d;
                        a->elements *= type_extent(x, d);
                }
        return true;
}

static struct value *kept(struct tflite_import *im, const struct tflite_node *n, struct value *y,
                          const struct axes *a)
{
        return y && TFLITE_OPTIONS(n, ReducerOptions)->keep_dims
                       ? compose_keep(im->c, y, n->inputs[0]->value->type, a->axes, a->count)
                       : y;
}

/* The mean of numbers: their sum is rescaled, by a multiplier that has the count in it. */
static struct value *quantized_mean(struct tflite_import *im, const struct tflite_node *n,
                                    const struct axes *a)
{
        const struct tflite_tensor *x = n->inputs[0], *y = n->outputs[0];
        float scale[2];
        int64_t zero[2];
        struct compose_rescale r = { .to = y->type->element };
        if (!tflite_affine(im, x, &scale[0], &zero[0]) ||
            !tflite_affine(im, y, &scale[1], &zero[1]) ||
            !tflite_range(im, y, FUSED_NONE, &r.low, &r.high))
                return NULL;
        if (!a->elements) {
                tflite_unsupported(im, "a mean of nothing");
                return NULL;
        }
        struct value *sum = compose_reduce(im->c, REDUCE_sum, tflite_centered(im, x), a->axes,
                                           a->count, E_COMPUTE);
        struct compose_multiplier m = compose_multiplier_of((double)scale[0] / (double)scale[1]);
        int shift = 0; /* The multiplier is divided as long as it has bits. */
        while (shift < 32 && shift < 31 + m.shift && a->elements >> (shift + 1))
                shift++;
        m.m = (int32_t)(((int64_t)m.m * (INT64_C(1) << shift)) / a->elements);
        m.shift -= shift;
        r.by = (struct compose_multipliers){ &m, 1, 0 };
        r.zero = zero[1];
        return compose_rescale(im->c, sum, &r);
}

bool tflite_import_mean(struct tflite_import *im, struct tflite_node *n)
{
        struct axes a;
        struct value *y;
        if (!axes_read(im, n, &a))
                return false;
        if (tflite_is_float(n->inputs[0]))
                y = compose_mean(im->c, n->inputs[0]->value, a.axes, a.count);
        else if (tflite_is_quantized(n->inputs[0]))
                y = quantized_mean(im, n, &a);
        else
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, kept(im, n, y, &a));
}

bool tflite_import_reduce(struct tflite_import *im, struct tflite_node *n)
{
        const enum reducer kind = (enum reducer)tflite_variant(n);
        struct axes a;
        struct value *y;
        if (!axes_read(im, n, &a))
                return false;
        const bool moves = kind == REDUCE_max || kind == REDUCE_min;
        if (tflite_is_quantized(n->inputs[0]) && !moves)
                return tflite_no_element(im, n, 0);
        y = compose_reduce(im->c, kind, n->inputs[0]->value, a.axes, a.count, E_COMPUTE);
        return tflite_output(im, n, 0, kept(im, n, y, &a));
}

/* REDUCE_ALL, REDUCE_ANY: the least, or largest, of truth values. */
bool tflite_import_reduce_truth(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct axes a;
        if (!axes_read(im, n, &a))
                return false;
        if (value_element(n->inputs[0]->value) != E_BOOL)
                return tflite_no_element(im, n, 0);
        struct value *y = compose_reduce(c, (enum reducer)tflite_variant(n), n->inputs[0]->value,
                                         a.axes, a.count, E_COMPUTE);
        return tflite_output(im, n, 0, kept(im, n, y, &a));
}

bool tflite_import_cumsum(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_CumsumOptions *o = TFLITE_OPTIONS(n, CumsumOptions);
        struct value *x = n->inputs[0]->value;
        int64_t axis[1];
        int count, at;
        if (!tflite_ints(im, n, 1, axis, 1, &count))
                return false;
        if (count != 1)
                return tflite_invalid(im, "%d axes, want one", count);
        if (n->inputs[0]->q.count || element_info[value_element(x)].bytes < 4)
                return tflite_no_element(im, n, 0);
        return (at = tflite_axis(im, axis[0], value_rank(x))) >= 0 &&
               tflite_output(im, n, 0,
                             compose_cumulate(im->c, x, REDUCE_sum, at, o->exclusive, o->reverse));
}

/* Each row is divided by the root of the sum of its squares, or by a millionth. */
bool tflite_import_l2_normalization(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value;
        const int64_t axis = value_rank(x) - 1;
        if (axis < 0)
                return tflite_invalid(im, "a scalar");
        if (!tflite_is_float(n->inputs[0]))
                return tflite_no_element(im, n, 0);
        struct value *norm = compose_reduce(c, REDUCE_sum, mul(c, x, x), &axis, 1, E_COMPUTE);
        norm = compose_with(c, OP_max, compose_unary(c, OP_sqrt, norm), (double)1e-6f);
        norm = norm ? compose_unreduce(c, norm, x->type, &axis, 1) : NULL;
        return tflite_output(
                im, n, 0,
                tflite_activated(im, divide(c, x, norm), TFLITE_OPTIONS(n, L2NormOptions)->fused));
}

bool tflite_import_arg(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        int64_t axis[1];
        int count, at;
        if (!tflite_ints(im, n, 1, axis, 1, &count))
                return false;
        if (count != 1)
                return tflite_invalid(im, "%d axes, want one", count);
        if ((at = tflite_axis(im, axis[0], value_rank(x))) < 0)
                return false;
        struct value *y = compose_arg_reduce(im->c, x, (enum reducer)tflite_variant(n), at, false);
        return tflite_output(im, n, 0, compose_cast(im->c, y, n->outputs[0]->type->element));
}

/* ---- softmax ---- */

/* Bytes: exponentials of differences are a table of floats; the largest share is rounded, halves
 * away from 0. */
static struct value *byte_softmax(struct tflite_import *im, const struct tflite_node *n, float beta)
{
        struct compose *c = im->c;
        const struct tflite_tensor *x = n->inputs[0], *y = n->outputs[0];
        const int64_t axis = value_rank(x->value) - 1;
        float scale[2];
        int64_t zero[2], low, high;
        if (!tflite_affine(im, x, &scale[0], &zero[0]) ||
            !tflite_affine(im, y, &scale[1], &zero[1]) ||
            !tflite_range(im, y, FUSED_NONE, &low, &high))
                return NULL;
        const float step = scale[0] * beta;
        struct value *table = compose_cast(c, plus(c, compose_iota(c, E_I32, 256), -255), E_F32);
        table = compose_unary(c, OP_exp, times(c, table, (double)step));
        struct value *wide = compose_cast(c, x->value, E_I32);
        struct value *most = compose_reduce(c, REDUCE_max, wide, &axis, 1, E_COMPUTE);
        if (!most || !table)
                return NULL;
        struct value *e = sub(c, wide, compose_unreduce(c, most, wide->type, &axis, 1));
        e = e ? compose_looked_up(c, e, table, -255) : NULL;
        struct value *sum = compose_reduce(c, REDUCE_sum, e, &axis, 1, E_COMPUTE);
        sum = compose_from(c, OP_div, 1, times(c, sum, (double)scale[1]));
        if (!sum)
                return NULL;
        struct value *q = mul(c, e, compose_unreduce(c, sum, e->type, &axis, 1));
        q = compose_cast(c, q ? compose_round_away(c, q) : NULL, E_I32);
        return compose_bounded(c, plus(c, q, (double)zero[1]), low, high, y->type->element);
}

bool tflite_import_softmax(struct tflite_import *im, struct tflite_node *n)
{
        const float beta = TFLITE_OPTIONS(n, SoftmaxOptions)->beta;
        struct value *x = n->inputs[0]->value;
        const int64_t axis = value_rank(x) - 1;
        if (axis < 0)
                return tflite_invalid(im, "a softmax of a scalar");
        if (tflite_is_float(n->inputs[0])) {
                x = beta == 1 ? x : times(im->c, x, (double)beta);
                return tflite_output(im, n, 0, compose_softmax(im->c, x, &axis, 1, false));
        }
        if (!tflite_is_quantized(n->inputs[0]) || element_info[value_element(x)].bytes != 1)
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, byte_softmax(im, n, beta));
}

bool tflite_import_log_softmax(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        const int64_t axis = value_rank(x) - 1;
        if (axis < 0)
                return tflite_invalid(im, "a softmax of a scalar");
        if (!tflite_is_float(n->inputs[0]))
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, compose_softmax(im->c, x, &axis, 1, true));
}
