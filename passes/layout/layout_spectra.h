/* SPDX-License-Identifier: MIT */
/* A convolution by Fourier transforms (layout_spectra.c), and its weights (spectra_weights.c). */
#ifndef PASSES_LAYOUT_LAYOUT_SPECTRA_H
#define PASSES_LAYOUT_LAYOUT_SPECTRA_H

#include "cost/spectrum_cost.h"
#include "ir/tensor/spectrum.h"
#include "passes/layout/layout.h"

struct spectral {
        struct op *op;
        struct value *x, *w;
        int dims;                       /* It has one or two spatial dimensions. */
        int64_t images, groups, channels, outputs; /* The last two are those of a group. */
        int64_t in[2], out[2], low[2];  /* The extents of x and of the result; the pads in front. */
        int64_t window[2], dilation[2], reach[2]; /* reach: the window, dilated. */
        int64_t size[2];                /* A block of x is transformed, */
        int64_t step[2];                /* of which so many results are right; */
        int64_t count[2];               /* there are so many blocks. */
};

/* Returns the weights' conjugate transforms. Where channels are separate: <groups x outputs x
 * frequencies> of each part; else <frequencies x groups x channels x 2 outputs>, real parts of all
 * outputs and then imaginary ones, where the first dimension has half of its frequencies. */
void spectral_weights(struct layout *l, const struct spectral *s, struct value *parts[2]);

#endif
