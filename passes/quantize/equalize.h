/* SPDX-License-Identifier: MIT */
/* Steps `equalize` and `smooth`: channels of what layers multiply are scaled so that they fill the
 * same steps. Layers that read x multiply x / s by w * s, s of each channel: the same in real
 * numbers. What makes x takes 1 / s in,
 *
 *      equalize    a layer, through what is positively homogeneous (Nagel et al., Data-Free
 *                  Quantization Through Weight Equalization and Bias Correction, 2019)
 *      smooth      the constants of a norm, or of any product by a constant of each channel (Xiao et
 *                  al., SmoothQuant, 2022); or a product of its own behind a norm that has none, or
 *                  that others read, too
 *
 * s is a^alpha / w^(1 - alpha), of the largest |x| and |w| of a channel; alpha, of 0, 1/4 .. 1, and
 * whether at all, is what predicted noise says (equalize.c). */
#ifndef PASSES_QUANTIZE_EQUALIZE_H
#define PASSES_QUANTIZE_EQUALIZE_H

#include "passes/quantize/quantize.h"

/* a constant of each channel, along a dimension of an operation's result */
struct channel_constant { struct op *op; int operand, along; };

/* A value that layers multiply, and what can take in a scale of each of its channels. */
struct channels {
        struct value *x;
        struct layer **readers;         /* that multiply it, by the same channels */
        int reader_count;
        int64_t count, inner;           /* element i is of channel i / inner % count */
        int64_t each;                   /* so many channels of a reader, one after the other, are
                                         * one here */
        struct op *layer;               /* that makes them, its outputs; or NULL: */
        struct channel_constant factor; /* of the multiplication that does */
        struct channel_constant *added; /* on the way from there */
        int added_count;
        bool apart;                     /* what makes x stays: it is multiplied behind that */
};

/* Of x, readers, and count and inner as readers have them: the rest (equalize_path.c). False:
 * nothing can take scales in. */
bool channels_find_maker(struct quantizing *q, struct channels *c);

/* Scales what is worth it, by moments of what its layers multiply; the function changes. How many
 * values; -1 after an error. */
int quantize_equalize(struct quantizing *q);

#endif
