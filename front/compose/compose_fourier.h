/* SPDX-License-Identifier: MIT */
/* This header has discrete Fourier transforms, of whole signals and of frames of them, and windows
 * for these. Signals have their real, or real and imaginary, parts in the last dimension. */
#ifndef FRONT_COMPOSE_COMPOSE_FOURIER_H
#define FRONT_COMPOSE_COMPOSE_FOURIER_H

#include "front/compose/compose.h"

struct compose_transform {
        int64_t period;                 /* It is the period of the transform, in elements. */
        int64_t in;                     /* So many elements are read along the axis. */
        int64_t in_parts;               /* It is 1 for real operands, 2 for complex ones. */
        int64_t out, out_parts;         /* These are the extents of the result. */
        bool inverse;
        bool folded;                    /* The operand is half of a symmetric spectrum. */
};
/* Describes the transform of x along the axis, of `length` elements (-1: all). Where onesided, it
 * is without the half of the spectrum that follows from the other one. Returns false, without a
 * message, where there is none. */
bool compose_transform_of(const struct type *x, int axis, int64_t length, bool inverse,
                          bool onesided, struct compose_transform *t);
/* Returns x, of a wide type, transformed along the axis. */
struct value *compose_transform(struct compose *c, struct value *x, int axis,
                                const struct compose_transform *t);

struct compose_frames {
        struct value *x;                /* It is the signal [batch, length, parts], of a wide
                                         * type. */
        struct value *window;           /* These are factors of x's type, one for each element of a
                                         * frame; NULL stands for 1. */
        struct value *step;             /* It is an i64, the distance from one frame to the next. */
        dim_t count;                    /* There are so many frames. */
        bool onesided;
        struct value *length;           /* It is an i64, the length of a frame, where only a run
                                         * knows it; else NULL. */
};
/* Returns the transforms of frames of `length` elements, [batch, frames, bins, 2]. Where the
 * run-time length is `other`, all is element 0; where it is neither, the code fails by an index out
 * of range. */
struct value *compose_frames(struct compose *c, const struct compose_frames *f, int64_t length,
                             int64_t other);
/* Returns the same for a run-time length, which is one of those that have so many bins: half a
 * spectrum is that of two lengths. */
struct value *compose_frames_open(struct compose *c, const struct compose_frames *f, int64_t bins);

/* Returns a[0] - a[1] cos x + a[2] cos 2x at `size` points of a period, in f64. Where the window is
 * periodic, the end of the period is the first point again, else it is the last one. */
struct value *compose_cosine_window(struct compose *c, const double a[3], int64_t size,
                                    bool periodic);

/* ---- weights of the mel scale (compose_mel.c) ---- */

/* These scalars describe a matrix of weights. */
struct compose_mel {
        struct value *bands;            /* It is the number of bands, an integer. */
        struct value *size;             /* It is the length of the transform, an integer. */
        struct value *rate;             /* It is the sample rate, an integer. */
        struct value *low, *high;       /* They are the lowest and the highest frequency in hertz,
                                         * of a float type. */
        bool known;                     /* The extents of the result follow from bands and size;
                                         * else the run is told to fail where they contradict. */
};
/* Returns the weights, of element e: a row for each of the extent 0 of `to` bins of the spectrum, a
 * column for each band. */
struct value *compose_mel_weights(struct compose *c, const struct compose_mel *in,
                                  const struct type *to, enum element e);

#endif
