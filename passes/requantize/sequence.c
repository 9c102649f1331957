/* SPDX-License-Identifier: MIT */
/* Finds sequences, what their sums can be, and the formulas and thresholds that follow. */
#include "passes/requantize/sequence.h"

#include <math.h>
#include <string.h>

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
        const char *data = constant_data(c);
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

/* Takes all constants off the total. */
static void take_summands(struct sequence *c)
{
        struct value *v = c->total, *next;
        while ((next = take_summand(c, v)))
                v = next;
        c->sum = v;
}

/* Finds the number of v for each element of what `like` spreads. */
static bool find_like(const struct value *v, const struct op *like, struct spread *s)
{
        int along = -1;
        if (value_is_splat(v, NULL))
                return spread_find(v, &along, s);
        if (!op_is(v, OP_broadcast) || !value_is_constant(op_operand(v->op, 0)))
                return false;
        const struct value *numbers = op_operand(v->op, 0), *other = op_operand(like, 0);
        int count;
        const int64_t *dims = op_ints(v->op, "dims", &count);
        if (!type_same_dims(numbers->type, other->type) ||
            memcmp(dims, op_ints(like, "dims", NULL), (size_t)count * sizeof *dims))
                return false;
        *s = (struct spread){ numbers->constant, 1 };
        return true;
}

/* Finds the numbers of a rescale that differ along several dimensions. */
static bool find_spread_wide(const struct op *op, struct sequence *c)
{
        for (int i = 1; i < 3 && !c->like; i++)
                if (op_is(op_operand(op, i), OP_broadcast) &&
                    type_is_static(op_operand(op_operand(op, i)->op, 0)->type))
                        c->like = op_operand(op, i)->op;
        if (!c->like || !find_like(op_operand(op, 1), c->like, &c->factor) ||
            !find_like(op_operand(op, 2), c->like, &c->exponent))
                return false;
        if (op_is(c->total, OP_add) &&
            find_like(op_operand(c->total->op, 1), c->like, &c->summands[0])) {
                c->summand_count = 1;
                c->sum = op_operand(c->total->op, 0);
        }
        return true;
}

int64_t sequence_places(const struct sequence *c)
{
        return c->like        ? type_elements(op_operand(c->like, 0)->type)
               : c->along < 0 ? 1
                              : type_extent(c->type, c->along);
}

static bool find_rescale(const struct op *op, struct sequence *c)
{
        *c = (struct sequence){ .along = -1, .type = op_result(op)->type, .rescale = op };
        if (element_info[c->type->element].bytes != 1 || !type_is_static(c->type) ||
            !type_elements(c->type))
                return false;
        const struct fixed f = fixed_of(op);
        c->low = (int)f.low;
        c->high = (int)f.high;
        c->sum = c->total = op_operand(op, 0);
        if (!spread_find(op_operand(op, 1), &c->along, &c->factor) ||
            !spread_find(op_operand(op, 2), &c->along, &c->exponent)) {
                c->along = -1;
                return find_spread_wide(op, c);
        }
        take_summands(c);
        return true;
}

bool sequence_find(const struct op *op, struct sequence *c)
{
        if (op->code == OP_rescale)
                return find_rescale(op, c);
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
        c->total = op_operand(v->op, 0);
        take_summands(c);
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

/* Returns how many products an output of a packed contraction is the sum of, at most; 0: op is
 * none. Each has its share of the panels, padding included. */
static double packed_products(const struct op *op)
{
        const struct type *w = op->code == OP_convolve_packed || op->code == OP_convolve_lanes
                                       ? op_operand(op, 1)->type
                                       : NULL;
        if (!w || !type_is_static(w))
                return 0;
        const int64_t outputs = op->code == OP_convolve_lanes
                                        ? type_extent(w, 0) * type_extent(w, w->rank - 1)
                                        : op_int(op, "outputs") * op_int(op, "groups");
        return ceil((double)type_elements(w) / (double)outputs);
}

/* Returns the range of sums without constants that a rescale takes. */
static struct whole_range range_of_packed(const struct value *v, struct whole_range all)
{
        const double products = v->kind == VALUE_RESULT ? packed_products(v->op) : 0;
        if (!products || !element_is_integer(op_operand(v->op, 0)->type->element))
                return all;
        const double most = products * whole_largest(whole_range_of(op_operand(v->op, 0))) *
                            whole_largest(whole_range_of(op_operand(v->op, 1)));
        return most <= all.high ? (struct whole_range){ -most, most } : all;
}

/* Returns the ranges of the sum without constants, for each of `count` numbers. */
static struct whole_range *ranges_of(struct arena *arena, const struct sequence *c, int64_t count)
{
        int64_t known_count;
        const struct whole_range *known = ranges_of_products(arena, c->sum, &known_count),
                                 range = range_of_all(c->sum, known, known_count),
                                 all = c->rescale ? range_of_packed(c->sum, range) : range;
        struct whole_range *ranges = arena_array(arena, (size_t)count, sizeof *ranges);
        int outputs = op_is(c->sum, OP_convolve) ? 1 : c->type->rank - 1;
        bool each = known && c->along == outputs && count == known_count;
        for (int64_t i = 0; i < count; i++)
                ranges[i] = each && known[i].low >= INT32_MIN && known[i].high <= INT32_MAX
                                    ? known[i]
                                    : all;
        return ranges;
}

int64_t sequence_bias(const struct sequence *c, int64_t i)
{
        int64_t bias = 0;
        for (int k = 0; k < c->summand_count; k++) {
                int64_t number = spread_number(&c->summands[k], i).i;
                bias += c->less[k] ? -number : number;
        }
        return bias;
}

bool sequence_formula(const struct sequence *c, int64_t i, struct formula *f)
{
        *f = (struct formula){ .bias = sequence_bias(c, i), .count = c->step_count, .low = c->low,
                               .high = c->high };
        if (c->rescale) {
                f->is_fixed = true;
                f->fixed = fixed_of(c->rescale);
                f->fixed.m = (int32_t)spread_number(&c->factor, i).i;
                f->fixed.e = fixed_exponent(spread_number(&c->exponent, i).i);
                return f->fixed.m >= 0;
        }
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

bool sequence_ends(struct sequence *c, int64_t count)
{
        if (c->rescale)
                return true;
        const struct whole_range bytes =
                whole_range_of_element(c->type->element);
        int low = (int)bytes.high, high = (int)bytes.low;
        c->low = (int)bytes.low;
        c->high = (int)bytes.high;
        for (int64_t i = 0; i < count; i++) {
                struct formula f;
                if (!sequence_formula(c, i, &f))
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

struct thresholds *sequence_thresholds(struct arena *arena, const struct sequence *c,
                                       int64_t count)
{
        struct thresholds *t = arena_array(arena, (size_t)count, sizeof *t);
        const struct whole_range *ranges = ranges_of(arena, c, count);
        for (int64_t i = 0; i < count; i++) {
                struct formula f;
                if (!sequence_formula(c, i, &f) || ranges[i].low + (double)f.bias < INT32_MIN ||
                    ranges[i].high + (double)f.bias > INT32_MAX)
                        return NULL;
                thresholds_of(&f, (int64_t)ranges[i].low, (int64_t)ranges[i].high, &t[i]);
        }
        return t;
}
