/* SPDX-License-Identifier: MIT */
/* The cost models of layouts (layout_cost.c): predicted cycles of one core. */
#ifndef COST_LAYOUT_COST_H
#define COST_LAYOUT_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* so many bytes, read and written: in order; where channels and positions change places, or lanes
 * are cut out of blocks, of which all are whole or not */
double layout_copy_cost(double bytes, const struct target *target);
double layout_conversion_cost(double bytes, bool whole, const struct target *target);
/* A convolution in a nest with lanes along the last dimension. */
double layout_plain_cost(const struct op *convolve, const struct target *target);
/* One in blocks, at the peak: with the lanes that pad few outputs, or those of no whole vector one
 * by one; and what it takes where channels are few, or it is a depthwise one. */
double layout_blocks_cost(const struct op *convolve, bool one_by_one, const struct target *target);
double layout_reached_cost(double cycles, const struct target *target);
/* What one of so many cycles loses: that reads all channels of a position side by side, rows of x
 * far apart; of bytes, that reads blocks, by words of so many channels; by 3 x 3 windows, where
 * channels are no whole vectors, which Winograd's algorithm wants; depthwise, with weights that are
 * not one vector a block. */
double layout_far_cost(double cycles, const struct target *target);
double layout_short_cost(double cycles, int group, const struct target *target);
double layout_direct_cost(double cycles, const struct target *target);
double layout_again_cost(double cycles, const struct target *target);

#endif
