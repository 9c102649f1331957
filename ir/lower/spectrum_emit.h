/* SPDX-License-Identifier: MIT */
/* Writes transforms of a few complex numbers in straight-line Loop IR. */
#ifndef IR_LOWER_SPECTRUM_EMIT_H
#define IR_LOWER_SPECTRUM_EMIT_H

#include "ir/lower/lower.h"
#include "ir/tensor/spectrum_plan.h"

/* A complex number; a part that is NULL is 0. */
struct complex_expr {
        struct loop_expr *re, *im;
};

/* Sets y to the transform of x, radix numbers each, which are variables or literals: y[k] is the
 * sum of x[j] exp(-2 pi i j k / radix). Each step is a let. */
void spectrum_emit(struct emit *e, int radix, const struct complex_expr *x, struct complex_expr *y);
/* Returns a times b, in lets. */
struct complex_expr spectrum_product(struct emit *e, struct complex_expr a, struct complex_expr b);

#endif
