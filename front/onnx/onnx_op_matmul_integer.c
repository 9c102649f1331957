/* SPDX-License-Identifier: MIT */
/* This file imports matrix products of integers: MatMulInteger, QLinearMatMul, and of com.microsoft
 * QGemm, MatMulInteger16, MatMulIntegerToFloat and DynamicQuantizeMatMul. */
#include "front/onnx/onnx_helpers.h"

static bool want_matrix(struct onnx_import *im, const struct onnx_node *n, int input)
{
        return onnx_want_rank(im, n, input, 1, RANK_MAX) && onnx_want_8_bit(im, n, input);
}

/* The operands are a, b, a_zero_point, b_zero_point. */
bool onnx_import_matmul_integer(struct onnx_import *im, struct onnx_node *n)
{
        const struct compose_quantized a = { .numbers = n->inputs[0], .zero = onnx_input(n, 2) },
                                       b = { .numbers = n->inputs[1], .zero = onnx_input(n, 3) };

        return want_matrix(im, n, 0) && want_matrix(im, n, 1) &&
               onnx_output(n, 0, compose_matmul_integer(im->c, &a, &b));
}

/* The operands are a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point. */
bool onnx_import_qlinear_matmul(struct onnx_import *im, struct onnx_node *n)
{
        const struct compose_quantized a = onnx_quantized(n, 0), b = onnx_quantized(n, 3),
                                       y = { NULL, n->inputs[6], n->inputs[7] };
        const struct value *numbers[3] = { a.numbers, b.numbers, y.zero };

        for (int i = 0; i < 3 && n->opset >= 21; i++)
                if (compose_plain_element(value_element(numbers[i])) == E_F32)
                        return onnx_unsupported(im, n, "products of %s",
                                                element_info[value_element(numbers[i])].text);
        return want_matrix(im, n, 0) && want_matrix(im, n, 3) && onnx_want_float(im, n, 1) &&
               onnx_same_element(im, n, (struct value *[]){ a.scale, b.scale, y.scale }, 3) &&
               onnx_want_8_bit(im, n, 7) &&
               onnx_output(n, 0, compose_matmul_quantized(im->c, &a, &b, &y));
}

/* ---- com.microsoft ---- */

/* The operands are a and b of i16; sums are i32. */
bool onnx_import_matmul_integer16(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2];

        for (int i = 0; i < 2; i++)
                if (!onnx_want_element(im, n, i, E_I16) || !onnx_want_rank(im, n, i, 1, RANK_MAX) ||
                    !(v[i] = compose_cast(im->c, n->inputs[i], E_I32)))
                        return false;
        return onnx_output(n, 0, compose_matmul(im->c, v[0], v[1]));
}

/* The operands are a, a_scale, a_zero_point, b, b_scale, b_zero_point, c (already in units of both
 * scales), and y_scale, y_zero_point where the result is not f32. */
bool onnx_import_qgemm(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_gemm_quantized g = { .a = onnx_quantized(n, 0),
                                            .b = onnx_quantized(n, 3),
                                            .y = { NULL, onnx_input(n, 7), onnx_input(n, 8) },
                                            .bias = onnx_input(n, 6) };
        int64_t trans_a, trans_b;
        float alpha;

        if (!onnx_float(im, n, "alpha", 1, &alpha) || !onnx_int(im, n, "transA", 0, &trans_a) ||
            !onnx_int(im, n, "transB", 0, &trans_b) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_want_rank(im, n, 3, 2, 2) || !want_matrix(im, n, 0) || !want_matrix(im, n, 3) ||
            !onnx_want_element(im, n, 1, E_F32) || !onnx_want_element(im, n, 4, E_F32) ||
            !onnx_want_element(im, n, 6, E_I32) || !onnx_want_element(im, n, 7, E_F32) ||
            !onnx_want_8_bit(im, n, 8))
                return false;
        if (!g.y.scale != !g.y.zero)
                return onnx_invalid(im, n, "y_scale and y_zero_point are given together, or none");
        g.alpha = alpha;
        g.trans_a = trans_a;
        g.trans_b = trans_b;
        return onnx_output(n, 0, compose_gemm_quantized(im->c, &g));
}

/* The operands are a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias. Scales of a's columns
 * would have to be multiplied by its numbers, whose products were no integers then. */
bool onnx_import_matmul_integer_to_float(struct onnx_import *im, struct onnx_node *n)
{
        const struct compose_quantized a = { n->inputs[0], n->inputs[2], onnx_input(n, 4) },
                                       b = { n->inputs[1], n->inputs[3], onnx_input(n, 5) };
        struct value *bias = onnx_input(n, 6);

        if (!want_matrix(im, n, 0) || !want_matrix(im, n, 1) || !onnx_want_float(im, n, 2) ||
            !onnx_same_element(im, n, (struct value *[]){ a.scale, b.scale, bias }, 3) ||
            (bias && !onnx_want_rank(im, n, 6, 1, 1)))
                return false;
        if (type_elements(a.scale->type) != 1)
                return onnx_unsupported(im, n, "a_scale is %s, which is not one number",
                                        compose_text(im->c, a.scale->type));
        struct value *y = compose_matmul_to_float(im->c, &a, &b, bias);
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(a.scale)));
}

/* The operands are a (f32, which is quantized here), b, b_scale, b_zero_point, bias. */
bool onnx_import_dynamic_quantize_matmul(struct onnx_import *im, struct onnx_node *n)
{
        const struct compose_quantized b = onnx_quantized(n, 1);
        struct value *bias = onnx_input(n, 4);

        return onnx_want_element(im, n, 0, E_F32) && onnx_want_rank(im, n, 0, 1, RANK_MAX) &&
               want_matrix(im, n, 1) && onnx_want_element(im, n, 2, E_F32) &&
               onnx_want_element(im, n, 4, E_F32) && (!bias || onnx_want_rank(im, n, 4, 1, 1)) &&
               onnx_output(n, 0, compose_matmul_dynamic(im->c, n->inputs[0], &b, bias));
}
