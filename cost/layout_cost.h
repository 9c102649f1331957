/* SPDX-License-Identifier: MIT */
/* Predicts what layouts cost (layout_cost.c), in cycles of one core. */
#ifndef COST_LAYOUT_COST_H
#define COST_LAYOUT_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* layout_copy_cost returns the cycles to read and write `bytes` bytes in order.
 * layout_conversion_cost returns them where channels and positions change places, or lanes are
 * extracted from blocks; whole: all blocks are whole. */
double layout_copy_cost(double bytes, const struct target *target);
double layout_conversion_cost(double bytes, bool whole, const struct target *target);
/* Returns the cycles of a convolution in a nest with lanes along the last dimension. */
double layout_plain_cost(const struct op *convolve, const struct target *target);
/* layout_blocks_cost returns the cycles of a convolution in blocks, at the peak speed, with the
 * padding lanes of few outputs, or, one_by_one, the outputs of no whole vector one at a time.
 * layout_reached_cost returns the cycles where channels are few, or the convolution is
 * depthwise. */
double layout_blocks_cost(const struct op *convolve, bool one_by_one, const struct target *target);
double layout_reached_cost(double cycles, const struct target *target);
/* Return the cycles that a contraction of `cycles` cycles loses: layout_far_cost, by reading all
 * channels of a position side by side, with rows of x far apart; layout_short_cost, for bytes, by
 * reading blocks in words of `group` channels; layout_direct_cost, for 3 x 3 windows, by channels
 * that do not fill whole vectors, as Winograd's algorithm needs them; layout_again_cost, for a
 * depthwise convolution, by weights that do not have one vector for each block. */
double layout_far_cost(double cycles, const struct target *target);
double layout_short_cost(double cycles, int group, const struct target *target);
double layout_direct_cost(double cycles, const struct target *target);
double layout_again_cost(double cycles, const struct target *target);

#endif
