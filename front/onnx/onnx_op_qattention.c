/* SPDX-License-Identifier: MIT */
/* This file imports com.microsoft's QAttention. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_attention.h"

static bool attributes_read(struct onnx_import *im, struct onnx_node *n,
                            struct compose_attention_quantized *a)
{
        int64_t causal, rotary, shares;
        float scale, filter;

        if (!onnx_int_required(im, n, "num_heads", &a->heads) ||
            !onnx_int_range(im, n, "num_heads", 0, 1, NUMBER_MAX, &a->heads) ||
            !onnx_int_range(im, n, "unidirectional", 0, 0, 1, &causal) ||
            !onnx_int_range(im, n, "do_rotary", 0, 0, 1, &rotary) ||
            !onnx_int_range(im, n, "past_present_share_buffer", 0, 0, 1, &shares) ||
            !onnx_float(im, n, "scale", 0, &scale) ||
            !onnx_float(im, n, "mask_filter_value", -10000, &filter))
                return false;
        if (rotary || shares)
                return onnx_unsupported(im, n, "%s",
                                        rotary ? "do_rotary" : "past_present_share_buffer");
        a->causal = causal;
        a->scale = scale;
        a->filter = filter;
        return true;
}

static bool operands_check(struct onnx_import *im, struct onnx_node *n)
{
        struct value *floats[4] = { n->inputs[2], n->inputs[3], n->inputs[4], onnx_input(n, 8) };

        if (!onnx_want_8_bit(im, n, 0) || !onnx_want_8_bit(im, n, 1) ||
            !onnx_want_rank(im, n, 0, 3, 3) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_want_rank(im, n, 2, 1, 1) || !onnx_want_float(im, n, 2) ||
            !onnx_want_element(im, n, 5, E_I32) || !onnx_same_element(im, n, floats, 4))
                return false;
        return value_element(floats[0]) != E_F64 || onnx_invalid(im, n, "operand 2 is of f64");
}

/* The operands are input, weight, bias, input_scale, weight_scale, mask_index, input_zero_point,
 * weight_zero_point, past; the results are output, present. */
bool onnx_import_qattention(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_attention_quantized a = {
                .x = { n->inputs[0], n->inputs[3], onnx_input(n, 6) },
                .w = { n->inputs[1], n->inputs[4], onnx_input(n, 7) },
                .bias = n->inputs[2],
                .past = onnx_input(n, 8),
                .mask = onnx_input(n, 5),
        };
        const bool keeps = onnx_wants(n, 1);
        struct value *y, *kept = NULL;

        return attributes_read(im, n, &a) && operands_check(im, n) &&
               compose_attention_quantized(im->c, &a, &y, keeps ? &kept : NULL) &&
               onnx_output(n, 0, y) && (!keeps || onnx_output(n, 1, kept));
}
