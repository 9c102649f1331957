/* SPDX-License-Identifier: MIT */
/* Finds the multiply (ir/target/multiply.h) by which a target adds up the products of packed
 * operands: the first of its list that takes words of such elements, with as many channels and
 * outputs as the weights are packed for, and that is right for the largest weight. Packing is the
 * choice of a multiply: the pass `layout` chooses (passes/layout/multiplies.h), all others ask
 * here. */
#ifndef IR_TENSOR_PACKED_MULTIPLY_H
#define IR_TENSOR_PACKED_MULTIPLY_H

#include "ir/target/multiply.h"
#include "ir/tensor/tensor.h"

/* The enum says where a multiply has its sums. */
enum packed_sums {
        SUMS_IN_VECTORS,                /* The sums are in vectors, with any number of lanes that
                                         * the target has. */
        SUMS_IN_TILES,                  /* The sums are in hardware tiles, or in fragments of
                                         * warps. */
        SUMS_OF_ROWS                    /* The sums are of one position, which a warp computes. */
};

/* Returns the multiply of a convolve_packed; NULL: the target has none. */
const struct multiply *packed_multiply(const struct op *op, const struct target *target,
                                       enum packed_sums sums);
/* Returns the multiply of a convolve_packed in the target's own vectors or, where these have none,
 * in its wide ones; NULL: neither has one. */
const struct multiply *packed_multiply_widest(const struct op *op, const struct target *target,
                                              enum packed_sums sums);
/* Returns the multiply of a dot_blocks, in vectors. */
const struct multiply *packed_bits_multiply(const struct op *op, const struct target *target);

#endif
