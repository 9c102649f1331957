/* SPDX-License-Identifier: MIT */
/* Steps `equalize` and `smooth`: channels of what layers multiply are scaled so that they fill the
 * same steps. Layers that read x multiply x / s by w * s, with an s for each channel, which is the
 * same in real numbers. The operation that makes x takes in 1 / s:
 *
 *      equalize    a layer, through what is positively homogeneous (Nagel et al., Data-Free
 *                  Quantization Through Weight Equalization and Bias Correction, 2019)
 *      smooth      the constants of a norm, or of any product by a constant of each channel (Xiao et
 *                  al., SmoothQuant, 2022); or a product of its own behind a norm that has none, or
 *                  that others read, too
 *
 * s is a^alpha / w^(1 - alpha), with a and w the largest |x| and |w| of a channel; predicted noise
 * decides about alpha, one of 0, 1/4 .. 1, and about scaling at all (equalize.c). */
#ifndef PASSES_QUANTIZE_EQUALIZE_H
#define PASSES_QUANTIZE_EQUALIZE_H

#include "passes/quantize/quantize.h"

/* The constant has a number for each channel, along a dimension of an operation's result. */
struct channel_constant { struct op *op; int operand, along; };

/* The struct describes a value that layers multiply, with the operations that can take in a scale
 * of each of its channels. */
struct channels {
        struct value *x;
        struct layer **readers;         /* These layers multiply the value, by the same channels. */
        int reader_count;
        int64_t count, inner;           /* Element i belongs to channel i / inner % count. */
        int64_t each;                   /* This many consecutive channels of a reader are one
                                         * channel here. */
        struct op *layer;               /* The outputs of this layer are the channels; NULL:
                                         * `factor` scales them instead. */
        struct channel_constant factor; /* This multiplication scales the channels. */
        struct channel_constant *added; /* These constants are added on the way from there to x. */
        int added_count;
        bool apart;                     /* What makes x stays as it is, and a multiplication follows
                                         * it. */
};

/* Finds the rest of *c, which has x, readers, count and inner of the readers (equalize_path.c).
 * Returns false if no operation can take scales in. */
bool channels_find_maker(struct quantizing *q, struct channels *c);

/* Scales the channels for which that is worth it, by moments of what their layers multiply; the
 * function changes. Returns how many values were scaled; -1 after an error. */
int quantize_equalize(struct quantizing *q);

#endif
