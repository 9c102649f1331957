/* SPDX-License-Identifier: MIT */
/* Softmax of bytes, by integers alone.
 *
 *   x = q * s                                          d = q - max(q)                   -255 to 0
 *   e = exp(x - max(x))                        ->      e = table[d]                     exp(d * s) * 2^bits
 *   y = cast(round(e / sum(e) * k) + zero)             y = (e * k + sum(e) / 2) / sum(e) + zero
 *
 * Numbers are of i32, and of i64 where e is multiplied and divided; k has FRACTION bits behind the
 * point. `bits` is as large as a sum of all elements allows. A byte is off by one at most where
 * rows have no more than some ten thousand elements. An index that is negative counts from the end
 * of the table. */
#include <math.h>
#include <string.h>

#include "passes/requantize/requantize.h"
#include "passes/simplify/ranges.h"

enum { BYTES = 256, BITS = 24, FRACTION = 16, LENGTH_MAX = 1 << 14, SCALE_MAX = 1 << 14 };

struct softmax {
        struct value *whole;            /* The value is q, of i32. */
        struct op *largest, *sum, *spread;      /* The three are the two reductions, and the
                                                 * broadcast of the sum. */
        double step, scale, zero;       /* step is s, scale is k. */
        int64_t length;
};

/* Returns the operand that v, an operation `code`, has beside a splat; NULL: it is no such
 * operation. */
static struct value *other_than_number(struct value *v, enum opcode code, double *number)
{
        return op_is(v, code) && value_is_splat(op_operand(v->op, 1), number)
                       ? op_operand(v->op, 0)
                       : NULL;
}

/* Returns the reduction that v is spread from, or NULL. */
static struct op *spread_reduction(struct value *v, enum reducer kind, struct op **spread)
{
        if (!op_is(v, OP_broadcast))
                return NULL;
        *spread = v->op;
        v = op_operand(v->op, 0);
        return op_is(v, OP_reduce) && op_int(v->op, "kind") == (int64_t)kind ? v->op : NULL;
}

/* Returns e if v is e / sum(e), a quotient or a product by the reciprocal; else NULL. */
static struct value *find_shares(struct value *v, struct softmax *s)
{
        if (op_is(v, OP_div)) {
                s->sum = spread_reduction(op_operand(v->op, 1), REDUCE_sum, &s->spread);
                return s->sum ? op_operand(v->op, 0) : NULL;
        }
        for (int i = 0; i < 2 && op_is(v, OP_mul); i++) {
                struct value *inverse = op_operand(v->op, i);
                if (!op_is(inverse, OP_broadcast))
                        continue;
                s->spread = inverse->op;
                inverse = op_operand(inverse->op, 0);
                struct value *sum =
                        op_is(inverse, OP_reciprocal) ? op_operand(inverse->op, 0) : NULL;
                if (sum && op_is(sum, OP_reduce) && op_int(sum->op, "kind") == REDUCE_sum) {
                        s->sum = sum->op;
                        return op_operand(v->op, 1 - i);
                }
        }
        return NULL;
}

static bool same_axes(const struct op *a, const struct op *b)
{
        int64_t one[RANK_MAX], other[RANK_MAX];
        int count, more;
        return value_ints(op_operand(a, 1), one, RANK_MAX, &count) &&
               value_ints(op_operand(b, 1), other, RANK_MAX, &more) && count == more &&
               !memcmp(one, other, (size_t)count * sizeof *one);
}

static bool find_exponents(struct value *e, struct softmax *s)
{
        struct op *spread;
        struct value *difference = op_is(e, OP_exp) ? op_operand(e->op, 0) : NULL;
        if (!difference || !op_is(difference, OP_sub))
                return false;
        struct value *x = op_operand(difference->op, 0);
        s->largest = spread_reduction(op_operand(difference->op, 1), REDUCE_max, &spread);
        if (!s->largest || op_operand(s->largest, 0) != x || op_operand(s->sum, 0) != e ||
            !same_axes(s->largest, s->sum))
                return false;
        s->step = 1;
        struct value *decoded = other_than_number(x, OP_mul, &s->step);
        decoded = decoded ? decoded : x;
        s->whole = op_is(decoded, OP_cast) ? op_operand(decoded->op, 0) : NULL;
        if (!s->whole || !element_is_integer(s->whole->type->element) || !(s->step > 0))
                return false;
        const struct whole_range range = whole_range_of(s->whole);
        return range.high - range.low < BYTES && whole_largest(range) <= INT16_MAX;
}

static bool find_softmax(const struct op *op, struct softmax *s)
{
        const struct type *t = op_result(op)->type;
        struct value *v = op->code == OP_cast ? op_operand(op, 0) : NULL, *scaled;
        if (!v || !element_is_integer(t->element) || element_info[t->element].bytes != 1 ||
            !type_is_static(t) || !type_elements(t))
                return false;
        s->zero = 0;
        struct value *rounded = other_than_number(v, OP_add, &s->zero);
        rounded = rounded ? rounded : v;
        if (!op_is(rounded, OP_round))
                return false;
        v = op_operand(rounded->op, 0);
        if ((scaled = other_than_number(v, OP_div, &s->scale)))
                s->scale = 1 / s->scale;
        else
                scaled = other_than_number(v, OP_mul, &s->scale);
        struct value *e = scaled ? find_shares(scaled, s) : NULL;
        if (!e || !(s->scale > 0) || s->scale > SCALE_MAX || fabs(s->zero) > BYTES ||
            s->zero != rint(s->zero) || !find_exponents(e, s))
                return false;
        s->length = type_elements(t) / type_elements(op_result(s->sum)->type);
        return s->length <= LENGTH_MAX;
}

/* ---- the rewrite ---- */

static struct value *table_of(struct builder *b, const struct softmax *s)
{
        int32_t numbers[BYTES];
        int bits = BITS, room;
        frexp((double)s->length, &room);
        bits = bits + room > 30 ? 30 - room : bits;
        for (int i = 0; i < BYTES; i++)
                numbers[i] = (int32_t)rint(ldexp(exp(-s->step * ((BYTES - i) % BYTES)), bits));
        const int64_t bytes = BYTES;
        return constant_dense(b->m, type_static(b->m, E_I32, 1, &bytes),
                              arena_copy(b->m->arena, numbers, sizeof numbers), "exponentials");
}

/* Builds the same reduction as op, of x, and spreads it in the same way. */
static struct value *reduced(struct builder *b, const struct softmax *s, const struct op *op,
                             struct value *x)
{
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_COMPUTE);
        struct value *operands[] = { x, op_operand(op, 1) };
        struct value *y = value_build(b, OP_reduce, operands, 2, attrs,
                                      type_with_element(b->m, op_result(op)->type, E_I32));
        return y ? build_broadcast(b, y, x->type, op_ints(s->spread, "dims", NULL)) : NULL;
}

static struct value *with_number(struct builder *b, enum opcode code, struct value *x,
                                 int64_t number)
{
        return x ? build_binary(
                           b, code, x,
                           constant_splat(b->m, type_with_element(b->m, x->type, E_I64), &number))
                 : NULL;
}

static struct value *softmax_of(struct builder *b, const struct softmax *s, enum element to)
{
        const struct whole_range range = whole_range_of_element(to);
        struct value *q = build_cast(b, s->whole, E_I32), *largest = reduced(b, s, s->largest, q);
        struct value *e = build_gather(b, table_of(b, s), build_binary(b, OP_sub, q, largest), 0);
        struct value *sum = e ? build_cast(b, reduced(b, s, s->sum, e), E_I64) : NULL;
        if (!sum)
                return NULL;
        struct value *y = with_number(b, OP_mul, build_cast(b, e, E_I64),
                                      llrint(ldexp(s->scale, FRACTION)));
        y = build_binary(b, OP_add, y, with_number(b, OP_shl, sum, FRACTION - 1));
        y = build_binary(b, OP_div, y, with_number(b, OP_shl, sum, FRACTION));
        y = with_number(b, OP_add, y, (int64_t)s->zero);
        y = with_number(b, OP_max, y, (int64_t)range.low);
        y = with_number(b, OP_min, y, (int64_t)range.high);
        return build_cast(b, y, to);
}

int requantize_softmax(struct op *op, struct pass_context *context)
{
        struct softmax s;
        if (!find_softmax(op, &s))
                return 0;
        struct builder b = builder_before(op, context->diag);
        struct value *y = softmax_of(&b, &s, op_result(op)->type->element);
        if (!y)
                return -1;
        value_replace(op_result(op), y);
        op_erase(op);
        return 1;
}
