/* SPDX-License-Identifier: MIT */
/* The cost model of Winograd's algorithm (winograd_cost.c): predicted cycles. */
#ifndef COST_WINOGRAD_COST_H
#define COST_WINOGRAD_COST_H

#include "ir/target/target.h"
#include "ir/tensor/winograd_tiles.h"

/* what a convolution by 3 x 3 windows asks for */
struct winograd_work { double tiles, channels, outputs; const struct winograd *f; };

/* of one core, over so many batches of tiles */
double winograd_cost(const struct winograd_work *w, double batches, const struct target *target);
/* how many batches are best, a multiple of `least`; *cycles: what they cost */
int64_t winograd_batches(const struct winograd_work *w, int64_t least, const struct target *target,
                         double *cycles);
/* tiles of m x m results */
double winograd_tiles(int64_t images, int64_t rows, int64_t columns, int m);
/* by how much transformed weights are more than those of the windows, by these */
double winograd_growth(const struct winograd *f);
/* the same convolution without it: so many weights and positions */
double winograd_direct_cost(double weights, double positions, const struct target *target);
/* What one of so many threads waits for besides: all of U, where they share tiles; what the others
 * have made, where they share each of the phases of one batch. */
double winograd_tiles_wait(const struct winograd_work *w, double threads,
                           const struct target *target);
double winograd_phases_wait(const struct winograd_work *w, double threads,
                            const struct target *target);

#endif
