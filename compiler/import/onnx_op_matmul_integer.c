/* SPDX-License-Identifier: MIT */
/* Matrix products of integers: MatMulInteger, QLinearMatMul, and of com.microsoft QGemm,
 * MatMulIntegerToFloat and DynamicQuantizeMatMul. Operands are less their zero points, products are
 * summed in i32, and scales go behind the sums. */
#include "compiler/import/onnx_helpers.h"

struct value *onnx_centered_side(struct onnx_import *im, const struct onnx_node *n, int input,
                                 int zero, int line)
{
        struct value *x = n->inputs[input], *zero_point = NULL;

        if (onnx_input(n, zero)) {
                zero_point = onnx_per_line(im, n, zero, x->type, line);
                if (!zero_point || value_element(zero_point) != value_element(x)) {
                        if (zero_point)
                                onnx_invalid(im, n, "zero point of %s for an operand of %s",
                                             element_info[value_element(zero_point)].text,
                                             element_info[value_element(x)].text);
                        return NULL;
                }
        }
        return compose_centered(im->c, x, zero_point, E_I32);
}

static bool want_matrix(struct onnx_import *im, const struct onnx_node *n, int input)
{
        return onnx_want_rank(im, n, input, 1, RANK_MAX) && onnx_want_8_bit(im, n, input);
}

bool onnx_import_matmul_integer(struct onnx_import *im, struct onnx_node *n)
{
        if (!want_matrix(im, n, 0) || !want_matrix(im, n, 1))
                return false;
        struct value *a = onnx_centered_side(im, n, 0, 2, value_rank(n->inputs[0]) - 2);
        struct value *b = onnx_centered_side(im, n, 1, 3, value_rank(n->inputs[1]) - 1);
        return onnx_output(n, 0, compose_matmul_as(im->c, a, b, E_I32));
}

/* Operands a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point */
bool onnx_import_qlinear_matmul(struct onnx_import *im, struct onnx_node *n)
{
        if (!want_matrix(im, n, 0) || !want_matrix(im, n, 3) || !onnx_want_float(im, n, 1) ||
            !onnx_same_element(im, n,
                               (struct value *[]){ n->inputs[1], n->inputs[4], n->inputs[6] }, 3) ||
            !onnx_want_8_bit(im, n, 7))
                return false;
        struct value *a = onnx_centered_side(im, n, 0, 2, value_rank(n->inputs[0]) - 2);
        struct value *b = onnx_centered_side(im, n, 3, 5, value_rank(n->inputs[3]) - 1);
        struct value *sum = compose_matmul_as(im->c, a, b, E_I32);
        if (!sum)
                return false;
        const struct type *t = sum->type;
        int rows = value_rank(n->inputs[3]) == 1 ? t->rank - 1 : t->rank - 2;
        struct value *scale[3] = {
                onnx_per_line(im, n, 1, t, value_rank(n->inputs[0]) == 1 ? -1 : rows),
                onnx_per_line(im, n, 4, t, value_rank(n->inputs[3]) == 1 ? -1 : t->rank - 1),
                onnx_per_line(im, n, 6, t, rows)
        };
        if (!scale[0] || !scale[1] || !scale[2])
                return false;
        struct value *right = compose_wide(im->c, scale[2]);
        struct value *other = compose_wide(im->c, scale[1]);
        struct value *factor = compose_binary(
                im->c, OP_div, compose_binary(im->c, OP_mul, compose_wide(im->c, scale[0]), other),
                right);
        struct value *real = compose_binary(im->c, OP_mul, compose_cast(im->c, sum, E_F32), factor);
        struct value *zero = onnx_per_line(im, n, 7, t, rows);
        return zero &&
               onnx_output(n, 0,
                           compose_requantize(im->c, real, zero, value_element(n->inputs[7])));
}


/* ---- com.microsoft ---- */

/* the sum times the scales of both sides: one number for a, one or one per column for b; alpha: of
 * Gemm, divisor: the result's scale, or NULL */
static struct value *rescaled(struct onnx_import *im, struct value *sum, struct value *a_scale,
                              struct value *b_scale, double alpha, struct value *divisor)
{
        if (alpha != 1)
                a_scale = compose_with(im->c, OP_mul, compose_wide(im->c, a_scale), alpha);
        struct value *right = compose_wide(im->c, b_scale);
        struct value *factor = compose_binary(im->c, OP_mul, compose_wide(im->c, a_scale), right);
        if (divisor)
                factor = compose_binary(im->c, OP_div, factor, divisor);
        return compose_binary(im->c, OP_mul, compose_cast(im->c, sum, E_F32), factor);
}

/* Operand `input` over the matrix `to`: one number, or one per index of dimension `line`. NULL
 * after an error. */
static struct value *along_line(struct onnx_import *im, const struct onnx_node *n, int input,
                                const struct type *to, int line)
{
        const struct type *t = n->inputs[input]->type;

        if (type_elements(t) == 1 || (t->rank == 1 && dim_equal(t->dims[0], to->dims[line])))
                return onnx_per_line(im, n, input, to, line);
        onnx_invalid(im, n, "operand %d is %s, want one number or %lld", input,
                     type_text(im->arena, im->m, t), (long long)type_extent(to, line));
        return NULL;
}

/* Operands a, a_scale, a_zero_point, b, b_scale, b_zero_point, c (already in units of both scales),
 * and y_scale, y_zero_point where the result is not f32 */
bool onnx_import_qgemm(struct onnx_import *im, struct onnx_node *n)
{
        struct value *c = onnx_input(n, 6), *y_scale = onnx_input(n, 7), *zero = onnx_input(n, 8);
        int64_t trans_a, trans_b;
        float alpha;

        if (!onnx_float(im, n, "alpha", 1, &alpha) || !onnx_int(im, n, "transA", 0, &trans_a) ||
            !onnx_int(im, n, "transB", 0, &trans_b) || !onnx_want_rank(im, n, 0, 2, 2) ||
            !onnx_want_rank(im, n, 3, 2, 2) || !want_matrix(im, n, 0) || !want_matrix(im, n, 3) ||
            !onnx_want_element(im, n, 1, E_F32) || !onnx_want_element(im, n, 4, E_F32) ||
            !onnx_want_element(im, n, 6, E_I32) || !onnx_want_element(im, n, 7, E_F32) ||
            !onnx_want_8_bit(im, n, 8))
                return false;
        if (!y_scale != !zero)
                return onnx_invalid(im, n, "y_scale and y_zero_point are given together, or none");
        const struct type *ta = n->inputs[0]->type, *tb = n->inputs[3]->type;
        const int inner_a = trans_a ? 0 : 1, inner_b = trans_b ? 1 : 0;
        if (!dim_equal(ta->dims[inner_a], tb->dims[inner_b]))
                return onnx_invalid(im, n, "the inner extents %lld and %lld differ",
                                    (long long)type_extent(ta, inner_a),
                                    (long long)type_extent(tb, inner_b));
        const struct type *to = compose_type(
                im->c, E_F32, 2, (const dim_t[]){ ta->dims[!inner_a], tb->dims[!inner_b] });
        struct value *a_scale = onnx_scalar(im, n, 1), *b_scale = NULL;
        if (!to || !a_scale || (n->inputs[2] && !onnx_scalar(im, n, 2)) ||
            (n->inputs[5] && !along_line(im, n, 5, tb, !inner_b)) ||
            !(b_scale = along_line(im, n, 4, to, 1)) || (y_scale && !onnx_scalar(im, n, 7)) ||
            (zero && !onnx_scalar(im, n, 8)))
                return false;
        struct value *right = onnx_centered_side(im, n, 3, 5, !inner_b);
        struct value *sum = compose_dot(im->c, onnx_centered_side(im, n, 0, 2, -1), right, 0,
                                        inner_a, inner_b, E_I32);
        if (c) {
                c = onnx_per_line(im, n, 6, to, 1);
                sum = c ? compose_binary(im->c, OP_add, sum, c) : NULL;
        }
        struct value *y =
                rescaled(im, sum, a_scale, b_scale, alpha, y_scale ? onnx_scalar(im, n, 7) : NULL);
        if (zero)
                y = compose_requantize(im->c, y, onnx_scalar(im, n, 8), value_element(zero));
        return onnx_output(n, 0, y);
}

struct value *onnx_matmul_to_float(struct onnx_import *im, const struct onnx_node *n,
                                   struct value *a, struct value *a_scale, int b, int scale,
                                   int zero, int bias)
{
        int columns = value_rank(n->inputs[b]) - 1;
        struct value *side = onnx_centered_side(im, n, b, zero, columns ? columns : -1);
        struct value *sum = compose_matmul_as(im->c, a, side, E_I32);

        if (!sum)
                return NULL;
        int line = columns ? value_rank(sum) - 1 : -1;
        struct value *b_scale = onnx_per_line(im, n, scale, sum->type, line);
        struct value *y = b_scale ? rescaled(im, sum, a_scale, b_scale, 1, NULL) : NULL;
        if (!y || !onnx_input(n, bias))
                return y;
        if (!onnx_want_rank(im, n, bias, 1, 1))
                return NULL;
        struct value *shift = onnx_per_line(im, n, bias, sum->type, line);
        return shift ? compose_binary(im->c, OP_add, y, compose_wide(im->c, shift)) : NULL;
}

/* Operands a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias. Numbers of a's columns would
 * have to be taken into its products, which were no integers then. */
bool onnx_import_matmul_integer_to_float(struct onnx_import *im, struct onnx_node *n)
{
        struct value *a_scale = n->inputs[2];

        if (!want_matrix(im, n, 0) || !want_matrix(im, n, 1) || !onnx_want_float(im, n, 2) ||
            !onnx_same_element(im, n,
                               (struct value *[]){ n->inputs[2], n->inputs[3], onnx_input(n, 6) },
                               3))
                return false;
        int columns = value_rank(n->inputs[0]) - 1;
        if (type_elements(a_scale->type) != 1)
                return onnx_unsupported(im, n, "a_scale is %s, which is not one number",
                                        type_text(im->arena, im->m, a_scale->type));
        a_scale = compose_reshape(im->c, a_scale, 0, NULL);
        struct value *y = onnx_matmul_to_float(im, n, onnx_centered_side(im, n, 0, 4, columns), a_scale, 1, 3,
                                          5, 6);
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[2])));
}

/* Operands a (f32, which is quantized here), b, b_scale, b_zero_point, bias */
bool onnx_import_dynamic_quantize_matmul(struct onnx_import *im, struct onnx_node *n)
{
        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !want_matrix(im, n, 1) || !onnx_want_element(im, n, 2, E_F32) ||
            !onnx_want_element(im, n, 4, E_F32))
                return false;
        struct compose_dynamic q = compose_quantize_dynamic(im->c, n->inputs[0]);
        struct value *a = compose_centered(im->c, q.numbers, q.zero, E_I32);
        return onnx_output(n, 0, onnx_matmul_to_float(im, n, a, q.scale, 1, 2, 3, 4));
}
