/* SPDX-License-Identifier: MIT */
/* Convolutions, also transposed, inner products, and pools of images [N, C, spatial]. */
#include "front/caffe/caffe_helpers.h"
#include "front/compose/compose_window.h"

#include <string.h>

/* A number of each spatial dimension may be stated as one, in a list, or for rows and columns. */
struct stated {
        const char *what;
        size_t count;
        const uint32_t *list;
        bool has_rows, has_columns;
        uint32_t rows, columns;
        int64_t preset;                 /* -1: there is none. */
};

static bool read_stated(struct caffe_import *im, const struct stated *s, int rank, int64_t *to)
{
        const bool apart = s->has_rows || s->has_columns;
        if (apart && (rank != 2 || s->count))
                return caffe_invalid(im, "%s_h and %s_w for %d dimensions, or beside %s", s->what,
                                     s->what, rank, s->what);
        if (!apart && s->count > 1 && s->count != (size_t)rank)
                return caffe_invalid(im, "%zu numbers %s for %d dimensions", s->count, s->what,
                                     rank);
        for (int d = 0; d < rank; d++) {
                to[d] = apart          ? (d ? s->columns : s->rows)
                        : !s->count    ? s->preset
                        : s->count > 1 ? s->list[d]
                                       : s->list[0];
                if (to[d] > NUMBER_MAX || to[d] < (s->preset != 0))
                        return caffe_invalid(im, "%s is %lld", s->what, (long long)to[d]);
        }
        return true;
}

/* ---- convolutions ---- */

static bool convolution_window(struct caffe_import *im, const Caffe__ConvolutionParameter *o,
                               int rank, struct compose_window *w)
{
        const struct stated kernel = { "kernel", o->n_kernel_size, o->kernel_size, o->has_kernel_h,
                                       o->has_kernel_w, o->kernel_h, o->kernel_w, -1 },
                            stride = { "stride", o->n_stride, o->stride, o->has_stride_h,
                                       o->has_stride_w, o->stride_h, o->stride_w, 1 },
                            dilation = { "dilation", o->n_dilation, o->dilation, false,
                                         false, 0, 0, 1 },
                            pad = { "pad", o->n_pad, o->pad, o->has_pad_h,
                                    o->has_pad_w, o->pad_h, o->pad_w, 0 };
        *w = (struct compose_window){ .rank = rank };
        if (!read_stated(im, &kernel, rank, w->kernel) ||
            !read_stated(im, &stride, rank, w->strides) ||
            !read_stated(im, &dilation, rank, w->dilations) ||
            !read_stated(im, &pad, rank, w->pads))
                return false;
        memcpy(w->pads + rank, w->pads, (size_t)rank * sizeof *w->pads);
        return true;
}

/* Reads the weights, [outputs, channels / groups, window] or, of a transposed convolution,
 * [channels, outputs / groups, window], and the bias. */
static bool convolution_weights(struct caffe_import *im, struct caffe_layer *n,
                                const struct compose_window *w, struct value *of[2])
{
        const Caffe__ConvolutionParameter *o = n->p->convolution_param;
        const int64_t channels = value_extent(n->bottoms[0], 1), outputs = o->num_output,
                      groups = o->group;
        int64_t extents[RANK_MAX] = { outputs, channels / groups };
        if (caffe_variant(n)) {
                extents[0] = channels;
                extents[1] = outputs / groups;
        }
        memcpy(extents + 2, w->kernel, (size_t)w->rank * sizeof *extents);
        if (!caffe_weights(im, n, o->bias_term ? 2 : 1))
                return false;
        of[0] = caffe_weight(im, n, 0, w->rank + 2, extents);
        of[1] = of[0] && o->bias_term ? caffe_weight(im, n, 1, 1, &outputs) : NULL;
        return of[0] && (of[1] || !o->bias_term);
}

static bool convolution_check(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__ConvolutionParameter *o = n->p->convolution_param;
        const struct value *x = n->bottoms[0];
        if (n->bottom_count != n->top_count)
                return caffe_invalid(im, "%d bottoms and %d tops", n->bottom_count, n->top_count);
        if (value_rank(x) < 3)
                return caffe_invalid(im, "the bottom is %s, want images",
                                     compose_text(im->c, x->type));
        if (o->axis != 1)
                return caffe_unsupported(im, "channels along axis %d", o->axis);
        const int64_t channels = value_extent(x, 1);
        if (!o->num_output || !o->group || o->num_output % o->group || channels % o->group)
                return caffe_invalid(im, "%lld channels to %u in %u groups", (long long)channels,
                                     o->num_output, o->group);
        for (int i = 1; i < n->bottom_count; i++)
                if (n->bottoms[i]->type != x->type)
                        return caffe_unsupported(im, "bottoms of different shapes");
        return true;
}

bool caffe_import_convolution(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__ConvolutionParameter *o = n->p->convolution_param;
        struct compose_transposed t = { .groups = o->group };
        struct value *weights[2];
        if (!convolution_check(im, n) ||
            !convolution_window(im, o, value_rank(n->bottoms[0]) - 2, &t.window) ||
            !convolution_weights(im, n, &t.window, weights))
                return false;
        for (int i = 0; i < n->bottom_count; i++) {
                struct value *x = n->bottoms[i], *y;
                if (caffe_variant(n))
                        y = compose_conv_transposed(im->c, x, weights[0], weights[1], &t);
                else
                        y = compose_conv(im->c, x, weights[0], weights[1], &t.window, t.groups);
                if (!caffe_output(n, i, y))
                        return false;
        }
        return true;
}

/* ---- inner products ---- */

/* All dimensions from the axis on are one row. */
bool caffe_import_inner_product(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__InnerProductParameter *o = n->p->inner_product_param;
        struct value *x = n->bottoms[0], *bias = NULL;
        const int axis = caffe_axis(im, o->axis, value_rank(x));
        const int64_t outputs = o->num_output;
        int64_t rows = 1, columns = 1;
        dim_t dims[RANK_MAX];
        if (axis < 0)
                return false;
        if (!outputs)
                return caffe_invalid(im, "num_output is 0");
        for (int d = 0; d < value_rank(x); d++)
                *(d < axis ? &rows : &columns) *= value_extent(x, d);
        for (int d = 0; d < axis; d++)
                dims[d] = x->type->dims[d];
        dims[axis] = dim_of(outputs);
        if (!compose_type(c, E_F32, axis + 1, dims) || !caffe_weights(im, n, o->bias_term ? 2 : 1))
                return false;
        const int64_t extents[2] = { o->transpose ? columns : outputs,
                                     o->transpose ? outputs : columns };
        struct value *w = caffe_weight(im, n, 0, 2, extents);
        if (w && o->bias_term)
                bias = caffe_weight(im, n, 1, 1, &outputs);
        if (!w || (o->bias_term && !bias))
                return false;
        x = compose_reshape(c, x, 2, (dim_t[]){ dim_of(rows), dim_of(columns) });
        struct value *y = x ? compose_dot(c, x, w, 0, 1, o->transpose ? 0 : 1, E_COMPUTE) : NULL;
        if (y && bias)
                y = compose_binary(c, OP_add, y, compose_along(c, bias, y->type, 1));
        return caffe_top(n, compose_reshape(c, y, axis + 1, dims));
}

/* ---- pools ---- */

static bool pool_window(struct caffe_import *im, struct caffe_layer *n, struct compose_window *w)
{
        enum { IMAGE = 2 };
        const Caffe__PoolingParameter *o = n->p->pooling_param;
        const struct stated kernel = { "kernel", o->has_kernel_size, &o->kernel_size,
                                       o->has_kernel_h, o->has_kernel_w, o->kernel_h,
                                       o->kernel_w, -1 },
                            stride = { "stride", o->has_stride, &o->stride, o->has_stride_h,
                                       o->has_stride_w, o->stride_h, o->stride_w, 1 },
                            pad = { "pad", o->has_pad, &o->pad, o->has_pad_h,
                                    o->has_pad_w, o->pad_h, o->pad_w, 0 };
        const struct value *x = n->bottoms[0];
        *w = (struct compose_window){ .rank = IMAGE, .dilations = { 1, 1 } };
        if (value_rank(x) != IMAGE + 2)
                return caffe_invalid(im, "the bottom is %s, want images",
                                     compose_text(im->c, x->type));
        if (!read_stated(im, &stride, IMAGE, w->strides) ||
            !read_stated(im, &pad, IMAGE, w->pads) ||
            (!o->global_pooling && !read_stated(im, &kernel, IMAGE, w->kernel)))
                return false;
        for (int d = 0; d < IMAGE; d++) {
                if (o->global_pooling) {
                        if (w->pads[d] || w->strides[d] != 1)
                                return caffe_invalid(im, "a global pool with pads or strides");
                        w->kernel[d] = value_extent(x, d + 2);
                }
                w->pads[IMAGE + d] = w->pads[d];
        }
        return true;
}

/* Checks that the result has the extents that Caffe gives it. They differ where a window would lie
 * behind the image, which Caffe leaves out only if there are pads. */
static bool pool_check(struct caffe_import *im, const struct caffe_layer *n,
                       const struct compose_window *w)
{
        const struct value *x = n->bottoms[0], *y = n->tops[0];
        const bool down = n->p->pooling_param->round_mode ==
                          CAFFE__POOLING_PARAMETER__ROUND_MODE__FLOOR;
        for (int d = 0; d < w->rank; d++) {
                const int64_t stride = w->strides[d], pad = w->pads[d],
                              in = value_extent(x, d + 2), room = in + 2 * pad - w->kernel[d];
                int64_t out = (room + (down ? 0 : stride - 1)) / stride + 1;
                if ((w->pads[0] || w->pads[1]) && (out - 1) * stride >= in + pad)
                        out--;
                if (value_extent(y, d + 2) != out)
                        return caffe_unsupported(im, "a window that lies behind the image");
        }
        return true;
}

bool caffe_import_pooling(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__PoolingParameter *o = n->p->pooling_param;
        struct compose_pool pool = { .include_pads = true };
        struct value *x = n->bottoms[0], *y = NULL;
        pool.ceil_mode = o->round_mode != CAFFE__POOLING_PARAMETER__ROUND_MODE__FLOOR;
        if (!pool_window(im, n, &pool.window))
                return false;
        if (o->pool == CAFFE__POOLING_PARAMETER__POOL_METHOD__MAX)
                y = compose_max_pool(im->c, x, &pool, NULL);
        else if (o->pool == CAFFE__POOLING_PARAMETER__POOL_METHOD__AVE)
                y = compose_average_pool(im->c, x, &pool);
        else
                return caffe_unsupported(im, "a stochastic pool");
        return caffe_top(n, y) && pool_check(im, n, &pool.window);
}
