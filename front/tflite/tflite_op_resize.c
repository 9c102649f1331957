/* SPDX-License-Identifier: MIT */
/* Images resized between their pixels. */
#include "front/tflite/tflite_helpers.h"

#include "front/compose/compose_resample.h"

static bool resize(struct tflite_import *im, struct tflite_node *n, int mode, bool corners,
                   bool half)
{
        struct value *x = n->inputs[0]->value;
        int64_t size[2];
        int count;
        if (!tflite_want_rank(im, n, 0, 4) || !tflite_ints(im, n, 1, size, 2, &count))
                return false;
        if (count != 2 || size[0] < 1 || size[1] < 1)
                return tflite_invalid(im, "the size has %d numbers, want two of at least 1", count);
        if (corners && half)
                return tflite_invalid(im, "align_corners with half_pixel_centers");
        struct compose_resize r = { .mode = mode, .count = 2, .axes = { 1, 2 } };
        for (int d = 0; d < 2; d++) {
                const int64_t in = value_extent(x, d + 1);
                if (in < 1)
                        return tflite_invalid(im, "an image of extent %lld", (long long)in);
                r.out[d] = size[d];
                r.scale[d] = (double)size[d] / (double)in;
        }
        r.transform =
                corners ? RESIZE_ALIGN_CORNERS
                : half  ? mode == RESIZE_NEAREST ? RESIZE_TF_HALF_PIXEL_FOR_NN : RESIZE_HALF_PIXEL
                        : RESIZE_ASYMMETRIC;
        r.round = corners ? NEAREST_PREFER_CEIL : NEAREST_FLOOR;
        const int64_t extents[4] = { value_extent(x, 0), size[0], size[1], value_extent(x, 3) };
        return compose_type_static(im->c, value_element(x), 4, extents) &&
               tflite_output(im, n, 0, compose_resize(im->c, x, &r));
}

bool tflite_import_resize_bilinear(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_ResizeBilinearOptions *o = TFLITE_OPTIONS(n, ResizeBilinearOptions);
        if (!tflite_is_float(n->inputs[0]))
                return tflite_no_element(im, n, 0);
        return resize(im, n, RESIZE_LINEAR, o->align_corners, o->half_pixel_centers);
}

bool tflite_import_resize_nearest(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_ResizeNearestNeighborOptions *o =
                TFLITE_OPTIONS(n, ResizeNearestNeighborOptions);
        return resize(im, n, RESIZE_NEAREST, o->align_corners, o->half_pixel_centers);
}
