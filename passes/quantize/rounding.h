/* SPDX-License-Identifier: MIT */
/* Rounding that learns (step `round`): each weight goes up or down so that the error of an output
 * on the samples is least, not the error of the weight (Nagel et al., Up or Down? Adaptive Rounding
 * for Post-Training Quantization, 2020). For the weights w of an output in steps of `scale`
 *
 *      d^T H d,  d[k] = w[k] / scale - number[k],  is minimized over numbers in {floor, ceil}
 *
 * H is of the rows that the layer multiplies (moments.h), for each group of outputs:
 *
 *      C[i][j] = products[i][j] / rows - mean[i] * mean[j]         ; without the means where no bias takes them back
 *      H[i][i] = C[i][i];   H[i][j] = (1 - r) * C[i][j], i != j
 *
 * Few rows show correlations that do not exist; r shrinks them as far as these are expected (Chen
 * et al., Shrinkage Algorithms for MMSE Covariance Estimation, 2010, on the correlations R of C):
 * with p features that vary, n rows and t = sum of R[i][j]^2,
 *
 *      r = min(1, ((1 - 2/p) t + p^2) / ((n + 1 - 2/p) (t - p)))   ; 1 where t = p */
#ifndef PASSES_QUANTIZE_ROUNDING_H
#define PASSES_QUANTIZE_ROUNDING_H

#include "passes/calibrate/moments.h"

/* Returns H of a group, [depth][depth]; NULL: no products are known. centred: the bias takes means
 * back. */
const float *rounding_matrix(struct arena *arena, const struct moments *m, int64_t group,
                             bool centred);
/* Rounds `outputs` outputs to numbers [outputs][depth]. They begin as w[o][k] / scale[o], rounded
 * to the nearest and kept within -most .. most; then, again and again, the one number of an output
 * that gains most goes to the other side of its weight, until none gains. So the sum is no larger
 * than that of the nearest numbers. Numbers at -most or most that clip their weight stay. */
void rounding_learn(const float *h, int64_t depth, const float *w, const float *scales,
                    int64_t outputs, int most, signed char *numbers);

#endif
