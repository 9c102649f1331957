/* SPDX-License-Identifier: MIT */
/* This file imports matrix products of floats, MatMul, Gemm, FusedMatMul, Einsum; and Det.
 * onnx_op_matmul_integer.c has products of integers. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_matrix.h"

bool onnx_import_matmul(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_same_element(im, n, n->inputs, 2) &&
               onnx_output(n, 0, compose_matmul(im->c, n->inputs[0], n->inputs[1]));
}

/* Returns x times a factor that an attribute states as a float. Integers are multiplied exactly
 * by a whole factor. */
static struct value *scaled(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                            float factor, const char *name)
{
        if (!x || factor == 1)
                return x;
        if (element_is_integer(value_element(x)) && factor != (float)(int)factor) {
                onnx_unsupported(im, n, "%s = %g of integers", name, (double)factor);
                return NULL;
        }
        return times(im->c, x, factor);
}

bool onnx_import_gemm(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, 2) };
        float alpha, beta;
        int64_t trans_a, trans_b, broadcast;

        if (!onnx_float(im, n, "alpha", 1, &alpha) || !onnx_float(im, n, "beta", 1, &beta) ||
            !onnx_int(im, n, "transA", 0, &trans_a) || !onnx_int(im, n, "transB", 0, &trans_b) ||
            (n->opset < 7 && !onnx_int(im, n, "broadcast", 0, &broadcast)))
                return false;
        if (!onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_same_element(im, n, v, 3))
                return false;
        if (!(alpha > -1e9f && alpha < 1e9f && beta > -1e9f && beta < 1e9f) &&
            element_is_integer(value_element(v[0])))
                return onnx_invalid(im, n, "alpha = %g, beta = %g of integers", (double)alpha,
                                    (double)beta);
        int contract_a = trans_a ? 0 : 1, contract_b = trans_b ? 1 : 0;
        const dim_t *dims_a = v[0]->type->dims, *dims_b = v[1]->type->dims;
        if (!dim_equal(dims_a[contract_a], dims_b[contract_b]))
                return onnx_invalid(im, n, "the inner extents %s and %s differ",
                                    dim_text(im->arena, im->m, dims_a[contract_a]),
                                    dim_text(im->arena, im->m, dims_b[contract_b]));
        const dim_t dims[2] = { dims_a[!contract_a], dims_b[!contract_b] };
        const struct type *to = compose_type(im->c, value_element(v[0]), 2, dims);
        if (!to)
                return false;
        struct value *y =
                scaled(im, n, compose_dot(im->c, v[0], v[1], 0, contract_a, contract_b, E_COMPUTE),
                       alpha, "alpha");
        if (v[2] && beta != 0) {
                struct value *c = compose_per_line(im->c, "the addend is", v[2], to, 1);
                c = scaled(im, n, c, beta, "beta");
                y = c ? add(im->c, y, c) : NULL;
        }
        return onnx_output(n, 0, y);
}

static struct value *transposed_last(struct onnx_import *im, struct value *x)
{
        int64_t perm[RANK_MAX];
        int rank = value_rank(x);

        for (int d = 0; d < rank; d++)
                perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
        return rank < 2 ? x : compose_transpose(im->c, x, perm);
}

/* Of `between`, batches stand between rows and columns: they come first. */
static struct value *batches_first(struct onnx_import *im, struct value *x, bool between)
{
        int64_t perm[RANK_MAX];
        int rank = value_rank(x);

        for (int d = 0; d < rank; d++)
                perm[d] = d < rank - 2 ? d + 1 : d == rank - 2 ? 0 : d;
        return !between || rank < 3 ? x : compose_transpose(im->c, x, perm);
}

/* com.microsoft FusedMatMul is MatMul with transposed operands and a factor. */
bool onnx_import_fused_matmul(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;
        int64_t trans_a, trans_b, batch_a, batch_b;

        if (!onnx_float(im, n, "alpha", 1, &alpha) || !onnx_int(im, n, "transA", 0, &trans_a) ||
            !onnx_int(im, n, "transB", 0, &trans_b) ||
            !onnx_int(im, n, "transBatchA", 0, &batch_a) ||
            !onnx_int(im, n, "transBatchB", 0, &batch_b) || !onnx_want_float(im, n, 0) ||
            !onnx_same_element(im, n, n->inputs, 2))
                return false;
        struct value *a = batches_first(im, n->inputs[0], batch_a != 0);
        struct value *b = batches_first(im, n->inputs[1], batch_b != 0);
        if (!a || !b)
                return false;
        if (trans_a)
                a = transposed_last(im, a);
        if (trans_b)
                b = transposed_last(im, b);
        return onnx_output(n, 0, scaled(im, n, compose_matmul(im->c, a, b), alpha, "alpha"));
}

bool onnx_import_einsum(struct onnx_import *im, struct onnx_node *n)
{
        const Onnx__AttributeProto *a = onnx_attribute(n, "equation");

        if (!onnx_same_element(im, n, n->inputs, n->input_count))
                return false;
        if (!a || a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING)
                return onnx_invalid(im, n, "attribute equation is missing");
        for (int i = 0; i < n->input_count; i++)
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "operand %d is missing", i);
        const char *equation = a->s.len ? (const char *)a->s.data : "";
        const struct compose_einsum e = { .equation = equation,
                                          .end = equation + a->s.len,
                                          .operands = n->inputs,
                                          .count = n->input_count };
        return onnx_output(n, 0, compose_einsum(im->c, &e));
}

bool onnx_import_det(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_want_float(im, n, 0) && onnx_want_rank(im, n, 0, 2, RANK_MAX) &&
               onnx_output(n, 0, compose_determinant(im->c, n->inputs[0]));
}

/* Imports com.microsoft's Inverse. */
bool onnx_import_inverse(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_want_float(im, n, 0) && onnx_want_rank(im, n, 0, 2, RANK_MAX) &&
               onnx_output(n, 0, compose_inverse(im->c, n->inputs[0]));
}
