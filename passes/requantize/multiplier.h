/* SPDX-License-Identifier: MIT */
/* Whole multipliers: (s * m + b) >> shift in place of a monotone formula in floats
 * (multiplier.c). */
#ifndef PASSES_REQUANTIZE_MULTIPLIER_H
#define PASSES_REQUANTIZE_MULTIPLIER_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/tensor/ops.h"

/* What becomes of a whole number s: f32(s + bias), steps in f32, each of x and its number, and the
 * conversion to a byte from low to high, which saturates. Steps are OP_mul, OP_div (of x by the
 * number), OP_add, OP_sub (the number from x), OP_max, OP_min, and OP_round; their numbers are
 * finite, and divisors not 0. It is monotone, then; and never NaN where formula_is_finite. */
enum { FORMULA_STEPS = 8 };
struct formula_step { enum opcode code; float number; };
struct formula {
        int64_t bias;
        int count;
        struct formula_step steps[FORMULA_STEPS];
        int low, high;
};
/* no s overflows f32 on the way */
bool formula_is_finite(const struct formula *f);
/* the byte that s becomes; s + bias fits into i32 */
int formula_at(const struct formula *f, int64_t s);

/* Where the formula takes another value, for s from low to high, both included: least[i] is the
 * least s that becomes first + 1 + i or more. Of one that falls, all of -s. */
enum { THRESHOLDS_MAX = 255 };
struct thresholds {
        bool falls;
        int bottom, top;                /* of the byte */
        int first, count;
        int64_t low, high, least[THRESHOLDS_MAX];
        double slope;                   /* of the formula between its bounds, about; >= 0 */
};
void thresholds_of(const struct formula *f, int64_t low, int64_t high, struct thresholds *t);

/* Forms that are looked for, without overflow in 64 bits:
 *
 *      t = s * m + b                           y = t >> shift, bounded by the byte's ends
 *      t = s * m + b                           y = (t + even) >> shift where n is odd, else as above
 *      n = (t - (1 << shift - 1)) >> shift
 *
 * Halves of the first go up, those of the second to even numbers. */
struct form {
        int shift;                      /* 1 to 48 */
        int64_t even;                   /* 0: the first form */
        bool each;                      /* each output has an `even` of its own, which is found */
};
struct multiplier { int32_t m, even; int64_t b; };
/* no product overflows with this shift; of 16 and less, none ever does */
bool multiplier_fits(const struct thresholds *t, int shift);
/* Finds numbers such that this is the formula for every s. False: there are none, which is decided,
 * not guessed: the room for b is a concave function of m. */
bool multiplier_find(const struct thresholds *t, const struct form *form, struct multiplier *found);
/* Numbers near to the formula, for a form that fits and has no `even` for all: how many sums become
 * another byte, which is off by one; negative: m would be too small to be precise. */
int64_t multiplier_nearest(const struct thresholds *t, const struct form *form,
                           struct multiplier *found);

#endif
