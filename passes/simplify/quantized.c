/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def for values of 8 bits between floats. All targets round by one rule:
 *
 *      s = sums of products of integers, and the bias         exact, i32
 *      y = saturate(round(f32(s) * m) + zero)                 m = f32(f32(sx * sw) / sy), of each output
 *
 * A network computes that in floats: products of decoded numbers plus a decoded bias, perhaps
 * bounded, divided by a scale. Once the products are of integers (integers.c), the bias is brought
 * back to the integer that it was decoded from, all scales become one number, and bounds become
 * f32(bound / sy). */
#include "passes/layout/multiplies.h"
#include "passes/simplify/fixed.h"
#include "passes/simplify/simplify.h"
#include "passes/simplify/ranges.h"

#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 8, BIAS_MAX = 1 << 24 };     /* f32 holds a bias of this magnitude exactly. */

static struct value *without_spread(struct value *v)
{
        while (op_is(v, OP_broadcast))
                v = op_operand(v->op, 0);
        return v;
}

/* Is v a constant, the same in all places or spread over them? */
static bool is_spread(const struct value *v)
{
        while (op_is(v, OP_broadcast))
                v = op_operand(v->op, 0);
        return value_is_constant(v);
}

/* ---- the bias ---- */

static float number_at(const struct value *v, int64_t i)
{
        return (float)constant_element(v->constant, v->constant->kind == CONSTANT_SPLAT ? 0 : i).f;
}

/* Returns the integers that `bias` is when it is divided by the scales, spread as these are; NULL:
 * it is not made of integers. */
static struct value *whole_bias(struct builder *b, struct value *bias, struct value *scale)
{
        int64_t places[2][RANK_MAX];
        const struct value *from = simplify_spread_source(b, bias, places[0]),
                           *by = simplify_spread_source(b, scale, places[1]);
        if (!from || !by || !value_is_constant(from) || !value_is_constant(by))
                return NULL;
        bool one = value_is_splat(from, NULL), same = value_is_splat(by, NULL);
        const struct type *each = one ? by->type : from->type;
        int64_t count = one && same ? 1 : type_elements(each);
        if (!one && !same && (!type_same_dims(from->type, by->type) ||
                              memcmp(places[0], places[1], (size_t)each->rank * sizeof **places)))
                return NULL;
        int32_t *whole = arena_array(b->m->arena, (size_t)count + 1, sizeof *whole);
        for (int64_t i = 0; i < count; i++) {
                float x = number_at(from, i), s = number_at(by, i);
                float q = s != 0 ? rintf(x / s) : 0;
                if (!(fabsf(q) < BIAS_MAX) || q * s != x)
                        return NULL;
                whole[i] = (int32_t)q;
        }
        const struct type *to = type_with_element(b->m, bias->type, E_I32);
        if (one && same)
                return constant_number(b->m, to, whole[0]);
        struct value *v = constant_dense(b->m, type_with_element(b->m, each, E_I32), whole, "bias");
        return build_broadcast(b, v, to, places[one]);
}

/* ---- requantization ---- */

enum { BOUNDS = 2 };

/* The parts of min(max(f32(sum) * scale + bias, low), high): all but sum and scale may be missing,
 * and the bounds come in any order. */
struct requantized {
        struct value *sum, *scale, *bias;
        struct op *bounds[BOUNDS];      /* The bounds go from the outermost to the innermost. */
        int bound_count;
};

/* Do quantizations alone read v: one, or several by scales of their own? */
static bool is_quantized(const struct value *v)
{
        for (const struct use *u = v->uses; u; u = u->next)
                if (!value_has_one_use(v) &&
                    (u->user->code != OP_div || u->index ||
                     !value_is_splat(op_operand(u->user, 1), NULL)))
                        return false;
        return true;
}

static struct value *take_constant(struct value **v, enum opcode code)
{
        for (int i = 0; i < 2 && op_is(*v, code) && is_quantized(*v); i++)
                if (is_spread(op_operand((*v)->op, i))) {
                        struct value *c = op_operand((*v)->op, i);
                        *v = op_operand((*v)->op, 1 - i);
                        return c;
                }
        return NULL;
}

/* Is v a sum of products, with what is added to it, to which a bias can be added without
 * overflow? */
static bool is_sum(const struct value *v, int depth)
{
        if (v->kind != VALUE_RESULT || depth == DEPTH_MAX || v->type->element != E_I32)
                return false;
        if (v->op->code == OP_convolve || v->op->code == OP_dot)
                return whole_sum_bound(v->op) <= INT32_MAX - 2.0 * BIAS_MAX;
        for (int i = 0; i < 2 && (v->op->code == OP_add || v->op->code == OP_sub); i++)
                if (is_sum(op_operand(v->op, i), depth + 1))
                        return true;
        return false;
}

static bool find_requantized(struct value *v, struct requantized *r)
{
        double number;
        *r = (struct requantized){ 0 };
        while ((op_is(v, OP_max) || op_is(v, OP_min)) && r->bound_count < BOUNDS &&
               value_is_splat(op_operand(v->op, 1), &number)) {
                if (!is_quantized(v) || isnan(number))
                        return false;
                r->bounds[r->bound_count++] = v->op;
                v = op_operand(v->op, 0);
        }
        r->bias = take_constant(&v, OP_add);
        r->scale = take_constant(&v, OP_mul);
        r->sum = op_is(v, OP_cast) ? op_operand(v->op, 0) : NULL;
        return r->scale && r->sum && v->type->element == E_F32 && is_sum(r->sum, 0);
}

/* Rewrites (f32(s) * f + f * b) / d, which is rounded, to one factor. */
struct value *rewrite_div_requantized(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)context;
        struct requantized r;
        struct value *v = op_operand(op, 0), *d = op_operand(op, 1), *y = op_result(op);
        double divisor, number = 0;
        if (!value_is_splat(d, &divisor) || !(divisor > 0) || !value_has_one_use(y) ||
            y->uses->user->code != OP_round || !is_quantized(v) || !find_requantized(v, &r))
                return NULL;
        struct value *bias = r.bias ? whole_bias(b, r.bias, r.scale) : NULL;
        if (r.bias && !bias)
                return NULL;
        struct value *f = without_spread(r.scale);
        struct value *m = build_binary(b, OP_div, f,
                                       constant_splat(b->m, f->type, constant_data(d->constant)));
        if (!m || !value_is_constant(m))
                return NULL;
        if (op_is(r.scale, OP_broadcast))
                m = build_broadcast(b, m, r.scale->type, op_ints(r.scale->op, "dims", NULL));
        struct value *s = bias ? build_binary(b, OP_add, r.sum, bias) : r.sum;
        struct value *x = build_binary(b, OP_mul, build_cast(b, s, E_F32), m);
        while (r.bound_count && x) {
                const struct op *bound = r.bounds[--r.bound_count];
                value_is_splat(op_operand(bound, 1), &number);
                x = build_binary(b, bound->code, x,
                                 constant_number(b->m, x->type,
                                                 (double)((float)number / (float)divisor)));
        }
        return x;
}

/* ---- what saturation does ---- */

/* Finds the least and the largest number of an integer type of at most 16 bits. Returns false for
 * other types. */
static bool bounds_of(enum element e, double *least)
{
        if (!element_is_integer(e) || element_info[e].bytes > 2)
                return false;
        *least = element_info[e].class == CLASS_SINT ? -ldexp(1, 8 * element_info[e].bytes - 1) : 0;
        return true;
}

/* Rewrites cast(round(max(x, 0)) + lowest, t): what is below 0 becomes lowest anyway. */
struct value *rewrite_cast_rectified(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        enum element to = op_result(op)->type->element;
        double least, zero, added = 0;
        struct value *v = op_operand(op, 0), *shift = NULL;
        if (!bounds_of(to, &least) || !element_is_float(v->type->element))
                return NULL;
        if (op_is(v, OP_add) && value_is_splat(op_operand(v->op, 1), &added)) {
                shift = op_operand(v->op, 1);
                v = op_operand(v->op, 0);
        }
        if (added != least || !op_is(v, OP_round) || !op_is(op_operand(v->op, 0), OP_max))
                return NULL;
        const struct op *max = op_operand(v->op, 0)->op;
        if (!value_is_splat(op_operand(max, 1), &zero) || zero != 0)
                return NULL;
        struct value *x = build_unary(b, OP_round, op_operand(max, 0));
        return build_cast(b, shift ? build_binary(b, OP_add, x, shift) : x, to);
}

/* Rewrites max(cast(x, t), c), or min, so that x is bounded before the cast. NaN becomes 0, which
 * must lie inside the bound. */
static struct value *bound_before(struct builder *b, struct op *op, bool inside)
{
        struct value *v = op_operand(op, 0), *x = op_is(v, OP_cast) ? op_operand(v->op, 0) : NULL;
        double c, least;
        if (!x || !value_has_one_use(v) || x->type->element != E_F32 ||
            !bounds_of(v->type->element, &least) ||
            !value_is_splat(op_operand(op, 1), &c) || (inside ? c > 0 : c < 0))
                return NULL;
        struct value *bound = constant_number(b->m, x->type, c);
        bool rounded = op_is(x, OP_round) && value_has_one_use(x);
        x = build_binary(b, op->code, rounded ? op_operand(x->op, 0) : x, bound);
        return build_cast(b, rounded ? build_unary(b, OP_round, x) : x,
                          v->type->element);
}

struct value *rewrite_max_before(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return bound_before(b, op, true);
}

struct value *rewrite_min_before(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return bound_before(b, op, false);
}

/* ---- quantized, moved, and quantized as before ---- */

/* Does op only move numbers? It then moves products with one positive scale, too; what is padded
 * around them must be 0. */
static bool is_mover(const struct op *op)
{
        double around = 0;
        switch (op->code) {
        case OP_reshape: case OP_transpose: case OP_slice: case OP_concat: return true;
        case OP_reduce_window: return op_int(op, "kind") == REDUCE_max;
        case OP_reduce:                 /* A maximum of no numbers is infinite. */
                return (op_int(op, "kind") == REDUCE_max || op_int(op, "kind") == REDUCE_min) &&
                       type_is_static(op_operand(op, 0)->type) &&
                       type_elements(op_operand(op, 0)->type) > 0 &&
                       op_operand(op, 0)->type->rank > op_result(op)->type->rank;
        case OP_gather: return !value_is_constant(op_operand(op, 0));
        case OP_pad:
                return !op_operand(op, 1) ||
                       (value_is_splat(op_operand(op, 1), &around) && around == 0);
        default: return false;
        }
}

/* Builds bytes x, less *zero, bounded by c, where round(c / s) is an integer: rounding keeps the
 * order of numbers, so that it may come first. NULL: no byte is that bound. */
static struct value *bounded_bytes(struct builder *b, const struct op *op, struct value *x,
                                   double s, struct value *zero)
{
        const struct whole_range range = whole_range_of_element(x->type->element);
        double c, less = 0;
        if (!value_is_splat(op_operand(op, 1), &c) || (zero && !value_is_splat(zero, &less)))
                return NULL;
        double bound = (double)rintf((float)c / (float)s) + less;
        if (!(bound >= range.low && bound <= range.high))
                return NULL;
        return build_binary(b, op->code, x, constant_number(b->m, x->type, bound));
}

/* Returns the numbers of v / s, moved as v moves them: bytes, less their zero point; NULL: they are
 * none. */
static struct value *moved_bytes(struct builder *b, struct value *v, double s, struct value **zero);

static bool same_zero(const struct value *x, const struct value *y)
{
        double a = 0, c = 0;
        return (!x || value_is_splat(x, &a)) && (!y || value_is_splat(y, &c)) && a == c;
}

/* Builds the same move of bytes, all of which have one zero point. */
static struct value *move_bytes(struct builder *b, const struct op *op, double s,
                                struct value **zero)
{
        int count = op->operand_count, moved = op->code == OP_concat ? count : 1;
        struct value **operands = arena_array(b->m->arena, (size_t)count, sizeof *operands);
        for (int i = 0; i < count; i++) {
                struct value *own = NULL;
                operands[i] = i < moved ? moved_bytes(b, op_operand(op, i), s, &own)
                                        : op_operand(op, i);
                if (i < moved && (!operands[i] || (i && (!same_zero(*zero, own) ||
                                                         operands[i]->type->element !=
                                                                 operands[0]->type->element))))
                        return NULL;
                *zero = i ? *zero : own;
        }
        const struct type *t = operands[0]->type;
        double number = 0;
        if (*zero)
                value_is_splat(*zero, &number);
        if (op->code == OP_pad && op_operand(op, 1))
                operands[1] = constant_number(b->m, type_scalar(b->m, t->element), number);
        return value_build(b, op->code, operands, count, op->attrs,
                           type_with_element(b->m, op_result(op)->type, t->element));
}

static struct value *moved_bytes(struct builder *b, struct value *v, double s, struct value **zero)
{
        double scale;
        if (v->kind != VALUE_RESULT)
                return NULL;
        if (is_mover(v->op))
                return value_has_one_use(v) ? move_bytes(b, v->op, s, zero) : NULL;
        if (op_is(v, OP_max) || op_is(v, OP_min)) {
                struct value *x = value_has_one_use(v)
                                          ? moved_bytes(b, op_operand(v->op, 0), s, zero)
                                          : NULL;
                return x ? bounded_bytes(b, v->op, x, s, *zero) : NULL;
        }
        if (!op_is(v, OP_mul) || !value_is_splat(op_operand(v->op, 1), &scale) || scale != s)
                return NULL;
        v = op_operand(v->op, 0);
        if (!op_is(v, OP_cast))
                return NULL;
        v = op_operand(v->op, 0);
        *zero = NULL;
        if (op_is(v, OP_sub) && value_is_splat(op_operand(v->op, 1), NULL) &&
            v->type->element == E_I32) {
                *zero = op_operand(v->op, 1);
                v = op_operand(v->op, 0);
                v = op_is(v, OP_cast) ? op_operand(v->op, 0) : v;
        }
        bool bytes = element_is_integer(v->type->element) &&
                     element_info[v->type->element].bytes == 1;
        return bytes ? v : NULL;
}

/* Rewrites round(moved(x * s) / s): integers as small as bytes come back after one rounding each
 * way. */
struct value *rewrite_round_rescaled(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0), *zero = NULL;
        double s;
        if (!op_is(v, OP_div) || !value_is_splat(op_operand(v->op, 1), &s) || !(s > 1e-30) ||
            !(s < 1e30))
                return NULL;
        struct value *x = moved_bytes(b, op_operand(v->op, 0), s, &zero);
        if (!x || !zero)
                return x ? build_cast(b, x, E_F32) : NULL;
        const struct type *wide = type_with_element(b->m, x->type, E_I32);
        return build_cast(b,
                          build_binary(b, OP_sub, build_cast(b, x, E_I32),
                                       constant_splat(b->m, wide, constant_data(zero->constant))),
                          E_F32);
}

/* Rewrites cast(f32(i32(x) - z) + z, t) to x, which is of type t. */
struct value *rewrite_cast_restored(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        double more, less;
        struct value *v = op_operand(op, 0);
        if (!op_is(v, OP_add) || !value_is_splat(op_operand(v->op, 1), &more) ||
            !op_is(op_operand(v->op, 0), OP_cast) || v->type->element != E_F32)
                return NULL;
        v = op_operand(op_operand(v->op, 0)->op, 0);
        if (!op_is(v, OP_sub) || !value_is_splat(op_operand(v->op, 1), &less) || more != less ||
            !op_is(op_operand(v->op, 0), OP_cast) || v->type->element != E_I32)
                return NULL;
        struct value *x = op_operand(op_operand(v->op, 0)->op, 0);
        return x->type == op_result(op)->type && element_info[x->type->element].bytes == 1 &&
                               fabs(more) <= 256
                       ? x
                       : NULL;
}

/* ---- bytes with a sign ---- */

/* Is v never NaN, because it is made of integers by scales of moderate size? */
static bool is_number(const struct value *v, int depth)
{
        double c;
        if (value_is_constant(v) || op_is(v, OP_broadcast)) {
                while (op_is(v, OP_broadcast))
                        v = op_operand(v->op, 0);
                if (!value_is_constant(v))
                        return is_number(v, depth + 1);
                for (int64_t i = 0; i < type_elements(v->type); i++) {
                        c = fabs(constant_element(v->constant, i).f);
                        if (!(c <= 1e6))
                                return false;
                }
                return true;
        }
        if (v->kind != VALUE_RESULT || depth == DEPTH_MAX)
                return false;
        switch (v->op->code) {
        case OP_cast: return element_is_integer(op_operand(v->op, 0)->type->element);
        case OP_add: case OP_mul: case OP_max: case OP_min:
                return is_number(op_operand(v->op, 0), depth + 1) &&
                       is_number(op_operand(v->op, 1), depth + 1);
        case OP_div:
                return value_is_splat(op_operand(v->op, 1), &c) && fabs(c) >= 1e-6 &&
                       is_number(op_operand(v->op, 0), depth + 1);
        case OP_round: return is_number(op_operand(v->op, 0), depth + 1);
        default: return false;
        }
}

/* Is v multiplied by weights, perhaps behind operations that move or decode it? */
static bool is_multiplied(const struct value *v, int depth)
{
        for (const struct use *u = v->uses; u && depth < DEPTH_MAX; u = u->next) {
                const struct op *user = u->user;
                if ((user->code == OP_convolve || user->code == OP_dot) && u->index == 0)
                        return true;
                bool goes_on = user->code == OP_cast || user->code == OP_sub ||
                               user->code == OP_add || user->code == OP_mul ||
                               user->code == OP_transpose || user->code == OP_reshape ||
                               user->code == OP_pad;
                if (goes_on && is_multiplied(op_result(user), depth + 1))
                        return true;
        }
        return false;
}

/* Returns the type of bytes that the target multiplies faster than those of op, which are
 * multiplied; BOOL: there is none. *more: what is added to bytes to be of that type. */
static enum element other_sign(const struct op *op, const struct pass_context *context,
                               double *more)
{
        const enum element from = op_result(op)->type->element;
        if ((from != E_I8 && from != E_U8) || !target_engine(context->target)->blocks)
                return E_BOOL;
        const enum element to = multiply_sign(context);
        *more = to == E_U8 ? 128 : -128;
        return to != from && to != E_BOOL && is_multiplied(op_result(op), 0) ? to : E_BOOL;
}

/* Returns bytes of the other sign as those that they were. */
static struct value *restored_sign(struct builder *b, struct value *x, double more,
                                   enum element from)
{
        struct value *wide = build_cast(b, x, E_I32);
        return build_cast(b, build_binary(b, OP_sub, wide, constant_number(b->m, wide->type, more)),
                          from);
}

/* Does the same for the zero point and the bounds of a rescale. */
struct value *rewrite_rescale_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        double more;
        const enum element to = other_sign(op, context, &more);
        if (to == E_BOOL)
                return NULL;
        const struct fixed f = fixed_of(op);
        struct attr *attrs = attrs_new(b->m, OP_rescale);
        attr_set(attrs, OP_rescale, "once", f.once);
        attr_set(attrs, OP_rescale, "zero", f.zero + (int64_t)more);
        attr_set(attrs, OP_rescale, "low", f.low + (int64_t)more);
        attr_set(attrs, OP_rescale, "high", f.high + (int64_t)more);
        attr_set(attrs, OP_rescale, "to", to);
        struct value *operands[] = { op_operand(op, 0), op_operand(op, 1), op_operand(op, 2) };
        return restored_sign(b, value_build(b, OP_rescale, operands, 3, attrs, NULL), more,
                             op_result(op)->type->element);
}

/* Rewrites cast(x, i8), where the target multiplies unsigned bytes faster, to a cast to u8 of x +
 * 128; and the other way round. */
struct value *rewrite_cast_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *x = op_operand(op, 0), *sum = x;
        double shift = 0, more;
        if (x->type->element != E_F32)
                return NULL;
        if (op_is(x, OP_add) && value_is_splat(op_operand(x->op, 1), &shift))
                sum = op_operand(x->op, 0);
        const enum element to = op_is(sum, OP_round) ? other_sign(op, context, &more) : E_BOOL;
        if (to == E_BOOL || fabs(shift + more / 2) > 192 || !is_number(sum, 0))
                return NULL;
        x = build_binary(b, OP_add, sum, constant_number(b->m, x->type, shift + more));
        return restored_sign(b, build_cast(b, x, to), more, op_result(op)->type->element);
}
