/* SPDX-License-Identifier: MIT */
/* Sliding windows: convolutions and pools. Channels are dimension 1 of images [N, C, spatial];
 * weights are [M, C / groups, window]. */
#ifndef FRONT_COMPOSE_COMPOSE_WINDOW_H
#define FRONT_COMPOSE_COMPOSE_WINDOW_H

#include "front/compose/compose.h"

/* How pads follow from extents. PAD_SAME: the result has extent / stride elements, rounded up;
 * an odd pad is at the end (UPPER) or at the start (LOWER). PAD_VALID: there are no pads. */
enum compose_auto_pad { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };
struct compose_window {
        int rank;                       /* spatial dimensions */
        int auto_pad;                   /* enum compose_auto_pad */
        int64_t kernel[RANK_MAX], strides[RANK_MAX], dilations[RANK_MAX];
        int64_t pads[2 * RANK_MAX];     /* all low ones, then all high ones; set by placing it,
                                         * unless PAD_NOTSET */
        int64_t out[RANK_MAX];          /* set by placing it: extents of the result */
        int64_t high[RANK_MAX];         /* set by placing it: high pads that make exactly these
                                         * extents, where a window of ceil_mode hangs over */
};
/* Places the window over the spatial extents `in`: sets its pads and the result's extents. False
 * after an error. */
bool compose_window_place(struct compose *c, struct compose_window *w, const dim_t *in,
                          bool ceil_mode);
/* Returns the extent of the dilated kernel. */
static inline int64_t compose_window_extent(const struct compose_window *w, int d)
{
        return (w->kernel[d] - 1) * w->dilations[d] + 1;
}

/* ---- convolutions (compose_window.c) ---- */

/* The convolution of x by w, plus bias [M] unless NULL. The window's kernel is that of w; the
 * window is placed here. */
struct value *compose_conv(struct compose *c, struct value *x, struct value *w, struct value *bias,
                           struct compose_window *window, int64_t groups);

/* Its steps, for forms that compute something in between. _ranks checks that x and w have one
 * rank, of at least 3; _place that they fit, and places the window; convolve multiplies through
 * a placed window, with sums of type `accumulator` (or E_COMPUTE); with_bias adds a bias along
 * channels. */
bool compose_conv_ranks(struct compose *c, const struct value *x, const struct value *w);
bool compose_conv_place(struct compose *c, const struct value *x, const struct value *w,
                        struct compose_window *window, int64_t groups);
struct value *compose_convolve(struct compose *c, struct value *x, struct value *w,
                               const struct compose_window *window, int64_t groups,
                               int accumulator);
struct value *compose_with_bias(struct compose *c, struct value *y, struct value *bias);

/* Moves the channels of [N, spatial, C] to the front, [N, C, spatial], or back. */
struct value *compose_move_channels(struct compose *c, struct value *x, bool to_front);

/* The convolution of each channel of x [N, C, length] by itself, by w [C, 1, kernel], over
 * `past` [N, C, (kernel - 1) * dilation] (NULL: zeros) and x behind it. *state is the end of both,
 * the next call's past; or, where `window` is not 0, [window, N, C, ..], what it was after each of
 * the last elements of x, and 0 for those that x has not. */
enum { CAUSAL_WINDOW_MAX = 8 };
struct compose_causal {
        struct value *x, *w, *bias, *past;
        int64_t dilation, window;
        bool swish;                     /* the result y becomes y * sigmoid(y) */
};
struct value *compose_causal_conv(struct compose *c, const struct compose_causal *in,
                                  struct value **state);

/* The gradient of a convolution; w is [C, M / groups, window]. x and w have one rank. */
struct compose_transposed {
        struct compose_window window;
        int64_t groups;
        int64_t extra[RANK_MAX];        /* elements that are added at the end of each dimension */
        bool shaped;                    /* `shape` is stated, and pads follow from it */
        int64_t shape[RANK_MAX];        /* extents of the result */
};
struct value *compose_conv_transposed(struct compose *c, struct value *x, struct value *w,
                                      struct value *bias, struct compose_transposed *t);

/* A convolution whose taps are sampled, linearly between pixels, at places that offsets say
 * (compose_deform.c). */
struct compose_deformed {
        struct compose_window window;
        int64_t groups;
        int64_t shared;                 /* groups of channels, each of which has its offsets */
        struct value *x, *w;
        struct value *offsets;          /* in pixels, [N, shared * taps * dimensions, spatial] */
        struct value *bias;             /* [M], or NULL */
        struct value *mask;             /* factors of taps, [N, shared * taps, spatial]; NULL: 1 */
};
struct value *compose_conv_deformed(struct compose *c, struct compose_deformed *d);

/* ---- pools (compose_pool.c) ---- */

struct compose_pool {
        struct compose_window window;
        bool ceil_mode;                 /* a last window may hang over the end */
        bool include_pads;              /* a mean is over the whole window, pads being zeros */
        bool column_major;              /* positions of maxima are counted column by column */
};
/* *at, unless NULL: the position of each maximum in x, counted row by row */
struct value *compose_max_pool(struct compose *c, struct value *x, struct compose_pool *pool,
                               struct value **at);
/* The same in f32, but along the last dimension a window ends at the first element that the mask,
 * [1, 1, spatial] of bool, leaves out; the largest of nothing is the least number. */
struct value *compose_max_pool_masked(struct compose *c, struct value *x, struct value *mask,
                                      struct compose_pool *pool);
struct value *compose_average_pool(struct compose *c, struct value *x, struct compose_pool *pool);
/* The p-norm of the window's elements. */
struct value *compose_lp_pool(struct compose *c, struct value *x, struct compose_pool *pool,
                              int64_t p);

/* What max_pool gave, back at its places `at` (i64, of x's shape) in a tensor of extents `dims`,
 * where all else is 0; with more zeros behind that, up to `result`. */
struct value *compose_max_unpool(struct compose *c, struct value *x, struct value *at,
                                 const dim_t *dims, const dim_t *result);

/* Running sums or products along the axis, each over the elements up to its own, or (exclusive) up
 * to the one before; from the other end where `reverse`. */
struct value *compose_cumulate(struct compose *c, struct value *x, enum reducer kind, int axis,
                               bool exclusive, bool reverse);

/* ---- columns as images (compose_fold.c) ---- */

/* Columns x [N, channels * taps, positions] as images [N, channels, spatial]: a column is a
 * window of an image, and what overlaps is added up. */
struct compose_fold {
        struct value *x;
        struct compose_window window;   /* its kernel, strides, dilations and pads */
        int64_t image[RANK_MAX];        /* extents of an image, without pads */
        /* Where only a run knows the extents of the window, else NULL and 0: i64 <dimensions>,
         * those of an image and of the window, and the channels of an image. */
        struct value *image_stated, *kernel_stated;
        int64_t channels;
};
struct value *compose_fold(struct compose *c, const struct compose_fold *in);

#endif
