/* SPDX-License-Identifier: MIT */
/* Discrete Fourier transforms, of whole signals and of frames of them, and windows for these.
 * Signals have their real, or real and imaginary, parts in the last dimension. */
#ifndef FRONT_COMPOSE_COMPOSE_FOURIER_H
#define FRONT_COMPOSE_COMPOSE_FOURIER_H

#include "front/compose/compose.h"

struct compose_transform {
        int64_t period;                 /* the period of the transform */
        int64_t in;                     /* the extent that is read, along the axis */
        int64_t in_parts;               /* 1 real, 2 complex */
        int64_t out, out_parts;         /* the extents of the result */
        bool inverse;
        bool folded;                    /* the operand is half of a symmetric spectrum */
};
/* The transform of x along the axis, of `length` elements (-1: all); onesided: without the half of
 * the spectrum that follows from the other one. False, without a message, where there is none. */
bool compose_transform_of(const struct type *x, int axis, int64_t length, bool inverse,
                          bool onesided, struct compose_transform *t);
/* Returns x, of a wide type, transformed along the axis. */
struct value *compose_transform(struct compose *c, struct value *x, int axis,
                                const struct compose_transform *t);

struct compose_frames {
        struct value *x;                /* the signal, of a wide type, [batch, length, parts] */
        struct value *window;           /* factors, of x's type, <length of a frame>; NULL: 1 */
        struct value *step;             /* i64: from one frame to the next */
        int64_t count;                  /* how many frames there are */
        bool onesided;
        struct value *length;           /* i64: of a frame, where only a run knows it; else NULL */
};
/* Frames of `length` transformed, [batch, frames, bins, 2]. Where the run-time length is
 * `other`, all is element 0; where it is neither, the code fails by an index out of range. */
struct value *compose_frames(struct compose *c, const struct compose_frames *f, int64_t length,
                             int64_t other);
/* The same of a run-time length, which is one of those that have so many bins: half a spectrum is
 * that of two lengths. */
struct value *compose_frames_open(struct compose *c, const struct compose_frames *f, int64_t bins);

/* Returns a[0] - a[1] cos x + a[2] cos 2x at `size` points of a period, whose end is the first
 * point again where it is periodic, else the last one; of f64. */
struct value *compose_cosine_window(struct compose *c, const double a[3], int64_t size,
                                    bool periodic);

#endif
