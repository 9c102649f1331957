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

/* The sum of numbers is rescaled; that of a mean by a multiplier that has the count in it.
 * (LiteRT's reference kernel of SUM takes i8 for u8: its rounding is that of u8 here, too.) */
static struct value *quantized_sum(struct tflite_import *im, const struct tflite_node *n,
                                   const struct axes *a, bool is_mean)
{
        const struct tflite_tensor *x = n->inputs[0], *y = n->outputs[0];
        float scale[2];
        int64_t zero[2];
        struct compose_rescale r = { .to = y->type->element };
        if (!tflite_affine(im, x, &scale[0], &zero[0]) ||
            !tflite_affine(im, y, &scale[1], &zero[1]) ||
            !tflite_range(im, y, FUSED_NONE, &r.low, &r.high))
                return NULL;
        if (is_mean && !a->elements) {
                tflite_unsupported(im, "a mean of nothing");
                return NULL;
        }
        struct value *sum = compose_reduce(im->c, REDUCE_sum, tflite_centered(im, x), a->axes,
                                           a->count, E_COMPUTE);
        struct compose_multiplier m = compose_multiplier_of((double)scale[0] / (double)scale[1]);
        int shift = 0; /* The multiplier is divided as long as it has bits. */
        while (is_mean && shift < 32 && shift < 31 + m.shift && a->elements >> (shift + 1))
                shift++;
        if (is_mean)
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
                y = quantized_sum(im, n, &a, true);
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
        const struct tflite_tensor *x = n->inputs[0];
        const bool numbers = tflite_is_quantized(x) && !moves;
        if (numbers && (kind != REDUCE_sum || element_info[x->type->element].bytes > 1))
                return tflite_no_element(im, n, 0);
        y = numbers ? quantized_sum(im, n, &a, false)
                    : compose_reduce(im->c, kind, x->value, a.axes, a.count, E_COMPUTE);
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

/* Reads the one axis that operand 1 states. */
static bool axis_read(struct tflite_import *im, const struct tflite_node *n, int *axis)
{
        int64_t stated[1];
        int count;
        if (!tflite_ints(im, n, 1, stated, 1, &count))
                return false;
        if (count != 1)
                return tflite_invalid(im, "%d axes, want one", count);
        *axis = tflite_axis(im, stated[0], value_rank(n->inputs[0]->value));
        return *axis >= 0;
}

bool tflite_import_cumsum(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_CumsumOptions *o = TFLITE_OPTIONS(n, CumsumOptions);
        struct value *x = n->inputs[0]->value;
        int at;
        if (n->inputs[0]->q.count || element_info[value_element(x)].bytes < 4)
                return tflite_no_element(im, n, 0);
        return axis_read(im, n, &at) &&
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
        int at;
        if (!axis_read(im, n, &at))
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

/* Tables of a function on `ENTRIES` points from low to high, times 2^15; each but the last one is
 * moved by half of what a line between it and the next one is off in the middle. */
enum { ENTRIES = 513, TABLE_BITS = 7 };

static double exponential(double x) { return exp(x); }
static double share(double x) { return 1 / (1 + x); }

static struct value *table_16(struct tflite_import *im, double (*function)(double), double low,
                              double high)
{
        const double one = 32768, step = (high - low) / (ENTRIES - 1);
        const int64_t count = ENTRIES;
        int32_t *table = arena_array(im->m->arena, ENTRIES, sizeof *table);
        for (int i = 0; i < ENTRIES; i++) {
                double y = round(function(i + 1 < ENTRIES ? low + i * step : high) * one);
                if (i + 1 < ENTRIES) {
                        const double next = function(low + (i + 1) * step) * one;
                        const double line = round((next + y) / 2);
                        const double middle = round(function(low + i * step + step / 2) * one);
                        y -= round((line - middle) / 2);
                }
                table[i] = (int32_t)fmin(fmax(y, INT16_MIN), INT16_MAX);
        }
        return constant_dense(im->m, type_static(im->m, E_I32, 1, &count), table, NULL);
}

/* Returns what the table has for x, i32 within 16 bits, between its entries. */
static struct value *between(struct tflite_import *im, struct value *x, struct value *table)
{
        struct compose *c = im->c;
        struct value *at = plus(c, compose_with(c, OP_shr, x, TABLE_BITS), (ENTRIES - 1) / 2);
        struct value *below = compose_looked_up(c, at, table, 0),
                     *above = compose_looked_up(c, plus(c, at, 1), table, 0);
        struct value *part = compose_with(c, OP_and, x, (1 << TABLE_BITS) - 1);
        struct value *rise = mul(c, sub(c, above, below), part);
        rise = compose_with(c, OP_shr, plus(c, rise, 1 << (TABLE_BITS - 1)), TABLE_BITS);
        return add(c, below, rise);
}

/* Returns how many bits each number of x, i32 [.., 1] of at least 0, has. */
static struct value *bits_of(struct tflite_import *im, struct value *x)
{
        enum { BITS = 31 };
        struct compose *c = im->c;
        const int64_t last = value_rank(x) - 1;
        int64_t powers[BITS];
        dim_t dims[RANK_MAX];
        for (int i = 0; i < BITS; i++)
                powers[i] = INT64_C(1) << i;
        for (int d = 0; d <= last; d++)
                dims[d] = d == last ? dim_of(BITS) : x->type->dims[d];
        const struct type *t = type_tensor(c->m, E_I32, (int)last + 1, dims);
        struct value *power = compose_along(
                c, compose_cast(c, constant_ints(im->m, powers, BITS), E_I32), t, (int)last);
        struct value *reached = compose_cast(c, compose_binary(c, OP_ge, x, power), E_I32);
        struct value *count = compose_reduce(c, REDUCE_sum, reached, &last, 1, E_COMPUTE);
        return count ? compose_keep(c, count, x->type, &last, 1) : NULL;
}

/* 16 bits: e^(x - most) and 1 / sum are looked up, with 15 fraction bits. */
static struct value *word_softmax(struct tflite_import *im, const struct tflite_node *n, float beta)
{
        enum { FRACTION = 15, SUM_BITS = 30 };
        struct compose *c = im->c;
        const struct tflite_tensor *t = n->inputs[0];
        const int64_t axis = value_rank(t->value) - 1;
        float scale;
        int64_t zero;
        if (!tflite_affine(im, t, &scale, &zero))
                return NULL;
        const struct compose_multiplier m =
                compose_multiplier_of((double)scale * (double)beta / (10.0 / 65535.0));
        struct value *x = compose_cast(c, t->value, E_I32);
        struct value *most = compose_reduce(c, REDUCE_max, x, &axis, 1, E_COMPUTE);
        x = most ? sub(c, x, compose_unreduce(c, most, x->type, &axis, 1)) : NULL;
        x = compose_scaled(c, x, &(struct compose_multipliers){ &m, 1, 0 });
        x = x ? clamp(c, plus(c, x, INT16_MAX), INT16_MIN, INT16_MAX) : NULL;
        struct value *e = x ? between(im, x, table_16(im, exponential, -10, 0)) : NULL;
        struct value *sum = compose_reduce(c, REDUCE_sum, e, &axis, 1, E_COMPUTE);
        sum = sum ? compose_keep(c, sum, e->type, &axis, 1) : NULL;
        struct value *bits = sum ? bits_of(im, sum) : NULL;
        if (!bits)
                return NULL;
        /* Of the sum, shifted to 31 bits, those below its highest one are looked up. */
        struct value *left = compose_from(c, OP_sub, SUM_BITS + 1, bits);
        struct value *near = compose_cast(c, sum, E_I64);
        near = compose_binary(c, OP_shl, near, compose_cast(c, left, E_I64));
        near = compose_with(c, OP_shr, plus(c, near, 1 << 13), 14);
        near = plus(c, compose_cast(c, near, E_I32), -((1 << FRACTION) + (1 << 16)));
        near = near ? clamp(c, near, INT16_MIN, INT16_MAX) : NULL;
        struct value *inverse_sum = near ? between(im, near, table_16(im, share, 0, 1)) : NULL;
        struct value *right = plus(c, bits, -1);
        struct value *half = compose_from(c, OP_shl, 1, plus(c, right, -1));
        struct value *y = compose_cast(c, e, E_I64);
        y = mul(c, y, compose_cast(c, inverse_sum, E_I64));
        y = add(c, y, compose_cast(c, half, E_I64));
        y = compose_binary(c, OP_shr, y, compose_cast(c, right, E_I64));
        return compose_bounded(c, compose_cast(c, y, E_I32), 0, INT16_MAX, E_I16);
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
        if (!tflite_is_quantized(n->inputs[0]))
                return tflite_no_element(im, n, 0);
        if (value_element(x) == E_I16)
                return tflite_output(im, n, 0, word_softmax(im, n, beta));
        if (element_info[value_element(x)].bytes != 1)
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
