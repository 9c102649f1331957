/* SPDX-License-Identifier: MIT */
/* Operators element by element. f16 and bf16 are computed in f32 and rounded once. */
#include "front/tensorflow/tensorflow_helpers.h"

#include <math.h>

#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"

/* Makes y, computed in a wide type, output 0. */
static bool rounded(struct tf_import *im, struct tf_node *n, struct value *y)
{
        return tf_output(im, n, 0, compose_cast(im->c, y, value_element(n->inputs[0].value)));
}

/* Does the operation take the element? */
static bool takes(struct tf_import *im, enum opcode code, const struct value *x)
{
        const enum element e = value_element(x);
        const bool logic = code == OP_and || code == OP_or || code == OP_xor || code == OP_not;
        const bool compares = code == OP_lt || code == OP_le || code == OP_gt || code == OP_ge ||
                              code == OP_eq || code == OP_ne;
        const bool fits = logic                 ? !element_is_float(e)
                          : e == E_BOOL         ? code == OP_eq || code == OP_ne
                          : code == OP_sigmoid  ? element_is_float(e)
                                                : compares || true;
        return fits || tf_unsupported(im, "an operand %s", compose_text(im->c, x->type));
}

/* Is the operation one of floats alone? */
static bool of_floats(enum opcode code)
{
        switch (code) {
        case OP_abs: case OP_neg: case OP_sign: case OP_not: return false;
        default: return true;
        }
}

bool tf_import_unary(struct tf_import *im, struct tf_node *n)
{
        const enum opcode code = (enum opcode)tf_variant(n);
        struct value *x = n->inputs[0].value;
        const bool whole = element_is_integer(value_element(x)) &&
                           (code == OP_floor || code == OP_ceil || code == OP_round);
        if (whole)
                return tf_output(im, n, 0, x);
        if ((of_floats(code) && !tf_want_floats(im, n, 0)) || !takes(im, code, x))
                return false;
        return rounded(im, n, compose_unary(im->c, code, compose_wide(im->c, x)));
}

bool tf_import_activation(struct tf_import *im, struct tf_node *n)
{
        struct compose_activation a = { tf_variant(n), 1, 0 };
        struct value *x = n->inputs[0].value;
        if (a.kind == ACT_LEAKY_RELU)
                a.alpha = (double)(float)tf_float(n, "alpha", 0.2f);
        if (a.kind == ACT_SELU) {
                a.alpha = 1.6732632423543772848170429916717;
                a.beta = 1.0507009873554804934193349852946;
        }
        if (a.kind == ACT_RELU && element_is_integer(value_element(x)))
                return tf_output(im, n, 0, compose_with(im->c, OP_max, x, 0));
        return tf_want_floats(im, n, 0) &&
               rounded(im, n, compose_activate(im->c, &a, compose_wide(im->c, x)));
}

bool tf_import_relu6(struct tf_import *im, struct tf_node *n)
{
        return takes(im, OP_max, n->inputs[0].value) &&
               tf_output(im, n, 0, clamp(im->c, n->inputs[0].value, 0, 6));
}

bool tf_import_rsqrt(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        return tf_want_floats(im, n, 0) &&
               rounded(im, n, compose_from(c, OP_div, 1,
                                           compose_unary(c, OP_sqrt,
                                                         compose_wide(c, n->inputs[0].value))));
}

bool tf_import_square(struct tf_import *im, struct tf_node *n)
{
        struct value *x = compose_wide(im->c, n->inputs[0].value);
        return x && takes(im, OP_mul, x) && rounded(im, n, mul(im->c, x, x));
}

/* log1p(x): log(u) * x / (u - 1), where u = 1 + x is not 1, which makes up for its rounding. */
bool tf_import_log1p(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        if (!tf_want_floats(im, n, 0))
                return false;
        struct value *x = compose_wide(c, n->inputs[0].value);
        struct value *u = plus(c, x, 1);
        struct value *whole = u ? compose_with(c, OP_eq, u, 1) : NULL;
        struct value *lost = plus(c, u, -1);
        struct value *log = u ? compose_unary(c, OP_log, u) : NULL;
        if (!lost || !log || !whole)
                return false;
        struct value *infinite = compose_binary(c, OP_eq, u, x);
        struct value *y = mul(c, log, divide(c, x, lost));
        y = compose_select(c, infinite, log, y);
        return rounded(im, n, compose_select(c, whole, x, y));
}

bool tf_import_erfc(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        return tf_want_floats(im, n, 0) &&
               rounded(im, n,
                       compose_from(c, OP_sub, 1, compose_unary(c, OP_erf, compose_wide(c, x))));
}

/* Is it NaN (variant 0), infinite (1), neither (2)? */
bool tf_import_is(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        if (!tf_want_floats(im, n, 0))
                return false;
        struct value *x = compose_wide(c, n->inputs[0].value);
        struct value *magnitude = x ? compose_unary(c, OP_abs, x) : NULL, *y = NULL;
        switch (tf_variant(n)) {
        case 0: y = compose_binary(c, OP_ne, x, x); break;
        case 1: y = compose_with(c, OP_eq, magnitude, (double)INFINITY); break;
        default: y = compose_with(c, OP_lt, magnitude, (double)INFINITY);
        }
        return tf_output(im, n, 0, y);
}

bool tf_import_cast(struct tf_import *im, struct tf_node *n)
{
        const int64_t type = tf_type(n, "DstT", 0);
        enum element e;
        if (!tf_element(type, &e))
                return tf_unsupported(im, "a cast to type %lld", (long long)type);
        return tf_output(im, n, 0, compose_cast(im->c, n->inputs[0].value, e));
}

/* ---- two operands ---- */

/* Brings the operands to one shape, and to a type that is computed in. */
static bool two(struct tf_import *im, struct tf_node *n, struct value *v[2])
{
        for (int i = 0; i < 2; i++)
                v[i] = n->inputs[i].value;
        if (value_element(v[0]) != value_element(v[1]))
                return tf_invalid(im, "operands %s and %s", compose_text(im->c, v[0]->type),
                                  compose_text(im->c, v[1]->type));
        for (int i = 0; i < 2; i++)
                v[i] = compose_wide(im->c, v[i]);
        return v[0] && v[1] && compose_broadcast(im->c, v, 2);
}

bool tf_import_binary(struct tf_import *im, struct tf_node *n)
{
        const enum opcode code = (enum opcode)tf_variant(n);
        struct value *v[2];
        if (!two(im, n, v) || !takes(im, code, v[0]))
                return false;
        struct value *y = compose_binary(im->c, code, v[0], v[1]);
        return y && value_element(y) == E_BOOL ? tf_output(im, n, 0, y) : rounded(im, n, y);
}

bool tf_import_floor_div(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *v[2];
        if (!two(im, n, v) || !takes(im, OP_div, v[0]))
                return false;
        if (element_is_float(value_element(v[0])))
                return rounded(im, n, compose_unary(c, OP_floor, divide(c, v[0], v[1])));
        return tf_output(im, n, 0,
                         divide(c, sub(c, v[0], compose_binary(c, OP_mod, v[0], v[1])), v[1]));
}

bool tf_import_squared_difference(struct tf_import *im, struct tf_node *n)
{
        struct value *v[2];
        if (!two(im, n, v) || !takes(im, OP_mul, v[0]))
                return false;
        struct value *d = sub(im->c, v[0], v[1]);
        return d && rounded(im, n, mul(im->c, d, d));
}

/* The result is 0 where operand 1 is. */
bool tf_import_no_nan(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *v[2];
        if (!tf_want_floats(im, n, 0) || !two(im, n, v))
                return false;
        struct value *y = compose_binary(c, (enum opcode)tf_variant(n), v[0], v[1]);
        struct value *none = compose_with(c, OP_eq, v[1], 0);
        return y && none &&
               rounded(im, n, compose_select(c, none, build_like(c->b, y, 0), y));
}

/* x / y, or x log y; 0 where x is 0. */
bool tf_import_x_of_y(struct tf_import *im, struct tf_node *n)
{
        struct compose *c = im->c;
        struct value *v[2];
        if (!tf_want_floats(im, n, 0) || !two(im, n, v))
                return false;
        struct value *y = tf_variant(n) ? mul(c, v[0], compose_unary(c, OP_log, v[1]))
                                        : divide(c, v[0], v[1]);
        struct value *none = compose_with(c, OP_eq, v[0], 0);
        return y && none &&
               rounded(im, n, compose_select(c, none, build_like(c->b, y, 0), y));
}

bool tf_import_add_n(struct tf_import *im, struct tf_node *n)
{
        struct value *sum = n->inputs[0].value;
        for (int i = 1; i < n->input_count && sum; i++) {
                if (n->inputs[i].value->type != sum->type)
                        return tf_invalid(im, "operands %s and %s",
                                          compose_text(im->c, sum->type),
                                          compose_text(im->c, n->inputs[i].value->type));
                sum = add(im->c, sum, n->inputs[i].value);
        }
        return tf_output(im, n, 0, sum);
}

/* Select (variant 1) may have a truth value for each sample. */
bool tf_import_select(struct tf_import *im, struct tf_node *n)
{
        struct value *v[3] = { n->inputs[0].value, n->inputs[1].value, n->inputs[2].value };
        const int rank = value_rank(v[1]);
        dim_t dims[RANK_MAX];
        if (value_element(v[0]) != E_BOOL || value_element(v[1]) != value_element(v[2]))
                return tf_invalid(im, "operands %s, %s and %s", compose_text(im->c, v[0]->type),
                                  compose_text(im->c, v[1]->type),
                                  compose_text(im->c, v[2]->type));
        if (tf_variant(n) == 1 && value_rank(v[0]) == 1 && rank > 1) {
                for (int d = 0; d < rank; d++)
                        dims[d] = d ? dim_of(1) : v[0]->type->dims[0];
                v[0] = compose_reshape(im->c, v[0], rank, dims);
        }
        return v[0] && compose_broadcast(im->c, v, 3) &&
               tf_output(im, n, 0, build_select(im->c->b, v[0], v[1], v[2]));
}

bool tf_import_clip(struct tf_import *im, struct tf_node *n)
{
        struct value *v[3] = { n->inputs[0].value, n->inputs[1].value, n->inputs[2].value };
        if (value_element(v[0]) != value_element(v[1]) ||
            value_element(v[0]) != value_element(v[2]) || !takes(im, OP_max, v[0]))
                return tf_invalid(im, "operands of several types");
        if (!compose_broadcast(im->c, v, 3))
                return false;
        struct value *y = compose_binary(im->c, OP_min, v[0], v[2]);
        return tf_output(im, n, 0, y ? compose_binary(im->c, OP_max, y, v[1]) : NULL);
}
