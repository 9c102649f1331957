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
 * round slowly. */
#include <math.h>
#include <string.h>

#include "cost/bytes.h"
#include "passes/pass.h"
#include "passes/requantize/multiplier.h"
#include "passes/requantize/requantize.h"
#include "passes/simplify/ranges.h"

enum { SUMMANDS = 4 };

/* A sequence has the operations between a sum and a byte, in their order. Their numbers differ
 * along dimension `along` of the values at most; -1: along none. */
struct sequence {
        struct value *sum, *total;      /* sum: total without the bias, and all else that is
                                         * constant. */
        const struct type *type;
        int along, step_count, summand_count, operations;
        enum opcode codes[FORMULA_STEPS];
        struct spread steps[FORMULA_STEPS], summands[SUMMANDS];
        bool less[SUMMANDS];
        int low, high;                  /* The byte is at least low and at most high. */
};

/* ---- what there is ---- */

/* Returns how many consecutive numbers of t are equal where only dimensions behind d differ. */
static int64_t stride_of(const struct type *t, int d)
{
        int64_t stride = 1;
        while (++d < t->rank)
                stride *= type_extent(t, d);
        return stride;
}

/* Do c's numbers differ along dimension d at most, compared bit by bit? */
static bool lies_along(const struct constant *c, int d)
{
        const struct type *t = c->value.type;
        const size_t bytes = (size_t)element_info[t->element].bytes;
        const int64_t stride = stride_of(t, d), count = type_elements(t);
        const char *data = c->data;
        for (int64_t i = 0; i < count; i++)
                if (memcmp(data + (size_t)i * bytes,
                           data + (size_t)(i / stride % type_extent(t, d) * stride) * bytes, bytes))
                        return false;
        return true;
}

bool spread_find(const struct value *v, int *along, struct spread *s)
{
        int place[RANK_MAX], dimension = -1;
        for (int d = 0; d < v->type->rank; d++)
                place[d] = d;
        while (op_is(v, OP_broadcast)) {
                const int64_t *dims = op_ints(v->op, "dims", NULL);
                v = op_operand(v->op, 0);
                for (int d = 0; d < v->type->rank; d++)
                        place[d] = place[dims[d]];
        }
        if (!value_is_constant(v) || !type_is_static(v->type))
                return false;
        *s = (struct spread){ v->constant, 0 };
        if (value_is_splat(v, NULL) || type_elements(v->type) == 1)
                return true;
        for (int d = 0; d < v->type->rank && dimension < 0; d++)
                if (type_extent(v->type, d) > 1 && (*along < 0 || *along == place[d]) &&
                    lies_along(v->constant, d))
                        dimension = d;
        if (dimension < 0)
                return false;
        *along = place[dimension];
        s->stride = stride_of(v->type, dimension);
        return true;
}

union scalar spread_number(const struct spread *s, int64_t i)
{
        return constant_element(s->constant, i * s->stride);
}

/* Takes the last operation of v off, as a step of floats. Returns its operand; NULL: it is no such
 * step. */
static struct value *take_step(struct sequence *c, struct value *v)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        int step = c->step_count, first = 0;          /* `first` is the first of the operands that
                                                       * may be a number. */
        if (!op || step == FORMULA_STEPS || v->type->element != E_F32 || !value_has_one_use(v))
                return NULL;
        c->codes[step] = op->code;
        switch (op->code) {
        case OP_round: c->step_count++; return op_operand(op, 0);
        case OP_mul: case OP_add: case OP_max: case OP_min: break;
        case OP_div: case OP_sub: first = 1; break;
        default: return NULL;
        }
        for (int i = 1; i >= first; i--)
                if (spread_find(op_operand(op, i), &c->along, &c->steps[step])) {
                        c->step_count++;
                        return op_operand(op, 1 - i);
                }
        return NULL;
}

/* Takes a constant summand off a sum. Returns the rest; NULL: there is no constant. */
static struct value *take_summand(struct sequence *c, struct value *v)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        if (!op || c->summand_count == SUMMANDS || (op->code != OP_add && op->code != OP_sub))
                return NULL;
        for (int i = 1; i >= (op->code == OP_sub); i--)
                if (spread_find(op_operand(op, i), &c->along, &c->summands[c->summand_count])) {
                        c->less[c->summand_count++] = op->code == OP_sub;
                        return op_operand(op, 1 - i);
                }
        return NULL;
}

static bool find_sequence(const struct op *op, struct sequence *c)
{
        if (op->code != OP_cast)        /* A yield has no result. */
                return false;
        struct value *v = op_operand(op, 0), *next;
        *c = (struct sequence){ .along = -1, .type = op_result(op)->type };
        enum element to = c->type->element;
        if (!element_is_integer(to) || element_info[to].bytes != 1 ||
            !type_is_static(c->type) || !type_elements(c->type))
                return false;
        while ((next = take_step(c, v)))
                v = next;
        if (!op_is(v, OP_cast) || v->type->element != E_F32 || !c->step_count ||
            op_operand(v->op, 0)->type->element != E_I32)
                return false;
        c->operations = c->step_count + 1;
        c->total = v = op_operand(v->op, 0);
        while ((next = take_summand(c, v)))
                v = next;
        c->sum = v;
        return true;
}

/* ---- what its sums can be ---- */

static struct whole_range merged(const struct whole_range *ranges, int64_t count)
{
        struct whole_range all = ranges[0];
        for (int64_t i = 1; i < count; i++) {
                all.low = fmin(all.low, ranges[i].low);
                all.high = fmax(all.high, ranges[i].high);
        }
        return all;
}

/* Returns the range of a sum of windows, or of whole dimensions; for any other value, that of its
 * type. */
static struct whole_range range_of_sum(const struct value *v)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        const struct whole_range own = whole_range_of(v);
        bool window = op && op->code == OP_reduce_window;
        if (!op || (!window && op->code != OP_reduce) || op_int(op, "kind") != REDUCE_sum ||
            !type_elements(v->type))
                return own;
        const struct value *x = op_operand(op, 0);
        double terms = (double)type_elements(x->type) / (double)type_elements(v->type);
        int count = 0;
        const int64_t *extents = window ? op_ints(op, "window", &count) : NULL;
        for (int i = 0; i < count; i++)
                terms = (i ? terms : 1) * (double)extents[i];
        const struct whole_range each = whole_range_of(x),
                                 sum = { terms * fmin(each.low, 0), terms * fmax(each.high, 0) };
        /* Else it wraps. */
        return sum.low >= own.low && sum.high <= own.high ? sum : own;
}

/* Returns the ranges of each output of a convolution or product; NULL: v is none with known
 * weights. */
static struct whole_range *ranges_of_products(struct arena *arena, const struct value *v,
                                              int64_t *count)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        bool contraction = op && (op->code == OP_convolve || op->code == OP_dot) &&
                           type_elements(op_operand(op, 1)->type);
        struct whole_range *known = contraction ? whole_ranges_of_sums(arena, op) : NULL;
        *count = known ? type_extent(op_operand(op, 1)->type, whole_outputs(op)) : 0;
        return known;
}

/* Returns the range of all outputs, as far as it does not wrap. */
static struct whole_range range_of_all(const struct value *v, const struct whole_range *known,
                                       int64_t count)
{
        const struct whole_range all = range_of_sum(v), within = known ? merged(known, count) : all;
        return within.low >= all.low && within.high <= all.high ? within : all;
}

struct whole_range requantize_range(const struct value *v)
{
        struct arena *arena = arena_new();
        int64_t count;
        const struct whole_range *known = ranges_of_products(arena, v, &count);
        const struct whole_range all = range_of_all(v, known, count);
        arena_free(arena);
        return all;
}

/* Returns the ranges of the sum without constants, for each of `count` numbers. */
static struct whole_range *ranges_of(struct arena *arena, const struct sequence *c, int64_t count)
{
        int64_t known_count;
        const struct whole_range *known = ranges_of_products(arena, c->sum, &known_count),
                                 all = range_of_all(c->sum, known, known_count);
        struct whole_range *ranges = arena_array(arena, (size_t)count, sizeof *ranges);
        int outputs = op_is(c->sum, OP_convolve) ? 1 : c->type->rank - 1;
        bool each = known && c->along == outputs && count == known_count;
        for (int64_t i = 0; i < count; i++)
                ranges[i] = each && known[i].low >= INT32_MIN && known[i].high <= INT32_MAX
                                    ? known[i]
                                    : all;
        return ranges;
}

/* Returns what is added to all sums at place i. */
static int64_t bias_at(const struct sequence *c, int64_t i)
{
        int64_t bias = 0;
        for (int k = 0; k < c->summand_count; k++) {
                int64_t number = spread_number(&c->summands[k], i).i;
                bias += c->less[k] ? -number : number;
        }
        return bias;
}

/* Finds the formula at place i. Returns false if it is not monotone. */
static bool formula_of(const struct sequence *c, int64_t i, struct formula *f)
{
        *f = (struct formula){ .bias = bias_at(c, i), .count = c->step_count, .low = c->low,
                               .high = c->high };
        for (int k = 0; k < f->count; k++) {
                int from = f->count - 1 - k;
                float number = c->codes[from] == OP_round
                                       ? 0
                                       : (float)spread_number(&c->steps[from], i).f;
                if (!isfinite(number) || (c->codes[from] == OP_div && number == 0))
                        return false;
                f->steps[k] = (struct formula_step){ c->codes[from], number };
        }
        return formula_is_finite(f);
}

/* Finds the ends of the bytes that any sum becomes, at any of `count` places: those of their type,
 * or of a bound. Returns false if there is no formula. */
static bool find_ends(struct sequence *c, int64_t count)
{
        const struct whole_range bytes =
                whole_range_of_element(c->type->element);
        int low = (int)bytes.high, high = (int)bytes.low;
        c->low = (int)bytes.low;
        c->high = (int)bytes.high;
        for (int64_t i = 0; i < count; i++) {
                struct formula f;
                if (!formula_of(c, i, &f))
                        return false;
                int ends[] = { formula_at(&f, INT32_MIN - f.bias),
                               formula_at(&f, INT32_MAX - f.bias) };
                for (int k = 0; k < 2; k++) {
                        low = ends[k] < low ? ends[k] : low;
                        high = ends[k] > high ? ends[k] : high;
                }
        }
        c->low = low;
        c->high = high;
        return true;
}

static struct thresholds *all_thresholds(struct arena *arena, const struct sequence *c,
                                         int64_t count)
{
        struct thresholds *t = arena_array(arena, (size_t)count, sizeof *t);
        const struct whole_range *ranges = ranges_of(arena, c, count);
        for (int64_t i = 0; i < count; i++) {
                struct formula f;
                if (!formula_of(c, i, &f) || ranges[i].low + (double)f.bias < INT32_MIN ||
                    ranges[i].high + (double)f.bias > INT32_MAX)
                        return NULL;
                thresholds_of(&f, (int64_t)ranges[i].low, (int64_t)ranges[i].high, &t[i]);
        }
        return t;
}

/* ---- the rewrite ---- */

static bool find_all(const struct thresholds *t, int64_t count, const struct form *form,
                     struct multiplier *found)
{
        for (int64_t i = 0; i < count; i++)
                if (!multiplier_find(&t[i], form, &found[i]))
                        return false;
        return true;
}

/* Finds the first form that is right for all, in order of preference: without `even`; then with one
 * `even` for all, as large as halves of f32 are off, with either sign, because the zero point may
 * be odd; then with an `even` for each output. Shifts by 32 cost nothing on small machines; larger
 * ones are more precise. */
static bool find_form(const struct thresholds *t, int64_t count, struct form *form,
                      struct multiplier *found)
{
        static const int shifts[] = { 32, 36, 38, 40, 44, 48, 28, 24, 20 };
        enum { SHIFTS = sizeof shifts / sizeof *shifts, WAYS = 4, HALVES = 18 };
        for (int k = 0; k < SHIFTS * WAYS; k++) {
                int shift = shifts[k % SHIFTS], way = k / SHIFTS;
                int64_t half = (INT64_C(1) << shift) >> HALVES;
                *form = (struct form){ shift, way == 1 ? half : way == 2 ? -half : 0, way == 3 };
                if (find_all(t, count, form, found))
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
        *form = (struct form){ SHIFT_MOST, 0, each };
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
 * false if there are none that are right but for one of 1,024 sums between the ends of the byte. */
static bool find_high(const struct thresholds *t, int64_t count, int *shift,
                      struct high_multiplier *found)
{
        enum { SHIFT_MOST = 52, SHIFT_LEAST = 32 };
        const double seldom = ldexp(1, -10);
        for (*shift = SHIFT_MOST; *shift >= SHIFT_LEAST; --*shift) {
                double wrong = 0, all = 0;
                bool there = true;
                for (int64_t i = 0; i < count && there; i++) {
                        int64_t off;
                        there = multiplier_high(&t[i], *shift, &found[i], &off);
                        wrong += there ? (double)off : 0;
                        all += sums_between(&t[i]);
                }
                if (there)
                        return wrong <= seldom * all;
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
                spread_build(b, c->type, c->along, E_I32, summands, count, "summand");
        bool none = true;
        for (int64_t i = 0; i < count; i++)
                none &= !summands[i];
        struct value *operands[] = {
                !summand ? NULL : none ? c->sum : build_binary(b, OP_add, c->sum, summand),
                spread_build(b, c->type, c->along, E_I32, m, count, "multiplier"),
                spread_build(b, c->type, c->along, E_I32, high, count, "high"),
                constant_number(b->m, sums, 0)
        };
        return requantized(b, c, operands, shift);
}

static struct value *multiplied(struct builder *b, const struct sequence *c,
                                const struct multiplier *found, int64_t count,
                                const struct form *form)
{
        struct arena *arena = b->m->arena;
        int32_t *m = arena_array(arena, (size_t)count, sizeof *m),
                *even = arena_array(arena, (size_t)count, sizeof *even);
        int64_t *offsets = arena_array(arena, (size_t)count, sizeof *offsets);
        for (int64_t i = 0; i < count; i++) {
                m[i] = found[i].m;
                even[i] = found[i].even;
                offsets[i] = found[i].b;
        }
        struct value *operands[] = {
                c->sum, spread_build(b, c->type, c->along, E_I32, m, count, "multiplier"),
                spread_build(b, c->type, c->along, E_I64, offsets, count, "offset"),
                spread_build(b, c->type, c->along, E_I32, even, count, "even")
        };
        return requantized(b, c, operands, form->shift);
}

static bool is_cheaper(const struct sequence *c, bool even, const struct pass_context *context)
{
        return bytes_cost_of_integers(even, context->target) <
               bytes_cost_of_floats(c->operations, context->target);
}

int requantize_sum(struct op *op, struct pass_context *context, bool always)
{
        struct sequence c;
        struct form form;
        if (!find_sequence(op, &c) || (!always && !is_cheaper(&c, false, context)))
                return 0;
        struct arena *arena = arena_new();
        int64_t count = c.along < 0 ? 1 : type_extent(c.type, c.along);
        const struct thresholds *t = find_ends(&c, count) ? all_thresholds(arena, &c, count) : NULL;
        if (!t && always) {             /* With its bias a sum may wrap, so the bias is added
                                         * before. */
                c.sum = c.total;
                c.summand_count = 0;
                t = find_ends(&c, count) ? all_thresholds(arena, &c, count) : NULL;
        }
        struct multiplier *found = arena_array(arena, (size_t)count, sizeof *found);
        struct high_multiplier *high = arena_array(arena, (size_t)count, sizeof *high);
        int shift;
        const bool in_words = t && always && find_high(t, count, &shift, high);
        bool there = !in_words && t &&
                     (find_form(t, count, &form, found) ||
                      (always && find_nearest(t, count, &form, found)));
        struct builder b = builder_before(op, context->diag);
        struct value *y = NULL;
        if (in_words)
                y = multiplied_high(&b, &c, high, count, shift);
        else if (there && (always || is_cheaper(&c, form.even || form.each, context)))
                y = multiplied(&b, &c, found, count, &form);
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
