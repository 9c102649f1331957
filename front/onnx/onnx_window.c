/* SPDX-License-Identifier: MIT */
/* The windows of convolutions and pools are read from attributes. */
#include "front/onnx/onnx_helpers.h"

/* Reads an attribute of exactly `want` integers in [least, NUMBER_MAX]. An absent one gives
 * `preset` for each. */
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
                      bool dilations, struct compose_window *w)
{
        static const char *const auto_pads[] = { "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID",
                                                 NULL };

        *w = (struct compose_window){ .rank = rank };
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
