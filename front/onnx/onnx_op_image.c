/* SPDX-License-Identifier: MIT */
/* ImageDecoder: the bytes of a file become pixels. The model declares how many: nothing else says
 * it before a run. */
#include "front/onnx/onnx_helpers.h"

bool onnx_import_image_decoder(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const formats[] = { "Grayscale", "RGB", "BGR", NULL };
        struct value *x = n->inputs[0];
        int pixels;

        if (!onnx_choice(im, n, "pixel_format", formats, 1, &pixels) ||
            !onnx_want_element(im, n, 0, E_U8) || !onnx_want_rank(im, n, 0, 1, 1))
                return false;
        const struct type *t = onnx_declared_as(im, n, 0, E_U8, 3);
        if (!t)
                return false;
        struct attr *attrs = attrs_new(im->m, OP_decode_image);
        attr_set(attrs, OP_decode_image, "pixels", pixels);
        return onnx_output(n, 0, value_build(&im->b, OP_decode_image, &x, 1, attrs, t));
}
