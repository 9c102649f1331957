/* Bytes of several whole numbers that floats scale and add up, by integers alone.
 *
 *   y = cast(round(bound((cast(s) * @a + @b + cast(q) * c) / d)) + zero)
 *     ->
 *   y = cast(bound((i64(s) * @A + i64(q) * C + @B) >> shift))
 *
 * s is the sum of a layer, q bytes of another branch. Factors and what is added may differ along one
 * dimension. In exact numbers the first is a line in each of s and q; A, C and B are its factors by
 * 2^shift, the zero point and a half in B. Where the sum is within 2^-5 of a half a byte may be the one
 * beside; halves go up. Factors have 31 bits, or more where that is too few for it; no sum there can be
 * overflows 64. */
#include <math.h>

#include "passes/requantize/requantize.h"
#include "passes/simplify/ranges.h"

enum { SOURCES = 4, DEPTH = 12, SHIFT_MOST = 48, SHIFT_LEAST = 1, NEAR = 5, WIDE = 61 };

struct terms {
        const struct type *type;
        struct value *sources[SOURCES];         /* of integers */
        double sizes[SOURCES];                  /* the largest magnitude of each */
        int source_count, along;
};

/* what is added, and the factor of each source, at one place of the dimension */
struct line { double one, of[SOURCES]; };

/* ---- floats that are a line ---- */

/* Where one operand is constant: the other, and the constant; *first: that is operand 0. */
static struct value *beside_constant(struct terms *t, const struct op *op, struct spread *s, bool *first)
{
        for (int i = 1; i >= 0; i--)
                if (spread_find(op_operand(op, i), &t->along, s)) {
                        *first = !i;
                        return op_operand(op, 1 - i);
                }
        return NULL;
}

static bool add_source(struct terms *t, struct value *x)
{
        int k = 0;
        while (k < t->source_count && t->sources[k] != x)
                k++;
        if (k == SOURCES || !element_is_integer(x->type->element) ||
            element_info[x->type->element].bytes > 4)
                return false;
        t->sources[k] = x;
        t->source_count = k == t->source_count ? k + 1 : t->source_count;
        return true;
}

/* v is a line: its sources, and along which dimension its constants differ */
static bool find_sources(struct terms *t, struct value *v, int depth)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        struct spread s;
        bool first;
        if (!op || depth == DEPTH || v->type->element != E_F32)
                return false;
        if (op->code == OP_cast)
                return add_source(t, op_operand(op, 0));
        if (op->code != OP_add && op->code != OP_sub && op->code != OP_mul && op->code != OP_div)
                return false;
        struct value *x = beside_constant(t, op, &s, &first);
        if (x)
                return !(op->code == OP_div && first) && find_sources(t, x, depth + 1);
        return (op->code == OP_add || op->code == OP_sub) &&
               find_sources(t, op_operand(op, 0), depth + 1) &&
               find_sources(t, op_operand(op, 1), depth + 1);
}

/* a * x + b * y */
static struct line combined(double a, struct line x, double b, struct line y)
{
        x.one = a * x.one + b * y.one;
        for (int k = 0; k < SOURCES; k++)
                x.of[k] = a * x.of[k] + b * y.of[k];
        return x;
}

/* of what find_sources found, at place i */
static struct line line_of(struct terms *t, struct value *v, int64_t i)
{
        const struct op *op = v->op;
        struct line line = { 0 };
        struct spread s;
        bool first;
        if (op->code == OP_cast) {
                for (int k = 0; k < t->source_count; k++)
                        line.of[k] = t->sources[k] == op_operand(op, 0);
                return line;
        }
        struct value *x = beside_constant(t, op, &s, &first);
        double sign = op->code == OP_sub ? -1 : 1;
        if (!x) {
                const struct line left = line_of(t, op_operand(op, 0), i),
                                  right = line_of(t, op_operand(op, 1), i);
                return combined(1, left, sign, right);
        }
        double number = (double)spread_number(&s, i).f;
        const struct line rest = line_of(t, x, i), constant = { .one = number };
        switch (op->code) {
        case OP_mul: return combined(number, rest, 0, line);
        case OP_div: return combined(1 / number, rest, 0, line);
        default: return first ? combined(sign, rest, 1, constant) : combined(1, rest, sign, constant);
        }
}

/* ---- between it and the byte ---- */

/* the byte is bound(round(factor * line) + zero) */
struct ending { struct value *line; double factor, zero, low, high; };

/* takes the conversion to bytes off, and the bounds before it, which are numbers of the byte's */
static bool find_ending(const struct op *op, struct ending *e)
{
        const struct whole_range bytes =
                whole_range_of_element((enum element)op_result(op)->type->element);
        struct value *v = op_operand(op, 0);
        *e = (struct ending){ .factor = 1, .low = bytes.low, .high = bytes.high };
        if (op_is(v, OP_add) && value_is_splat(op_operand(v->op, 1), &e->zero))
                v = op_operand(v->op, 0);
        if (!op_is(v, OP_round) || e->zero != rint(e->zero) || fabs(e->zero) > INT16_MAX)
                return false;
        v = op_operand(v->op, 0);
        double number;
        for (; v->kind == VALUE_RESULT && v->op->operand_count == 2; v = op_operand(v->op, 0)) {
                enum opcode code = v->op->code;
                if (!value_is_splat(op_operand(v->op, 1), &number) || !isfinite(number))
                        break;
                if (code == OP_div && number > 0)
                        e->factor /= number;
                else if (code == OP_mul && number > 0)
                        e->factor *= number;
                else if (code == OP_max)
                        e->low = fmax(e->low, rint(number * e->factor) + e->zero);
                else if (code == OP_min)
                        e->high = fmin(e->high, rint(number * e->factor) + e->zero);
                else
                        break;
        }
        e->line = v;
        return e->low <= e->high;
}

/* ---- in whole numbers ---- */

struct whole_terms {
        int shift;
        int64_t *of[SOURCES], *one;     /* at each place */
};

/* numbers of so many bits beside the sign, precise enough, with w's shift; false: they do not fit */
static bool scale_lines(const struct terms *t, const struct ending *e, const struct line *lines,
                        int64_t count, int bits, struct whole_terms *w)
{
        double doubt = 0;
        for (int k = 0; k < t->source_count; k++)
                doubt += ldexp(t->sizes[k], -w->shift - 1);
        for (int64_t i = 0; i < count; i++) {
                double one = ldexp(lines[i].one * e->factor + e->zero + 0.5, w->shift), all = fabs(one);
                for (int k = 0; k < t->source_count; k++) {
                        double of = rint(ldexp(lines[i].of[k] * e->factor, w->shift));
                        if (!(fabs(of) < ldexp(1, bits)))
                                return false;
                        w->of[k][i] = (int64_t)of;
                        all += fabs(of) * t->sizes[k];
                }
                if (!(all < ldexp(1, WIDE)))
                        return false;
                w->one[i] = (int64_t)rint(one);
        }
        return doubt < ldexp(1, -NEAR);
}

/* the most precise factors of 31 bits; where those do not do, the shortest that do */
static bool find_whole(const struct terms *t, const struct ending *e, const struct line *lines,
                       int64_t count, struct whole_terms *w)
{
        for (w->shift = SHIFT_MOST; w->shift >= SHIFT_LEAST; w->shift--)
                if (scale_lines(t, e, lines, count, 31, w))
                        return true;
        while (++w->shift <= SHIFT_MOST)
                if (scale_lines(t, e, lines, count, 63, w))
                        return true;
        return false;
}

static struct value *sum_of_terms(struct builder *b, const struct terms *t,
                                  const struct whole_terms *w, int64_t count)
{
        struct value *sum = spread_build(b, t->type, t->along, E_I64, w->one, count, "offset");
        for (int k = 0; k < t->source_count; k++) {
                struct value *x = build_cast(b, t->sources[k], E_I64),
                             *factor = spread_build(b, t->type, t->along, E_I64, w->of[k], count,
                                                    "factor");
                x = build_binary(b, OP_mul, x, factor);
                sum = build_binary(b, OP_add, x, sum);
        }
        return sum;
}

static struct value *byte_of(struct builder *b, const struct ending *e, struct value *sum, int shift,
                             enum element to)
{
        if (!sum)
                return NULL;
        struct value *y = build_binary(b, OP_shr, sum, constant_number(b->m, sum->type, shift));
        if (y)
                y = build_binary(b, OP_max, y, constant_number(b->m, y->type, e->low));
        if (y)
                y = build_binary(b, OP_min, y, constant_number(b->m, y->type, e->high));
        return y ? build_cast(b, y, to) : NULL;
}

static bool find_terms(const struct op *op, struct terms *t, struct ending *e)
{
        *t = (struct terms){ .along = -1 };
        if (op->code != OP_cast)        /* a yield has no result */
                return false;
        t->type = op_result(op)->type;
        const enum element to = (enum element)t->type->element;
        return element_is_integer(to) && element_info[to].bytes == 1 && type_is_static(t->type) &&
               type_elements(t->type) && find_ending(op, e) && find_sources(t, e->line, 0);
}

int requantize_terms(struct op *op, struct pass_context *context)
{
        struct terms t;
        struct ending e;
        if (!find_terms(op, &t, &e))
                return 0;
        struct arena *arena = arena_new();
        const int64_t count = t.along < 0 ? 1 : t.type->dims[t.along];
        struct whole_terms w = { .one = arena_array(arena, (size_t)count, sizeof *w.one) };
        struct line *lines = arena_array(arena, (size_t)count, sizeof *lines);
        for (int64_t i = 0; i < count; i++)
                lines[i] = line_of(&t, e.line, i);
        for (int k = 0; k < t.source_count; k++) {
                w.of[k] = arena_array(arena, (size_t)count, sizeof *w.of[k]);
                t.sizes[k] = whole_largest(requantize_range(t.sources[k]));
        }
        struct builder b = builder_before(op, context->diag);
        struct value *y = NULL;
        if (find_whole(&t, &e, lines, count, &w))
                y = byte_of(&b, &e, sum_of_terms(&b, &t, &w, count), w.shift,
                            (enum element)t.type->element);
        arena_free(arena);
        if (!y)
                return context->diag->code ? -1 : 0;
        value_replace(op_result(op), y);
        op_erase(op);
        return 1;
}
