/* SPDX-License-Identifier: MIT */
/* Bytes that floats make of a line in several whole numbers (terms.h): finds what multiplies each,
 * and what is added, in the operations between. */
#include "passes/requantize/terms.h"

#include <math.h>

#include "passes/requantize/requantize.h"

enum { DEPTH = 12 };

/* ---- floats that are a line ---- */

/* Returns the operand beside a constant one, and the constant; *first: the constant is operand 0.
 * NULL: no operand is constant. */
static struct value *other_than_constant(struct terms *t, const struct op *op, struct spread *s,
                                         bool *first)
{
        for (int i = 1; i >= 0; i--)
                if (spread_find(op_operand(op, i), &t->along, s)) {
                        *first = !i;
                        return op_operand(op, 1 - i);
                }
        return NULL;
}

/* Returns the bytes from which a zero point is subtracted. */
static struct value *source_of(const struct op *cast, double *zero)
{
        struct value *x = op_operand(cast, 0), *bytes;
        *zero = 0;
        if (!op_is(x, OP_sub) || !op_is(op_operand(x->op, 0), OP_cast))
                return x;
        bytes = op_operand(op_operand(x->op, 0)->op, 0);
        return element_is_integer(bytes->type->element) &&
                               element_info[bytes->type->element].bytes == 1 &&
                               value_is_splat(op_operand(x->op, 1), zero)
                       ? bytes
                       : x;
}

static bool add_source(struct terms *t, const struct op *cast)
{
        int k = 0;
        double zero;
        struct value *x = source_of(cast, &zero);
        while (k < t->source_count && t->sources[k] != x)
                k++;
        if (k == TERMS_SOURCES || !element_is_integer(x->type->element) ||
            element_info[x->type->element].bytes > 4)
                return false;
        t->sources[k] = x;
        t->zeros[k] = zero;
        t->source_count = k == t->source_count ? k + 1 : t->source_count;
        return true;
}

/* Is v a line? Adds its sources, and finds the dimension along which its constants differ. */
static bool find_sources(struct terms *t, struct value *v, int depth)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        struct spread s;
        bool first;
        if (!op || depth == DEPTH || v->type->element != E_F32)
                return false;
        if (op->code == OP_cast)
                return add_source(t, op);
        if (op->code != OP_add && op->code != OP_sub && op->code != OP_mul && op->code != OP_div)
                return false;
        struct value *x = other_than_constant(t, op, &s, &first);
        if (x)
                return !(op->code == OP_div && first) && find_sources(t, x, depth + 1);
        return (op->code == OP_add || op->code == OP_sub) &&
               find_sources(t, op_operand(op, 0), depth + 1) &&
               find_sources(t, op_operand(op, 1), depth + 1);
}

/* Returns a * x + b * y. */
static struct line combined(double a, struct line x, double b, struct line y)
{
        x.one = a * x.one + b * y.one;
        for (int k = 0; k < TERMS_SOURCES; k++)
                x.of[k] = a * x.of[k] + b * y.of[k];
        return x;
}

/* Returns the line that v is, with the sources that find_sources found, at place i. */
static struct line line_of(struct terms *t, struct value *v, int64_t i)
{
        const struct op *op = v->op;
        struct line line = { 0 };
        struct spread s;
        bool first;
        if (op->code == OP_cast) {
                double zero;
                const struct value *source = source_of(op, &zero);
                for (int k = 0; k < t->source_count; k++)
                        line.of[k] = t->sources[k] == source;
                line.one = -zero;
                return line;
        }
        struct value *x = other_than_constant(t, op, &s, &first);
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
        default:
                return first ? combined(sign, rest, 1, constant)
                             : combined(1, rest, sign, constant);
        }
}

/* ---- between it and the byte ---- */

/* The byte is bound(round(factor * line + t->zero)). */
struct ending {
        struct value *line;
        double factor;
};

/* Takes off the conversion to bytes, and the bounds before it, which are numbers of the byte's. */
static bool find_ending(struct terms *t, const struct op *op, struct ending *e)
{
        const struct whole_range bytes = whole_range_of_element(t->type->element);
        struct value *v = op_operand(op, 0);
        *e = (struct ending){ .factor = 1 };
        t->low = bytes.low;
        t->high = bytes.high;
        if (op_is(v, OP_add) && value_is_splat(op_operand(v->op, 1), &t->zero))
                v = op_operand(v->op, 0);
        if (!op_is(v, OP_round) || t->zero != rint(t->zero) || fabs(t->zero) > INT16_MAX)
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
                        t->low = fmax(t->low, rint(number * e->factor) + t->zero);
                else if (code == OP_min)
                        t->high = fmin(t->high, rint(number * e->factor) + t->zero);
                else
                        break;
        }
        e->line = v;
        return t->low <= t->high;
}

bool terms_find(struct arena *arena, const struct op *op, struct terms *t)
{
        struct ending e;
        *t = (struct terms){ .along = -1 };
        if (op->code != OP_cast) /* A yield has no result. */
                return false;
        t->type = op_result(op)->type;
        const enum element to = t->type->element;
        if (!element_is_integer(to) || element_info[to].bytes != 1 || !type_is_static(t->type) ||
            !type_elements(t->type) || !find_ending(t, op, &e) || !find_sources(t, e.line, 0))
                return false;
        t->places = t->along < 0 ? 1 : type_extent(t->type, t->along);
        t->lines = arena_array(arena, (size_t)t->places, sizeof *t->lines);
        const struct line zero = { .one = t->zero };
        for (int64_t i = 0; i < t->places; i++)
                t->lines[i] = combined(e.factor, line_of(t, e.line, i), 1, zero);
        return true;
}

struct value *terms_byte(struct builder *b, const struct terms *t, struct value *whole)
{
        struct value *y = whole;
        if (y)
                y = build_binary(b, OP_max, y, constant_number(b->m, y->type, t->low));
        if (y)
                y = build_binary(b, OP_min, y, constant_number(b->m, y->type, t->high));
        return y ? build_cast(b, y, t->type->element) : NULL;
}
