/* SPDX-License-Identifier: MIT */
/* requantize: a sum of whole numbers becomes a byte by a whole multiplier and a shift.
 *
 *   %1 = convolve(%0, @w) accumulator=i32             %1 = convolve(%0, @w) accumulator=i32
 *   %2 = add(%1, @bias)                       ->      %2 = requantize(%1, @m, @b, 0) shift=36
 *   %3 = mul(cast(%2) to=f32, 0.0031)
 *   %4 = cast(round(%3) + 4.0) to=i8
 *
 * Exact to the bit. The function of a sum that floats compute is monotone, and is defined by its
 * thresholds (multiplier.h): with @m and @b the integers give the same byte for each possible sum.
 * The possible sums follow from the weights, the bytes that these multiply, and the bias. If there
 * are no such numbers for one output, the whole layer stays as it is. The bias is in @b; the last
 * operand makes halves go to even numbers, where that makes a difference.
 *
 * It is done where it is predicted to be faster (cost/bytes.h): on small cores, which convert and
 * round slowly.
 *
 * A rescale of a sum is a monotone function, too. It becomes a requantize, with another @b where
 * its operand is negative if that makes a difference; or, where floats are predicted to be faster,
 * a line of floats (line.c). */
#include <math.h>
#include <string.h>

#include "cost/bytes.h"
#include "passes/pass.h"
#include "passes/requantize/sequence.h"
#include "passes/simplify/ranges.h"

/* ---- the rewrite ---- */

static bool find_all(const struct sequence *c, const struct thresholds *t, int64_t count,
                     const struct form *form, struct multiplier *found)
{
        for (int64_t i = 0; i < count; i++) {
                struct form of = *form;
                of.origin = -sequence_bias(c, i);
                if (!multiplier_find(&t[i], &of, &found[i]))
                        return false;
        }
        return true;
}

/* Finds the first form that is right for all, in order of preference: without `even`; then with one
 * `even` for all, as large as halves of f32 are off, with either sign, because the zero point may
 * be odd; then with an `even` for each output. A rescale has one for negative numbers, or none.
 * Shifts by 32 cost nothing on small machines; larger ones are more precise. */
static bool find_form(const struct sequence *c, const struct thresholds *t, int64_t count,
                      struct form *form, struct multiplier *found)
{
        static const int shifts[] = { 32, 36, 38, 40, 44, 48, 28, 24, 20 };
        enum { SHIFTS = sizeof shifts / sizeof *shifts, WAYS = 4, HALVES = 18 };
        for (int k = 0; k < SHIFTS * WAYS; k++) {
                int shift = shifts[k % SHIFTS], way = k / SHIFTS;
                int64_t half = (INT64_C(1) << shift) >> HALVES;
                const bool by_sign = way == 3 && c->rescale;
                if (c->rescale && (way == 1 || way == 2))
                        continue;
                *form = (struct form){ .shift = shift,
                                       .even = way == 1 ? half : way == 2 ? -half : 0,
                                       .each = way == 3,
                                       .by_sign = by_sign };
                if (find_all(c, t, count, form, found))
                        return true;
        }
        return false;
}

/* Finds numbers for all outputs with one shift, the most precise one. Returns how many sums become
 * another byte; INT64_MAX: no shift is precise enough for all. */
static int64_t find_near(const struct thresholds *t, int64_t count, bool each, struct form *form,
                         struct multiplier *found)
{
        enum { SHIFT_MOST = 48 };
        int64_t wrong = 0;
        *form = (struct form){ .shift = SHIFT_MOST, .each = each };
        for (int64_t i = 0; i < count; i++)
                while (!multiplier_fits(&t[i], form->shift))
                        form->shift--;
        for (int64_t i = 0; i < count; i++)
                if (!multiplier_find(&t[i], form, &found[i])) {
                        int64_t more = multiplier_nearest(&t[i], form, &found[i]);
                        if (more < 0)
                                return INT64_MAX;
                        wrong += more;
                }
        return wrong;
}

/* Finds, where no form is right for all sums, the one that is wrong for fewest. */
static bool find_nearest(const struct thresholds *t, int64_t count, struct form *form,
                         struct multiplier *found)
{
        int64_t one = find_near(t, count, false, form, found),
                each = find_near(t, count, true, form, found);
        if (one <= each)
                find_near(t, count, false, form, found);
        return one < INT64_MAX || each < INT64_MAX;
}

/* Returns how many sums lie between the ends of the byte. */
static double sums_between(const struct thresholds *t)
{
        return t->count > 1 ? (double)(t->least[t->count - 1] - t->least[0]) : 1;
}

/* Finds numbers in high words for all outputs, with the largest shift for which they fit. Returns
 * false if there are none that are right but for one of 1,024 sums between the ends of the byte, or
 * for all where it is a rescale. */
static bool find_high(const struct sequence *c, const struct thresholds *t, int64_t count,
                      int *shift, struct high_multiplier *found)
{
        enum { SHIFT_MOST = 52, SHIFT_LEAST = 32 };
        const double seldom = c->rescale ? 0 : ldexp(1, -10);
        for (*shift = SHIFT_MOST; *shift >= SHIFT_LEAST; --*shift) {
                double wrong = 0, all = 0;
                bool there = true;
                for (int64_t i = 0; i < count && there; i++) {
                        int64_t off;
                        there = multiplier_high(&t[i], *shift, c->rescale, &found[i], &off) &&
                                (!c->rescale || !off);
                        wrong += there ? (double)off : 0;
                        all += sums_between(&t[i]);
                }
                if (there)
                        return wrong <= seldom * all;
        }
        return false;
}

/* Finds numbers in high words on either side of 0, `below` for negative numbers, with one factor
 * for both. Returns false where some are not right for every sum. */
static bool find_high_signed(const struct sequence *c, const struct thresholds *t, int64_t count,
                             int *shift, struct high_multiplier *found,
                             struct high_multiplier *below)
{
        enum { SHIFT_MOST = 52, SHIFT_LEAST = 32 };
        for (*shift = SHIFT_MOST; *shift >= SHIFT_LEAST; --*shift) {
                bool there = true;
                for (int64_t i = 0; i < count && there; i++) {
                        const int64_t origin = -sequence_bias(c, i);
                        struct thresholds up = t[i], down = t[i];
                        int64_t off = 0, other = 0;
                        if (origin <= t[i].low || origin > t[i].high) {
                                there = multiplier_high(&t[i], *shift, true, &found[i], &off);
                                below[i] = found[i];
                        } else {
                                thresholds_part(&up, origin, t[i].high);
                                thresholds_part(&down, t[i].low, origin - 1);
                                there = multiplier_high(&up, *shift, true, &found[i], &off) &&
                                        multiplier_high(&down, *shift, true, &below[i], &other) &&
                                        found[i].m == below[i].m;
                        }
                        there &= !off && !other;
                }
                if (there)
                        return true;
        }
        return false;
}

struct value *spread_build(struct builder *b, const struct type *like, int along, enum element e,
                           const void *numbers, int64_t count, const char *name)
{
        const struct type *to = type_with_element(b->m, like, e);
        const size_t bytes = (size_t)element_info[e].bytes;
        bool same = true;
        for (int64_t i = 1; i < count; i++)
                same &= !memcmp(numbers, (const char *)numbers + (size_t)i * bytes, bytes);
        if (same)
                return constant_splat(b->m, to, numbers);
        const int64_t dims = count;
        const int64_t onto = along;
        return build_broadcast(
                b,
                constant_dense(b->m, type_static(b->m, e, 1, &dims),
                               arena_copy(b->m->arena, numbers, (size_t)count * bytes), name),
                to, &onto);
}

/* Builds numbers for each place. */
static struct value *placed(struct builder *b, const struct sequence *c, enum element e,
                            const void *numbers, int64_t count, const char *name)
{
        if (!c->like)
                return spread_build(b, c->type, c->along, e, numbers, count, name);
        const struct type *t = type_with_element(b->m, op_operand(c->like, 0)->type, e);
        const void *kept = arena_copy(b->m->arena, numbers,
                                      (size_t)count * (size_t)element_info[e].bytes);
        return build_broadcast(b, constant_dense(b->m, t, kept, name),
                               type_with_element(b->m, c->type, e),
                               op_ints(c->like, "dims", NULL));
}

/* Builds the operation with these operands. */
static struct value *requantized(struct builder *b, const struct sequence *c,
                                 struct value *operands[4], int shift)
{
        struct attr *attrs = attrs_new(b->m, OP_requantize);
        attr_set(attrs, OP_requantize, "shift", shift);
        attr_set(attrs, OP_requantize, "to", c->type->element);
        const struct whole_range bytes = whole_range_of_element(c->type->element);
        if (c->low > bytes.low)
                attr_set(attrs, OP_requantize, "low", c->low);
        if (c->high < bytes.high)
                attr_set(attrs, OP_requantize, "high", c->high);
        return operands[0] && operands[1] && operands[2] && operands[3]
                       ? value_build(b, OP_requantize, operands, 4, attrs, NULL)
                       : NULL;
}

static struct value *multiplied_high(struct builder *b, const struct sequence *c,
                                     const struct high_multiplier *found, int64_t count, int shift)
{
        struct arena *arena = b->m->arena;
        int32_t *m = arena_array(arena, (size_t)count, sizeof *m),
                *summands = arena_array(arena, (size_t)count, sizeof *summands),
                *high = arena_array(arena, (size_t)count, sizeof *high);
        for (int64_t i = 0; i < count; i++) {
                m[i] = found[i].m;
                summands[i] = found[i].summand;
                high[i] = found[i].high;
        }
        const struct type *sums = type_with_element(b->m, c->type, E_I32);
        struct value *summand =
                placed(b, c, E_I32, summands, count, "summand");
        bool none = true;
        for (int64_t i = 0; i < count; i++)
                none &= !summands[i];
        struct value *operands[] = {
                !summand ? NULL : none ? c->sum : build_binary(b, OP_add, c->sum, summand),
                placed(b, c, E_I32, m, count, "multiplier"),
                placed(b, c, E_I32, high, count, "high"),
                constant_number(b->m, sums, 0)
        };
        return requantized(b, c, operands, shift);
}

/* Returns numbers of i32: those of one array where v is negative, else those of another. */
static struct value *by_sign(struct builder *b, const struct sequence *c, struct value *negative,
                             const int32_t *numbers, const int32_t *below, int64_t count,
                             const char *name)
{
        struct arena *arena = b->m->arena;
        int32_t *less = arena_array(arena, (size_t)count, sizeof *less);
        for (int64_t i = 0; i < count; i++)
                less[i] = below[i] - numbers[i];
        struct value *plain = placed(b, c, E_I32, numbers, count, name),
                     *more = placed(b, c, E_I32, less, count, "less");
        more = build_binary(b, OP_and, negative, more);
        return build_binary(b, OP_add, plain, more);
}

static struct value *multiplied_high_signed(struct builder *b, const struct sequence *c,
                                            const struct high_multiplier *found,
                                            const struct high_multiplier *below, int64_t count,
                                            int shift)
{
        struct arena *arena = b->m->arena;
        int32_t *numbers[5];
        for (int k = 0; k < 5; k++)
                numbers[k] = arena_array(arena, (size_t)count, sizeof **numbers);
        for (int64_t i = 0; i < count; i++) {
                numbers[0][i] = found[i].m;
                numbers[1][i] = found[i].summand;
                numbers[2][i] = below[i].summand;
                numbers[3][i] = found[i].high;
                numbers[4][i] = below[i].high;
        }
        struct value *negative = build_binary(b, OP_shr, c->total,
                                              constant_number(b->m, c->total->type, 31)),
                     *summand = by_sign(b, c, negative, numbers[1], numbers[2], count, "summand");
        summand = build_binary(b, OP_add, c->sum, summand);
        struct value *factor = placed(b, c, E_I32, numbers[0], count, "multiplier"),
                     *high = by_sign(b, c, negative, numbers[3], numbers[4], count, "high");
        struct value *operands[] = { summand, factor, high,
                                     constant_number(b->m, c->total->type, 0) };
        return requantized(b, c, operands, shift);
}

/* Returns numbers of i64 that are not 0 where v is negative. */
static struct value *where_negative(struct builder *b, struct value *v, struct value *numbers)
{
        v = build_cast(b, v, E_I64);
        v = build_binary(b, OP_shr, v, constant_number(b->m, v->type, 63));
        return build_binary(b, OP_and, v, numbers);
}

/* Where a sign decides, it is that of the total, so the total is multiplied. */
static struct value *multiplied(struct builder *b, const struct sequence *c,
                                const struct multiplier *found, int64_t count,
                                const struct form *form)
{
        struct arena *arena = b->m->arena;
        int32_t *m = arena_array(arena, (size_t)count, sizeof *m),
                *even = arena_array(arena, (size_t)count, sizeof *even);
        int64_t *offsets = arena_array(arena, (size_t)count, sizeof *offsets),
                *less = arena_array(arena, (size_t)count, sizeof *less);
        for (int64_t i = 0; i < count; i++) {
                m[i] = found[i].m;
                even[i] = form->by_sign ? 0 : found[i].even;
                less[i] = found[i].even;
                offsets[i] = found[i].b - (form->by_sign ? sequence_bias(c, i) * m[i] : 0);
        }
        struct value *factor = placed(b, c, E_I32, m, count, "multiplier"),
                     *offset = placed(b, c, E_I64, offsets, count, "offset");
        if (form->by_sign)
                offset = build_binary(b, OP_add, offset,
                                      where_negative(b, c->total,
                                                     placed(b, c, E_I64, less,
                                                                  count, "less")));
        struct value *operands[] = {
                form->by_sign ? c->total : c->sum,
                factor, offset, placed(b, c, E_I32, even, count, "even")
        };
        return requantized(b, c, operands, form->shift);
}

/* ---- floats in place of fixed-point arithmetic ---- */

static bool find_lines(const struct sequence *c, const struct thresholds *t, int64_t count,
                       bool by_sign, struct line *found)
{
        for (int64_t i = 0; i < count; i++) {
                struct formula f;
                if (!sequence_formula(c, i, &f) || !line_find(&f, &t[i], by_sign, &found[i]))
                        return false;
        }
        return true;
}

/* Returns numbers of one value where x is negative, else those of another. */
static struct value *selected(struct builder *b, struct value *x, struct value *below,
                              struct value *plain)
{
        x = build_binary(b, OP_lt, x, constant_number(b->m, x->type, 0));
        return build_select(b, x, below, plain);
}

static struct value *as_line(struct builder *b, const struct sequence *c, const struct line *found,
                             int64_t count, bool by_sign)
{
        struct arena *arena = b->m->arena;
        float *factors = arena_array(arena, (size_t)count, sizeof *factors),
              *added = arena_array(arena, (size_t)count, sizeof *added),
              *below = arena_array(arena, (size_t)count, sizeof *below);
        int32_t *biases = arena_array(arena, (size_t)count, sizeof *biases);
        const struct whole_range bytes = whole_range_of_element(c->type->element);
        bool biased = false;
        for (int64_t i = 0; i < count; i++) {
                biases[i] = (int32_t)(sequence_bias(c, i) - found[i].origin);
                biased |= biases[i];
                factors[i] = found[i].a;
                added[i] = found[i].b;
                below[i] = found[i].below;
        }
        struct value *x = c->sum;
        if (biased)
                x = build_binary(b, OP_add, x, placed(b, c, E_I32, biases, count, "shift"));
        x = build_cast(b, x, E_F32);
        struct value *more = placed(b, c, E_F32, added, count, "added");
        if (by_sign)
                more = selected(b, x, placed(b, c, E_F32, below, count, "below"), more);
        x = build_binary(b, OP_mul, x, placed(b, c, E_F32, factors, count, "factor"));
        x = build_unary(b, OP_round, build_binary(b, OP_add, x, more));
        if (c->low > bytes.low)
                x = build_binary(b, OP_max, x, constant_number(b->m, x->type, c->low));
        if (c->high < bytes.high)
                x = build_binary(b, OP_min, x, constant_number(b->m, x->type, c->high));
        return build_cast(b, x, c->type->element);
}

static struct value *by_floats(struct builder *b, const struct sequence *c,
                               const struct thresholds *t, int64_t count)
{
        struct arena *arena = arena_new();
        struct line *found = arena_array(arena, (size_t)count, sizeof *found);
        struct value *y = NULL;
        for (int by_sign = 0; by_sign < 2 && !y; by_sign++)
                if (find_lines(c, t, count, by_sign, found))
                        y = as_line(b, c, found, count, by_sign);
        arena_free(arena);
        return y;
}

/* ---- the choice ---- */

static bool is_cheaper(const struct sequence *c, bool even, const struct pass_context *context)
{
        enum { LINE = 4 };              /* A line, its rounding and a conversion. */
        return bytes_cost_of_integers(even, context->target) <
               bytes_cost_of_floats(c->rescale ? LINE : c->operations, context->target);
}

static struct value *by_integers(struct builder *b, const struct sequence *c,
                                 const struct thresholds *t, int64_t count, bool always,
                                 const struct pass_context *context)
{
        struct arena *arena = arena_new();
        struct multiplier *found = arena_array(arena, (size_t)count, sizeof *found);
        struct high_multiplier *high = arena_array(arena, (size_t)count, sizeof *high),
                               *below = arena_array(arena, (size_t)count, sizeof *below);
        struct form form;
        struct value *y = NULL;
        int shift;
        if (always && find_high(c, t, count, &shift, high))
                y = multiplied_high(b, c, high, count, shift);
        else if (always && c->rescale && find_high_signed(c, t, count, &shift, high, below))
                y = multiplied_high_signed(b, c, high, below, count, shift);
        else if ((find_form(c, t, count, &form, found) ||
                  (always && !c->rescale && find_nearest(t, count, &form, found))) &&
                 (always || c->rescale || is_cheaper(c, form.even || form.each, context)))
                y = multiplied(b, c, found, count, &form);
        arena_free(arena);
        return y;
}

int requantize_sum(struct op *op, struct pass_context *context, bool always)
{
        struct sequence c;
        if (!sequence_find(op, &c))
                return 0;
        const bool integers = always || is_cheaper(&c, false, context);
        if (!integers && !c.rescale)
                return 0;
        struct arena *arena = arena_new();
        int64_t count = sequence_places(&c);
        const struct thresholds *t =
                sequence_ends(&c, count) ? sequence_thresholds(arena, &c, count) : NULL;
        if (!t && (always || c.rescale)) { /* With its bias a sum may wrap, so the bias is added
                                         * before. */
                c.sum = c.total;
                c.summand_count = 0;
                t = sequence_ends(&c, count) ? sequence_thresholds(arena, &c, count) : NULL;
        }
        struct builder b = builder_before(op, context->diag);
        struct value *y = t && !integers ? by_floats(&b, &c, t, count) : NULL;
        if (t && !y && !context->diag->code)
                y = by_integers(&b, &c, t, count, always, context);
        arena_free(arena);
        if (!y)
                return context->diag->code ? -1 : 0;
        value_replace(op_result(op), y);
        op_erase(op);
        return 1;
}

int pass_requantize(struct function *f, struct pass_context *context)
{
        int rewrites = 0;
        for (struct op *op = region_walk(&f->body, NULL), *next; op && rewrites >= 0; op = next) {
                next = region_walk(&f->body, op);
                int done = requantize_sum(op, context, false);
                rewrites = done < 0 ? -1 : rewrites + done;
        }
        return rewrites;
}
