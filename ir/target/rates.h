/* SPDX-License-Identifier: MIT */
/* Rates: what things cost on a target (ir/target/rates.def lists them), and what its multiplies
 * do. */
#ifndef IR_RATES_H
#define IR_RATES_H

#include "ir/target/target.h"

/* cycles of one of the target's multiplies, in a row of independent ones */
struct multiply_rate { const char *name; double cycles; };

/* What a target says; 0: as its base has it, and in the end neutral. */
struct rates {
#define RATE(name, neutral, unit, doc) double name;
#include "ir/target/rates.def"
        const struct multiply_rate *multiplies; /* ends with a row without name; the base's behind
                                                 * them */
};

/* rate_issue(target), ...: of the nearest base that says one. Without target, neutral. */
#define RATE(name, neutral, unit, doc) double rate_##name(const struct target *t);
#include "ir/target/rates.def"

/* Cycles of a multiply, in a row of independent ones: its rate, or neutrally those of the
 * instructions that it takes; NULL: of a product and a sum. */
double rate_multiply(const struct target *t, const struct multiply *m);

#endif
