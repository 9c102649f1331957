/* SPDX-License-Identifier: MIT */
/* Weights whose scales are powers of two. (shift_weights.c) */
#ifndef PASSES_REQUANTIZE_SHIFT_WEIGHTS_H
#define PASSES_REQUANTIZE_SHIFT_WEIGHTS_H

#include "passes/calibrate/moments.h"
#include "passes/quantize/layer_weights.h"

/* Of each output: number / 2^shift is near to weight * factor. */
struct shifted_weights {
        struct weight_places places;
        const struct constant *w;
        const double *factors;
        double *exact;                  /* weights times factors, an output behind the other, while
                                         * numbers are found */
        int8_t *numbers;                /* -127 to 127, as the weights lie */
        int32_t *shifts;                /* one for each block of outputs */
        double *magnitudes;             /* of the numbers of an output, added up */
        double *lost;                   /* of a result, by rounding, where operands are what they
                                         * are on average */
        double signal, error;           /* sums of squares: of weight * factor, and of what is lost
                                         * / */
};

/* Of op, a convolve or dot by constant, static whole numbers; factors: one for each output.
 * Shifts are `least` to 30. Numbers are rounded to the nearest, but for few: what is lost adds
 * up to half a number at most over each window of a channel, and over an output, so that what
 * neighbours, or all operands, have in common moves no result by more. average: of operands, as
 * far as that is known. block: outputs that have one shift. False: a factor is too large, or no
 * number. */
bool shifted_weights_find(struct arena *arena, const struct op *op, const double *factors,
                          int least, double average, int block, struct shifted_weights *s);
/* The same by what operands are on samples (passes/quantize/rounding.h); all stays where m has
 * no products. */
void shifted_weights_learn(struct shifted_weights *s, const struct moments *m);

#endif
