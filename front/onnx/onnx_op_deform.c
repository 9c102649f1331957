/* SPDX-License-Identifier: MIT */
/* This file imports DeformConv, whose operands are x [N, C, spatial], weights [M, C / groups,
 * window], offsets, bias and mask. */
#include "front/onnx/onnx_helpers.h"

bool onnx_import_deform_conv(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_deformed d = { .x = n->inputs[0],
                                      .w = n->inputs[1],
                                      .offsets = n->inputs[2],
                                      .bias = onnx_input(n, 3),
                                      .mask = onnx_input(n, 4) };

        if (onnx_has(n, "auto_pad"))
                return onnx_invalid(im, n, "unknown attribute 'auto_pad'");
        return onnx_want_float(im, n, 0) && onnx_same_element(im, n, n->inputs, n->input_count) &&
               onnx_conv_read(im, n, d.x, d.w, &d.window, &d.groups) &&
               onnx_int_range(im, n, "offset_group", 1, 1, NUMBER_MAX, &d.shared) &&
               onnx_output(n, 0, compose_conv_deformed(im->c, &d));
}
