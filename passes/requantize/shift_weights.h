/* Weights whose scales are powers of two. (shift_weights.c) */
#ifndef PASSES_REQUANTIZE_SHIFT_WEIGHTS_H
#define PASSES_REQUANTIZE_SHIFT_WEIGHTS_H

#include "ir/tensor.h"

/* Of each output, by the dimension of w that is its: number / 2^shift is near to weight * factor. */
struct shifted_weights {
        int64_t outputs;
        int8_t *numbers; /* -127 to 127, as the weights lie */
        int32_t *shifts; /* one for each block of 16 outputs */
        double *sums, *magnitudes; /* of the numbers of an output */
        double signal, error; /* sums of squares: of weight * factor, and of what is lost */
};

/* w: static, whole numbers; factors: one for each output. Shifts are `least` to 30. Numbers are rounded
 * to the nearest, but for few: what is lost of an output adds up to half a number at most, so that
 * what all its operands have in common, a zero point or a mean, moves no result. False: a factor is
 * too large, or no number. */
bool shifted_weights_find(struct arena *arena, const struct constant *w, int along, const double *factors, int least,
                          struct shifted_weights *s);

/* the sum of output i's weights, as they are */
double shifted_weights_sum(const struct constant *w, int along, int64_t i);

#endif
