/* SPDX-License-Identifier: MIT */
/* Whole multipliers: (s * m + b) >> shift in place of a monotone formula in floats
 * (multiplier.c). */
#ifndef PASSES_REQUANTIZE_MULTIPLIER_H
#define PASSES_REQUANTIZE_MULTIPLIER_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/tensor/ops.h"
#include "passes/simplify/fixed.h"

/* A formula makes a byte of a whole number s: in fixed-point arithmetic (simplify/fixed.h) of
 * s + bias, with m >= 0; or f32(s + bias), then steps in f32, each of x and its
 * number, then the conversion to a byte from low to high, which saturates. Steps are OP_mul, OP_div
 * (of x by the number), OP_add, OP_sub (the number from x), OP_max, OP_min, and OP_round; their
 * numbers are finite, and divisors are not 0. So the formula is monotone, and never NaN where
 * formula_is_finite. */
enum { FORMULA_STEPS = 8 };
struct formula_step { enum opcode code; float number; };
struct formula {
        int64_t bias;
        bool is_fixed;
        struct fixed fixed;
        int count;
        struct formula_step steps[FORMULA_STEPS];
        int low, high;
};
/* Does no s overflow f32 on the way? */
bool formula_is_finite(const struct formula *f);
/* Returns the byte that s becomes; s + bias fits into i32. */
int formula_at(const struct formula *f, int64_t s);

/* At these places the formula takes another value, for s from low to high, both included: least[i]
 * is the least s that becomes at least first + 1 + i. For a falling formula all of this is about
 * -s. */
enum { THRESHOLDS_MAX = 255 };
struct thresholds {
        bool falls;
        int bottom, top;                /* The byte is at least bottom and at most top. */
        int first, count;
        int64_t low, high, least[THRESHOLDS_MAX];
        double slope;                   /* The formula has about this slope between its bounds; >=
                                         * 0. */
};
void thresholds_of(const struct formula *f, int64_t low, int64_t high, struct thresholds *t);
/* Keeps the sums from low to high, a part of t's, which does not fall. */
void thresholds_part(struct thresholds *t, int64_t low, int64_t high);

/* The forms that are looked for, which do not overflow in 64 bits:
 *
 *     t = s * m + b                           y = t >> shift, bounded by the byte's ends
 *     t = s * m + b                           y = (t + even) >> shift where n is odd, else as above
 *     n = (t - (1 << shift - 1)) >> shift
 *     t = s * m + b                           y = (t + even) >> shift where s + bias < 0, else as
 *                                             above
 *
 * Halves of the first form go up, those of the second to even numbers, those of the third away from
 * zero. */
struct form {
        int shift;                      /* The shift is from 1 to 48. */
        int64_t even;                   /* 0: the form is the first one. */
        bool each;                      /* Each output has an `even` of its own, which is
                                         * searched. */
        bool by_sign;                   /* The form is the third one; `each` is set, too. */
        int64_t origin;                 /* -bias. */
};
struct multiplier { int32_t m, even; int64_t b; };

/* The form for cores whose instructions multiply to a high word and add to it: first `summand` is
 * added to the sum, which costs nothing where it has a bias, and b is `high` << 32.
 *
 *     t = (s + summand) * m + (high << 32)    y = t >> shift, bounded by the byte's ends
 *
 * A shift is from 32 to 63, and t >> 32 fits into 32 bits. */
struct high_multiplier { int32_t m, summand, high; };
/* Does no product overflow with this shift? With shifts up to 16 none does. */
bool multiplier_fits(const struct thresholds *t, int shift);
/* Finds numbers for which the form equals the formula for every s. Returns false if there are none;
 * that is certain, because the room for b is a concave function of m. */
bool multiplier_find(const struct thresholds *t, const struct form *form, struct multiplier *found);
/* Finds numbers of the second struct, equal for every s where *wrong is 0; otherwise *wrong sums
 * become another byte, which is off by one. exact: it looks for the former longer, and for them
 * alone. Returns false if there are none, or m would be too small to be precise. */
bool multiplier_high(const struct thresholds *t, int shift, bool exact,
                     struct high_multiplier *found, int64_t *wrong);
/* Finds numbers near the formula, for a form that fits and has no `even` for all outputs. Returns
 * how many sums become another byte, which is off by one; negative: m would be too small to be
 * precise. */
int64_t multiplier_nearest(const struct thresholds *t, const struct form *form,
                           struct multiplier *found);

/* ---- floats in place of fixed-point arithmetic (line.c) ---- */

/* A line makes a byte of s by y = rint(f32(s + bias - origin) * a + b), three operations of f32,
 * bounded by the byte's ends; where s + bias - origin < 0, by `below` in place of b. */
struct line { int64_t origin; float a, b, below; };
/* Finds a line that equals the fixed-point formula for every s. two: `below` may differ from b.
 * Returns false where none was found. */
bool line_find(const struct formula *f, const struct thresholds *t, bool two, struct line *found);

#endif
