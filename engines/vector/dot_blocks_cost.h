/* SPDX-License-Identifier: MIT */
/* Predicts what dot_blocks costs (dot_blocks_cost.c), in cycles of one core. */
#ifndef ENGINES_VECTOR_DOT_BLOCKS_COST_H
#define ENGINES_VECTOR_DOT_BLOCKS_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* Returns the cost of a tile of `positions` positions by `vectors` vectors of outputs: all its
 * blocks, and its results. */
double blocks_tile_cost(const struct op *op, int64_t positions, int64_t vectors,
                        const struct target *target);
/* Returns the bytes of constants: the weights, with their scales and zero points. */
double blocks_weights(const struct op *op);

#endif
