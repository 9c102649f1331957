/* SPDX-License-Identifier: MIT */
/* Element-wise operators are arithmetic, logic, comparison and selection. Most are one operation of
 * the Tensor IR after broadcasting; the row's variant says which. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_texts.h"

/* Imports operators that are one operation on one operand. */
bool onnx_import_unary(struct onnx_import *im, struct onnx_node *n)
{
        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return false;
        return onnx_output(n, 0, compose_unary(im->c, (enum opcode)onnx_variant(n), n->inputs[0]));
}

/* Of integers the result is an integer, too. */
bool onnx_import_erf(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        const enum element e = value_element(x);

        if (!element_is_stored(e) || element_info[e].class == CLASS_FLOAT || e == E_BOOL)
                return onnx_output(n, 0, compose_unary(im->c, OP_erf, x));
        struct value *y = compose_unary(im->c, OP_erf, compose_cast(im->c, x, E_F32));
        return onnx_output(n, 0, compose_cast(im->c, y, e));
}

bool onnx_import_not(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_want_element(im, n, 0, E_BOOL) &&
               onnx_output(n, 0, compose_unary(im->c, OP_not, n->inputs[0]));
}

/* Broadcasts as before opset 7: the second operand's shape is a run of the first's, from `axis` on
 * or at the end. */
static bool broadcast_legacy(struct onnx_import *im, struct onnx_node *n, struct value **x,
                             struct value **y)
{
        const struct type *a = (*x)->type, *b = (*y)->type;
        int64_t broadcast, axis, dims[RANK_MAX];

        if (!onnx_int_range(im, n, "broadcast", 0, 0, 1, &broadcast) ||
            !onnx_int(im, n, "axis", a->rank - b->rank, &axis))
                return false;
        if (!broadcast && !type_same_dims(a, b))
                return onnx_invalid(im, n, "shapes %s and %s differ and broadcast is 0",
                                    compose_text(im->c, a), compose_text(im->c, b));
        if (!b->rank || type_same_dims(a, b))
                axis = a->rank - b->rank;       /* There is nothing that it places. */
        if (axis < 0)
                axis += a->rank;
        if (axis < 0 || axis + b->rank > a->rank)
                return onnx_invalid(im, n, "axis %lld places a tensor of rank %d in one of rank %d",
                                    (long long)axis, b->rank, a->rank);
        for (int d = 0; d < b->rank; d++) {
                dims[d] = axis + d;
                if (!dim_is(b->dims[d], 1) && !dim_equal(b->dims[d], a->dims[dims[d]]))
                        return onnx_invalid(im, n, "%s does not broadcast to %s from axis %lld",
                                            compose_text(im->c, b), compose_text(im->c, a),
                                            (long long)axis);
        }
        *y = compose_spread(im->c, *y, a, dims);
        return *y != NULL;
}

/* Brings the operands of a binary operator to one shape and element type. */
static bool binary_operands(struct onnx_import *im, struct onnx_node *n, struct value *v[2])
{
        v[0] = n->inputs[0];
        v[1] = n->inputs[1];
        if (!onnx_same_element(im, n, v, 2))
                return false;
        return n->opset < 7 ? broadcast_legacy(im, n, &v[0], &v[1])
                            : compose_broadcast(im->c, v, 2);
}

/* Warns that an integer divided by 0 is 0 here, where other programs end: that may be meant, in
 * what a mask leaves out. */
static void warn_of_zero_divisor(struct onnx_import *im, const struct onnx_node *n,
                                 const struct value *divisor)
{
        if (!value_is_constant(divisor) || !element_is_integer(value_element(divisor)))
                return;
        int64_t count =
                divisor->constant->kind == CONSTANT_SPLAT ? 1 : type_elements(divisor->type);
        for (int64_t i = 0; i < count; i++)
                if (constant_element(divisor->constant, i).u == 0) {
                        onnx_warning(im, n,
                                     "integers are divided by a constant 0, which gives 0 here");
                        return;
                }
}

static bool equal_texts(struct onnx_import *im, struct onnx_node *n)
{
        for (int i = 0; i < 2; i++)
                if (!onnx_is_texts(n->inputs[i]))
                        return onnx_invalid(im, n, "operand %d is %s, want texts as the other", i,
                                            compose_text(im->c, n->inputs[i]->type));
        struct value *x = onnx_texts_bytes(n->inputs[0]);
        return onnx_output(n, 0,
                           compose_texts_equal(im->c, x, onnx_texts_bytes(n->inputs[1])));
}

bool onnx_import_binary(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2];

        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return false;
        if (onnx_is_texts(n->inputs[0]) || onnx_is_texts(n->inputs[1]))
                return equal_texts(im, n);
        if (onnx_variant(n) == OP_div && n->inputs[1])
                warn_of_zero_divisor(im, n, n->inputs[1]);
        return binary_operands(im, n, v) &&
               onnx_output(n, 0, build_binary(&im->b, (enum opcode)onnx_variant(n), v[0], v[1]));
}

/* And, Or, Xor take bool only; the Bitwise forms take integers only. */
bool onnx_import_logic(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_want_element(im, n, 0, E_BOOL) && onnx_import_binary(im, n);
}

bool onnx_import_bitwise(struct onnx_import *im, struct onnx_node *n)
{
        if (!onnx_want_integer(im, n, 0))
                return false;
        return n->input_count == 1 ? onnx_import_unary(im, n) : onnx_import_binary(im, n);
}

bool onnx_import_bit_shift(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const directions[] = { "LEFT", "RIGHT", NULL };
        struct value *v[2];
        int which;

        if (!onnx_has(n, "direction"))
                return onnx_invalid(im, n, "attribute direction is missing");
        if (!onnx_choice(im, n, "direction", directions, 0, &which) || !binary_operands(im, n, v))
                return false;
        if (element_info[value_element(v[0])].class != CLASS_UINT)
                return onnx_invalid(im, n, "operand 0 is of %s, want an unsigned type",
                                    element_info[value_element(v[0])].text);
        return onnx_output(n, 0, build_binary(&im->b, which ? OP_shr : OP_shl, v[0], v[1]));
}

bool onnx_import_mod(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2];
        int64_t fmod;

        if (!onnx_int_range(im, n, "fmod", 0, 0, 1, &fmod) || !binary_operands(im, n, v))
                return false;
        if (!fmod && element_is_float(value_element(v[0])))
                return onnx_invalid(im, n, "operands are of %s, which wants fmod = 1",
                                    element_info[value_element(v[0])].text);
        warn_of_zero_divisor(im, n, n->inputs[1]);
        return onnx_output(n, 0, build_binary(&im->b, fmod ? OP_rem : OP_mod, v[0], v[1]));
}

/* The exponent may be of another type than the base, which is the result's. */
bool onnx_import_pow(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[0], n->inputs[1] };
        enum element e = value_element(v[0]), computed = e;
        double exponent;

        if (n->opset < 12 && !onnx_same_element(im, n, v, 2))
                return false;
        if (element_is_integer(e) && value_element(v[1]) != e)
                computed = element_is_float(value_element(v[1])) ? E_F64 : E_I64;
        v[0] = compose_cast(im->c, v[0], computed);
        v[1] = compose_cast(im->c, v[1], computed);
        if (!v[0] || !v[1] ||
            !(n->opset < 7 ? broadcast_legacy(im, n, &v[0], &v[1])
                           : compose_broadcast(im->c, v, 2)))
                return false;
        bool square = value_is_splat(v[1], &exponent) && exponent == 2;
        return onnx_output(n, 0,
                           compose_cast(im->c,
                                        build_binary(&im->b, square ? OP_mul : OP_pow, v[0],
                                                     square ? v[0] : v[1]),
                                        e));
}

/* Combines any number of operands from the left, for Max, Min, Sum and Mean (variant add). */
static struct value *combine(struct onnx_import *im, struct onnx_node *n, bool wide)
{
        enum opcode code = (enum opcode)onnx_variant(n);
        struct value **v = arena_array(im->arena, (size_t)n->input_count, sizeof *v);

        for (int i = 0; i < n->input_count; i++) {
                v[i] = n->inputs[i];
                if (!v[i]) {
                        onnx_invalid(im, n, "operand %d is missing", i);
                        return NULL;
                }
        }
        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return NULL;
        if (!onnx_same_element(im, n, v, n->input_count) ||
            !compose_broadcast(im->c, v, n->input_count))
                return NULL;
        struct value *result = wide ? compose_wide(im->c, v[0]) : v[0];
        for (int i = 1; i < n->input_count && result; i++)
                result =
                        build_binary(&im->b, code, result, wide ? compose_wide(im->c, v[i]) : v[i]);
        return result;
}

bool onnx_import_variadic(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_output(n, 0, combine(im, n, false));
}

bool onnx_import_mean(struct onnx_import *im, struct onnx_node *n)
{
        struct value *sum;

        if (!onnx_want_float(im, n, 0))
                return false;
        sum = combine(im, n, true);
        return onnx_output(n, 0,
                           compose_cast(im->c, compose_with(im->c, OP_div, sum, n->input_count),
                                        value_element(n->inputs[0])));
}

bool onnx_import_where(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], n->inputs[2] };

        return onnx_want_element(im, n, 0, E_BOOL) && onnx_same_element(im, n, v + 1, 2) &&
               compose_broadcast(im->c, v, 3) &&
               onnx_output(n, 0, build_select(&im->b, v[0], v[1], v[2]));
}

/* x becomes low where it is less, then high where that is greater; so where low > high, the
 * result is high. A bound that is NaN is no bound. */
bool onnx_import_clip(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *bound[2] = { NULL, NULL };
        static const char *const names[2] = { "min", "max" };

        for (int i = 0; i < 2; i++) {
                if (n->opset >= 11) {
                        struct value *operands[2] = { x, onnx_input(n, 1 + i) };
                        if (!operands[1])
                                continue;
                        if (!onnx_same_element(im, n, operands, 2))
                                return false;
                        bound[i] = onnx_scalar(im, n, 1 + i);
                        if (!bound[i])
                                return false;
                } else {
                        float number;
                        bool given = onnx_has(n, names[i]);
                        if (!onnx_float(im, n, names[i], 0, &number))
                                return false;
                        if (given)
                                bound[i] = build_scalar(&im->b, value_element(x), number);
                }
        }
        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return false;
        if (bound[0])
                x = compose_select(im->c, compose_binary(im->c, OP_lt, x, bound[0]), bound[0], x);
        if (bound[1])
                x = compose_select(im->c, compose_binary(im->c, OP_lt, bound[1], x), bound[1], x);
        return onnx_output(n, 0, x);
}

bool onnx_import_is_inf(struct onnx_import *im, struct onnx_node *n)
{
        int64_t negative, positive;
        struct value *x = n->inputs[0];

        if (!onnx_want_float(im, n, 0) ||
            !onnx_int_range(im, n, "detect_negative", 1, 0, 1, &negative) ||
            !onnx_int_range(im, n, "detect_positive", 1, 0, 1, &positive))
                return false;
        if (negative && positive)
                return onnx_output(
                        n, 0,
                        compose_with(im->c, OP_eq, compose_unary(im->c, OP_abs, x), INFINITY));
        if (negative || positive)
                return onnx_output(n, 0,
                                   compose_with(im->c, OP_eq, x, positive ? INFINITY : -INFINITY));
        return onnx_output(n, 0,
                           constant_number(im->m, type_with_element(im->m, x->type, E_BOOL), 0));
}

/* Imports Cast, where an attribute states `to`, and CastLike, where `to` is the type of operand
 * 1. */
static bool cast_to(struct onnx_import *im, struct onnx_node *n, enum element to)
{
        struct value *x = n->inputs[0];
        if (onnx_is_texts(x) && to == E_STRING)
                return onnx_output(n, 0, x);
        if (onnx_is_texts(x))
                return element_is_stored(to) && compose_plain_element(to) == to
                               ? onnx_output(n, 0,
                                             compose_texts_numbers(im->c, onnx_texts_bytes(x), to))
                               : onnx_unsupported(im, n, "texts as %s", element_info[to].text);
        if (to == E_STRING && (value_element(x) == E_F64 ||
                               compose_plain_element(value_element(x)) != value_element(x)))
                return onnx_unsupported(im, n, "%s as texts", element_info[value_element(x)].text);
        if (to == E_STRING) {
                struct value *bytes = element_is_float(value_element(x))
                                              ? compose_texts_of_floats(im->c, x)
                                              : compose_texts_of_integers(im->c, x);
                return onnx_output(n, 0, onnx_texts_new(im, bytes));
        }
        static const char *const round_modes[] = { "up", "down", "nearest", NULL };
        int64_t saturate = 1;
        int mode = 0;

        if (n->opset >= 19 && !onnx_int_range(im, n, "saturate", 1, 0, 1, &saturate))
                return false;
        if (n->opset >= 24 && !onnx_choice(im, n, "round_mode", round_modes, 0, &mode))
                return false;
        const struct compose_conversion how = { .saturate = saturate,
                                                .round = (enum compose_round)mode };
        return onnx_output(n, 0, compose_convert(im->c, n->inputs[0], to, &how));
}

bool onnx_import_cast(struct onnx_import *im, struct onnx_node *n)
{
        int64_t number;
        enum element to;

        if (!onnx_int_required(im, n, "to", &number))
                return false;
        if (number == ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
                return cast_to(im, n, E_STRING);
        return onnx_element_number(im, n, "to", number, &to) && cast_to(im, n, to);
}

bool onnx_import_cast_like(struct onnx_import *im, struct onnx_node *n)
{
        return cast_to(im, n, value_element(n->inputs[1]));
}

bool onnx_import_bit_cast(struct onnx_import *im, struct onnx_node *n)
{
        int64_t number;
        enum element to;

        if (!onnx_int_required(im, n, "to", &number) ||
            !onnx_element_number(im, n, "to", number, &to))
                return false;
        if (element_info[to].bytes != element_info[value_element(n->inputs[0])].bytes)
                return onnx_invalid(im, n, "from %s to %s, want types of one size",
                                    element_info[value_element(n->inputs[0])].text,
                                    element_info[to].text);
        struct attr *attrs = attrs_new(im->m, OP_bitcast);
        attr_set(attrs, OP_bitcast, "to", to);
        return onnx_output(n, 0, value_build(&im->b, OP_bitcast, n->inputs, 1, attrs, NULL));
}
