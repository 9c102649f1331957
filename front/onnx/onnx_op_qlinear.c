/* SPDX-License-Identifier: MIT */
/* The QLinear operators of com.microsoft compute in floats between a dequantization and a
 * quantization, each of which has one scale and one zero point for all. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_softmax.h"

/* Returns input `first`, whose scale and zero point follow it, as f32, or NULL after an error. */
static struct value *real(struct onnx_import *im, struct onnx_node *n, int first)
{
        const struct compose_quantized q = onnx_quantized(n, first);

        return compose_real(im->c, &q);
}

/* Gives the result y, f32, quantized as input `scale` and the zero point behind it say. */
static bool quantized(struct onnx_import *im, struct onnx_node *n, struct value *y, int scale,
                      enum element to)
{
        const struct compose_quantized q = { NULL, onnx_input(n, scale), onnx_input(n, scale + 1) };

        return onnx_output(n, 0, compose_of_real(im->c, y, &q, to));
}

/* The operands of QLinearAdd and QLinearMul are a, a_scale, a_zero, b, b_scale, b_zero, c_scale,
 * c_zero. */
bool onnx_import_qlinear_binary(struct onnx_import *im, struct onnx_node *n)
{
        enum { REQUIRED = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6 };

        if (!onnx_want_inputs(im, n, REQUIRED) || !onnx_want_8_bit(im, n, 0) ||
            !onnx_same_element(im, n, (struct value *[]){ n->inputs[0], n->inputs[3] }, 2))
                return false;
        struct value *v[2] = { real(im, n, 0), real(im, n, 3) };
        if (!compose_broadcast(im->c, v, 2))
                return false;
        return quantized(im, n, build_binary(&im->b, (enum opcode)onnx_variant(n), v[0], v[1]), 6,
                         value_element(n->inputs[0]));
}

/* The operands of QLinearWhere are condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale,
 * z_zero. */
bool onnx_import_qlinear_where(struct onnx_import *im, struct onnx_node *n)
{
        if (!onnx_want_element(im, n, 0, E_BOOL) || !onnx_want_8_bit(im, n, 1) ||
            !onnx_same_element(im, n, (struct value *[]){ n->inputs[1], n->inputs[4] }, 2))
                return false;
        struct value *v[3] = { n->inputs[0], real(im, n, 1), real(im, n, 4) };
        return compose_broadcast(im->c, v, 3) &&
               quantized(im, n, build_select(&im->b, v[0], v[1], v[2]), 7,
                         value_element(n->inputs[1]));
}

/* Checks the operands of unary operators: x, x_scale, x_zero, y_scale, y_zero. */
static bool want_unary(struct onnx_import *im, const struct onnx_node *n)
{
        return onnx_want_inputs(im, n, 1 << 0 | 1 << 1 | 1 << 3) && onnx_want_8_bit(im, n, 0);
}

/* Imports QLinearSigmoid and QLinearLeakyRelu. */
bool onnx_import_qlinear_unary(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!want_unary(im, n))
                return false;
        struct value *x = real(im, n, 0), *y;
        if (onnx_variant(n) == OP_sigmoid) {
                y = compose_unary(im->c, OP_sigmoid, x);
        } else {
                if (!onnx_float(im, n, "alpha", 0.01f, &alpha))
                        return false;
                y = compose_below_zero(im->c, x, times(im->c, x, alpha));
        }
        return y && quantized(im, n, y, 3, value_element(n->inputs[0]));
}

/* Imports QLinearSoftmax, whose attribute opset says which Softmax of ai.onnx is meant. */
bool onnx_import_qlinear_softmax(struct onnx_import *im, struct onnx_node *n)
{
        int64_t stated, opset, axes[RANK_MAX];
        int axis, count = 1;

        if (!want_unary(im, n) || !onnx_int_required(im, n, "opset", &opset) ||
            !onnx_int(im, n, "axis", opset < 13 ? 1 : -1, &stated) ||
            !onnx_axis(im, n, stated, value_rank(n->inputs[0]), &axis))
                return false;
        axes[0] = axis;
        if (opset < 13)
                count = compose_axes_from(axis, value_rank(n->inputs[0]), axes);
        struct value *y = compose_softmax(im->c, real(im, n, 0), axes, count, false);
        return y && quantized(im, n, y, 3, value_element(n->inputs[0]));
}

/* Imports QLinearReduceMean; without axes it is over all dimensions. */
bool onnx_import_qlinear_reduce_mean(struct onnx_import *im, struct onnx_node *n)
{
        struct onnx_axes axes;
        int64_t keep;

        if (!want_unary(im, n) || !onnx_int_range(im, n, "keepdims", 1, 0, 1, &keep) ||
            !onnx_axes_read(im, n, -1, "axes", value_rank(n->inputs[0]), &axes))
                return false;
        if (!axes.count)
                axes.count = compose_axes_from(0, value_rank(n->inputs[0]), axes.axes);
        struct value *x = real(im, n, 0), *y = compose_mean(im->c, x, axes.axes, axes.count);
        if (y && keep)
                y = compose_keep(im->c, y, x->type, axes.axes, axes.count);
        return y && quantized(im, n, y, 3, value_element(n->inputs[0]));
}

/* Imports QLinearAveragePool and QLinearGlobalAveragePool (variant 1). */
bool onnx_import_qlinear_average_pool(struct onnx_import *im, struct onnx_node *n)
{
        int64_t last, axes[RANK_MAX];

        if (!want_unary(im, n) || !onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !onnx_int_range(im, n, "channels_last", 0, 0, 1, &last))
                return false;
        struct value *x = real(im, n, 0), *y;
        if (last)
                x = compose_move_channels(im->c, x, true);
        if (!x)
                return false;
        if (onnx_variant(n) == 1) {
                int count = compose_axes_from(2, value_rank(x), axes);
                y = compose_keep(im->c, compose_mean(im->c, x, axes, count), x->type, axes, count);
        } else {
                y = onnx_average_pool(im, n, x);
        }
        if (last)
                y = compose_move_channels(im->c, y, false);
        return y && quantized(im, n, y, 3, value_element(n->inputs[0]));
}

/* The operands of QLinearConcat are y_scale, y_zero, then x, x_scale, x_zero of each operand. */
bool onnx_import_qlinear_concat(struct onnx_import *im, struct onnx_node *n)
{
        int operands = (n->input_count - 2) / 3, axis;
        struct value **v = arena_array(im->arena, (size_t)operands + 1, sizeof *v);
        int64_t stated;
        dim_t dims[RANK_MAX], sum = dim_of(0);

        if (n->input_count < 5 || (n->input_count - 2) % 3 || !n->inputs[2] || !n->inputs[0] ||
            !n->inputs[1])
                return onnx_invalid(im, n, "%d operands, want 2 and 3 per part", n->input_count);
        if (!onnx_int_required(im, n, "axis", &stated) ||
            !onnx_axis(im, n, stated, value_rank(n->inputs[2]), &axis))
                return false;
        const struct type *first = n->inputs[2]->type;
        for (int i = 0; i < operands; i++) {
                if (!n->inputs[2 + 3 * i] || !n->inputs[3 + 3 * i] ||
                    !onnx_want_8_bit(im, n, 2 + 3 * i))
                        return onnx_invalid(im, n, "part %d is missing or not quantized", i);
                v[i] = real(im, n, 2 + 3 * i);
                if (!v[i])
                        return false;
                bool fits = value_rank(v[i]) == first->rank;
                for (int d = 0; d < first->rank && fits; d++)
                        fits = d == axis || dim_equal(first->dims[d], v[i]->type->dims[d]);
                if (!fits)
                        return onnx_invalid(im, n, "part %d is %s", i,
                                            compose_text(im->c, v[i]->type));
                sum = dim_binary(im->m, DIM_ADD, sum, v[i]->type->dims[axis]);
        }
        for (int d = 0; d < first->rank; d++)
                dims[d] = d == axis ? sum : first->dims[d];
        return compose_type(im->c, E_F32, first->rank, dims) &&
               quantized(im, n, build_concat(&im->b, v, operands, axis), 0,
                         value_element(n->inputs[1]));
}
