/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def on element-wise operations. */
#include "passes/layout/multiplies.h"
#include "passes/simplify/ranges.h"
#include "passes/simplify/simplify.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- patterns ---- */

/* Splits the operands of a commutative operation into one constant and the rest. */
static bool constant_side(const struct op *op, struct value **constant, struct value **rest)
{
        for (int i = 0; i < 2; i++)
                if (value_is_constant(op_operand(op, i))) {
                        *constant = op_operand(op, i);
                        *rest = op_operand(op, 1 - i);
                        return true;
                }
        return false;
}

/* Returns the other operand, where one equals a splat of this number (and, for zero, of this sign);
 * or NULL. */
static struct value *other_than(const struct op *op, double number)
{
        for (int i = 0; i < 2; i++) {
                double found;
                if (value_is_splat(op_operand(op, i), &found) && found == number &&
                    !signbit(found) == !signbit(number))
                        return op_operand(op, 1 - i);
        }
        return NULL;
}

static enum element element_of(const struct op *op)
{
        return op->results[0].type->element;
}

/* ---- addition and multiplication ---- */

struct value *rewrite_add_zero_exact(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return other_than(op, element_is_float(element_of(op)) ? -0.0 : 0.0);
}

struct value *rewrite_add_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return other_than(op, 0.0);
}

/* Joins two constants, spread or not, in one operation. */
static struct value *reassociate(struct builder *b, struct op *op)
{
        for (int i = 0; i < 2; i++) {
                struct value *outer = op_operand(op, i), *inner = op_operand(op, 1 - i);
                if (!simplify_is_spread_constant(outer) || !op_is(inner, op->code) ||
                    !value_has_one_use(inner))
                        continue;
                for (int j = 0; j < 2; j++) {
                        struct value *c = op_operand(inner->op, j),
                                     *x = op_operand(inner->op, 1 - j);
                        if (!simplify_is_spread_constant(c) || simplify_is_spread_constant(x))
                                continue;
                        struct value *both = simplify_join(b, op->code, c, outer);
                        if (!both || !simplify_is_spread_constant(both))
                                continue;
                        return build_binary(b, op->code, x, both);
                }
        }
        return NULL;
}

struct value *rewrite_add_constants(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return reassociate(b, op);
}

struct value *rewrite_mul_constants(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return reassociate(b, op);
}

/* Does so for integers and bool, where it is the same to the bit. */
static struct value *reassociate_exactly(struct builder *b, struct op *op)
{
        return element_is_float(element_of(op)) ? NULL : reassociate(b, op);
}

struct value *rewrite_add_constants_exact(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        (void)context;
        return reassociate_exactly(b, op);
}

struct value *rewrite_mul_constants_exact(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        (void)context;
        return reassociate_exactly(b, op);
}

struct value *rewrite_and_constants(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return reassociate_exactly(b, op);
}

struct value *rewrite_or_constants(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return reassociate_exactly(b, op);
}

struct value *rewrite_xor_constants(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return reassociate_exactly(b, op);
}

struct value *rewrite_sub_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        double number;
        bool zero = value_is_splat(op_operand(op, 1), &number) && number == 0 && !signbit(number);
        return zero ? op_operand(op, 0) : NULL;
}

struct value *rewrite_sub_constant(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *c = op_operand(op, 1), *negated;
        if (!element_is_float(element_of(op)))
                return NULL;
        if (value_is_constant(c)) {
                negated = build_unary(b, OP_neg, c);
        } else if (op_is(c, OP_broadcast) && value_is_constant(op_operand(c->op, 0))) {
                negated = build_unary(b, OP_neg, op_operand(c->op, 0));
                if (negated && value_is_constant(negated))
                        negated =
                                build_broadcast(b, negated, c->type, op_ints(c->op, "dims", NULL));
        } else {
                return NULL;
        }
        return negated && simplify_is_spread_constant(negated)
                       ? build_binary(b, OP_add, op_operand(op, 0), negated)
                       : NULL;
}

struct value *rewrite_sub_self(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return simplify_same(op_operand(op, 0), op_operand(op, 1)) ? build_like(b, op_result(op), 0)
                                                                   : NULL;
}

struct value *rewrite_mul_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return other_than(op, 1.0);
}

struct value *rewrite_mul_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return other_than(op, 0.0) ? build_like(b, op_result(op), 0) : NULL;
}

struct value *rewrite_div_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        double number;
        return value_is_splat(op_operand(op, 1), &number) && number == 1 ? op_operand(op, 0) : NULL;
}

struct value *rewrite_div_power_of_two(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        double number;
        int exponent;
        enum element e = element_of(op);
        if ((e != E_F32 && e != E_F64) || !value_is_splat(op_operand(op, 1), &number) ||
            !isfinite(number) || number == 0 || fabs(frexp(number, &exponent)) != 0.5)
                return NULL;
        int limit = e == E_F32 ? 120 : 1000;    /* Both 2^k and 2^-k are normal numbers. */
        if (exponent > limit || exponent < -limit || number == 1)
                return NULL;
        return build_binary(b, OP_mul, op_operand(op, 0),
                            build_like(b, op_operand(op, 1), 1 / number));
}

/* Is v rounded to a whole number, perhaps bounded before? Its error, however small, may move the
 * result to the next whole number. */
static bool becomes_whole(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                switch (u->user->code) {
                case OP_max: case OP_min:
                        if (becomes_whole(op_result(u->user)))
                                return true;
                        break;
                case OP_floor: case OP_ceil: case OP_round: case OP_trunc:
                        return true;
                case OP_cast:
                        if (!element_is_float(element_of(u->user)))
                                return true;
                        break;
                default:
                        break;
                }
        return false;
}

/* Builds 1 / c, where the elements of both are normal numbers. */
static struct value *inverse(struct builder *b, struct value *c)
{
        double least = c->type->element == E_F32 ? FLT_MIN : DBL_MIN;
        int64_t count = value_is_splat(c, NULL) ? 1 : type_elements(c->type);
        for (int64_t i = 0; i < count; i++) {
                double number = fabs(constant_element(c->constant, i).f);
                if (!(number >= least && number <= 1 / (4 * least)))
                        return NULL;
        }
        struct value *y = build_unary(b, OP_reciprocal, c);
        return y && value_is_constant(y) ? y : NULL;
}

/* The quotient of single numbers is no work. */
static bool is_float_quotient(const struct op *op)
{
        const struct type *t = op->results[0].type;
        return (t->element == E_F32 || t->element == E_F64) &&
               !(type_is_static(t) && type_elements(t) == 1);
}

struct value *rewrite_div_constant(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *c = op_operand(op, 1);
        if (!is_float_quotient(op) || becomes_whole(op_result(op)))
                return NULL;
        if (value_is_constant(c)) {
                c = inverse(b, c);
        } else if (op_is(c, OP_broadcast) && value_is_constant(op_operand(c->op, 0))) {
                struct value *inner = inverse(b, op_operand(c->op, 0));
                c = inner ? build_broadcast(b, inner, c->type, op_ints(c->op, "dims", NULL)) : NULL;
        } else {
                return NULL;
        }
        return c ? build_binary(b, OP_mul, op_operand(op, 0), c) : NULL;
}

static bool same_axes(const struct op *reduce, const struct op *other)
{
        int64_t axes[RANK_MAX], others[RANK_MAX];
        int n, count;
        if (!value_ints(op_operand(reduce, 1), axes, RANK_MAX, &n) ||
            !value_ints(op_operand(other, 1), others, RANK_MAX, &count))
                return false;
        return n == count && !memcmp(axes, others, sizeof *axes * (size_t)n);
}

/* Is v a sum of exp(z - spread max z)? It is at least 1, as the largest difference is 0. Where all
 * z may be -inf, it is max(the sum, 1) for a largest z that is at least the lowest number. */
static bool is_softmax_sum(struct value *v)
{
        v = value_without_floor(v);
        if (!op_is(v, OP_reduce) || op_int(v->op, "kind") != REDUCE_sum ||
            !op_is(op_operand(v->op, 0), OP_exp))
                return false;
        const struct value *difference = op_operand(op_operand(v->op, 0)->op, 0);
        if (!op_is(difference, OP_sub))
                return false;
        const struct value *z = op_operand(difference->op, 0);
        struct value *most = op_operand(difference->op, 1);
        while (op_is(most, OP_broadcast) || op_is(most, OP_reshape))
                most = op_operand(most->op, 0);
        most = value_without_floor(most);
        return op_is(most, OP_reduce) && op_int(most->op, "kind") == REDUCE_max &&
               op_operand(most->op, 0) == z && same_axes(v->op, most->op);
}

/* Divides few numbers instead of many. y is such that 1 / y is no denormal number, and infinite for
 * y = 0 alone. */
struct value *rewrite_div_spread(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *spread = op_operand(op, 1);
        if (!is_float_quotient(op) || !op_is(spread, OP_broadcast) ||
            !type_is_bound(b->m, spread->type) || becomes_whole(op_result(op)))
                return NULL;
        struct value *y = op_operand(spread->op, 0),
                     *source = op_is(y, OP_reshape) ? op_operand(y->op, 0) : y;
        if (!(op_is(source, OP_sqrt) || is_softmax_sum(source)) ||
            type_most_elements(b->m, y->type) == type_most_elements(b->m, spread->type))
                return NULL;
        y = build_broadcast(b, build_unary(b, OP_reciprocal, y), spread->type,
                            op_ints(spread->op, "dims", NULL));
        return build_binary(b, OP_mul, op_operand(op, 0), y);
}

struct value *rewrite_pow_one_exact(struct builder *b, struct op *op, struct pass_context *context)
{
        return element_is_float(element_of(op)) ? NULL : rewrite_div_one(b, op, context);
}

struct value *rewrite_pow_one(struct builder *b, struct op *op, struct pass_context *context)
{
        return rewrite_div_one(b, op, context);
}

struct value *rewrite_pow_cube(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        double number;
        struct value *x = op_operand(op, 0);
        if (!element_is_float(element_of(op)) || !value_is_splat(op_operand(op, 1), &number) ||
            number != 3)
                return NULL;
        return build_binary(b, OP_mul, build_binary(b, OP_mul, x, x), x);
}

/* ---- pairs ---- */

static struct value *undo(const struct op *op)
{
        struct value *x = op_operand(op, 0);
        return op_is(x, op->code) ? op_operand(x->op, 0) : NULL;
}

struct value *rewrite_neg_neg(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return undo(op);
}

struct value *rewrite_not_not(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return undo(op);
}

struct value *rewrite_abs_abs(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        if (op_is(x, OP_abs))
                return x;
        if (!op_is(x, OP_neg) || element_info[element_of(op)].class == CLASS_UINT)
                return NULL;
        return build_unary(b, OP_abs, op_operand(x->op, 0));
}

/* ---- extremes ---- */

/* Returns the bound of the type that max (lower) or min (upper) cannot pass. */
static double extreme(enum element e, bool lower)
{
        switch (element_info[e].class) {
        case CLASS_FLOAT: return lower ? -INFINITY : INFINITY;
        case CLASS_BOOL:  return lower ? 0 : 1;
        case CLASS_UINT:  return lower ? 0 : ldexp(1, 8 * element_info[e].bytes) - 1;
        default:
                return lower ? -ldexp(1, 8 * element_info[e].bytes - 1)
                             : ldexp(1, 8 * element_info[e].bytes - 1) - 1;
        }
}

static struct value *bounded(struct op *op, bool lower)
{
        enum element e = element_of(op);
        if (element_is_integer(e) && element_info[e].bytes == 8)
                return NULL;            /* A double does not hold the bound. */
        return other_than(op, extreme(e, lower));
}

static struct value *idempotent(struct builder *b, struct op *op)
{
        if (simplify_same(op_operand(op, 0), op_operand(op, 1)))
                return op_operand(op, 0);
        struct value *c, *inner, *d, *x;
        if (!constant_side(op, &c, &inner) || !op_is(inner, op->code) ||
            !constant_side(inner->op, &d, &x) || value_is_constant(x))
                return NULL;
        struct value *both = build_binary(b, op->code, d, c);
        return both && value_is_constant(both) ? build_binary(b, op->code, x, both) : NULL;
}

struct value *rewrite_max_lowest(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return bounded(op, true);
}

struct value *rewrite_min_highest(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return bounded(op, false);
}

struct value *rewrite_max_idempotent(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return idempotent(b, op);
}

struct value *rewrite_min_idempotent(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return idempotent(b, op);
}

/* ---- logic ---- */

struct value *rewrite_and_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        if (simplify_same(op_operand(op, 0), op_operand(op, 1)))
                return op_operand(op, 0);
        return element_of(op) == E_BOOL ? other_than(op, 1) : NULL;
}

struct value *rewrite_or_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return simplify_same(op_operand(op, 0), op_operand(op, 1)) ? op_operand(op, 0)
                                                                   : other_than(op, 0);
}

struct value *rewrite_log_exp(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        struct value *x = op_operand(op, 0);
        return op_is(x, OP_exp) ? op_operand(x->op, 0) : NULL;
}

struct value *rewrite_select_constant(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)b, (void)context;
        double condition;
        if (simplify_same(op_operand(op, 1), op_operand(op, 2)))
                return op_operand(op, 1);
        return value_is_splat(op_operand(op, 0), &condition) ? op_operand(op, condition ? 1 : 2)
                                                             : NULL;
}

struct value *rewrite_select_not(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *c = op_operand(op, 0);
        return op_is(c, OP_not)
                       ? build_select(b, op_operand(c->op, 0), op_operand(op, 2), op_operand(op, 1))
                       : NULL;
}

/* ---- casts ---- */

/* Is every value of `from` a value of `to`? */
static bool holds(enum element to, enum element from)
{
        static const struct { int digits, exponent;
        } format[] = {
                [E_F32] = { 24, 127 }, [E_F64] = { 53, 1023 }, [E_F16] = { 11, 15 },
                [E_BF16] = { 8, 127 }, [E_TF32] = { 11, 127 },
        };
        enum element_class t = element_info[to].class, f = element_info[from].class;
        int to_bits = 8 * element_info[to].bytes, from_bits = 8 * element_info[from].bytes;
        if (to == from)
                return true;
        if (t == CLASS_FLOAT && f == CLASS_FLOAT)
                return format[to].digits >= format[from].digits &&
                       format[to].exponent >= format[from].exponent;
        if (t == CLASS_FLOAT)
                return f == CLASS_BOOL || (f != CLASS_OTHER && format[to].digits >= from_bits &&
                                           format[to].exponent >= from_bits);
        if (t == CLASS_SINT)
                return f == CLASS_BOOL || (f == CLASS_SINT && to_bits >= from_bits) ||
                       (f == CLASS_UINT && to_bits > from_bits);
        return t == CLASS_UINT && (f == CLASS_BOOL || (f == CLASS_UINT && to_bits >= from_bits));
}

struct value *rewrite_cast_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return op_operand(op, 0)->type == op->results[0].type ? op_operand(op, 0) : NULL;
}

/* Joins two casts. A cast to bool is a test, not a conversion, and a cast of floats to integers
 * saturates where one of integers wraps. Two casts are the same function as one where the middle
 * type holds the value exactly, except for integer -> float -> narrower integer. */
struct value *rewrite_cast_cast(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *middle = op_operand(op, 0);
        if (!op_is(middle, OP_cast))
                return NULL;
        struct value *x = op_operand(middle->op, 0);
        enum element from = x->type->element, through = middle->type->element, to = element_of(op);
        bool byte = through == E_I8 || through == E_U8;
        if (byte && element_is_integer(from) && !holds(through, from)) {
                /* Bytes of this type are not those that are multiplied (cast_sign). */
                enum element kept = multiply_sign(context) == E_I8 ? E_I8 : E_U8;
                const struct whole_range own = whole_range_of(x),
                                         fits = whole_range_of_element(through);
                bool held = own.low >= fits.low && own.high <= fits.high;
                return through != kept && held ? build_cast(b, x, to) : NULL;
        }
        if (!holds(through, from))
                return NULL;
        if (element_is_float(through) && !element_is_float(from) && element_is_integer(to) &&
            !holds(to, from))
                return NULL;
        return build_cast(b, x, to);
}

struct value *rewrite_bitcast_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        if (x->type == op->results[0].type)
                return x;
        /* The result has the same bytes. */
        if (value_is_constant(x) && element_is_stored(x->type->element))
                return x->constant->kind == CONSTANT_SPLAT
                               ? constant_splat(b->m, op->results[0].type,
                                                constant_data(x->constant))
                               : constant_dense(b->m, op->results[0].type,
                                                constant_data(x->constant), x->constant->name);
        if (!op_is(x, OP_bitcast))
                return NULL;
        struct value *source = op_operand(x->op, 0);
        return value_build(b, OP_bitcast, &source, 1, op->attrs, op->results[0].type);
}
