/* SPDX-License-Identifier: MIT */
/* Images taken between their pixels: resize, samples at the points of a grid, regions brought to
 * one size. */
#ifndef FRONT_COMPOSE_COMPOSE_RESAMPLE_H
#define FRONT_COMPOSE_COMPOSE_RESAMPLE_H

#include "front/compose/compose.h"

/* ---- resize (compose_resize.c) ---- */

enum compose_resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
/* where output y lies in the input, of s = scale */
enum compose_resize_transform {
        RESIZE_HALF_PIXEL,              /* (y + 0.5) / s - 0.5 */
        RESIZE_PYTORCH_HALF_PIXEL,      /* the same, but 0 where there is one output */
        RESIZE_ALIGN_CORNERS,           /* y * (in - 1) / (out - 1) */
        RESIZE_ASYMMETRIC,              /* y / s */
        RESIZE_TF_CROP_AND_RESIZE,      /* of the region roi */
        RESIZE_HALF_PIXEL_SYMMETRIC,    /* half pixels about the centre, where out is less than
                                         * s * in */
        RESIZE_TF_HALF_PIXEL_FOR_NN     /* (y + 0.5) / s */
};
/* NEAREST_SIMPLE: up where the result is smaller, else down (onnxruntime, of early models) */
enum compose_resize_nearest {
        NEAREST_PREFER_FLOOR,
        NEAREST_PREFER_CEIL,
        NEAREST_FLOOR,
        NEAREST_CEIL,
        NEAREST_SIMPLE
};

struct compose_resize {
        int mode, transform;
        int round;                      /* of RESIZE_NEAREST: enum compose_resize_nearest */
        bool exclude_outside;           /* neighbours outside the input weigh nothing */
        bool antialias;                 /* a smaller result takes all elements in its reach */
        float cubic;                    /* a of Keys' kernel, of RESIZE_CUBIC */
        float extrapolation;            /* where a region lies outside the input */
        int count;                      /* axes that are resized */
        int axes[RANK_MAX];
        int64_t out[RANK_MAX];          /* for each of the axes: the extent of the result */
        double scale[RANK_MAX];         /* for each of the axes: out / in, as it is stated */
        struct value *scales;           /* <count x f64>: the scales, where only a run knows them;
                                         * else NULL */
        struct value *roi;              /* RESIZE_TF_CROP_AND_RESIZE: <2 count x f64>, starts, then
                                         * ends, of 0 to 1; else NULL */
};
/* of x's element; integers are interpolated as floats and rounded */
struct value *compose_resize(struct compose *c, struct value *x, const struct compose_resize *r);

/* ---- samples (compose_sample.c) ---- */

enum compose_sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };
enum compose_sample_padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION };
struct compose_sample {
        int mode, padding;
        bool align;                     /* -1 and 1 are the centres of the outermost pixels, not
                                         * their outer edges */
};
/* x [N, C, spatial] at grid [N, spatial of the result, dimensions], whose points are in [-1, 1],
 * the last dimension first */
struct value *compose_grid_sample(struct compose *c, struct value *x, struct value *grid,
                                  const struct compose_sample *how);
/* theta [N, d, d + 1] applied to the points of a regular grid over [-1, 1]; to: [N, size, d] of any
 * element */
struct value *compose_affine_grid(struct compose *c, struct value *theta, const struct type *to,
                                  bool align);

/* ---- regions (compose_roi.c) ---- */

/* Each of the regions [regions, 4], x and y of two corners, of image `images[region]` (i64),
 * brought to bins[0] x bins[1] bins of samples. */
struct compose_roi_align {
        struct value *x;                /* [N, C, rows, columns], both extents at least 1 */
        struct value *regions, *images;
        int64_t bins[2];                /* rows and columns of results */
        int64_t samples;                /* of each bin, along each dimension; 0: as many as the
                                         * bin has pixels */
        bool largest;                   /* the largest sample of a bin, not their mean */
        bool unshifted;                 /* corners are pixels, not half pixels further; a region has
                                         * a size of at least 1 */
        float scale;                    /* of corners to pixels */
};
struct value *compose_roi_align(struct compose *c, const struct compose_roi_align *r);

#endif
