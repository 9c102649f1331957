/* SPDX-License-Identifier: MIT */
/* Fixed-point arithmetic, as integer networks of small processors have it: reals are integers of 32
 * bits times a power of two, products are rounded twice. What is said here is said to the bit. */
#ifndef FRONT_COMPOSE_COMPOSE_FIXED_H
#define FRONT_COMPOSE_COMPOSE_FIXED_H

#include "front/compose/compose_window.h"

/* ---- of numbers (compose_fixed.c) ---- */

/* A multiplier stands for m * 2^(shift - 31). */
struct compose_multiplier {
        int32_t m;
        int shift;
};
/* Returns the multiplier nearest to a real that is not negative, m in [2^30, 2^31) or 0. */
struct compose_multiplier compose_multiplier_of(double real);
/* Returns x / 2^exponent, rounded, halves away from 0. */
int32_t compose_fixed_shift(int32_t x, int exponent);

/* ---- of tensors (compose_rescale.c) ---- */

/* These are the multipliers of a tensor: one, or one for each index of the axis. */
struct compose_multipliers {
        const struct compose_multiplier *m;
        int64_t count;
        int axis;
};

/* Numbers become others: y = bound(x * m + zero), of element `to`. */
struct compose_rescale {
        struct compose_multipliers by;
        int64_t zero, low, high;
        enum element to;
        bool once; /* The product is rounded once, halves up. */
};
/* Returns y for x of i32: x shifted left where the shift is positive, times m, rounded (halves up)
 * to the high 32 bits of the doubled product, then shifted right, rounded (halves away from 0); or
 * rounded once. */
struct value *compose_rescale(struct compose *c, struct value *x, const struct compose_rescale *r);
/* Returns y for x of i64, where m is rounded to 15 bits, and the product once, halves up. */
struct value *compose_rescale_wide(struct compose *c, struct value *x,
                                   const struct compose_rescale *r);
/* Returns x * m, i32, without a zero point and bounds. */
struct value *compose_scaled(struct compose *c, struct value *x,
                             const struct compose_multipliers *by);
/* Returns x of i32 / 2^exponent, rounded, halves away from 0. */
struct value *compose_shifted(struct compose *c, struct value *x, int exponent);
/* Returns x between two integers, of element `to`. */
struct value *compose_bounded(struct compose *c, struct value *x, int64_t low, int64_t high,
                              enum element to);

/* Returns table[x - least], where x is integers, and the table, <entries x any>, has an entry for
 * each of its values from `least` on. */
struct value *compose_looked_up(struct compose *c, struct value *x, struct value *table,
                                int64_t least);
/* Returns x rounded to whole numbers, halves away from 0. */
struct value *compose_round_away(struct compose *c, struct value *x);

/* ---- floats by weights of 8 bits (compose_hybrid.c) ---- */

/* x, floats, is quantized to 8 bits as it runs, each sample (or row) with a scale of its own, and
 * multiplied by weights of i8. */
struct compose_hybrid {
        struct value *x; /* It is [N, C, spatial], or rows [N, inner]. */
        struct value *w; /* These are [outputs, C / groups, window], or [outputs,
                                         * inner]. */
        const float *scales; /* The weights have one, or one for each output. */
        int scale_count;
        struct value *bias; /* It is f32 [outputs], or NULL. */
        struct compose_window *window; /* NULL: it is a product of matrices. */
        int64_t groups;
        bool asymmetric; /* The range of x need not have 0 in its middle. */
};
struct value *compose_hybrid(struct compose *c, const struct compose_hybrid *h);
/* The same of matrices x, [.., rows, inner], each row of which has a scale of its own, and w of i8,
 * [.., inner, columns], of one scale; the dimensions in front are broadcast. */
struct value *compose_hybrid_matmul(struct compose *c, struct value *x, struct value *w,
                                    double scale, bool asymmetric);

#endif
