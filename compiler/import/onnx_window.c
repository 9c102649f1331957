/* SPDX-License-Identifier: MIT */
/* The windows of convolutions and pools: kernel, strides, dilations, pads, auto_pad, and where they
 * come to lie. */
#include "compiler/import/onnx_helpers.h"

/* an INTS attribute of exactly `want` entries in [least, NUMBER_MAX]; absent: `preset` in each */
static bool numbers_read(struct onnx_import *im, struct onnx_node *n, const char *name, int want,
                         int64_t least, int64_t preset, int64_t *values)
{
        const int64_t *given;
        int count;

        if (!onnx_ints(im, n, name, &given, &count))
                return false;
        for (int i = 0; i < want; i++)
                values[i] = preset;
        if (count == 0)
                return true;
        if (count != want)
                return onnx_invalid(im, n, "%s has %d values, want %d", name, count, want);
        for (int i = 0; i < want; i++) {
                if (given[i] < least || given[i] > NUMBER_MAX)
                        return onnx_invalid(im, n, "%s holds %lld, want %lld to %d", name,
                                            (long long)given[i], (long long)least, NUMBER_MAX);
                values[i] = given[i];
        }
        return true;
}

bool onnx_window_read(struct onnx_import *im, struct onnx_node *n, int rank, const int64_t *kernel,
                      bool dilations, struct onnx_window *w)
{
        static const char *const auto_pads[] = { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID",
                                                 NULL };

        *w = (struct onnx_window){ .rank = rank };
        if (!numbers_read(im, n, "kernel_shape", rank, 1, 0, w->kernel) ||
            !numbers_read(im, n, "strides", rank, 1, 1, w->strides) ||
            !numbers_read(im, n, "pads", 2 * rank, 0, 0, w->pads) ||
            !onnx_choice(im, n, "auto_pad", auto_pads, PAD_NOTSET, &w->auto_pad))
                return false;
        for (int d = 0; d < rank; d++)
                w->dilations[d] = 1;
        if (dilations && !numbers_read(im, n, "dilations", rank, 1, 1, w->dilations))
                return false;
        for (int d = 0; d < rank; d++) {
                if (kernel && w->kernel[d] && w->kernel[d] != kernel[d])
                        return onnx_invalid(im, n,
                                            "kernel_shape[%d] is %lld, but the weights have %lld",
                                            d, (long long)w->kernel[d], (long long)kernel[d]);
                if (kernel)
                        w->kernel[d] = kernel[d];
                if (w->kernel[d] < 1)
                        return onnx_invalid(im, n,
                                            kernel ? "weights of extent 0"
                                                   : "attribute kernel_shape is missing");
        }
        return true;
}

bool onnx_window_place(struct onnx_import *im, const struct onnx_node *n, struct onnx_window *w,
                       const dim_t *in, bool ceil_mode)
{
        for (int d = 0; d < w->rank; d++) {
                int64_t extent = onnx_window_extent(w, d), stride = w->strides[d];
                int64_t *low = &w->pads[d], *high = &w->pads[w->rank + d];
                if (w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER) {
                        w->out[d] = divide_up(dim_extent(in[d]), stride);
                        int64_t total = compose_max(0, (w->out[d] - 1) * stride + extent -
                                                               dim_extent(in[d]));
                        *low = w->auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
                        *high = total - *low;
                        w->high[d] = *high;
                        continue;
                }
                if (w->auto_pad == PAD_VALID)
                        *low = *high = 0;
                int64_t slack = dim_extent(in[d]) + *low + *high - extent;
                if (slack < 0)
                        return onnx_invalid(
                                im, n,
                                "a window of extent %lld does not fit the padded extent %lld of spatial dimension %d",
                                (long long)extent, (long long)(slack + extent), d);
                w->out[d] = slack / stride + 1;
                w->high[d] = *high;
                if (ceil_mode) {
                        w->out[d] = divide_up(slack, stride) + 1;
                        /* a last window that would start in the end padding is dropped */
                        if ((w->out[d] - 1) * stride >= dim_extent(in[d]) + *low)
                                w->out[d]--;
                        w->high[d] = compose_max(0, (w->out[d] - 1) * stride + extent -
                                                            dim_extent(in[d]) - *low);
                }
        }
        return true;
}

struct value *onnx_convolve(struct onnx_import *im, struct value *x, struct value *w,
                            const struct onnx_window *window, int64_t groups, int accumulator)
{
        struct attr *attrs = attrs_new(im->m, OP_convolve);
        int64_t pads[2 * RANK_MAX];

        if (!x || !w)
                return NULL;
        for (int d = 0; d < window->rank; d++) {
                pads[d] = window->pads[d];
                pads[window->rank + d] = window->high[d];
        }
        attr_set_ints(im->m, attrs, OP_convolve, "strides", window->strides, window->rank);
        attr_set_ints(im->m, attrs, OP_convolve, "dilations", window->dilations, window->rank);
        attr_set_ints(im->m, attrs, OP_convolve, "pads", pads, 2 * window->rank);
        attr_set(attrs, OP_convolve, "groups", groups);
        attr_set(attrs, OP_convolve, "accumulator", accumulator);
        return value_build(&im->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL);
}
