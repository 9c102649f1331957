/* SPDX-License-Identifier: MIT */
/* Rates: what things cost on a target (ir/target/rates.def lists them), and what its multiplies
 * cost. */
#ifndef IR_TARGET_RATES_H
#define IR_TARGET_RATES_H

#include "ir/target/target.h"

/* One of the target's multiplies takes these cycles, in a row of independent ones. */
struct multiply_rate { const char *name; double cycles; };

/* A target states these rates; 0: the base's, and in the end the neutral one. */
struct rates {
#define RATE(name, neutral, unit, doc) double name;
#include "ir/target/rates.def"
        const struct multiply_rate *multiplies; /* The table ends with a row without name; the
                                                 * base's follow. */
};

/* rate_issue(target), ...: these return the rate of the nearest base that states one; without a
 * target, the neutral one. */
#define RATE(name, neutral, unit, doc) double rate_##name(const struct target *t);
#include "ir/target/rates.def"

/* Returns the cycles of a multiply, in a row of independent ones: its rate, or neutrally those of
 * the instructions that it takes; m NULL: those of a product and a sum. */
double rate_multiply(const struct target *t, const struct multiply *m);

#endif
