/* SPDX-License-Identifier: MIT */
/* The multiply (ir/target/multiply.h) by which a target adds up what packed operands say: the first
 * of its list that takes words of such elements, of so many channels and for so many outputs as the
 * weights are packed for, and is right for the largest of them. Packing is the choice of a
 * multiply: the pass `layout` makes it (passes/layout/multiplies.h), all others ask here. */
#ifndef IR_PACKED_MULTIPLY_H
#define IR_PACKED_MULTIPLY_H

#include "ir/target/multiply.h"
#include "ir/tensor/tensor.h"

/* Where a multiply has its sums. */
enum packed_sums {
        SUMS_IN_VECTORS,                /* of any number of lanes that the target has */
        SUMS_IN_TILES,                  /* hardware tiles, or fragments of warps */
        SUMS_OF_ROWS                    /* one position, by a warp */
};

/* Of a convolve_packed; NULL: the target has none. */
const struct multiply *packed_multiply(const struct op *op, const struct target *target,
                                       enum packed_sums sums);
/* Of a dot_blocks, in vectors. */
const struct multiply *packed_bits_multiply(const struct op *op, const struct target *target);

#endif
