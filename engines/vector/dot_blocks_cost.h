/* SPDX-License-Identifier: MIT */
/* The cost model of dot_blocks (blocks.c): predicted cycles of one core. */
#ifndef ENGINES_VECTOR_DOT_BLOCKS_COST_H
#define ENGINES_VECTOR_DOT_BLOCKS_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* of a tile of so many positions by so many vectors of outputs: all its blocks, and its results */
double blocks_tile_cost(const struct op *op, int64_t positions, int64_t vectors,
                        const struct target *target);
/* bytes of constants: weights, and what belongs to them */
double blocks_weights(const struct op *op);

#endif
