/* SPDX-License-Identifier: MIT */
/* Predicts what contractions in f32 and in 16 bits cost (narrow_cost.c), before there are layouts
 * and schedules, in cycles of one core. */
#ifndef COST_NARROW_COST_H
#define COST_NARROW_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* Are there too few channels for a row of m's tiles, so that they fill less than half of it? Then
 * the channels of a row of the window make one step. */
bool narrow_few(const struct type *w, const struct multiply *m);
/* Returns the number of channels in a row of the window, contiguous in words. */
int64_t narrow_line(const struct type *w, const struct multiply *m);
/* Returns the cost in f32, with blocks of `block` channels. */
double narrow_f32_cost(const struct op *op, const struct target *target, int64_t block);
/* Returns the cost by Winograd's algorithm, in tiles of tile[0] x tile[1] results; 0: it is not
 * applicable. *growth is by how many bytes the weights grow. */
double narrow_winograd_cost(const struct op *op, const int64_t *tile, const struct target *target,
                            double *growth);
/* Return the cost with operands in 16 bits: in hardware tiles, and by words in registers. */
double narrow_tiles_cost(const struct op *op, const struct target *target,
                         const struct multiply *m);
double narrow_words_cost(const struct op *op, const struct target *target,
                         const struct multiply *m);
/* Returns the cost of products in f32 with weights stored in 16 bits. */
double narrow_weights_cost(const struct op *op, const struct target *target);

#endif
