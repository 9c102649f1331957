/* SPDX-License-Identifier: MIT */
/* Predicts what Winograd's algorithm costs (winograd_cost.c), in cycles. */
#ifndef COST_WINOGRAD_COST_H
#define COST_WINOGRAD_COST_H

#include "ir/target/target.h"
#include "ir/tensor/winograd_tiles.h"

/* This is the work of a convolution by windows; phases count as channels. */
struct winograd_work { double tiles, channels, outputs; const struct winograd_square *f; };

/* Returns the cycles of one core if the tiles are computed in `batches` batches. */
double winograd_cost(const struct winograd_work *w, double batches, const struct target *target);
/* Returns how many batches are best, a multiple of `least`; *cycles is what they cost. */
int64_t winograd_batches(const struct winograd_work *w, int64_t least, const struct target *target,
                         double *cycles);
/* Returns the cycles that a run takes to transform weights of `taps` taps. */
double winograd_weights_cost(const struct winograd_work *w, double taps,
                             const struct target *target);
/* Returns the number of tiles. */
double winograd_tiles(int64_t images, int64_t rows, int64_t columns,
                      const struct winograd_square *f);
/* Returns the cost of the same convolution without the algorithm, with `weights` weights at each of
 * `positions` positions. */
double winograd_direct_cost(double weights, double positions, const struct target *target);
/* Return the cycles that each of `threads` threads waits besides: winograd_tiles_wait, where they
 * share tiles, for reading all of U; winograd_phases_wait, where they share each of the phases of
 * one batch, for what the other threads have made. */
double winograd_tiles_wait(const struct winograd_work *w, double threads,
                           const struct target *target);
double winograd_phases_wait(const struct winograd_work *w, double threads,
                            const struct target *target);

#endif
