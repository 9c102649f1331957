/* SPDX-License-Identifier: MIT */
/* These operations take images between their pixels: resize, samples at the points of a grid,
 * regions brought to one size. */
#ifndef FRONT_COMPOSE_COMPOSE_RESAMPLE_H
#define FRONT_COMPOSE_COMPOSE_RESAMPLE_H

#include "front/compose/compose.h"

/* ---- resize (compose_resize.c) ---- */

enum compose_resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
/* A transform says where element y of the result lies in the input, s being the scale. */
enum compose_resize_transform {
        RESIZE_HALF_PIXEL,              /* (y + 0.5) / s - 0.5 */
        RESIZE_PYTORCH_HALF_PIXEL,      /* It is as HALF_PIXEL, but 0 where there is one output. */
        RESIZE_ALIGN_CORNERS,           /* y * (in - 1) / (out - 1) */
        RESIZE_ASYMMETRIC,              /* y / s */
        RESIZE_TF_CROP_AND_RESIZE,      /* y is a position in the region roi. */
        RESIZE_HALF_PIXEL_SYMMETRIC,    /* Half pixels lie about the centre, where out is less than
                                         * s * in. */
        RESIZE_TF_HALF_PIXEL_FOR_NN     /* (y + 0.5) / s */
};
/* This says how a position between two elements is rounded. NEAREST_SIMPLE rounds up where the
 * result is smaller than the input, else down, as onnxruntime does in early models. */
enum compose_resize_nearest {
        NEAREST_PREFER_FLOOR,
        NEAREST_PREFER_CEIL,
        NEAREST_FLOOR,
        NEAREST_CEIL,
        NEAREST_SIMPLE
};

struct compose_resize {
        int mode;                       /* It is an enum compose_resize_mode. */
        int transform;                  /* It is an enum compose_resize_transform. */
        int round;                      /* With RESIZE_NEAREST, it is an enum
                                         * compose_resize_nearest. */
        bool exclude_outside;           /* Neighbours outside the input have the weight 0. */
        bool antialias;                 /* Where the result is smaller, the kernel is wider by the
                                         * same ratio. */
        float cubic;                    /* With RESIZE_CUBIC, it is a of Keys' kernel. */
        float extrapolation;            /* With RESIZE_TF_CROP_AND_RESIZE, it is the value outside
                                         * the input. */
        int count;                      /* So many axes are resized. */
        int axes[RANK_MAX];
        dim_t out[RANK_MAX];            /* It is, for each of the axes, the extent of the result. */
        int64_t times[RANK_MAX];        /* Along this axis, whose extent a run gives, each element
                                         * is repeated so many times; 0: elements are taken where
                                         * their coordinates are. */
        double scale[RANK_MAX];         /* It is, for each of the axes, out / in, as it is stated;
                                         * 0: it is the quotient of both extents, of which a run
                                         * gives one or both. */
        struct value *scales;           /* These <count x f64> are the scales, where only a run
                                         * knows them; else it is NULL. */
        struct value *roi;              /* With RESIZE_TF_CROP_AND_RESIZE, it is <2 count x f64>,
                                         * starts, then ends, of 0 to 1; else NULL. */
};
/* Lets axis number i of the operation, along which x has the extent `in`, be resized by a scale.
 * The result's extent is their product in f32, rounded down. Returns false where a run gives `in`,
 * and no term over it is that product at each of its extents. */
bool compose_resize_by(struct compose *c, struct compose_resize *r, int i, dim_t in, double scale);
/* Returns x resized, of x's element; integers are interpolated as floats, and rounded. */
struct value *compose_resize(struct compose *c, struct value *x, const struct compose_resize *r);

/* ---- samples (compose_sample.c) ---- */

enum compose_sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };
enum compose_sample_padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION };
struct compose_sample {
        int mode;                       /* It is an enum compose_sample_mode. */
        int padding;                    /* It is an enum compose_sample_padding. */
        bool align;                     /* -1 and 1 are the centres of the outermost pixels, not
                                         * their outer edges. */
};
/* Samples x [N, C, spatial] at the points of a grid [N, spatial of the result, dimensions]. Points
 * are in [-1, 1], and have their coordinate along the last dimension first. */
struct value *compose_grid_sample(struct compose *c, struct value *x, struct value *grid,
                                  const struct compose_sample *how);
/* Returns the grid [N, spatial, d] that affine maps theta [N, d, d + 1] make of a regular grid over
 * [-1, 1]. `to` has its shape, of any element. */
struct value *compose_affine_grid(struct compose *c, struct value *theta, const struct type *to,
                                  bool align);

/* ---- regions (compose_roi.c) ---- */

/* Each region of an image is brought to bins[0] x bins[1] bins, which average samples. */
struct compose_roi_align {
        struct value *x;                /* It is [N, C, rows, columns], where both extents are at
                                         * least 1. */
        struct value *regions;          /* They are [regions, 4], x and y of two corners. */
        struct value *images;           /* These i64 [regions] are the image of each region. */
        int64_t bins[2];                /* These are the rows and columns of a result. */
        int64_t samples;                /* A bin has so many along each dimension; at 0 it has as
                                         * many as it has pixels. */
        bool largest;                   /* A bin is its largest sample, not their mean. */
        bool unshifted;                 /* Corners lie on pixels, not half a pixel behind them, and
                                         * a region has a size of at least 1. */
        float scale;                    /* So many pixels are a unit of the corners. */
};
struct value *compose_roi_align(struct compose *c, const struct compose_roi_align *r);

/* Each region of an image is resized to extents[0] x extents[1] pixels; the outermost of these lie
 * on the region's corners or, where there is one, in its middle. */
struct compose_crops {
        struct value *x;                /* It is [N, C, rows, columns], where both extents are at
                                         * least 1. */
        struct value *regions;          /* They are [regions, 4], y and x of two corners, of which 0
                                         * and 1 are the outermost pixels. */
        struct value *images;           /* These integers [regions] are the image of each region. */
        int64_t extents[2];             /* These are the rows and columns of a result. */
        bool nearest;                   /* The nearest pixel is taken; else pixels are interpolated
                                         * linearly. */
        double outside;                 /* Pixels outside the image have this value. */
};
/* Returns the result [regions, C, extents]. */
struct value *compose_crops(struct compose *c, const struct compose_crops *r);

#endif
