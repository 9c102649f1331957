/* SPDX-License-Identifier: MIT */
/* Builds what numbers of few bits stand for, in Tensor IR: for the importer, which reads
 * QuantizeLinear and DequantizeLinear, and for the pass `quantize`, which puts both around
 * operations. So the rules of simplify see the same operations from either.
 *
 *      number = saturate(round(real / scale) + zero)             to nearest, halves to even
 *      real   = (number - zero) * scale
 *
 * scale has x's shape, mostly because it is spread over it, and so has zero, or it is broadcast as
 * numpy does; zero is of the numbers' element type, or NULL, which stands for 0. */
#ifndef IR_TENSOR_AFFINE_NUMBERS_H
#define IR_TENSOR_AFFINE_NUMBERS_H

#include "ir/tensor/tensor.h"

/* Builds saturate(round(real) + zero); `to`: an integer type of up to 16 bits. */
struct value *build_rounded(struct builder *b, struct value *real, struct value *zero,
                            enum element to);
/* Builds x - zero, as `as`; returns x itself where all of zero is 0. Constants of rank 2 and more
 * are not folded, because passes look for their numbers. */
struct value *build_centered(struct builder *b, struct value *x, struct value *zero,
                             enum element as);

struct value *build_quantize(struct builder *b, struct value *x, struct value *scale,
                             struct value *zero, enum element to);
/* Builds real numbers of scale's element type. */
struct value *build_dequantize(struct builder *b, struct value *x, struct value *scale,
                               struct value *zero);

#endif
