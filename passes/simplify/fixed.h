/* SPDX-License-Identifier: MIT */
/* The operation rescale in C, for what is compared with it before it takes its place. */
#ifndef PASSES_SIMPLIFY_FIXED_H
#define PASSES_SIMPLIFY_FIXED_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/tensor/tensor.h"

struct fixed {
        int32_t m;
        int e;                          /* It is from 0 to 31. */
        bool once;
        int64_t zero, low, high;        /* The bounds are within those of the result's element. */
};
/* Returns the numbers of op, a rescale, but for m and e. */
struct fixed fixed_of(const struct op *op);
static inline int fixed_exponent(int64_t e) { return (int)(e & 31); }
/* Returns what x, of i32, becomes. */
int64_t fixed_at(const struct fixed *f, int64_t x);
/* Returns the real number that x is multiplied by. */
double fixed_slope(const struct fixed *f);

#endif
