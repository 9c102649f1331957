/* SPDX-License-Identifier: MIT */
/* These operators make tensors out of attributes and shapes: Constant, ConstantOfShape, Range. */
#include <math.h>

#include "base/size.h"
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_texts.h"
#include "ir/tensor/amounts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_mask.h"

bool onnx_import_constant(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const forms[] = { "value",        "value_float",  "value_floats",
                                             "value_int",    "value_ints",   "sparse_value",
                                             "value_string", "value_strings" };
        struct value *v = NULL;
        const float *floats;
        const int64_t *ints;
        const ProtobufCBinaryData *texts;
        float number;
        int64_t integer;
        int given = 0, form = 0, count;

        for (int i = 0; i < (int)(sizeof forms / sizeof *forms); i++) {
                if (onnx_has(n, forms[i])) {
                        given++;
                        form = i;
                }
        }
        if (given != 1)
                return onnx_invalid(im, n, "%d values are given, want one", given);
        switch (form) {
        case 0:
                if (onnx_attribute(n, "value")->t &&
                    onnx_attribute(n, "value")->t->data_type ==
                            ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
                        return onnx_output(n, 0,
                                           onnx_texts_read(im, onnx_attribute(n, "value")->t,
                                                           "attribute 'value'", 0));
                return onnx_tensor_attribute(im, n, "value", &v) && onnx_output(n, 0, v);
        case 1:
                return onnx_float(im, n, forms[form], 0, &number) &&
                       onnx_output(n, 0, build_scalar(&im->b, E_F32, number));
        case 2:
                if (!onnx_floats(im, n, forms[form], &floats, &count))
                        return false;
                return onnx_output(
                        n, 0,
                        constant_dense(
                                im->m,
                                type_tensor(im->m, E_F32, 1, (const dim_t[]){ dim_of(count) }),
                                arena_copy(im->m->arena, floats, (size_t)count * sizeof *floats),
                                NULL));
        case 3:
                return onnx_int(im, n, forms[form], 0, &integer) &&
                       onnx_output(n, 0, compose_integer(im->c, E_I64, integer));
        case 4:
                return onnx_ints(im, n, forms[form], &ints, &count) &&
                       onnx_output(n, 0, constant_ints(im->m, ints, count));
        case 5: return onnx_sparse_attribute(im, n, forms[form], &v) && onnx_output(n, 0, v);
        default:
                if (!onnx_strings(im, n, forms[form], &texts, &count))
                        return false;
                const int64_t extent = count;
                return onnx_output(n, 0,
                                   onnx_texts_constant(im, "the attribute", form == 7, &extent,
                                                       texts, (size_t)count, 0));
        }
}

bool onnx_import_constant_of_shape(struct onnx_import *im, struct onnx_node *n)
{
        struct value *value, *dims_operand = n->inputs[0];
        struct amount shape[AMOUNTS_MAX];
        dim_t dims[AMOUNTS_MAX];
        int rank;
        bool known;

        if (!onnx_tensor_attribute(im, n, "value", &value) ||
            !onnx_operand_amounts(im, n, 0, shape, RANK_MAX, &rank, &known))
                return false;
        for (int d = 0; d < rank; d++) {
                dims[d] = amount_dim(shape[d]);
                if (dim_equal(dims[d], DIM_NONE))
                        return onnx_invalid(im, n, "a result of extent %lld",
                                            (long long)shape[d].number);
        }
        if (!value)
                value = build_scalar(&im->b, E_F32, 0);
        if (!type_has_one(value->type))
                return onnx_invalid(im, n, "value is %s, want one element",
                                    compose_text(im->c, value->type));
        enum element e = value_element(value);
        rank = known ? rank : (int)compose_min(type_elements(dims_operand->type), RANK_MAX + 1);
        if (!known && rank <= RANK_MAX && !onnx_is_declared(im, n, 0, rank)) {
                for (int d = 0; d < rank; d++) {
                        dims[d] = onnx_extent_of(im, n, 0, d, onnx_operand_vector(im, n, 0), d);
                        if (dim_equal(dims[d], DIM_NONE))
                                return false;
                }
                known = true;
        }
        const struct type *to =
                known ? compose_type(im->c, e, rank, dims)
                      : onnx_declared_as(
                                im, n, 0, e,
                                (int)compose_min(type_elements(dims_operand->type), RANK_MAX + 1));
        return to && onnx_output(n, 0, constant_splat(im->m, to, constant_data(value->constant)));
}

/* Returns how many numbers a Range of known operands has, or -1 after an error. */
static int64_t range_count(struct onnx_import *im, struct onnx_node *n, const double *real)
{
        int64_t start, limit, delta, span;
        bool known;

        if (element_is_float(value_element(n->inputs[0]))) {
                double count = ceil((real[1] - real[0]) / real[2]);
                if (real[2] == 0 || isnan(count))
                        return onnx_invalid(im, n, "from %g to %g by %g", real[0], real[1],
                                            real[2]) -
                               1;
                return count <= 0 ? 0 : count > (double)NUMBER_MAX ? INT64_MAX : (int64_t)count;
        }
        if (!onnx_operand_int(im, n, 0, 0, &start, &known) ||
            !onnx_operand_int(im, n, 1, 0, &limit, &known) ||
            !onnx_operand_int(im, n, 2, 0, &delta, &known))
                return -1;
        if (delta == 0)
                return onnx_invalid(im, n, "delta is 0") - 1;
        if (delta > 0 ? limit <= start : limit >= start)
                return 0;
        if (!int_sub(limit, start, &span) || span == INT64_MIN || delta == INT64_MIN)
                return INT64_MAX;
        span = span < 0 ? -span : span;
        delta = delta < 0 ? -delta : delta;
        return (span - 1) / delta + 1;
}

/* Finds the extent of a Range of integers from a known start, in steps of 1, to a limit that is a
 * term. Returns false where it is another one. */
static bool range_open(struct onnx_import *im, struct onnx_node *n, dim_t *count)
{
        struct amount parts[3];

        for (int i = 0; i < 3; i++) {
                struct amount amounts[AMOUNTS_MAX];
                int one;
                if (!value_amounts(im->m, n->inputs[i], amounts, &one) || one != 1)
                        return false;
                parts[i] = amounts[0];
        }
        dim_t start = amount_dim(parts[0]), limit = amount_dim(parts[1]);
        if (parts[2].term || parts[2].number != 1 || dim_equal(start, DIM_NONE) ||
            dim_equal(limit, DIM_NONE))
                return false;
        *count = dim_binary(im->m, DIM_SUB, limit, start);
        return !dim_equal(*count, DIM_NONE);
}

/* Returns how many numbers a Range has, as an i64. */
static struct value *range_length(struct onnx_import *im, struct onnx_node *n)
{
        struct compose *c = im->c;
        struct value *start = onnx_scalar(im, n, 0), *limit = onnx_scalar(im, n, 1),
                     *delta = onnx_scalar(im, n, 2);

        if (!start || !limit || !delta)
                return NULL;
        if (element_is_float(value_element(start))) {
                limit = compose_cast(c, limit, E_F64);
                struct value *span = sub(c, limit, compose_cast(c, start, E_F64));
                struct value *count = divide(c, span, compose_cast(c, delta, E_F64));
                count = compose_unary(c, OP_ceil, count);
                return compose_cast(c, compose_with(c, OP_max, count, 0), E_I64);
        }
        limit = compose_cast(c, limit, E_I64);
        struct value *span = sub(c, limit, compose_cast(c, start, E_I64));
        struct value *step = compose_cast(c, delta, E_I64);
        struct value *one = compose_unary(c, OP_sign, step);
        struct value *count = plus(c, divide(c, sub(c, span, one), step), 1);
        struct value *some = compose_with(c, OP_gt, mul(c, span, one), 0);
        return compose_select(c, some, count, compose_integer(c, E_I64, 0));
}

/* Reads in which type numbers of 16 bits are computed. */
static bool range_stash(struct onnx_import *im, struct onnx_node *n)
{
        const enum element e = value_element(n->inputs[0]);
        int64_t number;
        enum element stash;

        if (n->opset < 27)
                return true;
        if (!onnx_int(im, n, "stash_type", 1, &number))
                return false;
        if (!element_is_float(e) || compose_wide_element(e) == e)
                return true;            /* Then it has no effect. */
        if (!onnx_element_number(im, n, "stash_type", number, &stash))
                return false;
        return stash == E_F32 || onnx_unsupported(im, n, "stash_type %s", element_info[stash].text);
}

bool onnx_import_range(struct onnx_import *im, struct onnx_node *n)
{
        dim_t open;
        double real[3] = { 0 };
        struct value *start, *delta;
        const struct type *to;
        bool all = true;

        if (!onnx_same_element(im, n, n->inputs, 3) || !range_stash(im, n))
                return false;
        for (int i = 0; i < 3; i++) {
                bool known;
                int count;
                if (!onnx_scalar(im, n, i) ||
                    !onnx_operand_numbers(im, n, i, &real[i], 1, &count, &known))
                        return false;
                all &= known;
        }
        enum element e = value_element(n->inputs[0]);
        if (all) {
                int64_t count = range_count(im, n, real);
                if (count < 0)
                        return false;
                to = compose_type(im->c, e, 1, (const dim_t[]){ dim_of(count) });
        } else if (range_open(im, n, &open)) {
                to = compose_type(im->c, e, 1, &open);
        } else if (onnx_is_declared(im, n, 0, 1)) {
                to = onnx_declared_as(im, n, 0, e, 1);
        } else {
                open = onnx_counted(im, n, 0, 0, range_length(im, n), -1);
                if (dim_equal(open, DIM_NONE))
                        return false;
                to = compose_type(im->c, e, 1, &open);
        }
        start = onnx_scalar(im, n, 0);
        delta = onnx_scalar(im, n, 2);
        if (!to || !start || !delta)
                return false;
        return onnx_output(n, 0, compose_range(im->c, start, delta, to));
}
