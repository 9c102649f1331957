/* SPDX-License-Identifier: MIT */
/* Quantization. q = saturate(round_half_even(real / scale) + zero_point): a division, never a
 * product with 1 / scale, which differs at halves; rounded first, then moved by the zero point.
 * Operators between quantizations: onnx_op_qlinear.c, onnx_op_matmul_integer.c. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/import/onnx_helpers.h"
#include "compiler/import/onnx_model.h"
#include "ir/affine_numbers.h"

/* ---- scales and zero points that no quantizer writes ---- */

enum scale_rule { USUAL, FINITE };
static const struct scaled {
        const char *op;
        int every;
        unsigned scales, zeros;
        enum scale_rule rule;
} scaled[] = {
#define SCALED(op, every, scales, zeros, rule) { op, every, scales, zeros, rule },
#include "compiler/import/onnx_scales.def"
};

/* elements to look at: of a splat, one */
static int64_t different_elements(const struct value *v)
{
        int64_t count = type_elements(v->type);
        return v->constant->kind == CONSTANT_SPLAT && count ? 1 : count;
}

static const char *place(struct onnx_import *im, const struct value *v, int64_t i)
{
        return type_elements(v->type) == 1
                       ? ""
                       : arena_printf(im->arena, " as element %lld", (long long)i);
}

/* Denormal numbers have few digits, and make x86 slow: no step is that small. Those of f16 are
 * ordinary ones of f32, in which scales are computed with; f8e8m0 has powers of 2 alone. */
static bool is_scale(const struct value *v, int64_t i, enum scale_rule rule, double *x)
{
        enum element e = value_element(v);
        union scalar s = constant_element(v->constant, i);
        if (e == E_F8E8M0)
                *x = s.u == 255 ? NAN : ldexp(1, (int)s.u - 127);
        else
                *x = element_is_float(e) ? s.f : 1;     /* the importer wants a float */
        double least = e == E_F64 ? DBL_MIN : e == E_F8E8M0 ? 0 : FLT_MIN;
        return isfinite(*x) && (rule == FINITE || *x >= least);
}

static bool check_scale(struct onnx_import *im, const struct onnx_node *n, int input,
                        enum scale_rule rule)
{
        const struct value *v = n->inputs[input];
        double x;
        for (int64_t i = 0, count = different_elements(v); i < count; i++)
                if (!is_scale(v, i, rule, &x))
                        return onnx_invalid(im, n,
                                            "operand %d, a scale, holds %g%s, want a %s number",
                                            input, x, place(im, v, i),
                                            rule == FINITE ? "finite" : "positive, normal");
        return true;
}

/* It is one of its type's numbers. What has 32 bits has none: the standard wants 0. */
static bool check_zero(struct onnx_import *im, const struct onnx_node *n, int input)
{
        const struct value *v = n->inputs[input];
        int64_t count = value_element(v) == E_I32 ? different_elements(v) : 0;
        for (int64_t i = 0; i < count; i++) {
                long long x = constant_element(v->constant, i).i;
                if (x)
                        return onnx_invalid(im, n,
                                            "operand %d, a zero point of i32, holds %lld%s, want 0",
                                            input, x, place(im, v, i));
        }
        return true;
}

bool onnx_check_scales(struct onnx_import *im, const struct onnx_node *n)
{
        const struct scaled *s = NULL;
        for (size_t i = 0; i < sizeof scaled / sizeof *scaled && !s; i++)
                s = strcmp(scaled[i].op, n->row->op) ? NULL : &scaled[i];
        for (int i = 0; s && i < n->input_count; i++) {
                if (!onnx_input(n, i) || !value_is_constant(n->inputs[i]))
                        continue;
                if ((s->scales >> i % s->every & 1 && !check_scale(im, n, i, s->rule)) ||
                    (s->zeros >> i % s->every & 1 && !check_zero(im, n, i)))
                        return false;
        }
        return true;
}

/* ---- rounding ---- */

static struct value *quantize(struct onnx_import *im, struct value *real, struct value *zero_point,
                              enum element to, bool saturate)
{
        double number, least, most;

        if (real && element_is_integer(to))
                return build_rounded(&im->b, real, zero_point, to);
        if (!element_is_float(compose_plain_element(to)))
                real = compose_unary(im->c, OP_round, real);
        if (real && zero_point && !(value_is_splat(zero_point, &number) && number == 0))
                real = compose_binary(im->c, OP_add, real,
                                      compose_cast(im->c, zero_point, value_element(real)));
        if (compose_integer_range(to, &least, &most))
                real = compose_with(im->c, OP_min, compose_with(im->c, OP_max, real, least), most);
        return compose_convert(im->c, real, to,
                               &(struct compose_conversion){ .saturate = saturate });
}

struct value *onnx_requantize(struct onnx_import *im, struct value *real, struct value *zero_point,
                              enum element to)
{
        return quantize(im, real, zero_point, to, true);
}

struct value *onnx_centered(struct onnx_import *im, struct value *x, struct value *zero_point,
                            enum element as)
{
        if (!x || !zero_point || element_is_integer(value_element(x)))
                return build_centered(&im->b, x, zero_point, as);
        const struct builder folds = im->b;      /* several numbers in a byte */
        im->b.fold = value_is_constant(x) && x->type->rank > 1 ? NULL : folds.fold;
        struct value *right = compose_cast(im->c, zero_point, as);
        x = compose_binary(im->c, OP_sub, compose_cast(im->c, x, as), right);
        im->b.fold = folds.fold;
        return x;
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* A scale or zero point over x's shape: one number, one per index of axis, or one per block of
 * block_size along axis. */
static struct value *over_operand(struct onnx_import *im, struct onnx_node *n, int input,
                                  const struct type *x, int64_t stated, int64_t block)
{
        struct value *v = n->inputs[input];
        const struct type *t = v->type;
        int axis;

        if (t->rank == 0 || (t->rank == 1 && dim_is(t->dims[0], 1) && block == 0))
                return compose_along(im->c, v, x, 0);
        if (!onnx_axis(im, n, stated, x->rank, &axis))
                return NULL;
        if (t->rank == 1 && block == 0) {
                if (dim_equal(t->dims[0], x->dims[axis]))
                        return compose_along(im->c, v, x, axis);
                onnx_invalid(im, n, "operand %d is %s, want %lld numbers for axis %d", input,
                             type_text(im->arena, im->m, t), (long long)type_extent(x, axis), axis);
                return NULL;
        }
        bool fits = t->rank == x->rank && block > 0 && block <= NUMBER_MAX;
        for (int d = 0; d < x->rank && fits; d++)
                fits = dim_is(t->dims[d],
                              d == axis ? divide_up(type_extent(x, d), block) : type_extent(x, d));
        if (!fits) {
                onnx_invalid(im, n,
                             "operand %d is %s for an input %s in blocks of %lld along axis %d",
                             input, type_text(im->arena, im->m, t), type_text(im->arena, im->m, x),
                             (long long)block, axis);
                return NULL;
        }
        struct value *index = compose_with(
                im->c, OP_div, compose_iota(im->c, E_I64, type_extent(x, axis)), (double)block);
        return index ? build_gather(&im->b, v, index, axis) : NULL;
}

static bool block_size(struct onnx_import *im, struct onnx_node *n, int64_t *block)
{
        *block = 0;
        return (n->opset < 21 && !n->domain[0]) ||
               onnx_int_range(im, n, "block_size", 0, 0, NUMBER_MAX, block);
}

/* integers, and floats of 8 or 4 bits that are no scales */
static bool is_quantized(enum element e)
{
        enum element plain = compose_plain_element(e);
        return element_is_integer(plain) || (plain != e && e != E_F8E8M0);
}

bool onnx_import_quantize_linear(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *zero = onnx_input(n, 2);
        int64_t axis, block, saturate = 1, number = 0, precision = 0;
        enum element to = E_U8, computed = compose_wide_element(value_element(n->inputs[1]));

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
                                            type_text(im->arena, im->m, zero->type),
                                            type_text(im->arena, im->m, n->inputs[1]->type));
        }
        if (!is_quantized(to) || element_info[to].bytes > 2)
                return onnx_invalid(
                        im, n,
                        "quantized to %s, want an integer type of up to 16 bits, or floats of up to 8",
                        element_info[to].text);
        struct value *scale = over_operand(im, n, 1, x->type, axis, block);
        zero = zero && scale ? over_operand(im, n, 2, x->type, axis, block) : NULL;
        if (!scale || (onnx_input(n, 2) && !zero))
                return false;
        if (value_element(x) != E_I32 && !element_is_float(value_element(x)))
                return onnx_invalid(im, n, "operand 0 is of %s",
                                    element_info[value_element(x)].text);
        struct value *right = compose_cast(im->c, scale, computed);
        struct value *real = compose_binary(im->c, OP_div, compose_cast(im->c, x, computed), right);
        return onnx_output(n, 0, quantize(im, real, zero, to, saturate));
}

/* (x - zero_point) * scale */
bool onnx_import_dequantize_linear(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[0], onnx_input(n, 2) }, *x = v[0], *zero = v[1];
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
        struct value *scale = over_operand(im, n, 1, x->type, axis, block);
        zero = zero && scale ? over_operand(im, n, 2, x->type, axis, block) : NULL;
        if (!scale || (onnx_input(n, 2) && !zero))
                return false;
        enum element computed = value_element(scale) == E_F64 ? E_F64 : E_F32;
        /* 32-bit differences are taken in integers, which wrap only where the difference itself has
         * no place */
        enum element plain = compose_plain_element(value_element(x));
        scale = compose_cast(im->c, scale, computed);
        if (element_is_integer(value_element(x)) && to == computed)
                return onnx_output(n, 0, build_dequantize(&im->b, x, scale, zero));
        const struct builder folds = im->b;
        if (value_is_constant(x) && x->type->rank > 1)  /* passes want to see the numbers */
                im->b.fold = NULL;
        x = onnx_centered(im, x, zero, element_info[plain].bytes < 4 ? E_I32 : plain);
        struct value *real = compose_cast(
                im->c, compose_binary(im->c, OP_mul, compose_cast(im->c, x, computed), scale), to);
        im->b.fold = folds.fold;
        return onnx_output(n, 0, real);
}

struct onnx_dynamic onnx_quantize_dynamic(struct onnx_import *im, struct value *x)
{
        int64_t axes[RANK_MAX];
        int count = compose_axes_from(0, value_rank(x), axes);
        struct value *most = compose_with(
                im->c, OP_max, compose_reduce(im->c, REDUCE_max, x, axes, count, E_COMPUTE), 0);
        struct value *least = compose_with(
                im->c, OP_min, compose_reduce(im->c, REDUCE_min, x, axes, count, E_COMPUTE), 0);
        struct onnx_dynamic q;

        q.scale = compose_with(im->c, OP_div, compose_binary(im->c, OP_sub, most, least), 255);
        /* of nothing but zeros the text's formula is 0 / 0; onnxruntime scales by 1 */
        q.scale = compose_select(im->c, compose_with(im->c, OP_eq, q.scale, 0),
                                 q.scale ? build_like(&im->b, q.scale, 1) : NULL, q.scale);
        q.zero = compose_unary(im->c, OP_neg, compose_binary(im->c, OP_div, least, q.scale));
        q.zero = compose_with(im->c, OP_min, compose_with(im->c, OP_max, q.zero, 0), 255);
        q.zero = compose_cast(im->c, compose_unary(im->c, OP_round, q.zero), E_U8);
        q.numbers = onnx_requantize(im, compose_binary(im->c, OP_div, x, q.scale), q.zero, E_U8);
        return q;
}

/* y, y_scale, y_zero_point */
bool onnx_import_dynamic_quantize_linear(struct onnx_import *im, struct onnx_node *n)
{
        if (!onnx_want_element(im, n, 0, E_F32))
                return false;
        struct onnx_dynamic q = onnx_quantize_dynamic(im, n->inputs[0]);
        return onnx_output(n, 0, q.numbers) && onnx_output(n, 1, q.scale) &&
               onnx_output(n, 2, q.zero);
}
