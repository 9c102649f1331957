/* SPDX-License-Identifier: MIT */
/* Weights whose scales are powers of two (shift_weights.c). */
#ifndef PASSES_REQUANTIZE_SHIFT_WEIGHTS_H
#define PASSES_REQUANTIZE_SHIFT_WEIGHTS_H

#include "passes/calibrate/moments.h"
#include "passes/quantize/layer_weights.h"

/* For each output, number / 2^shift is near weight * factor. */
struct shifted_weights {
        struct weight_places places;
        const struct constant *w;
        const double *factors;
        double *exact;                  /* Weights times factors, one output behind the other, while
                                         * numbers are searched. */
        int8_t *numbers;                /* The numbers are from -127 to 127, in the order of the
                                         * weights. */
        int32_t *shifts;                /* There is one for each block of outputs. */
        double *magnitudes;             /* The magnitudes of an output's numbers add up to this. */
        double *lost;                   /* Rounding makes this mean error of a result, with operands
                                         * at their averages. */
        double signal, error;           /* Both are sums of squares: of weight * factor, and of
                                         * errors. */
};

/* Finds numbers for op, a convolve or dot by constant, static whole numbers; factors: one for each
 * output. Shifts are `least` to 30. Numbers are rounded to the nearest, but for a few: errors add
 * up to at most half a number over each window of a channel, and over an output, so that what
 * neighbours, or all operands, have in common moves no result by more. average: the mean of
 * operands, as far as it is known. block: the number of outputs that have one shift. Returns false
 * if a factor is too large, or not a number. */
bool shifted_weights_find(struct arena *arena, const struct op *op, const double *factors,
                          int least, double average, int block, struct shifted_weights *s);
/* Improves the numbers by what operands are on samples (passes/quantize/rounding.h); all stays as
 * it is where m has no products. */
void shifted_weights_learn(struct shifted_weights *s, const struct moments *m);

#endif
