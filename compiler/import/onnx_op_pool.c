/* SPDX-License-Identifier: MIT */
/* Pools over a sliding window: MaxPool, AveragePool, LpPool. */
#include "compiler/import/onnx_helpers.h"

/* attributes of a window over x in full rank, from the spatial window */
static struct attr *window_attrs(struct onnx_import *im, enum opcode code,
                                 const struct onnx_window *w)
{
        struct attr *attrs = attrs_new(im->m, code);
        int rank = w->rank + 2;
        int64_t window[RANK_MAX] = { 1, 1 }, strides[RANK_MAX] = { 1, 1 },
                dilations[RANK_MAX] = { 1, 1 }, pads[2 * RANK_MAX] = { 0 };

        for (int d = 0; d < w->rank; d++) {
                window[d + 2] = w->kernel[d];
                strides[d + 2] = w->strides[d];
                dilations[d + 2] = w->dilations[d];
                pads[d + 2] = w->pads[d];
                pads[rank + d + 2] = w->high[d];
        }
        attr_set_ints(im->m, attrs, code, "window", window, rank);
        attr_set_ints(im->m, attrs, code, "strides", strides, rank);
        attr_set_ints(im->m, attrs, code, "dilations", dilations, rank);
        attr_set_ints(im->m, attrs, code, "pads", pads, 2 * rank);
        return attrs;
}

static struct value *window_reduce(struct onnx_import *im, enum reducer kind, struct value *x,
                                   const struct onnx_window *w)
{
        struct attr *attrs = window_attrs(im, OP_reduce_window, w);

        attr_set(attrs, OP_reduce_window, "kind", kind);
        return x ? value_build(&im->b, OP_reduce_window, &x, 1, attrs, NULL) : NULL;
}

/* reads and places the window; every pad is smaller than the window */
static bool pool_window(struct onnx_import *im, struct onnx_node *n, const struct value *x,
                        bool dilations, bool ceil_allowed, struct onnx_window *w)
{
        int64_t ceil_mode = 0;
        dim_t dims[RANK_MAX];

        if (!onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !onnx_window_read(im, n, value_rank(x) - 2, NULL, dilations, w) ||
            (ceil_allowed && !onnx_int_range(im, n, "ceil_mode", 0, 0, 1, &ceil_mode)))
                return false;
        for (int i = 0; i < 2 * w->rank && w->auto_pad == PAD_NOTSET; i++)
                if (w->pads[i] >= onnx_window_extent(w, i % w->rank))
                        return onnx_invalid(im, n, "pads[%d] is %lld for a window of extent %lld",
                                            i, (long long)w->pads[i],
                                            (long long)onnx_window_extent(w, i % w->rank));
        if (!onnx_window_place(im, n, w, x->type->dims + 2, ceil_mode))
                return false;
        dims[0] = dim_of(value_extent(x, 0));
        dims[1] = dim_of(value_extent(x, 1));
        for (int d = 0; d < w->rank; d++)
                dims[d + 2] = dim_of(w->out[d]);
        return compose_type(im->c, value_element(x), w->rank + 2, dims) != NULL;
}

/* A row-major position in x, as the position with each image stored column by column. */
static struct value *column_major(struct onnx_import *im, struct value *at, const struct type *x)
{
        int64_t image = 1, before = 1;
        struct value *sum = NULL;

        for (int d = 2; d < x->rank; d++)
                image *= type_extent(x, d);
        int64_t after = image;
        for (int d = 2; d < x->rank; d++) {
                after /= compose_max(type_extent(x, d), 1);
                struct value *here =
                        compose_with(im->c, OP_rem, compose_with(im->c, OP_div, at, (double)after),
                                     (double)type_extent(x, d));
                here = compose_with(im->c, OP_mul, here, (double)before);
                sum = sum ? compose_binary(im->c, OP_add, sum, here) : here;
                before *= type_extent(x, d);
        }
        struct value *base = compose_with(
                im->c, OP_mul, compose_with(im->c, OP_div, at, (double)image), (double)image);
        return compose_binary(im->c, OP_add, base, sum);
}

bool onnx_import_max_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct onnx_window w;
        int64_t column = 0;

        if (!pool_window(im, n, x, n->opset >= 10, n->opset >= 10, &w) ||
            (n->opset >= 8 && !onnx_int_range(im, n, "storage_order", 0, 0, 1, &column)))
                return false;
        if (onnx_wants(n, 1)) {
                struct value *at = value_build(&im->b, OP_arg_window, &x, 1,
                                               window_attrs(im, OP_arg_window, &w), NULL);
                if (at && column)
                        at = column_major(im, at, x->type);
                if (!onnx_output(n, 1, at))
                        return false;
        }
        return onnx_output(n, 0, window_reduce(im, REDUCE_max, x, &w));
}

/* How many of the window's elements count at each place along spatial dimension d; NULL when all do
 * everywhere. Place o starts at o * stride - low pad; its element k counts where from <= start + k
 * * dilation < to. */
static struct value *window_counts(struct onnx_import *im, const struct onnx_window *w, int d,
                                   int64_t in, bool include_pads, enum element e)
{
        int64_t from = include_pads ? -w->pads[d] : 0,
                to = include_pads ? in + w->pads[w->rank + d] : in;
        int64_t step = w->dilations[d], last = (w->out[d] - 1) * w->strides[d] - w->pads[d];

        if (-w->pads[d] >= from && last + onnx_window_extent(w, d) <= to)
                return NULL;
        struct value *start = compose_with(im->c, OP_mul, compose_iota(im->c, E_I64, w->out[d]),
                                           (double)w->strides[d]);
        start = compose_with(im->c, OP_sub, start, (double)w->pads[d]);
        struct value *bounds[2]; /* elements before from, before to */
        for (int i = 0; i < 2; i++) {
                struct value *distance = compose_with(
                        im->c, OP_max, compose_from(im->c, OP_sub, (double)(i ? to : from), start),
                        0);
                bounds[i] = compose_with(im->c, OP_div,
                                         compose_with(im->c, OP_add, distance, (double)step - 1),
                                         (double)step);
        }
        struct value *count = compose_binary(
                im->c, OP_sub, compose_with(im->c, OP_min, bounds[1], (double)w->kernel[d]),
                bounds[0]);
        /* a window wholly in the padding averages to 0 */
        return compose_cast(im->c, compose_with(im->c, OP_max, count, 1), e);
}

struct value *onnx_average_pool(struct onnx_import *im, struct onnx_node *n, struct value *x)
{
        struct onnx_window w;
        int64_t include = 0;
        double everywhere = 1;
        bool early = !n->domain[0] && n->opset < 10;

        if (!pool_window(im, n, x, n->opset >= 19, !early, &w) ||
            ((n->opset >= 7 || !early) &&
             !onnx_int_range(im, n, "count_include_pad", 0, 0, 1, &include)))
                return NULL;
        struct value *sum = window_reduce(im, REDUCE_sum, x, &w), *divisor = NULL;
        if (!sum)
                return NULL;
        for (int d = 0; d < w.rank; d++) {
                struct value *counts = window_counts(im, &w, d, value_extent(x, d + 2), include,
                                                     value_element(sum));
                double number = (double)w.kernel[d];
                if (!counts || value_is_splat(counts, &number)) {
                        everywhere *= number;
                        continue;
                }
                counts = compose_spread(im->c, counts, sum->type, (const int64_t[]){ d + 2 });
                divisor = divisor ? compose_binary(im->c, OP_mul, divisor, counts) : counts;
        }
        if (!divisor)
                return compose_with(im->c, OP_div, sum, everywhere);
        return compose_binary(im->c, OP_div, sum,
                              everywhere == 1 ? divisor
                                              : compose_with(im->c, OP_mul, divisor, everywhere));
}

bool onnx_import_average_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = compose_wide(im->c, n->inputs[0]);

        return onnx_want_float(im, n, 0) && x &&
               onnx_output(n, 0,
                           compose_cast(im->c, onnx_average_pool(im, n, x),
                                        value_element(n->inputs[0])));
}

/* the p-norm of the window's elements */
bool onnx_import_lp_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0],
                     *wide = compose_unary(im->c, OP_abs, compose_wide(im->c, x));
        struct onnx_window w;
        int64_t p;

        if (!onnx_want_float(im, n, 0) || !onnx_int_range(im, n, "p", 2, 1, 1000, &p) ||
            !pool_window(im, n, x, n->opset >= 18, n->opset >= 18, &w))
                return false;
        struct value *power = p == 1   ? wide
                              : p == 2 ? compose_binary(im->c, OP_mul, wide, wide)
                                       : compose_with(im->c, OP_pow, wide, (double)p);
        struct value *sum = window_reduce(im, REDUCE_sum, power, &w);
        sum = p == 1   ? sum
              : p == 2 ? compose_unary(im->c, OP_sqrt, sum)
                       : compose_with(im->c, OP_pow, sum, 1.0 / (double)p);
        return onnx_output(n, 0, compose_cast(im->c, sum, value_element(x)));
}
