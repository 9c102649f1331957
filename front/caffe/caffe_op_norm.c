/* SPDX-License-Identifier: MIT */
/* Normalizations, factors and summands along some axes, and sums over some. */
#include "front/caffe/caffe_helpers.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_norm.h"
#include "front/compose/compose_softmax.h"
#include "front/compose/compose_window.h"

static bool want_channels(struct caffe_import *im, const struct caffe_layer *n)
{
        return value_rank(n->bottoms[0]) >= 2 ||
               caffe_unsupported(im, "a bottom %s, which has no channels",
                                 compose_text(im->c, n->bottoms[0]->type));
}

/* ---- local responses ---- */

/* Within channels the sum is over a square window; the divisor of its mean counts pads, and k is
 * always 1. */
static struct value *within_channel(struct caffe_import *im, struct value *x,
                                    const Caffe__LRNParameter *o)
{
        struct compose *c = im->c;
        const int64_t size = o->local_size, pad = (size - 1) / 2;
        struct compose_pool pool = { .window = { .rank = 2,
                                                 .kernel = { size, size },
                                                 .strides = { 1, 1 },
                                                 .dilations = { 1, 1 },
                                                 .pads = { pad, pad, pad, pad } },
                                     .include_pads = true,
                                     .ceil_mode = true };
        struct value *mean = compose_average_pool(c, mul(c, x, x), &pool);
        mean = mean ? plus(c, times(c, mean, (double)o->alpha), 1) : NULL;
        return mul(c, x, mean ? compose_with(c, OP_pow, mean, -(double)o->beta) : NULL);
}

bool caffe_import_lrn(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__LRNParameter *o = n->p->lrn_param;
        struct value *x = n->bottoms[0];
        if (value_rank(x) != 4)
                return caffe_invalid(im, "the bottom is %s, want images",
                                     compose_text(im->c, x->type));
        if (o->local_size % 2 == 0 || o->local_size > NUMBER_MAX)
                return caffe_invalid(im, "local_size is %u, want an odd number", o->local_size);
        if (o->norm_region == CAFFE__LRNPARAMETER__NORM_REGION__WITHIN_CHANNEL)
                return caffe_top(n, within_channel(im, x, o));
        return caffe_top(n, compose_local_response_norm(im->c, x, o->local_size, (double)o->alpha,
                                                        (double)o->beta, (double)o->k));
}

/* ---- batches ---- */

/* Its blobs are sums of means and variances, and what they are to be divided by. */
bool caffe_import_batch_norm(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__BatchNormParameter *o = n->p->batch_norm_param;
        struct value *x = n->bottoms[0];
        const int64_t one = 1;
        double divisor = 0;
        if (o->has_use_global_stats && !o->use_global_stats)
                return caffe_unsupported(im, "use_global_stats: false, statistics of the batch");
        if (o->scale_bias)
                return caffe_unsupported(im, "scale_bias: true");
        if (!want_channels(im, n) || !caffe_weights(im, n, 3))
                return false;
        const int64_t channels = value_extent(x, 1);
        struct value *mean = caffe_weight(im, n, 0, 1, &channels),
                     *variance = mean ? caffe_weight(im, n, 1, 1, &channels) : NULL,
                     *by = variance ? caffe_weight(im, n, 2, 1, &one) : NULL;
        if (!by)
                return false;
        value_is_splat(by, &divisor);
        const float factor = divisor == 0 ? 0 : 1 / (float)divisor;
        struct compose_batch_norm b = { .epsilon = o->eps };
        b.mean = times(c, mean, (double)factor);
        b.variance = times(c, variance, (double)factor);
        b.scale = constant_number(im->m, mean->type, 1);
        b.bias = constant_number(im->m, mean->type, 0);
        return caffe_top(n, compose_batch_norm(c, x, &b, (struct value *[2]){ NULL, NULL }));
}

/* Returns x less its mean over each image or each of its channels, by the standard deviation plus
 * epsilon. */
bool caffe_import_mvn(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__MVNParameter *o = n->p->mvn_param;
        struct value *x = n->bottoms[0];
        int64_t axes[RANK_MAX];
        if (!want_channels(im, n))
                return false;
        const int count = compose_axes_from(o->across_channels ? 1 : 2, value_rank(x), axes);
        struct value *mean = count ? compose_mean(c, x, axes, count) : x;
        struct value *y =
                sub(c, x, count && mean ? compose_unreduce(c, mean, x->type, axes, count) : mean);
        if (!y || !o->normalize_variance)
                return caffe_top(n, y);
        struct value *square = mul(c, y, y);
        struct value *variance = count ? compose_mean(c, square, axes, count) : square;
        struct value *by = plus(c, compose_unary(c, OP_sqrt, variance), (double)o->eps);
        if (count && by)
                by = compose_unreduce(c, by, x->type, axes, count);
        return caffe_top(n, divide(c, y, by));
}

/* Divides by the root of the sum of squares, over an image or the channels of each place, and
 * multiplies by factors of channels. */
bool caffe_import_normalize(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__NormalizeParameter *o = n->p->norm_param;
        struct value *x = n->bottoms[0];
        int64_t axes[RANK_MAX] = { 1 };
        if (!want_channels(im, n) || !caffe_weights(im, n, 1))
                return false;
        const int64_t factors = o->channel_shared ? 1 : value_extent(x, 1);
        const int count = o->across_spatial ? compose_axes_from(1, value_rank(x), axes) : 1;
        struct value *scale = caffe_weight(im, n, 0, 1, &factors);
        if (!scale)
                return false;
        struct value *square = mul(c, x, x);
        struct value *sum = compose_reduce(c, REDUCE_sum, square, axes, count, E_COMPUTE);
        sum = sum ? plus(c, sum, (double)o->eps) : NULL;
        struct value *root = compose_unary(c, OP_sqrt, sum);
        struct value *y = divide(c, x, compose_unreduce(c, root, x->type, axes, count));
        return caffe_top(n, y ? mul(c, y, compose_along(c, scale, x->type, 1)) : NULL);
}

/* ---- factors and summands ---- */

/* Returns the layer's weights i, or the second bottom, spread over x from the axis on. */
static struct value *spread(struct caffe_import *im, struct caffe_layer *n, int32_t axis_stated,
                            int32_t axes_stated, int i)
{
        const struct value *x = n->bottoms[0];
        const bool given = n->bottom_count > 1 && !i;
        const int rank = value_rank(x), axis = caffe_axis(im, axis_stated, rank);
        int64_t extents[RANK_MAX], dims[RANK_MAX];
        if (axis < 0)
                return NULL;
        const int count = n->bottom_count > 1 ? value_rank(n->bottoms[1])
                          : axes_stated == -1 ? rank - axis
                                              : axes_stated;
        if (count < 0 || count > rank - axis) {
                caffe_invalid(im, "%d axes from %d on of %d", count, axis, rank);
                return NULL;
        }
        for (int d = 0; d < count; d++) {
                dims[d] = axis + d;
                extents[d] = value_extent(x, axis + d);
                if (given && value_extent(n->bottoms[1], d) != extents[d]) {
                        caffe_invalid(im, "bottoms %s and %s", compose_text(im->c, x->type),
                                      compose_text(im->c, n->bottoms[1]->type));
                        return NULL;
                }
        }
        struct value *v = given ? n->bottoms[1]
                                : caffe_weight(im, n, n->bottom_count > 1 ? 0 : i, count, extents);
        return v ? compose_spread(im->c, v, x->type, dims) : NULL;
}

bool caffe_import_scale(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__ScaleParameter *o = n->p->scale_param;
        const int blobs = (n->bottom_count == 1) + o->bias_term;
        if (blobs && !caffe_weights(im, n, blobs))
                return false;
        struct value *scale = spread(im, n, o->axis, o->num_axes, 0);
        struct value *y = scale ? mul(c, n->bottoms[0], scale) : NULL;
        if (!y || !o->bias_term)
                return caffe_top(n, y);
        struct value *bias = spread(im, n, o->axis, o->num_axes, 1);
        return caffe_top(n, bias ? add(c, y, bias) : NULL);
}

bool caffe_import_bias(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__BiasParameter *o = n->p->bias_param;
        if (n->bottom_count == 1 && !caffe_weights(im, n, 1))
                return false;
        struct value *bias = spread(im, n, o->axis, o->num_axes, 0);
        return caffe_top(n, bias ? add(im->c, n->bottoms[0], bias) : NULL);
}

bool caffe_import_prelu(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        struct value *x = n->bottoms[0];
        if (!want_channels(im, n) || !caffe_weights(im, n, 1))
                return false;
        const int64_t slopes = n->p->prelu_param->channel_shared ? 1 : value_extent(x, 1);
        struct value *slope = caffe_weight(im, n, 0, 1, &slopes);
        slope = slope ? compose_along(c, slope, x->type, 1) : NULL;
        return caffe_top(n, slope ? compose_below_zero(c, x, mul(c, x, slope)) : NULL);
}

/* ---- sums ---- */

bool caffe_import_softmax(struct caffe_import *im, struct caffe_layer *n)
{
        struct value *x = n->bottoms[0];
        const int axis = caffe_axis(im, n->p->softmax_param->axis, value_rank(x));
        return axis >= 0 &&
               caffe_top(n, compose_softmax(im->c, x, (const int64_t[]){ axis }, 1, false));
}

bool caffe_import_reduction(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__ReductionParameter *o = n->p->reduction_param;
        struct value *x = n->bottoms[0], *y;
        int64_t axes[RANK_MAX];
        const int axis = caffe_axis(im, o->axis, value_rank(x));
        if (axis < 0)
                return false;
        const int count = compose_axes_from(axis, value_rank(x), axes);
        switch (o->operation) {
        case CAFFE__REDUCTION_PARAMETER__REDUCTION_OP__SUM:
        case CAFFE__REDUCTION_PARAMETER__REDUCTION_OP__MEAN: break;
        case CAFFE__REDUCTION_PARAMETER__REDUCTION_OP__ASUM:
                x = compose_unary(c, OP_abs, x);
                break;
        case CAFFE__REDUCTION_PARAMETER__REDUCTION_OP__SUMSQ: x = mul(c, x, x); break;
        default: return caffe_invalid(im, "operation %d", (int)o->operation);
        }
        if (o->operation == CAFFE__REDUCTION_PARAMETER__REDUCTION_OP__MEAN)
                y = compose_mean(c, x, axes, count);
        else
                y = compose_reduce(c, REDUCE_sum, x, axes, count, E_COMPUTE);
        return caffe_top(n, y && o->coeff != 1 ? times(c, y, (double)o->coeff) : y);
}

/* Of equal numbers the last one counts. Without an axis an image is one row, and the result has as
 * many dimensions as the bottom, at least 3. */
bool caffe_import_arg_max(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__ArgMaxParameter *o = n->p->argmax_param;
        struct value *x = n->bottoms[0];
        const int rank = value_rank(x);
        int axis = 1;
        dim_t dims[RANK_MAX];
        if (o->top_k != 1)
                return caffe_unsupported(im, "top_k is %u, want 1", o->top_k);
        if (o->has_axis && (axis = caffe_axis(im, o->axis, rank)) < 0)
                return false;
        if (!o->has_axis) {
                int64_t row = 1;
                for (int d = 1; d < rank; d++)
                        row *= value_extent(x, d);
                if (rank < 1)
                        return caffe_invalid(im, "the bottom is one number");
                x = compose_reshape(c, x, 2, (dim_t[]){ x->type->dims[0], dim_of(row) });
        }
        struct value *at = x ? compose_arg_reduce(c, x, REDUCE_max, axis, true) : NULL,
                     *most = NULL;
        const int64_t axes[1] = { axis };
        if (o->out_max_val)
                most = compose_reduce(c, REDUCE_max, x, axes, 1, E_COMPUTE);
        at = at ? compose_cast(c, at, E_F32) : NULL;
        if (o->has_axis) {
                for (int d = 0; d < rank; d++)
                        dims[d] = d == axis ? dim_of(1) : x->type->dims[d];
                return caffe_top(n, compose_reshape(c, o->out_max_val ? most : at, rank, dims));
        }
        const int result = rank < 3 ? 3 : rank;
        for (int d = 0; d < result; d++)
                dims[d] = d ? dim_of(1) : n->bottoms[0]->type->dims[0];
        at = compose_reshape(c, at, result, dims);
        if (!o->out_max_val)
                return caffe_top(n, at);
        most = compose_reshape(c, most, result, dims);
        return caffe_top(n, at && most ? build_concat(c->b, (struct value *[]){ at, most }, 2, 1)
                                       : NULL);
}
