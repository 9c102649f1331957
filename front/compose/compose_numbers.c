/* SPDX-License-Identifier: MIT */
/* Texts as numbers, and numbers as texts. Texts are rows of bytes here, [texts, width]; what is
 * found out of each is a column, [texts, 1]. */
#include "front/compose/compose_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"
#include "front/compose/compose_window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the sums of rows, as columns. */
static struct value *sum(struct compose *c, struct value *x)
{
        const int64_t last = 1;
        if (!x)
                return NULL;
        const dim_t column[2] = { x->type->dims[0], dim_of(1) };
        return compose_reshape(c, compose_reduce(c, REDUCE_sum, x, &last, 1, E_COMPUTE), 2, column);
}

/* Returns for each place of a row how many flags hold up to it. */
static struct value *count_to(struct compose *c, struct value *flags)
{
        flags = compose_cast(c, flags, E_I32);
        return flags ? compose_cumulate(c, flags, REDUCE_sum, 1, false, false) : NULL;
}

static struct value *count(struct compose *c, struct value *flags)
{
        return sum(c, compose_cast(c, flags, E_I32));
}

/* Returns the flags of a row before the first that does not hold. */
static struct value *run(struct compose *c, struct value *flags)
{
        return compose_with(c, OP_eq, count_to(c, inverse(c, flags)), 0);
}

/* Returns the bytes from `start` on, a column, and zeros behind them. */
static struct value *from(struct compose *c, struct value *x, struct value *start)
{
        if (!x || !start)
                return NULL;
        const double last = (double)value_extent(x, 1) - 1;
        struct value *at = build_iota(c->b, type_with_element(c->m, x->type, E_I32), 1);
        at = add(c, at, start);
        struct value *inside = compose_with(c, OP_le, at, last);
        at = compose_with(c, OP_min, at, last);
        struct value *found = at ? compose_gather_elements(c, x, at, 1) : NULL;
        return found ? compose_select(c, inside, found, build_like(c->b, found, 0)) : NULL;
}

/* Returns byte i of each row. */
static struct value *byte_at(struct compose *c, struct value *x, int64_t i)
{
        return x && i < value_extent(x, 1) ? compose_part(c, x, 1, i, 1)
               : x                         ? build_like(c->b, compose_part(c, x, 1, 0, 1), 0)
                                           : NULL;
}

/* Returns whether rows begin with the word. */
static struct value *begins(struct compose *c, struct value *x, const char *word)
{
        struct value *all = NULL;
        for (int64_t i = 0; word[i]; i++) {
                struct value *same =
                        compose_with(c, OP_eq, byte_at(c, x, i), (double)(unsigned char)word[i]);
                all = all ? both(c, all, same) : same;
        }
        return all;
}

static struct value *is_digit(struct compose *c, struct value *x)
{
        struct value *above = compose_with(c, OP_ge, x, '0');
        return both(c, above, compose_with(c, OP_le, x, '9'));
}

/* Returns the digits of x as numbers of that element where the flags hold, else 0. */
static struct value *digits_of(struct compose *c, struct value *x, struct value *flags,
                               enum element e)
{
        struct value *digit = compose_with(c, OP_sub, compose_cast(c, x, e), '0');
        return digit ? compose_select(c, flags, digit, build_like(c->b, digit, 0)) : NULL;
}

/* Returns 10 to the powers 0 to `most`, in f64 or u64. */
static struct value *powers(struct compose *c, enum element e, int64_t most)
{
        const size_t entries = (size_t)most + 1;
        double *reals = constant_room(c->m, entries * sizeof *reals);
        uint64_t *numbers = (uint64_t *)(void *)reals;
        uint64_t power = 1;
        for (size_t k = 0; k < entries; k++, power *= 10) {
                char text[32];
                snprintf(text, sizeof text, "1e%zu", k);
                if (e == E_F64)
                        reals[k] = strtod(text, NULL);    /* It is rounded once. */
                else
                        numbers[k] = power;
        }
        return constant_dense(c->m,
                              type_tensor(c->m, e, 1, (const dim_t[]){ dim_of((int64_t)entries) }),
                              reals, NULL);
}

/* Returns the sum of digits times 10 to the powers `of`, i32, of which negative ones do not count.
 * In u64, powers above 19 wrap. */
static struct value *weighed(struct compose *c, struct value *digits, struct value *of,
                             int64_t most)
{
        if (!digits || !of)
                return NULL;
        struct value *there = compose_with(c, OP_ne, digits, 0);
        there = both(c, there, compose_with(c, OP_ge, of, 0));
        struct value *table = powers(c, value_element(digits), most);
        of = clamp(c, of, 0, (double)most);
        struct value *power = table && of ? build_gather(c->b, table, of, 0) : NULL;
        struct value *product = mul(c, digits, power);
        product = product ? compose_select(c, there, product, build_like(c->b, product, 0)) : NULL;
        return sum(c, product);
}

/* A number begins behind white space, and may have a sign. */
struct signed_text {
        struct value *rest, *negative;
};

static bool sign_read(struct compose *c, struct value *x, bool spaces, struct signed_text *t)
{
        if (spaces) {
                struct value *space = compose_with(c, OP_ge, x, '\t');
                space = both(c, space, compose_with(c, OP_le, x, '\r'));
                space = either(c, space, compose_with(c, OP_eq, x, ' '));
                x = from(c, x, count(c, run(c, space)));
        }
        struct value *sign = byte_at(c, x, 0);
        t->negative = compose_with(c, OP_eq, sign, '-');
        struct value *there = either(c, t->negative, compose_with(c, OP_eq, sign, '+'));
        t->rest = from(c, x, compose_cast(c, there, E_I32));
        return t->rest && t->negative;
}

/* Returns x of one column, where a run ends with INDEX unless each of the flags holds. */
static struct value *checked(struct compose *c, struct value *x, struct value *flags)
{
        struct value *all = flags ? compose_reduce(c, REDUCE_min, flags, (const int64_t[]){ 0, 1 },
                                                   2, E_COMPUTE)
                                  : NULL;
        return x && all ? compose_checked(c, x, all) : NULL;
}

/* Returns rows of texts as integers, i64 or u64. */
static struct value *integers(struct compose *c, struct value *x, bool is_signed)
{
        enum { POWER_MOST = 19 };       /* 10 to it is less than 2 to the 64. */
        const int64_t width = value_extent(x, 1);
        struct signed_text t;

        if (!sign_read(c, x, true, &t))
                return NULL;
        struct value *digit = run(c, is_digit(c, t.rest));
        struct value *digits = count(c, digit);
        struct value *of = build_iota(c->b, type_with_element(c->m, x->type, E_I32), 1);
        of = sub(c, plus(c, digits, -1), of);
        struct value *exact = weighed(c, digits_of(c, t.rest, digit, E_U64), of, POWER_MOST);
        /* What is about this large tells whether the exact sum has wrapped. */
        struct value *about = weighed(c, digits_of(c, t.rest, digit, E_F64), of, width);
        struct value *good = compose_with(c, OP_ge, digits, 1);
        if (is_signed) {
                struct value *most = compose_cast(c, t.negative, E_U64);
                most = plus(c, most, (double)INT64_MAX);  /* It is 2 to the 63. */
                most = compose_with(c, OP_sub, most, 1);
                good = both(c, good, compose_with(c, OP_lt, about, 9.3e18));
                good = both(c, good, compose_binary(c, OP_le, exact, most));
        } else {
                struct value *large = compose_with(c, OP_ge, exact, 1e19);
                large = both(c, large, compose_with(c, OP_lt, about, 1.9e19));
                good = both(c, good, either(c, large, compose_with(c, OP_lt, about, 1.8e19)));
        }
        struct value *other = exact ? sub(c, build_like(c->b, exact, 0), exact) : NULL;
        struct value *y = checked(c, compose_select(c, t.negative, other, exact), good);
        return is_signed && y ? compose_as_bits(c, y, E_I64) : y;
}

/* What stands in front of an exponent, as significand times 10 to `power`, i64 and i32. */
struct significand {
        struct value *number, *power, *digits, *length;
};

static bool significand_read(struct compose *c, struct value *x, struct significand *s)
{
        enum { DIGITS_MOST = 18 };      /* Further ones do not change the sum in f64. */
        struct value *dot = compose_with(c, OP_eq, x, '.');
        struct value *digit = is_digit(c, x);
        struct value *part = run(c, either(c, digit, dot));
        struct value *dots = count_to(c, both(c, dot, part));
        part = both(c, part, compose_with(c, OP_le, dots, 1));
        digit = both(c, digit, part);
        s->length = count(c, part);
        s->digits = count(c, digit);
        struct value *whole = count(c, both(c, digit, compose_with(c, OP_eq, dots, 0)));
        struct value *nonzero = both(c, digit, compose_with(c, OP_ne, x, '0'));
        struct value *after = compose_with(c, OP_gt, count_to(c, nonzero), 0);
        struct value *counts = both(c, digit, after);
        struct value *place = count_to(c, counts), *all = count(c, counts);
        struct value *used = compose_with(c, OP_min, all, DIGITS_MOST);
        place = sub(c, used, place);
        s->number = weighed(c, digits_of(c, x, counts, E_U64), place, DIGITS_MOST);
        /* The digits that do not count lie in front; the first place behind the point is -1. */
        struct value *front = sub(c, s->digits, all);
        s->power = sub(c, sub(c, whole, front), used);
        return s->number && s->power && s->length;
}

/* Returns the exponent that x begins with, i32, or 0 where it begins with none. */
static struct value *exponent(struct compose *c, struct value *x)
{
        const double most = 9999;
        struct value *letter = compose_with(c, OP_or, byte_at(c, x, 0), 'a' - 'A');
        struct signed_text t;

        struct value *one = letter ? build_like(c->b, compose_cast(c, letter, E_I32), 1) : NULL;
        if (!sign_read(c, from(c, x, one), false, &t))
                return NULL;
        struct value *digit = run(c, is_digit(c, t.rest)), *digits = count(c, digit);
        struct value *of = build_iota(c->b, type_with_element(c->m, x->type, E_I32), 1);
        of = sub(c, plus(c, digits, -1), of);
        struct value *y = weighed(c, digits_of(c, t.rest, digit, E_F64), of, value_extent(x, 1));
        y = compose_cast(c, compose_with(c, OP_min, y, most), E_I32);
        y = compose_select(c, t.negative, compose_unary(c, OP_neg, y), y);
        struct value *is = compose_with(c, OP_eq, letter, 'e');
        return y ? compose_select(c, is, y, build_like(c->b, y, 0)) : NULL;
}

/* Returns x times 10 to the power, which is bounded. */
static struct value *scaled(struct compose *c, struct value *x, struct value *power)
{
        enum { STEP = 300 };            /* Two steps reach from the largest number to the least. */
        struct value *table = powers(c, E_F64, STEP);
        for (int i = 0; i < 2 && x && power; i++) {
                struct value *part = clamp(c, power, -STEP, STEP);
                power = sub(c, power, part);
                struct value *up = compose_with(c, OP_max, part, 0);
                struct value *down = compose_with(c, OP_max, compose_unary(c, OP_neg, part), 0);
                if (!up || !down)
                        return NULL;
                /* A quotient is rounded once, a product by a rounded power twice. */
                x = mul(c, x, build_gather(c->b, table, up, 0));
                x = divide(c, x, build_gather(c->b, table, down, 0));
        }
        return x;
}

/* Returns rows of texts as f64. */
static struct value *reals(struct compose *c, struct value *x)
{
        struct signed_text t;
        struct significand s;

        if (!sign_read(c, x, true, &t) || !significand_read(c, t.rest, &s))
                return NULL;
        struct value *power = add(c, s.power, exponent(c, from(c, t.rest, s.length)));
        power = clamp(c, power, -600, 600);
        struct value *y = scaled(c, compose_cast(c, s.number, E_F64), power);
        struct value *small = compose_with(c, OP_or, t.rest, 'a' - 'A');
        struct value *nan = begins(c, small, "nan"), *inf = begins(c, small, "inf");
        struct value *good = compose_with(c, OP_ge, s.digits, 1);
        good = both(c, good, compose_with(c, OP_lt, y, INFINITY));
        good = both(c, good, inverse(c, begins(c, small, "0x")));     /* It is not read. */
        good = either(c, good, either(c, nan, inf));
        y = compose_select(c, inf, build_scalar(c->b, E_F64, INFINITY), y);
        y = compose_select(c, t.negative, compose_unary(c, OP_neg, y), y);
        y = compose_select(c, nan, build_scalar(c->b, E_F64, (double)NAN), y);
        return checked(c, y, good);
}

struct value *compose_texts_numbers(struct compose *c, struct value *x, enum element to)
{
        if (!x)
                return NULL;
        const int rank = value_rank(x);
        const int64_t width = compose_texts_width(x);
        const bool is_signed =
                element_is_integer(to) && element_info[to].class != CLASS_UINT && to != E_BOOL;
        struct value *rows = compose_reshape(
                c, x, 2, (const dim_t[]){ dim_of(type_elements(x->type) / width), dim_of(width) });
        struct value *y = !rows                  ? NULL
                          : element_is_float(to) ? reals(c, rows)
                                                 : integers(c, rows, is_signed);
        y = to == E_BOOL ? compose_with(c, OP_ne, y, 0) : compose_cast(c, y, to);
        return compose_reshape(c, y, rank - 1, x->type->dims);
}

struct value *compose_texts_of_integers(struct compose *c, struct value *x)
{
        if (x && value_element(x) == E_BOOL)
                x = compose_cast(c, x, E_U8);
        if (!x)
                return NULL;
        const enum element e = value_element(x);
        const bool is_signed = element_info[e].class != CLASS_UINT;
        const int64_t bits = 8 * element_info[e].bytes, rows = type_elements(x->type);
        /* So many digits has the largest number: 3, 5, 10, 19 or 20. */
        const int64_t most = bits == 64 ? 20 - is_signed : (bits * 3 + 9) / 10;
        const int rank = value_rank(x);
        dim_t dims[RANK_MAX], all[2] = { dim_of(rows), dim_of(most + is_signed) };

        if (rank >= RANK_MAX) {
                compose_unsupported(c, "texts of rank %d", rank + 1);
                return NULL;
        }
        const struct type *bytes = compose_type(c, E_U8, 2, all);
        if (!bytes)
                return NULL;
        struct value *wide = compose_reshape(c, x, 2, (const dim_t[]){ dim_of(rows), dim_of(1) });
        struct value *negative = is_signed ? compose_with(c, OP_lt, wide, 0) : NULL;
        wide = compose_cast(c, wide, is_signed ? E_I64 : E_U64);
        wide = is_signed ? compose_as_bits(c, wide, E_U64) : wide;
        if (negative && wide)
                wide = compose_select(c, negative, sub(c, build_like(c->b, wide, 0), wide), wide);
        struct value *table = powers(c, E_U64, most - 1);
        struct value *digits = compose_cast(c, compose_binary(c, OP_ge, wide, table), E_I32);
        digits = digits ? compose_with(c, OP_max, sum(c, digits), 1) : NULL;
        struct value *at = build_iota(c->b, type_with_element(c->m, bytes, E_I32), 1);
        if (negative)
                at = sub(c, at, compose_cast(c, negative, E_I32));
        struct value *power = sub(c, plus(c, digits, -1), at);
        struct value *there = compose_with(c, OP_ge, power, 0);
        power = clamp(c, power, 0, (double)most - 1);
        struct value *divisor = power ? build_gather(c->b, table, power, 0) : NULL;
        struct value *digit = compose_with(c, OP_rem, divide(c, wide, divisor), 10);
        struct value *y = compose_cast(c, plus(c, digit, '0'), E_U8);
        y = y ? compose_select(c, there, y, build_like(c->b, y, 0)) : NULL;
        if (negative && y) {
                struct value *sign = compose_with(c, OP_lt, at, 0);
                y = compose_select(c, sign, build_scalar(c->b, E_U8, '-'), y);
        }
        for (int d = 0; d < rank; d++)
                dims[d] = x->type->dims[d];
        dims[rank] = all[1];
        return compose_reshape(c, y, rank + 1, dims);
}

/* ---- floats as texts ---- */

enum { FLOAT_DIGITS = 8, FLOAT_WIDTH = 14, FLOAT_LEAST = -45, FLOAT_MOST = 38 };

/* A float is the digits d.ddddddd times 10 to `power`; all are columns of i32, the digits are rows
 * of 8. */
struct decimal {
        struct value *digits, *count, *power;
};

/* Returns whether x is at least 10 to the powers from `first` on, as rows. */
static struct value *reaches(struct compose *c, struct value *x, int first, int last)
{
        const int64_t powers_count = last - first + 1;
        double *bounds = constant_room(c->m, (size_t)powers_count * sizeof *bounds);
        for (int k = first; k <= last; k++) {
                char text[32];
                snprintf(text, sizeof text, "1e%d", k);
                bounds[k - first] = strtod(text, NULL);
        }
        return compose_binary(
                c, OP_ge, x,
                constant_dense(c->m,
                               type_tensor(c->m, E_F64, 1, (const dim_t[]){ dim_of(powers_count) }),
                               bounds, NULL));
}

static bool decimal_find(struct compose *c, struct value *x, struct decimal *d)
{
        const int64_t last = 1;
        struct value *table = powers(c, E_U64, FLOAT_DIGITS - 1);
        struct value *power = count(c, reaches(c, x, FLOAT_LEAST, FLOAT_MOST));
        power = plus(c, power, FLOAT_LEAST - 1);
        struct value *zero = compose_with(c, OP_eq, x, 0);
        power = power ? compose_select(c, zero, build_like(c->b, power, 0), power) : NULL;
        struct value *up = compose_from(c, OP_sub, FLOAT_DIGITS - 1, power);
        struct value *number = compose_unary(c, OP_round, scaled(c, x, up));
        struct value *over = compose_with(c, OP_ge, number, 1e8);
        d->power = add(c, power, compose_cast(c, over, E_I32));
        number = compose_select(c, over, times(c, number, 0.1), number);
        table = table ? compose_reverse(c, table, 0) : NULL;
        struct value *digits = divide(c, compose_cast(c, number, E_U64), table);
        d->digits = compose_cast(c, compose_with(c, OP_rem, digits, 10), E_I32);
        if (!d->digits || !d->power)
                return false;
        struct value *place = build_iota(c->b, d->digits->type, 1);
        struct value *none = build_like(c->b, place, 0);
        place = compose_select(c, compose_with(c, OP_ne, d->digits, 0), place, none);
        place = place ? compose_reduce(c, REDUCE_max, place, &last, 1, E_COMPUTE) : NULL;
        d->count = compose_reshape(c, plus(c, place, 1), 2, power->type->dims);
        return d->count != NULL;
}

/* Returns the bytes of a decimal at places of its text, i32, as C's %.8g has them. */
static struct value *decimal_bytes(struct compose *c, const struct decimal *d, struct value *at)
{
        struct value *below = compose_with(c, OP_lt, d->power, 0);
        struct value *far = compose_with(c, OP_ge, d->power, FLOAT_DIGITS);
        far = either(c, far, compose_with(c, OP_lt, d->power, -4));
        struct value *near = both(c, below, inverse(c, far));     /* 0.0ddd */
        /* Zeros stand in front of the digits, and a point behind the first `point` of all. */
        struct value *zeros = compose_unary(c, OP_neg, d->power);
        zeros = compose_select(c, near, zeros, zeros ? build_like(c->b, zeros, 0) : NULL);
        struct value *point = plus(c, compose_with(c, OP_max, d->power, 0), 1);
        point = compose_select(c, far, point ? build_like(c->b, point, 1) : NULL, point);
        struct value *all = compose_binary(c, OP_max, add(c, d->count, zeros), point);
        struct value *has_point = compose_binary(c, OP_gt, all, point);
        struct value *end = add(c, all, compose_cast(c, has_point, E_I32));
        struct value *behind = both(c, has_point, compose_binary(c, OP_gt, at, point));
        struct value *digit = sub(c, at, compose_cast(c, behind, E_I32));
        digit = sub(c, digit, zeros);
        struct value *is_zero = compose_with(c, OP_lt, digit, 0);
        digit = clamp(c, digit, 0, FLOAT_DIGITS - 1);
        digit = digit ? compose_gather_elements(c, d->digits, digit, 1) : NULL;
        struct value *y = plus(c, digit, '0');
        y = y ? compose_select(c, is_zero, build_like(c->b, y, '0'), y) : NULL;
        struct value *dot = both(c, has_point, compose_binary(c, OP_eq, at, point));
        y = y ? compose_select(c, dot, build_like(c->b, y, '.'), y) : NULL;

        /* Behind the end stands an exponent of two digits, or nothing. */
        struct value *size = compose_unary(c, OP_abs, d->power);
        struct value *tens = plus(c, compose_with(c, OP_div, size, 10), '0');
        struct value *ones = plus(c, compose_with(c, OP_rem, size, 10), '0');
        struct value *sign = tens ? compose_select(c, below, build_like(c->b, tens, '-'),
                                                   build_like(c->b, tens, '+'))
                                  : NULL;
        struct value *e = tens ? build_like(c->b, tens, 'e') : NULL;
        struct value *parts[4] = { e, sign, tens, ones };
        struct value *past = sub(c, at, end);
        struct value *none = past ? build_like(c->b, past, 0) : NULL;
        struct value *rest = none;
        for (int i = 0; i < 4; i++) {
                struct value *here = both(c, far, compose_with(c, OP_eq, past, i));
                rest = compose_select(c, here, parts[i], rest);
        }
        return compose_select(c, compose_with(c, OP_ge, past, 0), rest, y);
}

/* Returns a word as a row of bytes. */
static struct value *word(struct compose *c, const char *text)
{
        uint8_t *bytes = constant_room(c->m, FLOAT_WIDTH);
        memset(bytes, 0, FLOAT_WIDTH);
        memcpy(bytes, text, strlen(text));
        return constant_dense(c->m,
                              type_tensor(c->m, E_U8, 1, (const dim_t[]){ dim_of(FLOAT_WIDTH) }),
                              bytes, NULL);
}

struct value *compose_texts_of_floats(struct compose *c, struct value *x)
{
        x = compose_cast(c, x, E_F32);
        if (!x)
                return NULL;
        const int64_t rows = type_elements(x->type);
        const int rank = value_rank(x);
        dim_t dims[RANK_MAX], all[2] = { dim_of(rows), dim_of(FLOAT_WIDTH) };
        const dim_t column[2] = { all[0], dim_of(1) };
        struct decimal d;

        if (rank >= RANK_MAX) {
                compose_unsupported(c, "texts of rank %d", rank + 1);
                return NULL;
        }
        const struct type *places = compose_type(c, E_I32, 2, all);
        struct value *one = places ? compose_reshape(c, x, 2, column) : NULL;
        struct value *negative = one ? compose_as_bits(c, one, E_I32) : NULL;
        negative = compose_with(c, OP_lt, negative, 0);
        struct value *size = compose_cast(c, compose_unary(c, OP_abs, one), E_F64);
        if (!size || !negative || !decimal_find(c, size, &d))
                return NULL;
        struct value *at = build_iota(c->b, places, 1);
        at = sub(c, at, compose_cast(c, negative, E_I32));
        struct value *y = decimal_bytes(c, &d, at);
        y = y ? compose_select(c, compose_with(c, OP_lt, at, 0), build_like(c->b, y, '-'), y)
              : NULL;
        y = compose_cast(c, y, E_U8);
        struct value *infinite = compose_with(c, OP_eq, size, INFINITY);
        y = compose_select(c, both(c, infinite, negative), word(c, "-INF"), y);
        y = compose_select(c, both(c, infinite, inverse(c, negative)), word(c, "INF"), y);
        y = compose_select(c, compose_binary(c, OP_ne, one, one), word(c, "NaN"), y);
        for (int i = 0; i < rank; i++)
                dims[i] = x->type->dims[i];
        dims[rank] = all[1];
        return compose_reshape(c, y, rank + 1, dims);
}
