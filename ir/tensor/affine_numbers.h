/* SPDX-License-Identifier: MIT */
/* What numbers of few bits stand for, in Tensor IR: what the importer makes of QuantizeLinear and
 * DequantizeLinear, and the pass `quantize` puts around operations. One statement of both, so that
 * the rules of simplify see the same operations from either.
 *
 *      number = saturate(round(real / scale) + zero)             to nearest, halves to even
 *      real   = (number - zero) * scale
 *
 * scale is of x's shape, mostly spread over it, and so is zero, or as numpy spreads it; zero is of
 * the numbers' element, or NULL: it is 0. */
#ifndef IR_AFFINE_NUMBERS_H
#define IR_AFFINE_NUMBERS_H

#include "ir/tensor/tensor.h"

/* saturate(round(real) + zero); `to`: an integer type of up to 16 bits */
struct value *build_rounded(struct builder *b, struct value *real, struct value *zero,
                            enum element to);
/* x - zero, as `as`; x itself where zero is nothing but zeros. Constants of rank 2 and more are not
 * folded: passes want to see the numbers. */
struct value *build_centered(struct builder *b, struct value *x, struct value *zero,
                             enum element as);

struct value *build_quantize(struct builder *b, struct value *x, struct value *scale,
                             struct value *zero, enum element to);
/* reals of scale's element */
struct value *build_dequantize(struct builder *b, struct value *x, struct value *scale,
                               struct value *zero);

#endif
