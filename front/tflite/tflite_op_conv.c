/* SPDX-License-Identifier: MIT */
/* Convolutions, products by weights. Images are [N, rows, columns, C]. */
#include "front/tflite/tflite_helpers.h"

#include <string.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_quantize.h"

/* This is a convolution or product whose images have their channels in front, weights first in
 * [outputs, channels of a group, window]. */
struct sums {
        struct tflite_tensor *x, *w, *bias, *y;
        struct value *image, *weights;
        struct compose_window window;
        int64_t groups, fused;
        bool is_product; /* The operands are matrices. */
};

static struct value *quantized_zero(struct tflite_import *im, const struct tflite_tensor *t,
                                    bool *ok)
{
        for (int i = 0; i < t->q.count; i++)
                *ok = *ok && t->q.zeros[i] == t->q.zeros[0];
        if (!*ok)
                tflite_unsupported(im, "tensor '%s' has several zero points", t->safe);
        return *ok && t->q.zeros[0] ? compose_integer(im->c, t->type->element, t->q.zeros[0])
                                    : NULL;
}

/* Returns the sums of products of integers: i32, or i64 for x of 16 bits. */
static struct value *integer_sums(struct tflite_import *im, struct sums *s, bool wide)
{
        struct compose *c = im->c;
        bool ok = true;
        struct value *x_zero = quantized_zero(im, s->x, &ok);
        struct value *w_zero = ok ? quantized_zero(im, s->w, &ok) : NULL;
        if (!ok)
                return NULL;
        if (s->is_product || wide || value_element(s->image) != value_element(s->weights)) {
                struct value *x = s->image, *w = s->weights;
                if (x_zero)
                        x_zero = compose_spread(c, x_zero, x->type, NULL);
                x = compose_cast(c, compose_centered(c, x, x_zero, E_I32), E_I32);
                if (w_zero)
                        w_zero = compose_spread(c, w_zero, w->type, NULL);
                w = compose_cast(c, compose_centered(c, w, w_zero, E_I32), E_I32);
                if (!x || !w)
                        return NULL;
                const int sum = wide ? E_I64 : E_I32;
                if (s->is_product)
                        return compose_dot(c, x, w, 0, 1, 1, sum);
                return compose_conv_place(c, x, w, &s->window, s->groups)
                               ? compose_convolve(c, x, w, &s->window, s->groups, sum)
                               : NULL;
        }
        struct compose_conv_integer v = { .x = { s->image, NULL, x_zero },
                                          .w = { s->weights, NULL, w_zero },
                                          .window = s->window,
                                          .groups = s->groups };
        return compose_conv_integer(c, &v);
}

/* The scale of a product by one scale of weights is rounded to f32 first. */
static bool product_multiplier(struct tflite_import *im, const struct sums *s,
                               struct compose_multipliers *m)
{
        float x_scale, y_scale;
        int64_t zero;
        if (s->w->q.count != 1 || !s->is_product)
                return true;
        if (!tflite_affine(im, s->x, &x_scale, &zero) || !tflite_affine(im, s->y, &y_scale, &zero))
                return false;
        const float product = x_scale * s->w->q.scales[0];
        struct compose_multiplier *one = ARENA_NEW(im->arena, struct compose_multiplier);
        *one = compose_multiplier_of((double)product / (double)y_scale);
        m->m = one;
        return true;
}

static struct value *quantized_result(struct tflite_import *im, struct sums *s)
{
        struct compose *c = im->c;
        const bool wide =
                s->x->type->element == E_I16 && (!s->bias || s->bias->type->element == E_I64);
        struct compose_multipliers by = { .axis = 1 };
        struct compose_rescale r = { .to = s->y->type->element, .once = s->is_product };
        if (!tflite_is_quantized(s->w) || !tflite_is_quantized(s->y)) {
                tflite_unsupported(im, "a quantized input, weights %s and a result %s",
                                   compose_text(c, s->w->type), compose_text(c, s->y->type));
                return NULL;
        }
        struct value *sum = integer_sums(im, s, wide);
        if (sum && s->bias)
                sum = compose_with_bias(c, sum, s->bias->value);
        if (!sum || !tflite_multipliers(im, s->x, s->w, s->y, value_extent(sum, 1), &by) ||
            !product_multiplier(im, s, &by) || !tflite_range(im, s->y, s->fused, &r.low, &r.high))
                return NULL;
        r.by = by;
        r.zero = s->y->q.zeros[0];
        return wide ? compose_rescale_wide(c, sum, &r) : compose_rescale(c, sum, &r);
}

/* Returns the result of floats, by weights of floats, or of numbers that stand for reals and the
 * input is quantized as it runs. */
static struct value *float_result(struct tflite_import *im, struct sums *s)
{
        struct compose *c = im->c;
        struct value *bias = s->bias ? s->bias->value : NULL, *y;
        if (value_element(s->weights) == E_I8 && tflite_is_quantized(s->w)) {
                struct compose_hybrid h = { .x = s->image,
                                            .w = s->weights,
                                            .scales = s->w->q.scales,
                                            .scale_count = s->w->q.count,
                                            .bias = bias,
                                            .window = s->is_product ? NULL : &s->window,
                                            .groups = s->groups,
                                            .asymmetric = !s->is_product || s->w->q.count < 0 };
                const struct tflite_FullyConnectedOptions *o =
                        s->is_product ? im->node->options : NULL;
                h.asymmetric = s->is_product ? o->asymmetric : s->w->q.count > 1;
                y = compose_hybrid(c, &h);
        } else if (!tflite_is_float(s->w) || value_element(s->weights) != value_element(s->image)) {
                tflite_unsupported(im, "an input %s and weights %s", compose_text(c, s->x->type),
                                   compose_text(c, s->w->type));
                return NULL;
        } else if (s->is_product) {
                y = compose_with_bias(c, compose_dot(c, s->image, s->weights, 0, 1, 1, E_COMPUTE),
                                      bias);
        } else {
                y = compose_conv(c, s->image, s->weights, bias, &s->window, s->groups);
        }
        return tflite_activated(im, y, s->fused);
}

static struct value *result_of(struct tflite_import *im, struct sums *s)
{
        if (!s->image || !s->weights)
                return NULL;
        if (tflite_is_float(s->x))
                return float_result(im, s);
        if (tflite_is_quantized(s->x))
                return quantized_result(im, s);
        tflite_no_element(im, im->node, 0);
        return NULL;
}

static bool conv_new(struct tflite_import *im, struct tflite_node *n, struct sums *s)
{
        *s = (struct sums){ .x = n->inputs[0],
                            .w = n->inputs[1],
                            .bias = tflite_tensor(n, 2),
                            .y = n->outputs[0] };
        return tflite_want_rank(im, n, 0, 4) && tflite_want_rank(im, n, 1, 4);
}

/* Makes the result, by weights with their dimensions in the order perm. */
static bool convolved(struct tflite_import *im, struct tflite_node *n, struct sums *s,
                      const int64_t *perm)
{
        s->image = tflite_to_front(im, s->x->value);
        s->weights = tflite_permuted(im, s->w->value, perm);
        struct value *y = result_of(im, s);
        return tflite_output(im, n, 0, y ? tflite_to_back(im, y) : NULL);
}

bool tflite_import_conv(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_Conv2DOptions *o = TFLITE_OPTIONS(n, Conv2DOptions);
        struct sums s;
        if (!conv_new(im, n, &s) || !tflite_window(im, &s.window, o->padding, o->stride_h,
                                                   o->stride_w, o->dilation_h, o->dilation_w))
                return false;
        const int64_t channels = value_extent(s.w->value, 3);
        if (channels < 1 || value_extent(s.x->value, 3) % channels)
                return tflite_invalid(im, "%lld channels for weights of %lld channels",
                                      (long long)value_extent(s.x->value, 3), (long long)channels);
        s.groups = value_extent(s.x->value, 3) / channels;
        s.fused = o->fused;
        return convolved(im, n, &s, (const int64_t[]){ 0, 3, 1, 2 });
}

bool tflite_import_depthwise(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_DepthwiseConv2DOptions *o = TFLITE_OPTIONS(n, DepthwiseConv2DOptions);
        struct sums s;
        if (!conv_new(im, n, &s) || !tflite_window(im, &s.window, o->padding, o->stride_h,
                                                   o->stride_w, o->dilation_h, o->dilation_w))
                return false;
        const int64_t channels = value_extent(s.x->value, 3);
        if (value_extent(s.w->value, 0) != 1 || channels < 1 ||
            value_extent(s.w->value, 3) % channels)
                return tflite_invalid(im, "weights %s for %lld channels",
                                      compose_text(im->c, s.w->value->type), (long long)channels);
        s.groups = channels;
        s.fused = o->fused;
        return convolved(im, n, &s, (const int64_t[]){ 3, 0, 1, 2 });
}

bool tflite_import_fully_connected(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_FullyConnectedOptions *o = TFLITE_OPTIONS(n, FullyConnectedOptions);
        struct sums s = { .x = n->inputs[0],
                          .w = n->inputs[1],
                          .bias = tflite_tensor(n, 2),
                          .y = n->outputs[0],
                          .is_product = true,
                          .fused = o->fused };
        const struct type *x = s.x->value->type;
        dim_t dims[RANK_MAX];
        if (!tflite_want_rank(im, n, 1, 2))
                return false;
        if (o->weights_format)
                return tflite_unsupported(im, "weights_format %lld", (long long)o->weights_format);
        const int64_t outputs = value_extent(s.w->value, 0), inner = value_extent(s.w->value, 1),
                      count = type_elements(x);
        if (inner < 1 || count % inner)
                return tflite_invalid(im, "an input %s for weights %s", compose_text(im->c, x),
                                      compose_text(im->c, s.w->value->type));
        s.image = compose_reshape(im->c, s.x->value, 2,
                                  (const dim_t[]){ dim_of(count / inner), dim_of(inner) });
        s.weights = s.w->value;
        struct value *y = result_of(im, &s);
        if (!y)
                return false;
        if (o->keep_num_dims && x->rank > 0 && dim_is(x->dims[x->rank - 1], inner)) {
                memcpy(dims, x->dims, sizeof dims);
                dims[x->rank - 1] = dim_of(outputs);
                y = compose_reshape(im->c, y, x->rank, dims);
        }
        return tflite_output(im, n, 0, y);
}

/* Reads the shape that operand 0 states; one that only a run knows is that of the declared
 * result. */
static bool result_shape(struct tflite_import *im, const struct tflite_node *n, int64_t shape[4])
{
        const struct type *y = n->outputs[0]->type;
        int count = 4;
        if (value_is_constant(n->inputs[0]->value)) {
                if (!tflite_ints(im, n, 0, shape, 4, &count))
                        return false;
        } else if (y->rank == 4) {
                for (int d = 0; d < 4; d++)
                        shape[d] = type_extent(y, d);
        } else {
                return tflite_unsupported(im, "a shape that only a run knows");
        }
        return (count == 4 && shape[1] > 0 && shape[2] > 0) ||
               tflite_invalid(im, "the shape of the result has %d extents", count);
}

bool tflite_import_transpose_conv(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_TransposeConvOptions *o = TFLITE_OPTIONS(n, TransposeConvOptions);
        struct tflite_tensor *x = n->inputs[2], *w = n->inputs[1], *bias = tflite_tensor(n, 3),
                             *y = n->outputs[0];
        struct compose_transposed t = { .groups = 1, .shaped = true };
        struct compose *c = im->c;
        int64_t shape[4];
        if (!tflite_want_rank(im, n, 1, 4) || !tflite_want_rank(im, n, 2, 4) ||
            !result_shape(im, n, shape) ||
            !tflite_window(im, &t.window, o->padding, o->stride_h, o->stride_w, 1, 1))
                return false;
        t.shape[0] = shape[1];
        t.shape[1] = shape[2];
        if (o->padding) /* VALID: the result is cut, or filled, at its end. */
                t.window.auto_pad = PAD_SAME_UPPER;
        const bool real = tflite_is_float(x), wide = x->type->element == E_I16;
        struct value *image = real ? x->value : NULL, *weights = w->value;
        if (!real && (!tflite_is_quantized(x) || !tflite_is_quantized(w)))
                return tflite_no_element(im, n, 2);
        if (!real) {
                const enum element sum = wide ? E_I64 : E_I32;
                image = compose_cast(c, tflite_centered(im, x), sum);
                weights = compose_cast(c, weights, sum);
                if (bias && value_element(bias->value) != sum)
                        return tflite_no_element(im, n, 3);
        }
        image = image ? tflite_to_front(im, image) : NULL;
        weights = tflite_permuted(im, weights, (const int64_t[]){ 3, 0, 1, 2 });
        if (!image || !weights)
                return false;
        if (o->padding)
                for (int d = 0; d < 2; d++) {
                        const int64_t full =
                                t.window.strides[d] * (value_extent(image, d + 2) - 1) +
                                value_extent(weights, d + 2);
                        if (full > t.shape[d] + t.window.strides[d])
                                return tflite_invalid(im, "a result of extent %lld for %lld",
                                                      (long long)t.shape[d], (long long)full);
                        t.shape[d] = compose_max(t.shape[d], full);
                }
        struct value *sum =
                compose_conv_transposed(c, image, weights, bias ? bias->value : NULL, &t);
        for (int d = 0; d < 2 && o->padding; d++)
                sum = compose_fitted(c, sum, d + 2, shape[d + 1]);
        if (!sum)
                return false;
        if (real) {
                sum = tflite_activated(im, sum, o->fused);
        } else {
                struct compose_multipliers by = { .axis = 1 };
                struct compose_rescale r = { .to = y->type->element };
                if (!tflite_multipliers(im, x, w, y, value_extent(sum, 1), &by) ||
                    !tflite_range(im, y, o->fused, &r.low, &r.high))
                        return false;
                r.by = by;
                r.zero = y->q.zeros[0];
                sum = wide ? compose_rescale_wide(c, sum, &r) : compose_rescale(c, sum, &r);
        }
        return tflite_output(im, n, 0, sum ? tflite_to_back(im, sum) : NULL);
}
