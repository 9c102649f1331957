/* SPDX-License-Identifier: MIT */
/* Sliding windows are those of convolutions and pools. Channels are dimension 1 of images [N, C,
 * spatial]; weights are [M, C / groups, window]. */
#ifndef FRONT_COMPOSE_COMPOSE_WINDOW_H
#define FRONT_COMPOSE_COMPOSE_WINDOW_H

#include "front/compose/compose.h"

/* This says how pads follow from extents. With PAD_SAME the result has extent / stride elements,
 * rounded up; an odd pad is at the end (UPPER) or at the start (LOWER). With PAD_VALID there are no
 * pads. */
enum compose_auto_pad { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };
struct compose_window {
        int rank;                       /* There are so many spatial dimensions. */
        int auto_pad;                   /* It is an enum compose_auto_pad. */
        int64_t kernel[RANK_MAX], strides[RANK_MAX], dilations[RANK_MAX];
        int64_t pads[2 * RANK_MAX];     /* All low ones come first, then all high ones; placing the
                                         * window sets them, unless PAD_NOTSET. */
        dim_t out[RANK_MAX];            /* Placing the window sets these extents of the result. */
        int64_t high[RANK_MAX];         /* Placing the window sets these high pads, which make
                                         * exactly these extents, where a window of ceil_mode hangs
                                         * over. */
};
/* Places the window over the spatial extents `in`: sets its pads and the result's extents. Returns
 * false after an error. */
bool compose_window_place(struct compose *c, struct compose_window *w, const dim_t *in,
                          bool ceil_mode);
/* Returns x [N, C, spatial], or, where the pads of PAD_SAME depend on extents that a run gives, x
 * with these pads, filled with this number: then the window has no pads there, and its others are
 * numbers. The kernel is set. */
struct value *compose_window_padded(struct compose *c, struct compose_window *w, struct value *x,
                                    double fill);
/* Returns the extent of the dilated kernel. */
static inline int64_t compose_window_extent(const struct compose_window *w, int d)
{
        return (w->kernel[d] - 1) * w->dilations[d] + 1;
}

/* ---- convolutions (compose_window.c) ---- */

/* Returns the convolution of x by w, plus bias [M] unless that is NULL. The window's kernel is that
 * of w; the window is placed here. */
struct value *compose_conv(struct compose *c, struct value *x, struct value *w, struct value *bias,
                           struct compose_window *window, int64_t groups);

/* These are its steps, for forms that compute something in between. _ranks checks that x and w have
 * one rank, of at least 3; _place checks that they fit, and places the window; convolve multiplies
 * through a placed window, with sums of type `accumulator` (or E_COMPUTE); with_bias adds a bias
 * along channels. */
bool compose_conv_ranks(struct compose *c, const struct value *x, const struct value *w);
bool compose_conv_place(struct compose *c, const struct value *x, const struct value *w,
                        struct compose_window *window, int64_t groups);
struct value *compose_convolve(struct compose *c, struct value *x, struct value *w,
                               const struct compose_window *window, int64_t groups,
                               int accumulator);
struct value *compose_with_bias(struct compose *c, struct value *y, struct value *bias);

/* Moves the channels of [N, spatial, C] to the front, [N, C, spatial], or back. */
struct value *compose_move_channels(struct compose *c, struct value *x, bool to_front);

/* Each channel of x [N, C, length] is convolved by itself, by w [C, 1, kernel], over `past` [N, C,
 * (kernel - 1) * dilation] (NULL stands for zeros) and x behind it. *state is the end of both,
 * which is the next call's past; or, where `window` is not 0, [window, N, C, ..], what it was after
 * each of the last elements of x, and 0 for those that x has not. */
enum { CAUSAL_WINDOW_MAX = 8 };
struct compose_causal {
        struct value *x, *w, *bias, *past;
        int64_t dilation, window;
        bool swish;                     /* The result y becomes y * sigmoid(y). */
};
struct value *compose_causal_conv(struct compose *c, const struct compose_causal *in,
                                  struct value **state);

/* A transposed convolution is the gradient of a convolution; w is [C, M / groups, window]. x and w
 * have one rank. */
struct compose_transposed {
        struct compose_window window;
        int64_t groups;
        int64_t extra[RANK_MAX];        /* So many elements are added at the end of each
                                         * dimension. */
        bool shaped;                    /* `shape` is stated, and pads follow from it. */
        int64_t shape[RANK_MAX];        /* These are the extents of the result. */
};
struct value *compose_conv_transposed(struct compose *c, struct value *x, struct value *w,
                                      struct value *bias, struct compose_transposed *t);

/* The taps of a deformed convolution are sampled, linearly between pixels, at places that offsets
 * say (compose_deform.c). */
struct compose_deformed {
        struct compose_window window;
        int64_t groups;
        int64_t shared;                 /* There are so many groups of channels, each of which has
                                         * its offsets. */
        struct value *x, *w;
        struct value *offsets;          /* They are in pixels, [N, shared * taps * dimensions,
                                         * spatial]. */
        struct value *bias;             /* It is [M], or NULL. */
        struct value *mask;             /* These are factors of taps, [N, shared * taps, spatial];
                                         * NULL stands for 1. */
};
struct value *compose_conv_deformed(struct compose *c, struct compose_deformed *d);

/* ---- pools (compose_pool.c) ---- */

struct compose_pool {
        struct compose_window window;
        bool ceil_mode;                 /* A last window may hang over the end. */
        bool include_pads;              /* A mean is over the whole window, where pads are zeros. */
        bool column_major;              /* Positions of maxima are counted column by column. */
};
/* Returns the maximum in each window. Unless at is NULL, *at is set to the position of each maximum
 * in x, counted row by row. */
struct value *compose_max_pool(struct compose *c, struct value *x, struct compose_pool *pool,
                               struct value **at);
/* Returns the same in f32, but along the last dimension a window ends at the first element that the
 * mask, [1, 1, spatial] of bool, leaves out; the largest of nothing is the least number. */
struct value *compose_max_pool_masked(struct compose *c, struct value *x, struct value *mask,
                                      struct compose_pool *pool);
struct value *compose_average_pool(struct compose *c, struct value *x, struct compose_pool *pool);
/* Returns the mean of integers of at most 16 bits, rounded, halves away from 0, and bounded. */
struct value *compose_average_pool_integer(struct compose *c, struct value *x,
                                           struct compose_pool *pool, int64_t low,
                                           int64_t high);
/* Returns the p-norm of each window's elements. */
struct value *compose_lp_pool(struct compose *c, struct value *x, struct compose_pool *pool,
                              int64_t p);

/* Puts what max_pool gave back at its places `at` (i64, of x's shape) in a tensor of extents
 * `dims`, where all else is 0; with more zeros behind that, up to `result`. */
struct value *compose_max_unpool(struct compose *c, struct value *x, struct value *at,
                                 const dim_t *dims, const dim_t *result);

/* Returns running sums or products along the axis, each over the elements up to its own, or
 * (exclusive) up to the one before; from the other end where `reverse`. */
struct value *compose_cumulate(struct compose *c, struct value *x, enum reducer kind, int axis,
                               bool exclusive, bool reverse);

/* ---- columns as images (compose_fold.c) ---- */

/* Columns x [N, channels * taps, positions] become images [N, channels, spatial]: a column is a
 * window of an image, and what overlaps is added up. */
struct compose_fold {
        struct value *x;
        struct compose_window window;   /* Its kernel, strides, dilations and pads are read. */
        int64_t image[RANK_MAX];        /* These are the extents of an image, without pads. */
        /* Where only a run knows the extents of the window, these are i64 <dimensions>, those of an
         * image and of the window, and the channels of an image; else they are NULL and 0. */
        struct value *image_stated, *kernel_stated;
        int64_t channels;
};
struct value *compose_fold(struct compose *c, const struct compose_fold *in);

#endif
