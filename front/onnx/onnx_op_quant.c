/* SPDX-License-Identifier: MIT */
/* This file imports QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. Operators between
 * quantizations are in onnx_op_qlinear.c and onnx_op_matmul_integer.c. */
#include "front/onnx/onnx_helpers.h"

/* Spreads the scale (operand 1) and the zero point (operand 2) over x's shape; *zero is NULL where
 * there is none. Returns false after an error. */
static bool over_operand(struct onnx_import *im, struct onnx_node *n, int64_t axis, int64_t block,
                         struct value **scale, struct value **zero)
{
        const struct type *x = n->inputs[0]->type;
        struct value *stated = onnx_input(n, 2);

        *scale = compose_per_block(im->c, "the scale is", n->inputs[1], x, axis, block);
        *zero = *scale && stated
                        ? compose_per_block(im->c, "the zero point is", stated, x, axis, block)
                        : NULL;
        return *scale && (*zero || !stated);
}

static bool block_size(struct onnx_import *im, struct onnx_node *n, int64_t *block)
{
        *block = 0;
        return (n->opset < 21 && !n->domain[0]) ||
               onnx_int_range(im, n, "block_size", 0, 0, NUMBER_MAX, block);
}

/* Returns whether numbers are quantized to e: to integers, or floats of 8 or 4 bits that are no
 * scales. */
static bool is_quantized(enum element e)
{
        enum element plain = compose_plain_element(e);
        return element_is_integer(plain) || (plain != e && e != E_F8E8M0);
}

bool onnx_import_quantize_linear(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *zero = onnx_input(n, 2), *scale;
        int64_t axis, block, saturate = 1, number = 0, precision = 0;
        enum element to = E_U8, computed = compose_wide_element(value_element(n->inputs[1]));

        const enum element of_scale = value_element(n->inputs[1]);
        if ((n->opset >= 23 && of_scale == E_F8E8M0) || (n->opset >= 19 && of_scale == E_I32))
                return onnx_unsupported(im, n, "scales of %s", element_info[of_scale].text);
        if (!onnx_want_float(im, n, 1) || !onnx_int(im, n, "axis", 1, &axis) ||
            !block_size(im, n, &block) ||
            (n->opset >= 19 && !onnx_int_range(im, n, "saturate", 1, 0, 1, &saturate)) ||
            ((n->opset >= 21 || n->domain[0]) && !onnx_int(im, n, "output_dtype", 0, &number)) ||
            (n->opset >= 23 && !onnx_int(im, n, "precision", 0, &precision)))
                return false;
        if (number && !onnx_element_number(im, n, "output_dtype", number, &to))
                return false;
        if (precision && !onnx_element_number(im, n, "precision", precision, &computed))
                return false;
        if (!element_is_float(computed))
                return onnx_invalid(im, n, "precision is %s, want a float type",
                                    element_info[computed].text);
        if (zero) {
                if (number && value_element(zero) != to)
                        return onnx_invalid(
                                im, n, "output_dtype is %s, but the zero point is of %s",
                                element_info[to].text, element_info[value_element(zero)].text);
                to = value_element(zero);
                if (zero->type != n->inputs[1]->type &&
                    !type_same_dims(zero->type, n->inputs[1]->type) &&
                    (type_elements(zero->type) != 1 || type_elements(n->inputs[1]->type) != 1))
                        return onnx_invalid(im, n, "the zero point is %s for a scale %s",
                                            compose_text(im->c, zero->type),
                                            compose_text(im->c, n->inputs[1]->type));
        }
        if (!is_quantized(to) || element_info[to].bytes > 2)
                return onnx_invalid(im, n,
                                    "quantized to %s, want an integer type of up to 16 bits, or "
                                    "floats of up to 8",
                                    element_info[to].text);
        if (!over_operand(im, n, axis, block, &scale, &zero))
                return false;
        if (value_element(x) != E_I32 && !element_is_float(value_element(x)))
                return onnx_invalid(im, n, "operand 0 is of %s",
                                    element_info[value_element(x)].text);
        return onnx_output(
                n, 0,
                compose_quantize(im->c, x,
                                 &(struct compose_quantization){ .scale = scale,
                                                                 .zero = zero,
                                                                 .to = to,
                                                                 .computed = computed,
                                                                 .saturate = saturate }));
}

/* The result is (x - zero_point) * scale. */
bool onnx_import_dequantize_linear(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[0], onnx_input(n, 2) }, *x = v[0], *scale, *zero;
        int64_t axis, block, number = 0;
        enum element to = value_element(n->inputs[1]);

        if (!is_quantized(value_element(x)))
                return onnx_invalid(
                        im, n, "operand 0 is of %s, want an integer type or floats of up to 8 bits",
                        element_info[value_element(x)].text);
        if (!onnx_want_float(im, n, 1) || !onnx_same_element(im, n, v, 2) ||
            !onnx_int(im, n, "axis", 1, &axis) || !block_size(im, n, &block) ||
            (n->opset >= 23 && !onnx_int(im, n, "output_dtype", 0, &number)) ||
            (number && !onnx_element_number(im, n, "output_dtype", number, &to)))
                return false;
        if (!element_is_float(to))
                return onnx_invalid(im, n, "output_dtype is %s, want a float type",
                                    element_info[to].text);
        if (!over_operand(im, n, axis, block, &scale, &zero))
                return false;
        return onnx_output(n, 0, compose_dequantize(im->c, x, scale, zero, to));
}

/* The results are y, y_scale, y_zero_point. */
bool onnx_import_dynamic_quantize_linear(struct onnx_import *im, struct onnx_node *n)
{
        if (!onnx_want_element(im, n, 0, E_F32))
                return false;
        struct compose_quantized q = compose_quantize_dynamic(im->c, n->inputs[0]);
        return onnx_output(n, 0, q.numbers) && onnx_output(n, 1, q.scale) &&
               onnx_output(n, 2, q.zero);
}
