/* SPDX-License-Identifier: MIT */
/* Functions of bytes element by element, with floats between, by integers alone.
 *
 *   of one tensor     a table of 256 bytes
 *   of two            (x * a + y * b + x * y * k + c) >> shift, bounded: the polynomial that sums,
 *                     differences and products of decoded bytes are (simplify/formula.h)
 *
 * The polynomial is computed in i32 where factors of few bits, with which no sum overflows, give
 * all pairs the same byte; else in i64, with factors of 31 bits. (One of 1,024 pairs off by one
 * moves results of resnet8_int8 by four steps.)
 *
 * A table holds the results of the operations, to the bit. For two tensors, the results of all
 * 65,536 pairs are computed by the operations, which bounds c; where no c is right for all pairs
 * (where f32 rounds to a half, or halves go to even numbers), the middle of the bounds is taken,
 * and no pair may be off by more than one. */
#include <math.h>
#include <stdlib.h>

#include "passes/requantize/requantize.h"
#include "passes/simplify/formula.h"
#include "passes/simplify/tables.h"

/* The struct holds the polynomial in whole numbers, times 2^shift. */
struct whole_polynomial { int64_t one, x, y, xy; int shift, low, high; enum element sum; };

/* ---- in whole numbers ---- */

/* Returns the polynomial without its constant term. */
static int64_t terms_of(const struct whole_polynomial *p, int64_t x, int64_t y)
{
        return x * p->x + y * p->y + x * y * p->xy;
}

/* Returns the same for the i-th byte of x and the k-th of y. */
static int64_t terms_at(const struct formula *f, const struct whole_polynomial *p, int i, int k)
{
        return terms_of(p, formula_byte(&f->leaves[0], i), formula_byte(&f->leaves[1], k));
}

static int64_t bounded(const struct whole_polynomial *p, int64_t t)
{
        int64_t y = (t + p->one) >> p->shift;
        return y < p->low ? p->low : y > p->high ? p->high : y;
}

static int64_t wanted(const struct formula *f, int i, int k)
{
        return f->want[i][k] - (f->to == E_I8 ? BYTES / 2 : 0);
}

static void find_bounds(const struct formula *f, struct whole_polynomial *p)
{
        p->low = p->high = (int)wanted(f, 0, 0);
        for (int i = 0; i < BYTES; i++)
                for (int k = 0; k < BYTES; k++) {
                        int v = (int)wanted(f, i, k);
                        p->low = v < p->low ? v : p->low;
                        p->high = v > p->high ? v : p->high;
                }
}

/* Finds the bounds of the constant term with which all pairs give what is wanted, and takes their
 * middle. */
static void find_offset(const struct formula *f, struct whole_polynomial *p)
{
        int64_t least = INT64_MIN / 4, most = INT64_MAX / 4;
        const int64_t unit = INT64_C(1) << p->shift;
        for (int i = 0; i < BYTES; i++)
                for (int k = 0; k < BYTES; k++) {
                        int64_t t = terms_at(f, p, i, k), v = wanted(f, i, k);
                        if (v > p->low && v * unit - t > least)
                                least = v * unit - t;
                        if (v < p->high && (v + 1) * unit - t - 1 < most)
                                most = (v + 1) * unit - t - 1;
                }
        p->one = least / 2 + most / 2;
}

/* Returns how many pairs become another byte; -1: one is off by more than one. */
static int missed(const struct formula *f, const struct whole_polynomial *p)
{
        int count = 0;
        for (int i = 0; i < BYTES; i++)
                for (int k = 0; k < BYTES; k++) {
                        const int64_t off = bounded(p, terms_at(f, p, i, k)) - wanted(f, i, k);
                        if (llabs(off) > 1)
                                return -1;
                        count += off != 0;
                }
        return count;
}

/* Finds factors of so many bits, and what is added. Returns false where real numbers are too large
 * or too small for that. */
static bool find_factors(const struct formula *f, int bits, struct whole_polynomial *p)
{
        enum { SHIFT_MAX = 32, LEAST = 8 };
        const struct polynomial *real = &f->p;
        double largest = fmax(fabs(real->x), fmax(fabs(real->y), fabs(real->xy)));
        int exponent = 0;
        if (!(largest > 0) || !(largest < 1e6))
                return false;
        frexp(largest, &exponent);
        p->shift = bits - exponent < SHIFT_MAX ? bits - exponent : SHIFT_MAX;
        if (p->shift < LEAST)
                return false;
        p->x = llrint(ldexp(real->x, p->shift));
        p->y = llrint(ldexp(real->y, p->shift));
        p->xy = llrint(ldexp(real->xy, p->shift));
        find_bounds(f, p);
        find_offset(f, p);
        return true;
}

static int64_t largest_byte(const struct formula *f, int leaf)
{
        const int64_t first = llabs((int64_t)formula_byte(&f->leaves[leaf], 0)),
                      last = llabs((int64_t)formula_byte(&f->leaves[leaf], BYTES - 1));
        return first > last ? first : last;
}

/* Are all terms, and their sums in any order, numbers of i32? */
static bool is_short(const struct formula *f, const struct whole_polynomial *p)
{
        const int64_t x = largest_byte(f, 0), y = largest_byte(f, 1),
                      most = x * llabs(p->x) + y * llabs(p->y) + x * y * llabs(p->xy);
        return p->shift < 31 && most + llabs(p->one) <= INT32_MAX;
}

/* Finds a polynomial in whole numbers. Returns false if a pair would be off by more than one. */
static bool find_whole(const struct formula *f, struct whole_polynomial *p)
{
        enum { SHORT_BITS = 24, LONG_BITS = 31 };
        p->sum = E_I32;
        for (int bits = SHORT_BITS; find_factors(f, bits, p); bits--)
                if (is_short(f, p) && !missed(f, p))
                        return true;
        p->sum = E_I64;
        return find_factors(f, LONG_BITS, p) && missed(f, p) >= 0;
}

/* ---- the rewrite ---- */

static struct value *number_as(struct builder *b, const struct type *like, enum element e,
                               int64_t number)
{
        const int32_t few = (int32_t)number;
        return constant_splat(b->m, type_with_element(b->m, like, e),
                              e == E_I32 ? (const void *)&few : &number);
}

static struct value *times(struct builder *b, struct value *x, enum element e, int64_t factor)
{
        x = build_cast(b, x, e);
        return x ? build_binary(b, OP_mul, x, number_as(b, x->type, e, factor)) : NULL;
}

static struct value *of_two(struct builder *b, const struct formula *f,
                            const struct whole_polynomial *p)
{
        const enum element e = p->sum;
        struct value *of_x = times(b, formula_leaf(b, f, 0, e), e, p->x),
                     *of_y = times(b, formula_leaf(b, f, 1, e), e, p->y),
                     *sum = build_binary(b, OP_add, of_x, of_y);
        const struct type *t = f->root->type;
        if (p->xy) {
                struct value *x = formula_leaf(b, f, 0, E_I32), *y = formula_leaf(b, f, 1, E_I32);
                x = times(b, build_binary(b, OP_mul, x, y), e, p->xy);
                sum = build_binary(b, OP_add, sum, x);
        }
        sum = build_binary(b, OP_add, sum, number_as(b, t, e, p->one));
        sum = build_cast(b, build_binary(b, OP_shr, sum, number_as(b, t, e, p->shift)), E_I32);
        if (!sum)
                return NULL;
        sum = build_binary(b, OP_max, sum, constant_number(b->m, sum->type, p->low));
        sum = build_binary(b, OP_min, sum, constant_number(b->m, sum->type, p->high));
        return build_cast(b, sum, f->to);
}

/* Builds what op computes, in *y, which is NULL after an error. Returns false if op is no such
 * function. */
static bool of_one_tensor(struct builder *b, struct op *op, struct pass_context *context,
                          struct value **y)
{
        struct mapping m;
        struct value *table = mapping_find(&m, op) ? mapping_table(b, &m, context) : NULL;
        if (!table)
                return false;
        table->constant->name = "table";
        *y = build_gather(b, table, m.source, 0);
        return true;
}

static bool of_two_tensors(struct builder *b, struct op *op, struct value **y)
{
        struct formula f;
        struct whole_polynomial p;
        if (!formula_find(op, true, &f) || f.leaf_count != 2 || !type_is_static(f.root->type) ||
            !formula_find_bytes(&f) || !find_whole(&f, &p))
                return false;
        *y = of_two(b, &f, &p);
        return true;
}

int requantize_bytes(struct op *op, struct pass_context *context)
{
        struct builder b = builder_before(op, context->diag);
        struct value *y;
        if (!of_one_tensor(&b, op, context, &y) && !of_two_tensors(&b, op, &y))
                return 0;
        if (!y)
                return -1;
        value_replace(op_result(op), y);
        op_erase(op);
        return 1;
}
