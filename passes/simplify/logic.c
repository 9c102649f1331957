/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def on comparisons, selections and bits. */
#include "passes/simplify/simplify.h"

#include <math.h>

static enum element element_of(const struct op *op) { return op->results[0].type->element; }
static enum element_class class_of(const struct value *v)
{
        return element_info[v->type->element].class;
}
static bool is_whole(const struct value *v) { return element_is_integer(v->type->element); }

/* ---- comparisons ---- */

/* Returns a truth value for every element of op's result. */
static struct value *truth(struct builder *b, const struct op *op, bool value)
{
        return constant_number(b->m, op->results[0].type, value);
}

/* Replaces a comparison of x with itself by a truth value. nan: it is the same when x is NaN. */
static struct value *with_itself(struct builder *b, const struct op *op, bool value, bool nan)
{
        if (!simplify_same(op_operand(op, 0), op_operand(op, 1)) ||
            (!nan && element_is_float(op_operand(op, 0)->type->element)))
                return NULL;
        return truth(b, op, value);
}

#define WITH_ITSELF(name, answer, nan)                                                                          \
        struct value *rewrite_##name(struct builder *b, struct op *op, struct pass_context *context)           \
        {                                                                                                       \
                (void)context;                                                                                  \
                return with_itself(b, op, answer, nan);                                                         \
        }
WITH_ITSELF(eq_self, true, false)
WITH_ITSELF(ne_self, false, false)
WITH_ITSELF(le_self, true, false)
WITH_ITSELF(ge_self, true, false)
WITH_ITSELF(lt_self, false, true)
WITH_ITSELF(gt_self, false, true)
#undef WITH_ITSELF

/* Replaces a comparison with a known bool by the other operand, or its complement. */
static struct value *with_truth(struct builder *b, const struct op *op, bool same)
{
        for (int i = 0; i < 2; i++) {
                double number;
                struct value *x = op_operand(op, 1 - i);
                if (x->type->element == E_BOOL && value_is_splat(op_operand(op, i), &number))
                        return (number != 0) == same ? x : build_unary(b, OP_not, x);
        }
        return NULL;
}

struct value *rewrite_eq_truth(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return with_truth(b, op, true);
}

struct value *rewrite_ne_truth(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return with_truth(b, op, false);
}

static bool is_unsigned_and_zero(const struct op *op)
{
        return class_of(op_operand(op, 0)) == CLASS_UINT && simplify_is(op_operand(op, 1), 0);
}

struct value *rewrite_ge_unsigned(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return is_unsigned_and_zero(op) ? truth(b, op, true) : NULL;
}

struct value *rewrite_lt_unsigned(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return is_unsigned_and_zero(op) ? truth(b, op, false) : NULL;
}

struct value *rewrite_not_compare(struct builder *b, struct op *op, struct pass_context *context)
{
        static const struct { enum opcode code, opposite; bool nan; } table[] = {
                { OP_eq, OP_ne, true }, { OP_ne, OP_eq, true }, { OP_lt, OP_ge, false }, { OP_ge, OP_lt, false },
                { OP_gt, OP_le, false }, { OP_le, OP_gt, false },
        };
        (void)context;
        struct value *c = op_operand(op, 0);
        if (c->kind != VALUE_RESULT || !value_has_one_use(c))
                return NULL;
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (c->op->code == table[i].code &&
                    (table[i].nan || !element_is_float(op_operand(c->op, 0)->type->element)))
                        return build_binary(b, table[i].opposite, op_operand(c->op, 0),
                                            op_operand(c->op, 1));
        return NULL;
}

/* Turns a comparison so that a constant stands on the right. */
static struct value *turned(struct builder *b, const struct op *op, enum opcode other)
{
        struct value *c = op_operand(op, 0), *x = op_operand(op, 1);
        return simplify_is_spread_constant(c) && !simplify_is_spread_constant(x)
                       ? build_binary(b, other, x, c)
                       : NULL;
}

#define TURNED(name, other)                                                                                     \
        struct value *rewrite_##name(struct builder *b, struct op *op, struct pass_context *context)           \
        {                                                                                                       \
                (void)context;                                                                                  \
                return turned(b, op, other);                                                                    \
        }
TURNED(lt_constant, OP_gt)
TURNED(le_constant, OP_ge)
TURNED(gt_constant, OP_lt)
TURNED(ge_constant, OP_le)
#undef TURNED

/* Drops a positive factor of a value that is compared with 0: it does not change the sign. (A small
 * number may become 0 by it.) */
static struct value *without_scale(struct builder *b, const struct op *op)
{
        const struct value *x = op_operand(op, 0);
        double bound, factor;
        if (!op_is(x, OP_mul) || !element_is_float(x->type->element) ||
            !value_is_splat(op_operand(op, 1), &bound) || bound != 0)
                return NULL;
        for (int i = 0; i < 2; i++)
                if (value_is_splat(op_operand(x->op, i), &factor) && factor > 0 && isfinite(factor))
                        return build_binary(b, op->code, op_operand(x->op, 1 - i),
                                            op_operand(op, 1));
        return NULL;
}

struct value *rewrite_lt_scaled(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return without_scale(b, op);
}

struct value *rewrite_gt_scaled(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return without_scale(b, op);
}

/* ---- selections ---- */

struct value *rewrite_select_truth(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        double x, y;
        if (element_of(op) != E_BOOL || !value_is_splat(op_operand(op, 1), &x) ||
            !value_is_splat(op_operand(op, 2), &y) || x == y)
                return NULL;
        return x != 0 ? op_operand(op, 0) : build_unary(b, OP_not, op_operand(op, 0));
}

/* Replaces a selection inside another one with the same condition by the operand that it
 * chooses. */
struct value *rewrite_select_select(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *c = op_operand(op, 0), *x = op_operand(op, 1), *y = op_operand(op, 2);
        if (op_is(x, OP_select) && simplify_same(op_operand(x->op, 0), c))
                return build_select(b, c, op_operand(x->op, 1), y);
        if (op_is(y, OP_select) && simplify_same(op_operand(y->op, 0), c))
                return build_select(b, c, x, op_operand(y->op, 2));
        return NULL;
}

struct value *rewrite_select_extreme(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *c = op_operand(op, 0), *x = op_operand(op, 1), *y = op_operand(op, 2);
        if (!is_whole(op_result(op)) || c->kind != VALUE_RESULT)
                return NULL;
        bool less = c->op->code == OP_lt || c->op->code == OP_le,
             more = c->op->code == OP_gt || c->op->code == OP_ge;
        if (!less && !more)
                return NULL;
        if (simplify_same(op_operand(c->op, 0), y) && simplify_same(op_operand(c->op, 1), x))
                less = !less;
        else if (!simplify_same(op_operand(c->op, 0), x) || !simplify_same(op_operand(c->op, 1), y))
                return NULL;
        return build_binary(b, less ? OP_min : OP_max, x, y);
}

/* Rewrites a selection by a comparison to max or min, which keep the first operand where both are
 * equal, or where it is NaN. */
struct value *rewrite_select_bound(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *compared = op_operand(op, 0), *c = op_operand(op, 1), *x = op_operand(op, 2);
        double bound;
        if (!element_is_float(element_of(op)) ||
            !(op_is(compared, OP_lt) || op_is(compared, OP_gt)) || !value_is_splat(c, &bound) ||
            isnan(bound) || !simplify_same(op_operand(compared->op, 0), x) ||
            !simplify_same(op_operand(compared->op, 1), c))
                return NULL;
        return build_binary(b, compared->op->code == OP_lt ? OP_max : OP_min, x, c);
}

/* Applies a function that is the same on both sides of a selection behind it. */
struct value *rewrite_select_unary(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 1), *y = op_operand(op, 2);
        if (x == y || x->kind != VALUE_RESULT || !op_is(y, x->op->code) ||
            !op_info[x->op->code].formula || x->op->operand_count != 1 ||
            element_of(op) == E_BOOL || !value_has_one_use(x) || !value_has_one_use(y))
                return NULL;
        return build_unary(b, x->op->code,
                           build_select(b, op_operand(op, 0), op_operand(x->op, 0),
                                        op_operand(y->op, 0)));
}

/* Applies a function of two operands, one of which is the same on both sides of a selection, behind
 * it. */
struct value *rewrite_select_binary(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 1), *y = op_operand(op, 2);
        if (x == y || x->kind != VALUE_RESULT || !op_is(y, x->op->code) ||
            !op_info[x->op->code].formula || x->op->operand_count != 2 ||
            element_of(op) == E_BOOL || !value_has_one_use(x) || !value_has_one_use(y))
                return NULL;
        bool commutes = op_info[x->op->code].traits & TRAIT_COMMUTATIVE;
        for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                        if (!simplify_same(op_operand(x->op, i), op_operand(y->op, j)) ||
                            (i != j && !commutes))
                                continue;
                        struct value *operands[2] = { op_operand(x->op, i), op_operand(x->op, i) };
                        operands[1 - i] =
                                build_select(b, op_operand(op, 0), op_operand(x->op, 1 - i),
                                             op_operand(y->op, 1 - j));
                        return build_binary(b, x->op->code, operands[0], operands[1]);
                }
        return NULL;
}

/* ---- bits ---- */

struct value *rewrite_and_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        for (int i = 0; i < 2; i++)
                if (simplify_is(op_operand(op, i), 0))
                        return op_operand(op, i);
        return NULL;
}

struct value *rewrite_or_true(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        for (int i = 0; i < 2; i++)
                if (element_of(op) == E_BOOL && simplify_is(op_operand(op, i), 1))
                        return op_operand(op, i);
        return NULL;
}

struct value *rewrite_xor_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++)
                if (simplify_is(op_operand(op, i), 0))
                        return op_operand(op, 1 - i);
        return simplify_same(op_operand(op, 0), op_operand(op, 1)) ? build_like(b, op_result(op), 0)
                                                                   : NULL;
}

struct value *rewrite_xor_true(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++)
                if (element_of(op) == E_BOOL && simplify_is(op_operand(op, i), 1))
                        return build_unary(b, OP_not, op_operand(op, 1 - i));
        return NULL;
}

/* Rewrites x f (x g y) to x. */
static struct value *absorbed(const struct op *op, enum opcode other)
{
        for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) {
                        const struct value *v = op_operand(op, i);
                        if (op_is(v, other) &&
                            simplify_same(op_operand(v->op, j), op_operand(op, 1 - i)))
                                return op_operand(op, 1 - i);
                }
        return NULL;
}

struct value *rewrite_and_or(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return absorbed(op, OP_or);
}

struct value *rewrite_or_and(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return absorbed(op, OP_and);
}

struct value *rewrite_max_min(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return is_whole(op_result(op)) ? absorbed(op, OP_min) : NULL;
}

struct value *rewrite_min_max(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return is_whole(op_result(op)) ? absorbed(op, OP_max) : NULL;
}

/* Builds op with another operand in place i. */
static struct value *with_operand(struct builder *b, const struct op *op, int i, struct value *v)
{
        return build_binary(b, op->code, i == 0 ? v : op_operand(op, 0),
                            i == 0 ? op_operand(op, 1) : v);
}

/* Rewrites a clamp to the order that Clip has. */
struct value *rewrite_max_clamp(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        double low, high;
        for (int i = 0; i < 2; i++) {
                const struct value *least = op_operand(op, i);
                if (!value_is_splat(op_operand(op, 1 - i), &low) || !op_is(least, OP_min) ||
                    !value_has_one_use(least))
                        continue;
                for (int k = 0; k < 2; k++) {
                        struct value *x = op_operand(least->op, k);
                        if (value_is_splat(op_operand(least->op, 1 - k), &high) && low < high)
                                return with_operand(b, least->op, k, with_operand(b, op, i, x));
                }
        }
        return NULL;
}

/* Rewrites x < y | x == y to x <= y: NaN is neither less nor equal. */
struct value *rewrite_or_equal(struct builder *b, struct op *op, struct pass_context *context)
{
        static const enum opcode order[][2] = { { OP_lt, OP_le }, { OP_gt, OP_ge } };
        (void)context;
        for (int i = 0; i < 2; i++) {
                const struct value *equal = op_operand(op, i), *c = op_operand(op, 1 - i);
                if (!op_is(equal, OP_eq))
                        continue;
                struct value *x = op_operand(equal->op, 0), *y = op_operand(equal->op, 1);
                for (int k = 0; k < 2; k++)
                        if (op_is(c, order[k][0]) && ((simplify_same(op_operand(c->op, 0), x) &&
                                                       simplify_same(op_operand(c->op, 1), y)) ||
                                                      (simplify_same(op_operand(c->op, 0), y) &&
                                                       simplify_same(op_operand(c->op, 1), x))))
                                return build_binary(b, order[k][1], op_operand(c->op, 0),
                                                    op_operand(c->op, 1));
        }
        return NULL;
}

/* Rewrites ~x f ~y to ~(x g y). */
static struct value *of_complements(struct builder *b, const struct op *op, enum opcode other)
{
        struct value *x = op_operand(op, 0), *y = op_operand(op, 1);
        if (x == y || !op_is(x, OP_not) || !op_is(y, OP_not) || !value_has_one_use(x) ||
            !value_has_one_use(y))
                return NULL;
        return build_unary(b, OP_not,
                           build_binary(b, other, op_operand(x->op, 0), op_operand(y->op, 0)));
}

struct value *rewrite_and_nots(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return of_complements(b, op, OP_or);
}

struct value *rewrite_or_nots(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return of_complements(b, op, OP_and);
}

static struct value *shift_by_none(const struct op *op)
{
        return simplify_is(op_operand(op, 1), 0) ? op_operand(op, 0) : NULL;
}

struct value *rewrite_shl_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return shift_by_none(op);
}

struct value *rewrite_shr_zero(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        return shift_by_none(op);
}

struct value *rewrite_shl_shl(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        double k, n;
        if (!op_is(x, OP_shl) || !value_is_splat(op_operand(op, 1), &k) ||
            !value_is_splat(op_operand(x->op, 1), &n) || k < 0 || n < 0 ||
            k + n >= 8 * element_info[element_of(op)].bytes)
                return NULL;
        return build_binary(b, OP_shl, op_operand(x->op, 0), build_like(b, op_result(op), k + n));
}

/* ---- masks ---- */

/* Rewrites x plus a mask of 0 and -inf to a selection: where the mask is -inf, x need not be
 * computed. */
struct value *rewrite_add_mask(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *mask = op_operand(op, i), *x = op_operand(op, 1 - i);
                struct op *broadcast = op_is(mask, OP_broadcast) ? mask->op : NULL;
                const struct value *choice = broadcast ? op_operand(broadcast, 0) : mask;
                if (!op_is(choice, OP_select))
                        continue;
                struct value *c = op_operand(choice->op, 0);
                for (int k = 1; k <= 2; k++) {
                        if (!simplify_is(op_operand(choice->op, k), 0) ||
                            !simplify_is(op_operand(choice->op, 3 - k), -INFINITY))
                                continue;
                        const struct type *t = type_with_element(b->m, x->type, E_BOOL);
                        if (broadcast)
                                c = build_broadcast(b, c, t, op_ints(broadcast, "dims", NULL));
                        struct value *operands[] = { c, x, x };
                        operands[3 - k] = build_like(b, x, -INFINITY);
                        return value_build(b, OP_select, operands, 3, NULL, NULL);
                }
        }
        return NULL;
}

/* ---- indices ---- */

struct span { double least, most; };
enum { INDEX_DEPTH_MAX = 8 };

static bool is_in_i32(struct span s) { return s.least >= INT32_MIN && s.most <= INT32_MAX; }

static struct span corners(struct span x, struct span y)
{
        const double products[] = { x.least * y.least, x.least * y.most, x.most * y.least,
                                    x.most * y.most };
        struct span s = { products[0], products[0] };
        for (int i = 1; i < 4; i++) {
                s.least = products[i] < s.least ? products[i] : s.least;
                s.most = products[i] > s.most ? products[i] : s.most;
        }
        return s;
}

/* Finds the least and the largest number of v, which is made of indices and numbers alone. Returns
 * false if it is not, or if i32 does not hold all values on the way. */
static bool span_of(const struct value *v, struct span *s, int depth)
{
        struct span x = { 0, 0 }, y = { 0, 0 };
        if (value_is_splat(v, &s->least)) {
                s->most = s->least;
                return is_in_i32(*s);
        }
        if (v->kind != VALUE_RESULT || depth == INDEX_DEPTH_MAX || v->op->operand_count > 2 ||
            type_elements(v->type) == 0)
                return false;
        if ((v->op->operand_count > 0 && !span_of(op_operand(v->op, 0), &x, depth + 1)) ||
            (v->op->operand_count > 1 && !span_of(op_operand(v->op, 1), &y, depth + 1)))
                return false;
        switch (v->op->code) {
        case OP_iota:
                *s = (struct span){ 0, (double)type_extent(v->type, op_int(v->op, "axis")) - 1 };
                break;
        case OP_broadcast: *s = x; break;
        case OP_neg:       *s = (struct span){ -x.most, -x.least }; break;
        case OP_add:       *s = (struct span){ x.least + y.least, x.most + y.most }; break;
        case OP_sub:       *s = (struct span){ x.least - y.most, x.most - y.least }; break;
        case OP_mul:       *s = corners(x, y); break;
        case OP_rem:
                *s = (struct span){ 0, x.most };
                return x.least >= 0 && y.least > 0 && is_in_i32(x);
        default:           return false;
        }
        return is_in_i32(*s);
}

static struct value *in_i32(struct builder *b, struct value *v)
{
        const struct type *t = type_with_element(b->m, v->type, E_I32);
        double number;
        struct value *operands[2];
        if (value_is_splat(v, &number))
                return constant_number(b->m, t, number);
        for (int i = 0; i < v->op->operand_count; i++)
                if (!(operands[i] = in_i32(b, op_operand(v->op, i))))
                        return NULL;
        if (v->op->code == OP_iota)
                return build_iota(b, t, (int)op_int(v->op, "axis"));
        return v->op->code == OP_broadcast
                       ? build_broadcast(b, operands[0], t, op_ints(v->op, "dims", NULL))
                       : value_build(b, v->op->code, operands, v->op->operand_count, v->op->attrs,
                                     NULL);
}

struct value *rewrite_compare_indices(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)context;
        struct span s;
        struct value *x = op_operand(op, 0), *y = op->operand_count == 2 ? op_operand(op, 1) : NULL;
        bool compares = op_result(op)->type->element == E_BOOL && y && x->type->element == E_I64 &&
                        y->type->element == E_I64;
        if (!compares || !type_is_static(x->type) || !span_of(x, &s, 0) || !span_of(y, &s, 0))
                return NULL;
        y = in_i32(b, y);
        return build_binary(b, op->code, in_i32(b, x), y);
}
