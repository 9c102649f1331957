/* SPDX-License-Identifier: MIT */
/* What becomes of bytes element by element, in floats between, by integers alone.
 *
 *   of one tensor     a table of 256
 *   of two            (x * a + y * b + x * y * k + c) >> shift, bounded: sums, differences and
 *                     products of decoded bytes are such a polynomial
 *
 * A table holds what the operations make, to the bit. For two, all 65,536 pairs are made so, and say
 * between which numbers c lies; where there is none for all of them (where f32 rounds to a half, or
 * halves go to even numbers) the one in the middle is taken, and no pair may be off by more than
 * one. */
#include <math.h>
#include <stdlib.h>

#include "passes/requantize/requantize.h"
#include "passes/simplify/tables.h"

enum { BYTES = 256 };

struct polynomial { bool known; double one, x, y, xy; };
/* the same in whole numbers, by 2^shift */
struct whole_polynomial { int64_t one, x, y, xy; int shift, low, high; };

/* ---- which polynomial it is ---- */

static struct polynomial product_of(struct polynomial a, struct polynomial b)
{
        bool x = a.x != 0 && b.x != 0, y = a.y != 0 && b.y != 0,
             more = (a.xy != 0 && (b.x != 0 || b.y != 0)) || (b.xy != 0 && (a.x != 0 || a.y != 0)) ||
                    (a.xy != 0 && b.xy != 0);
        return (struct polynomial){ .known = a.known && b.known && !x && !y && !more,
                                    .one = a.one * b.one,
                                    .x = a.one * b.x + a.x * b.one,
                                    .y = a.one * b.y + a.y * b.one,
                                    .xy = a.one * b.xy + a.xy * b.one + a.x * b.y + a.y * b.x };
}

/* a + b * by */
static struct polynomial sum_of(struct polynomial a, struct polynomial b, double by)
{
        return (struct polynomial){ a.known && b.known, a.one + by * b.one, a.x + by * b.x,
                                    a.y + by * b.y, a.xy + by * b.xy };
}

static bool is_number(struct polynomial p)
{
        return p.known && p.x == 0 && p.y == 0 && p.xy == 0;
}

/* of v, an operand of one of the mapping's operations, those before which are in `made` */
static struct polynomial operand_of(const struct mapping *m, const struct polynomial *made,
                                    const struct value *v)
{
        double number;
        for (int i = 0; i < m->source_count; i++)
                if (v == m->sources[i])
                        return (struct polynomial){ .known = true, .x = !i, .y = i };
        for (int i = 0; i < m->count; i++)
                if (v == op_result(m->ops[i]))
                        return made[i];
        if (value_is_splat(v, &number))
                return (struct polynomial){ .known = true, .one = number };
        return (struct polynomial){ .known = false };
}

/* between its bounds, and without its rounding */
static struct polynomial polynomial_of(const struct mapping *m)
{
        struct polynomial made[MAPPING_OPS];
        for (int i = 0; i < m->count; i++) {
                const struct op *op = m->ops[i];
                struct polynomial a = operand_of(m, made, op_operand(op, 0)), b = { .known = true };
                if (op->operand_count > 1)
                        b = operand_of(m, made, op_operand(op, 1));
                switch (op->code) {
                case OP_cast: case OP_round: made[i] = a; break;
                case OP_add: made[i] = sum_of(a, b, 1); break;
                case OP_sub: made[i] = sum_of(a, b, -1); break;
                case OP_mul: made[i] = product_of(a, b); break;
                case OP_div:
                        made[i] = sum_of((struct polynomial){ .known = is_number(b) && b.one != 0 },
                                         a, 1 / b.one);
                        break;
                case OP_max: case OP_min:
                        made[i] = is_number(b) ? a : b;
                        made[i].known &= is_number(a) || is_number(b);
                        break;
                default: made[i].known = false; break;
                }
                if (op->operand_count > 2)
                        made[i].known = false;
        }
        return made[m->count - 1];
}

/* ---- in whole numbers ---- */

/* the byte that is stored as i */
static int64_t byte_at(const struct value *source, int i)
{
        return source->type->element == E_I8 && i >= BYTES / 2 ? i - BYTES : i;
}

static int64_t value_at(const struct constant *table, int i)
{
        union scalar s = constant_element(table, i);
        return table->value.type->element == E_I8 ? (int64_t)s.i : (int64_t)s.u;
}

/* without what is added to all */
static int64_t terms_of(const struct whole_polynomial *p, int64_t x, int64_t y)
{
        return x * p->x + y * p->y + x * y * p->xy;
}

static int64_t bounded(const struct whole_polynomial *p, int64_t t)
{
        int64_t y = (t + p->one) >> p->shift;
        return y < p->low ? p->low : y > p->high ? p->high : y;
}

/* between which numbers what is added to all must lie, for the pairs to be what the table says */
static void find_offset(const struct mapping *m, const struct constant *table,
                        struct whole_polynomial *p)
{
        int64_t least = INT64_MIN / 4, most = INT64_MAX / 4;
        const int64_t unit = INT64_C(1) << p->shift;
        for (int i = 0; i < BYTES * BYTES; i++) {
                int64_t t = terms_of(p, byte_at(m->sources[0], i / BYTES),
                                     byte_at(m->sources[1], i % BYTES)),
                        v = value_at(table, i);
                if (v > p->low && v * unit - t > least)
                        least = v * unit - t;
                if (v < p->high && (v + 1) * unit - t - 1 < most)
                        most = (v + 1) * unit - t - 1;
        }
        p->one = least / 2 + most / 2;
}

/* false: a pair would be off by more than one */
static bool find_whole(const struct mapping *m, const struct constant *table,
                       struct whole_polynomial *p)
{
        enum { FACTOR_BITS = 31, SHIFT_MAX = 32, LEAST = 8 };
        const struct polynomial real = polynomial_of(m);
        double largest = fmax(fabs(real.x), fmax(fabs(real.y), fabs(real.xy)));
        int exponent = 0;
        if (!real.known || !(largest > 0) || !(largest < 1e6))
                return false;
        frexp(largest, &exponent);
        p->shift = FACTOR_BITS - exponent < SHIFT_MAX ? FACTOR_BITS - exponent : SHIFT_MAX;
        if (p->shift < LEAST)
                return false;
        p->x = llrint(ldexp(real.x, p->shift));
        p->y = llrint(ldexp(real.y, p->shift));
        p->xy = llrint(ldexp(real.xy, p->shift));
        p->low = p->high = (int)value_at(table, 0);
        for (int i = 0; i < BYTES * BYTES; i++) {
                int v = (int)value_at(table, i);
                p->low = v < p->low ? v : p->low;
                p->high = v > p->high ? v : p->high;
        }
        find_offset(m, table, p);
        for (int i = 0; i < BYTES * BYTES; i++) {
                int64_t t = terms_of(p, byte_at(m->sources[0], i / BYTES),
                                     byte_at(m->sources[1], i % BYTES));
                if (llabs(bounded(p, t) - value_at(table, i)) > 1)
                        return false;
        }
        return true;
}

/* ---- the rewrite ---- */

static struct value *long_number(struct builder *b, const struct type *like, int64_t number)
{
        return constant_splat(b->m, type_with_element(b->m, like, E_I64), &number);
}

static struct value *times(struct builder *b, struct value *x, int64_t factor)
{
        x = build_cast(b, x, E_I64);
        return x ? build_binary(b, OP_mul, x, long_number(b, x->type, factor)) : NULL;
}

static struct value *of_two(struct builder *b, const struct mapping *m,
                            const struct whole_polynomial *p)
{
        struct value *x = m->sources[0], *y = m->sources[1];
        const struct type *t = x->type;
        struct value *of_x = times(b, x, p->x), *of_y = times(b, y, p->y),
                     *sum = build_binary(b, OP_add, of_x, of_y);
        if (p->xy) {
                struct value *wide_x = build_cast(b, x, E_I32), *wide_y = build_cast(b, y, E_I32);
                sum = build_binary(b, OP_add, sum,
                                   times(b, build_binary(b, OP_mul, wide_x, wide_y), p->xy));
        }
        sum = build_binary(b, OP_add, sum, long_number(b, t, p->one));
        sum = build_cast(b, build_binary(b, OP_shr, sum, long_number(b, t, p->shift)), E_I32);
        if (!sum)
                return NULL;
        sum = build_binary(b, OP_max, sum, constant_number(b->m, sum->type, p->low));
        sum = build_binary(b, OP_min, sum, constant_number(b->m, sum->type, p->high));
        return build_cast(b, sum, (enum element)op_result(m->ops[m->count - 1])->type->element);
}

int requantize_bytes(struct op *op, struct pass_context *context)
{
        struct mapping m;
        struct whole_polynomial p = { 0 };
        struct builder b = builder_before(op, context->diag);
        struct value *table = mapping_find(&m, op, MAPPING_SOURCES)
                                      ? mapping_table(&b, &m, context)
                                      : NULL;
        if (!table || (m.source_count == 2 && !find_whole(&m, table->constant, &p)))
                return 0;
        if (m.source_count == 1)
                table->constant->name = "table";
        struct value *y = m.source_count == 1 ? build_gather(&b, table, m.sources[0], 0)
                                              : of_two(&b, &m, &p);
        if (!y)
                return -1;
        value_replace(op_result(op), y);
        op_erase(op);
        return 1;
}
