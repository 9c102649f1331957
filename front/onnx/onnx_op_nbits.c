/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators read tables that are kept in few bits: MatMulNBits, MatMulBnb4,
 * GatherBlockQuantized, MatMulFpQ4, GatherPacked. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_records.h"
#include "ir/tensor/block_weights.h"

enum { ROUNDED = 4 };                   /* It is the accuracy_level by which inputs may be of 8
                                         * bits. */

/* Reads a power of two of at least 16; or 0, which means all of a dimension, where that is
 * allowed. */
static bool block_size(struct onnx_import *im, struct onnx_node *n, int64_t preset, bool whole,
                       int64_t *block)
{
        if (!onnx_int_range(im, n, "block_size", preset, 0, NUMBER_MAX, block))
                return false;
        if ((*block >= BLOCK_LEAST && !(*block & (*block - 1))) || (!*block && whole))
                return true;
        return onnx_invalid(im, n, "block_size is %lld, want a power of two of at least %d",
                            (long long)*block, BLOCK_LEAST);
}

static bool product_attributes(struct onnx_import *im, struct onnx_node *n,
                               struct compose_matmul_blocks *p)
{
        int64_t accuracy, prepacked, bits;

        if (!onnx_int_required(im, n, "K", &p->inner) ||
            !onnx_int_range(im, n, "K", 0, 1, NUMBER_MAX, &p->inner) ||
            !onnx_int_required(im, n, "N", &p->outputs) ||
            !onnx_int_range(im, n, "N", 0, 1, NUMBER_MAX, &p->outputs) ||
            !onnx_int_range(im, n, "bits", 4, 2, 8, &bits) ||
            !block_size(im, n, 0, false, &p->block) ||
            !onnx_int_range(im, n, "accuracy_level", 0, 0, 4, &accuracy) ||
            !onnx_int_range(im, n, "weight_prepacked", 0, 0, 2, &prepacked))
                return false;
        if (bits != 2 && bits != 4 && bits != 8)
                return onnx_unsupported(im, n, "bits = %lld", (long long)bits);
        if (prepacked)
                return onnx_unsupported(im, n, "weights that are packed for a device");
        p->bits = (int)bits;
        p->rounds = accuracy == ROUNDED;
        return true;
}

static bool product_elements(struct onnx_import *im, struct onnx_node *n)
{
        const enum element e = value_element(n->inputs[0]);
        const struct value *zero = onnx_input(n, 3);

        if (e == E_F64)
                return onnx_invalid(im, n, "operand 0 is of f64");
        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_want_element(im, n, 1, E_U8) || !onnx_want_element(im, n, 2, e) ||
            !onnx_want_element(im, n, 4, E_I32) || !onnx_want_element(im, n, 5, e))
                return false;
        return !zero || value_element(zero) == E_U8 || value_element(zero) == e ||
               onnx_invalid(im, n, "operand 3 is of %s, want u8 or %s",
                            element_info[value_element(zero)].text, element_info[e].text);
}

/* The operands are a, b, scales, zero_points, g_idx, bias. */
bool onnx_import_matmul_nbits(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_matmul_blocks p = { .x = n->inputs[0],
                                           .numbers = n->inputs[1],
                                           .scales = n->inputs[2],
                                           .zeros = onnx_input(n, 3),
                                           .groups = onnx_input(n, 4),
                                           .bias = onnx_input(n, 5) };

        return product_attributes(im, n, &p) && product_elements(im, n) &&
               onnx_output(n, 0, compose_matmul_blocks(im->c, &p));
}

/* The operands are a, b, absmax. */
bool onnx_import_matmul_bnb4(struct onnx_import *im, struct onnx_node *n)
{
        /* These are FP4 and NF4 of Dettmers et al., "QLoRA" (2023), as bitsandbytes has them. */
        static const float levels[2][16] = {
                { 0.0f, 0.0052083333f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f,
                  -0.0f, -0.0052083333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f,
                  -0.25f },
                { -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
                  -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
                  0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
                  0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
                  0.7229568362236023f, 1.0f },
        };
        struct compose_matmul_levels p = { .x = n->inputs[0],
                                           .numbers = n->inputs[1],
                                           .scales = n->inputs[2] };
        int64_t kind, transposed, training;

        if (!onnx_int_required(im, n, "K", &p.inner) ||
            !onnx_int_required(im, n, "N", &p.outputs) ||
            !onnx_int_range(im, n, "K", 0, 1, NUMBER_MAX, &p.inner) ||
            !onnx_int_range(im, n, "N", 0, 1, NUMBER_MAX, &p.outputs) ||
            !onnx_int_required(im, n, "quant_type", &kind) ||
            !onnx_int_range(im, n, "quant_type", 0, 0, 1, &kind) ||
            !onnx_int_range(im, n, "transB", 1, 0, 1, &transposed) ||
            !onnx_int_range(im, n, "training_mode", 0, 0, 1, &training) ||
            !block_size(im, n, 0, false, &p.block) || !onnx_want_float(im, n, 0) ||
            !onnx_want_rank(im, n, 0, 1, RANK_MAX) || !onnx_want_element(im, n, 1, E_U8) ||
            !onnx_want_element(im, n, 2, value_element(p.x)))
                return false;
        p.levels = levels[kind];
        p.transposed = transposed;
        return onnx_output(n, 0, compose_matmul_levels(im->c, &p));
}

static bool table_attributes(struct onnx_import *im, struct onnx_node *n,
                             struct compose_gather_blocks *t)
{
        const enum element e = value_element(t->data), plain = compose_plain_element(e);
        const int rank = value_rank(t->data);
        int64_t gather, quantize, bits;

        if (e != E_U8 && e != E_I4 && e != E_U4 && (plain != E_F32 || plain == e || e == E_F8E8M0))
                return onnx_invalid(im, n, "operand 0 is of %s", element_info[e].text);
        if (!onnx_int(im, n, "gather_axis", 0, &gather) ||
            !onnx_int(im, n, "quantize_axis", 1, &quantize) ||
            !onnx_axis(im, n, gather, rank, &t->gather) ||
            !onnx_axis(im, n, quantize, rank, &t->quantize) ||
            !block_size(im, n, 128, plain == E_F32, &t->block) ||
            !onnx_int_range(im, n, "bits", 4, 2, 8, &bits))
                return false;
        if (plain != E_F32 && bits != 2 && bits != 4 && bits != 8)
                return onnx_invalid(im, n, "bits is %lld, want 2, 4 or 8", (long long)bits);
        if (e != E_U8 && plain != E_F32 && bits != 4)
                return onnx_invalid(im, n, "bits is %lld for numbers of %s", (long long)bits,
                                    element_info[e].text);
        if (e == E_U8 && (t->gather || t->quantize != rank - 1 || t->gather == t->quantize))
                return onnx_unsupported(im, n,
                                        "bytes gathered along axis %d, in blocks along axis %d",
                                        t->gather, t->quantize);
        t->bits = e == E_U8 ? (int)bits : 8;
        return true;
}

/* The operands are data, indices, scales, zero_points. */
bool onnx_import_gather_block_quantized(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_gather_blocks t = { .data = n->inputs[0],
                                           .indices = n->inputs[1],
                                           .scales = n->inputs[2],
                                           .zeros = onnx_input(n, 3) };
        const enum element e = value_element(t.data), index = value_element(t.indices);

        if (value_element(t.scales) == E_F64)
                return onnx_invalid(im, n, "operand 2 is of f64");
        if (index != E_I32 && index != E_I64)
                return onnx_invalid(im, n, "operand 1 is of %s, want i32 or i64",
                                    element_info[index].text);
        if (!onnx_want_float(im, n, 2) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !table_attributes(im, n, &t))
                return false;
        if (t.zeros && compose_plain_element(e) == E_F32)
                return onnx_invalid(im, n, "zero points of numbers of %s", element_info[e].text);
        return onnx_same_element(im, n, (struct value *[]){ t.data, t.zeros }, 2) &&
               onnx_output(n, 0, compose_gather_blocks(im->c, &t));
}

/* ---- records, which have scales beside their numbers ---- */

/* The operands are a, b, b_shape: the extents of the matrix that the records b make. */
bool onnx_import_matmul_fp_q4(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_matmul_records p = { .x = n->inputs[0], .records = n->inputs[1] };
        int64_t kind, dims[2];
        int count;
        bool known;

        if (!onnx_int(im, n, "blk_quant_type", 1, &kind) || !onnx_want_element(im, n, 0, E_F32) ||
            !onnx_want_rank(im, n, 0, 1, RANK_MAX) || !onnx_want_element(im, n, 1, E_U8) ||
            !onnx_want_element(im, n, 2, E_I64) ||
            !onnx_operand_ints(im, n, 2, dims, 2, &count, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "a shape of weights that only a run knows");
        if (count != 2 || dims[0] < 1 || dims[1] < 1)
                return onnx_invalid(im, n,
                                    "the weights' shape has %d numbers, want 2 of at least 1",
                                    count);
        p.inner = dims[0];
        p.outputs = dims[1];
        p.zeros = kind; /* onnxruntime takes any other number for the preset, 1. */
        return onnx_output(n, 0, compose_matmul_records(im->c, &p));
}

/* The operands are data, indices. */
bool onnx_import_gather_packed(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_gather_records t = { .data = n->inputs[0], .indices = n->inputs[1] };
        const enum element index = value_element(t.indices);
        int64_t kind, to;
        int i = 0;

        if (!onnx_int_required(im, n, "packed_type", &kind) ||
            !onnx_int(im, n, "output_dtype", ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16, &to) ||
            !onnx_int_required(im, n, "K", &t.width) ||
            !onnx_int_range(im, n, "K", 0, 1, NUMBER_MAX, &t.width) ||
            !onnx_element_number(im, n, "output_dtype", to, &t.to) ||
            !onnx_want_element(im, n, 0, E_U8) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_want_integer(im, n, 1))
                return false;
        if (index != E_I32 && index != E_I64)
                return onnx_invalid(im, n, "operand 1 is of %s, want i32 or i64",
                                    element_info[index].text);
        if (t.to != E_F32 && t.to != E_F16 && t.to != E_BF16)
                return onnx_invalid(im, n, "output_dtype is %s", element_info[t.to].text);
        while (i < RECORDS && compose_record_info[i].id != kind)
                i++;
        if (i == RECORDS)
                return onnx_unsupported(im, n, "packed_type = %lld", (long long)kind);
        t.kind = i;
        if (t.width % compose_record_info[i].numbers)
                return onnx_invalid(im, n, "K is %lld, want a multiple of %d, for %s",
                                    (long long)t.width, compose_record_info[i].numbers,
                                    compose_record_info[i].name);
        if (!value_extent(t.data, 0))
                return onnx_invalid(im, n, "a table without rows");
        return onnx_output(n, 0, compose_gather_records(im->c, &t));
}
