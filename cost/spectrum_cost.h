/* SPDX-License-Identifier: MIT */
/* Predicts what a convolution by Fourier transforms costs, in cycles of one core. */
#ifndef COST_SPECTRUM_COST_H
#define COST_SPECTRUM_COST_H

#include "ir/target/target.h"

/* A convolution of stride 1 whose result is made in blocks. */
struct spectrum_work {
        int dims;                       /* So many spatial dimensions are transformed. */
        int64_t size[2];                /* A block of x has these extents, along the last of which
                                         * half of a spectrum is enough, */
        int64_t blocks;                 /* and there are so many, of all images. */
        int64_t groups, channels, outputs; /* The last two are those of a group. */
        int64_t read, written;          /* These are the elements of x and of the result. */
};

/* Is each product that of a channel by itself, so that lines are transformed where they lie? */
static inline bool spectrum_is_separate(const struct spectrum_work *w) { return w->channels == 1; }
/* Returns the bytes of the transformed weights. */
double spectrum_weights(const struct spectrum_work *w);
double spectrum_cost(const struct spectrum_work *w, const struct target *target);
/* Returns the cycles of products that are added up as they are: products of x by weights, in lanes
 * that are full or, for fewer outputs than these, padded; weights: their number. */
double spectrum_direct_cost(double products, double weights, bool depthwise,
                            const struct target *target);

#endif
