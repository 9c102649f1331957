/* SPDX-License-Identifier: MIT */
/* Sums of doubles that do not round, so that any order gives the same result (Kulisch's long
 * accumulator, Computer Arithmetic and Validity, 2008): a sum is an integer of 832 bits, in units
 * of 2^-384, with room for 2^63 squares of floats. */
#ifndef PASSES_CALIBRATE_EXACT_SUM_H
#define PASSES_CALIBRATE_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { EXACT_SUM_LIMBS = 13, EXACT_SUM_UNIT = -384, EXACT_SUM_DIGITS = 16 * EXACT_SUM_LIMBS };

struct exact_sum { uint64_t limbs[EXACT_SUM_LIMBS]; };    /* The lowest comes first, in two's
                                                           * complement. */

/* Adds x, which is finite, at most 2^320, and a multiple of the unit. */
void exact_sum_add(struct exact_sum *sum, double x);
void exact_sum_merge(struct exact_sum *sum, const struct exact_sum *other);
/* Returns the sum as a double, off by one of its last digits at most. */
double exact_sum_value(const struct exact_sum *sum);
/* Prints the sum: "-1a2bp-8" is -0x1a2b * 2^-8. There are no digits 0 at either end, and the
 * exponent is a multiple of 4, so each sum has one text. */
void exact_sum_print(struct text *out, const struct exact_sum *sum);
/* Reads exactly the form that is printed. Returns false if the text is malformed, or is no sum of
 * numbers that exact_sum_add takes. */
bool exact_sum_parse(const char *token, struct exact_sum *sum);

#endif
