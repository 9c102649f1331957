/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def on arithmetic that look at neighbouring operations alone: signs,
 * rounding, powers, integers, constants that meet. */
#include "passes/simplify/simplify.h"

#include <math.h>
#include <string.h>

bool simplify_same(const struct value *x, const struct value *y)
{
        if (x == y || !value_is_constant(x) || !value_is_constant(y) || x->type != y->type ||
            x->constant->kind != y->constant->kind)
                return x == y;
        size_t bytes = value_is_splat(x, NULL) ? (size_t)element_info[x->type->element].bytes
                                               : (size_t)type_bytes(x->type);
        return !memcmp(constant_data(x->constant), constant_data(y->constant), bytes);
}

static enum element element_of(const struct op *op) { return op->results[0].type->element; }
static enum element_class class_of(const struct value *v)
{
        return element_info[v->type->element].class;
}
static bool is_whole(const struct value *v) { return element_is_integer(v->type->element); }

/* Is v a splat of this number, with the same sign where it is zero? */
bool simplify_is(const struct value *v, double number)
{
        double found;
        return value_is_splat(v, &found) && found == number && !signbit(found) == !signbit(number);
}

/* Returns the operand of v's operation if that is of this kind, or NULL. */
static struct value *inside(const struct value *v, enum opcode code)
{
        return op_is(v, code) ? op_operand(v->op, 0) : NULL;
}

/* Returns a truth value for every element of op's result. */
static struct value *truth(struct builder *b, const struct op *op, bool value)
{
        return constant_number(b->m, op->results[0].type, value);
}

/* ---- signs ---- */

struct value *rewrite_add_neg(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *y = inside(op_operand(op, i), OP_neg);
                if (y)
                        return build_binary(b, OP_sub, op_operand(op, 1 - i), y);
        }
        return NULL;
}

struct value *rewrite_sub_neg(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *y = inside(op_operand(op, 1), OP_neg);
        return y ? build_binary(b, OP_add, op_operand(op, 0), y) : NULL;
}

struct value *rewrite_minus_zero_sub(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return simplify_is(op_operand(op, 0), element_is_float(element_of(op)) ? -0.0 : 0.0)
                       ? build_unary(b, OP_neg, op_operand(op, 1))
                       : NULL;
}

struct value *rewrite_zero_sub(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return simplify_is(op_operand(op, 0), 0.0) ? build_unary(b, OP_neg, op_operand(op, 1))
                                                   : NULL;
}

struct value *rewrite_mul_minus_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++)
                if (simplify_is(op_operand(op, i), -1))
                        return build_unary(b, OP_neg, op_operand(op, 1 - i));
        return NULL;
}

/* Rewrites (-x) f (-y) to x f y, or returns NULL. */
static struct value *without_signs(struct builder *b, const struct op *op)
{
        struct value *x = inside(op_operand(op, 0), OP_neg), *y = inside(op_operand(op, 1), OP_neg);
        return x && y ? build_binary(b, op->code, x, y) : NULL;
}

struct value *rewrite_mul_negs(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return without_signs(b, op);
}

struct value *rewrite_div_negs(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return element_is_float(element_of(op)) ? without_signs(b, op) : NULL;
}

struct value *rewrite_div_minus_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return simplify_is(op_operand(op, 1), -1) ? build_unary(b, OP_neg, op_operand(op, 0))
                                                  : NULL;
}

/* Rewrites -(x * c) to x * -c: the constant takes the sign. */
struct value *rewrite_neg_mul(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *product = op_operand(op, 0);
        if (!op_is(product, OP_mul) || !value_has_one_use(product))
                return NULL;
        for (int i = 0; i < 2; i++)
                if (value_is_constant(op_operand(product->op, i))) {
                        struct value *c = build_unary(b, OP_neg, op_operand(product->op, i));
                        return c && value_is_constant(c)
                                       ? build_binary(b, OP_mul, op_operand(product->op, 1 - i), c)
                                       : NULL;
                }
        return NULL;
}

struct value *rewrite_neg_sub(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *difference = op_operand(op, 0);
        if (!op_is(difference, OP_sub) || !value_has_one_use(difference))
                return NULL;
        return build_binary(b, OP_sub, op_operand(difference->op, 1),
                            op_operand(difference->op, 0));
}

struct value *rewrite_cos_even(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = inside(op_operand(op, 0), OP_neg);
        if (!x)
                x = inside(op_operand(op, 0), OP_abs);
        return x ? build_unary(b, OP_cos, x) : NULL;
}

/* ---- what is known of a value ---- */

/* Are all elements positive, +0 or NaN? */
static bool is_positive(const struct value *v)
{
        if (v->kind != VALUE_RESULT)
                return false;
        switch (v->op->code) {
        case OP_exp: case OP_sigmoid: case OP_cosh: return true;
        case OP_abs: return element_is_float(v->type->element);
        case OP_mul:
                return element_is_float(v->type->element) &&
                       simplify_same(op_operand(v->op, 0), op_operand(v->op, 1));
        default:     return false;
        }
}

/* Is every element a whole number, infinite or NaN? */
static bool is_rounded(const struct value *v)
{
        if (v->kind != VALUE_RESULT)
                return false;
        switch (v->op->code) {
        case OP_floor: case OP_ceil: case OP_round: case OP_trunc: case OP_sign: return true;
        case OP_cast: return !element_is_float(op_operand(v->op, 0)->type->element);
        default: return false;
        }
}

struct value *rewrite_abs_positive(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return is_positive(op_operand(op, 0)) ? op_operand(op, 0) : NULL;
}

struct value *rewrite_max_positive(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        for (int i = 0; i < 2; i++) {
                double bound;
                if (is_positive(op_operand(op, i)) &&
                    value_is_splat(op_operand(op, 1 - i), &bound) &&
                    (bound < 0 || (bound == 0 && !signbit(bound))))
                        return op_operand(op, i);
        }
        return NULL;
}

static struct value *rounded(const struct op *op)
{
        return is_rounded(op_operand(op, 0)) ? op_operand(op, 0) : NULL;
}

#define ROUNDED(name)                                                                                           \
        struct value *rewrite_##name(struct builder *b, struct op *op, struct pass_context *context)           \
        {                                                                                                       \
                (void)b, (void)context;                                                                         \
                return rounded(op);                                                                             \
        }
ROUNDED(floor_whole)
ROUNDED(ceil_whole)
ROUNDED(round_whole)
ROUNDED(trunc_whole)
#undef ROUNDED

struct value *rewrite_sign_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return op_is(op_operand(op, 0), OP_sign) ? op_operand(op, 0) : NULL;
}

struct value *rewrite_is_nan_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = inside(op_operand(op, 0), OP_neg);
        if (!x)
                x = inside(op_operand(op, 0), OP_abs);
        return x ? build_unary(b, OP_is_nan, x) : NULL;
}

struct value *rewrite_is_nan_integer(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = inside(op_operand(op, 0), OP_cast);
        return x && !element_is_float(x->type->element) ? truth(b, op, false) : NULL;
}

/* Drops a clamp to bounds that the conversion has itself. */
struct value *rewrite_cast_clamped(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        enum element to = element_of(op);
        int bits = 8 * element_info[to].bytes;
        if (!element_is_integer(to) || bits > 16 || class_of(v) != CLASS_FLOAT)
                return NULL;
        bool is_signed = element_info[to].class == CLASS_SINT;
        double most = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1,
               least = is_signed ? -ldexp(1, bits - 1) : 0;
        struct value *x = NULL;
        for (int i = 0; i < 2 && (op_is(v, OP_min) || op_is(v, OP_max)); i++) {
                double bound = v->op->code == OP_min ? most : least, found;
                struct value *c = op_operand(v->op, 1);
                if (!value_is_splat(c, &found) || found != bound)
                        break;
                x = v = op_operand(v->op, 0);
        }
        return x ? build_cast(b, x, to) : NULL;
}

/* ---- integers ---- */

struct value *rewrite_sub_self_integer(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        return is_whole(op_result(op)) && simplify_same(op_operand(op, 0), op_operand(op, 1))
                       ? build_like(b, op_result(op), 0)
                       : NULL;
}

struct value *rewrite_mul_zero_integer(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++)
                if (is_whole(op_result(op)) && simplify_is(op_operand(op, i), 0))
                        return op_operand(op, i);
        (void)b;
        return NULL;
}

/* Rewrites (x - y) + y to x. */
struct value *rewrite_add_sub(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        for (int i = 0; i < 2 && is_whole(op_result(op)); i++) {
                struct value *difference = op_operand(op, i);
                if (op_is(difference, OP_sub) &&
                    simplify_same(op_operand(difference->op, 1), op_operand(op, 1 - i)))
                        return op_operand(difference->op, 0);
        }
        return NULL;
}

/* Rewrites (x + y) - y to x. */
struct value *rewrite_sub_add(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        struct value *sum = op_operand(op, 0);
        for (int i = 0; i < 2 && is_whole(op_result(op)) && op_is(sum, OP_add); i++)
                if (simplify_same(op_operand(sum->op, i), op_operand(op, 1)))
                        return op_operand(sum->op, 1 - i);
        return NULL;
}

/* Rewrites (x - c) - d, and the same with other signs, to x - (c + d) with the signs that follow; c
 * and d are splats of integers, which wrap. */
static struct value *join_shifts(struct builder *b, const struct op *op)
{
        struct value *v = op_operand(op, 0);
        double c, d;
        if (!is_whole(op_result(op)) || (!op_is(v, OP_sub) && !op_is(v, OP_add)) ||
            (op->code == OP_add && !op_is(v, OP_sub)) ||
            !value_is_splat(op_operand(v->op, 1), &c) || !value_is_splat(op_operand(op, 1), &d) ||
            fabs(c) > 1 << 20 || fabs(d) > 1 << 20 || element_info[v->type->element].bytes < 4)
                return NULL;
        double taken = (op_is(v, OP_sub) ? c : -c) + (op->code == OP_sub ? d : -d);
        struct value *x = op_operand(v->op, 0);
        if (taken < 0 && element_info[v->type->element].class == CLASS_UINT)
                return NULL;
        return build_binary(b, OP_sub, x, constant_number(b->m, x->type, taken));
}

struct value *rewrite_sub_shifts(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return join_shifts(b, op);
}

struct value *rewrite_add_shift(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return join_shifts(b, op);
}

/* Is the second operand 2^k? Sets *k. */
static bool power_of_two(const struct op *op, int *k)
{
        double number;
        if (!value_is_splat(op_operand(op, 1), &number) || number < 1 || number > 0x1p30 ||
            frexp(number, k) != 0.5)
                return false;
        --*k;
        return true;
}

struct value *rewrite_div_unsigned(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        int k;
        if (class_of(op_result(op)) != CLASS_UINT || !power_of_two(op, &k) || k == 0)
                return NULL;
        return build_binary(b, OP_shr, op_operand(op, 0), build_like(b, op_result(op), k));
}

static struct value *low_bits(struct builder *b, const struct op *op)
{
        int k;
        if (!power_of_two(op, &k))
                return NULL;
        return build_binary(b, OP_and, op_operand(op, 0),
                            build_like(b, op_operand(op, 0), ldexp(1, k) - 1));
}

struct value *rewrite_rem_unsigned(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return class_of(op_result(op)) == CLASS_UINT ? low_bits(b, op) : NULL;
}

struct value *rewrite_mod_bits(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return is_whole(op_result(op)) ? low_bits(b, op) : NULL;
}

/* ---- powers ---- */

struct value *rewrite_pow_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        double number;
        return value_is_splat(op_operand(op, 1), &number) && number == 0
                       ? build_like(b, op_result(op), 1)
                       : NULL;
}

static struct value *pow_by(const struct op *op, double exponent)
{
        return element_is_float(element_of(op)) && simplify_is(op_operand(op, 1), exponent)
                       ? op_operand(op, 0)
                       : NULL;
}

struct value *rewrite_pow_square(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = pow_by(op, 2);
        return x ? build_binary(b, OP_mul, x, x) : NULL;
}

struct value *rewrite_pow_reciprocal(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = pow_by(op, -1);
        return x ? build_unary(b, OP_reciprocal, x) : NULL;
}

struct value *rewrite_pow_half(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = pow_by(op, 0.5);
        return x ? build_unary(b, OP_sqrt, x) : NULL;
}

struct value *rewrite_div_one_by(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return element_is_float(element_of(op)) && simplify_is(op_operand(op, 0), 1)
                       ? build_unary(b, OP_reciprocal, op_operand(op, 1))
                       : NULL;
}

struct value *rewrite_div_self(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return simplify_same(op_operand(op, 0), op_operand(op, 1)) ? build_like(b, op_result(op), 1)
                                                                   : NULL;
}

struct value *rewrite_reciprocal_twice(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)b, (void)context;
        return inside(op_operand(op, 0), OP_reciprocal);
}

struct value *rewrite_exp_log(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return inside(op_operand(op, 0), OP_log);
}

struct value *rewrite_sqrt_square(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        if (!op_is(x, OP_mul) || !simplify_same(op_operand(x->op, 0), op_operand(x->op, 1)))
                return NULL;
        return build_unary(b, OP_abs, op_operand(x->op, 0));
}

/* ---- constants and factors ---- */

/* Rewrites (c - x) + d to (c + d) - x. */
struct value *rewrite_add_constant_sub(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *d = op_operand(op, i), *difference = op_operand(op, 1 - i);
                if (!value_is_constant(d) || !op_is(difference, OP_sub) ||
                    !value_has_one_use(difference) ||
                    !value_is_constant(op_operand(difference->op, 0)))
                        continue;
                struct value *c = build_binary(b, OP_add, op_operand(difference->op, 0), d);
                return c && value_is_constant(c)
                               ? build_binary(b, OP_sub, c, op_operand(difference->op, 1))
                               : NULL;
        }
        return NULL;
}

/* Rewrites x * c + y * c to (x + y) * c. */
struct value *rewrite_add_products(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0), *y = op_operand(op, 1);
        if (x == y || !op_is(x, OP_mul) || !op_is(y, OP_mul) || !value_has_one_use(x) ||
            !value_has_one_use(y))
                return NULL;
        for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                        struct value *c = op_operand(x->op, i), *d = op_operand(y->op, j);
                        struct value *first = op_operand(x->op, 1 - i),
                                     *second = op_operand(y->op, 1 - j);
                        /* The product of two constants is one constant (mul_over_add made it). */
                        bool folds = simplify_is_spread_constant(c) &&
                                     (simplify_is_spread_constant(first) ||
                                      simplify_is_spread_constant(second));
                        if (simplify_same(c, d) && !folds)
                                return build_binary(b, OP_mul,
                                                    build_binary(b, OP_add, first, second), c);
                }
        return NULL;
}
