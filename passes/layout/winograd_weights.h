/* SPDX-License-Identifier: MIT */
/* The weights of a convolution that Winograd's algorithm computes (winograd_weights.c). */
#ifndef PASSES_LAYOUT_WINOGRAD_WEIGHTS_H
#define PASSES_LAYOUT_WINOGRAD_WEIGHTS_H

#include "ir/tensor/winograd_tiles.h"

enum { WINOGRAD_BATCH = 16 };           /* This many windows are transformed together. */

/* Packed weights [panels, blocks, window.., inner, vectors, lanes], and what they become. */
struct winograd_weights {
        const struct type *type;        /* Their type. */
        const struct constant *w;       /* NULL: a run gives them. */
        struct winograd_square f;
        int64_t taps[WINOGRAD_DIMS], stride[WINOGRAD_DIMS];     /* Of the window as it is. */
        int64_t channels, blocks, inner, run;           /* A panel has `run` outputs. */
};

/* Finds them for a convolve_packed, in tiles of this many rows and columns. Returns false where
 * windows have no such tiles. */
bool winograd_weights_of(const struct op *packed, const int64_t *tile, struct winograd_weights *w);
/* Transforms them to [elements, panels, phases * channels, vectors, lanes], with `outputs` in all
 * and `width` in a panel. In both, whole batches of outputs lie side by side. */
struct value *winograd_transform(struct module *m, const struct winograd_weights *w,
                                 int64_t outputs, int64_t width);
/* Can a run transform the weights of a convolution, for panels of `width` outputs? */
bool winograd_is_computable(const struct op *packed, int64_t width);
/* Builds operations that transform them as winograd_transform does (winograd_computed.c). */
struct value *winograd_compute(struct builder *b, const struct op *packed,
                               const struct winograd_weights *w, int64_t outputs, int64_t width);
/* Measures the largest error of a result, as a part of the largest result: over a few tiles of
 * random numbers that are not negative, as those behind a ReLU, for a batch of outputs, with each
 * step in float beside the same in double. Weights that a run gives are taken to be random. */
double winograd_error(const struct winograd_weights *w);

#endif
