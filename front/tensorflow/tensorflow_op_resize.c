/* SPDX-License-Identifier: MIT */
/* Images resized between their pixels. */
#include "front/tensorflow/tensorflow_helpers.h"

#include "front/compose/compose_resample.h"

bool tf_import_resize(struct tf_import *im, struct tf_node *n)
{
        const bool corners = tf_bool(n, "align_corners", false),
                   half = tf_bool(n, "half_pixel_centers", false);
        const int mode = tf_variant(n);
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value;
        int64_t size[2];
        int count;
        if (!tf_want_rank(im, n, 0, 4) || !tf_ints(im, n, 1, size, 2, &count))
                return false;
        if (count != 2 || size[0] < 1 || size[1] < 1 || (corners && half))
                return tf_invalid(im, "the size has %d numbers, want two of at least 1", count);
        for (int d = 0; d < 2; d++)
                if (value_extent(x, d + 1) < 1)
                        return tf_invalid(im, "an image of extent %lld",
                                          (long long)value_extent(x, d + 1));
        const int64_t extents[4] = { value_extent(x, 0), size[0], size[1], value_extent(x, 3) };
        if (mode != RESIZE_NEAREST)     /* The result of other modes is f32. */
                x = compose_cast(c, x, E_F32);
        if (!compose_type_static(c, value_element(x), 4, extents))
                return false;
        struct compose_resize r = { .mode = mode, .count = 2, .axes = { 1, 2 } };
        for (int d = 0; d < 2; d++) {
                r.out[d] = dim_of(size[d]);
                r.scale[d] = (double)size[d] / (double)value_extent(x, d + 1);
        }
        r.transform = corners ? RESIZE_ALIGN_CORNERS
                      : half  ? mode == RESIZE_NEAREST ? RESIZE_TF_HALF_PIXEL_FOR_NN
                                                       : RESIZE_HALF_PIXEL
                              : RESIZE_ASYMMETRIC;
        r.round = corners ? NEAREST_PREFER_CEIL : NEAREST_FLOOR;
        return tf_output(im, n, 0, compose_resize(c, x, &r));
}
