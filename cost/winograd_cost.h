/* SPDX-License-Identifier: MIT */
/* The cost model of Winograd's algorithm (winograd_cost.c): predicted cycles. */
#ifndef COST_WINOGRAD_COST_H
#define COST_WINOGRAD_COST_H

#include "ir/target/target.h"
#include "ir/tensor/winograd_tiles.h"

/* The work of a convolution by 3 x 3 windows. */
struct winograd_work { double tiles, channels, outputs; const struct winograd *f; };

/* Returns the cycles of one core, over so many batches of tiles. */
double winograd_cost(const struct winograd_work *w, double batches, const struct target *target);
/* Returns how many batches are best, a multiple of `least`; *cycles is what they cost. */
int64_t winograd_batches(const struct winograd_work *w, int64_t least, const struct target *target,
                         double *cycles);
/* Returns the number of tiles of m x m results. */
double winograd_tiles(int64_t images, int64_t rows, int64_t columns, int m);
/* Returns how many times as large transformed weights are as those of the windows. */
double winograd_growth(const struct winograd *f);
/* Returns the cost of the same convolution without the algorithm, with so many weights and
 * positions. */
double winograd_direct_cost(double weights, double positions, const struct target *target);
/* Return what one of so many threads waits for besides: where they share tiles, for reading all of
 * U; where they share each of the phases of one batch, for what the other threads have made. */
double winograd_tiles_wait(const struct winograd_work *w, double threads,
                           const struct target *target);
double winograd_phases_wait(const struct winograd_work *w, double threads,
                            const struct target *target);

#endif
