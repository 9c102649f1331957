/* SPDX-License-Identifier: MIT */
/* Images resized between their pixels. */
#include "front/tflite/tflite_helpers.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_resample.h"

/* Reads and checks the extents of the result. */
static bool size_read(struct tflite_import *im, struct tflite_node *n, int64_t size[2],
                      bool corners, bool half)
{
        struct value *x = n->inputs[0]->value;
        int count;
        if (!tflite_want_rank(im, n, 0, 4) || !tflite_ints(im, n, 1, size, 2, &count))
                return false;
        if (count != 2 || size[0] < 1 || size[1] < 1)
                return tflite_invalid(im, "the size has %d numbers, want two of at least 1", count);
        if (corners && half)
                return tflite_invalid(im, "align_corners with half_pixel_centers");
        for (int d = 0; d < 2; d++)
                if (value_extent(x, d + 1) < 1)
                        return tflite_invalid(im, "an image of extent %lld",
                                              (long long)value_extent(x, d + 1));
        const int64_t extents[4] = { value_extent(x, 0), size[0], size[1], value_extent(x, 3) };
        return compose_type_static(im->c, value_element(x), 4, extents) != NULL;
}

static bool resize(struct tflite_import *im, struct tflite_node *n, int mode, bool corners,
                   bool half)
{
        struct value *x = n->inputs[0]->value;
        int64_t size[2];
        if (!size_read(im, n, size, corners, half))
                return false;
        struct compose_resize r = { .mode = mode, .count = 2, .axes = { 1, 2 } };
        for (int d = 0; d < 2; d++) {
                r.out[d] = dim_of(size[d]);
                r.scale[d] = (double)size[d] / (double)value_extent(x, d + 1);
        }
        r.transform =
                corners ? RESIZE_ALIGN_CORNERS
                : half  ? mode == RESIZE_NEAREST ? RESIZE_TF_HALF_PIXEL_FOR_NN : RESIZE_HALF_PIXEL
                        : RESIZE_ASYMMETRIC;
        r.round = corners ? NEAREST_PREFER_CEIL : NEAREST_FLOOR;
        return tflite_output(im, n, 0, compose_resize(im->c, x, &r));
}

/* ---- integers between pixels: places and weights have 10 fraction bits ---- */

enum { FRACTION = 10, ONE = 1 << FRACTION };

/* Returns x, of integers, interpolated along the axis: sums of two neighbours, times ONE. */
static struct value *between(struct tflite_import *im, struct value *x, int axis, int64_t size,
                             bool corners, bool half)
{
        struct compose *c = im->c;
        const int64_t extent = value_extent(x, axis), last = extent - 1;
        int64_t step = (ONE * extent + size / 2) / size;
        if (corners && size > 1)
                step = (ONE * last + (size - 1) / 2) / (size - 1);
        int64_t *places[2], *weights[2];
        for (int side = 0; side < 2; side++) {
                places[side] = arena_array(im->m->arena, (size_t)size, sizeof **places);
                weights[side] = arena_array(im->m->arena, (size_t)size, sizeof **weights);
        }
        for (int64_t i = 0; i < size; i++) {
                const int64_t at = i * step + (half ? step / 2 - ONE / 2 : 0);
                places[0][i] = compose_min(compose_max(at / ONE, 0), last);
                places[1][i] = compose_max(0, compose_min((at + ONE - 1) / ONE, last));
                weights[1][i] = at - ONE * places[0][i];
                weights[0][i] = ONE - weights[1][i];
        }
        struct value *sum = NULL;
        for (int side = 0; side < 2; side++) {
                struct value *at = constant_dense(im->m, type_static(im->m, E_I64, 1, &size),
                                                  places[side], NULL);
                struct value *w = constant_dense(im->m, type_static(im->m, E_I64, 1, &size),
                                                 weights[side], NULL);
                struct value *part = build_gather(c->b, x, at, axis);
                w = compose_cast(c, w, value_element(x));
                if (!part || !w)
                        return NULL;
                part = mul(c, part, compose_along(c, w, part->type, axis));
                sum = side ? add(c, sum, part) : part;
        }
        return sum;
}

/* Sums are rounded, halves away from 0. */
static bool resize_integers(struct tflite_import *im, struct tflite_node *n, bool corners,
                            bool half)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value;
        const enum element e = value_element(x);
        const double whole = (double)ONE * ONE;
        int64_t size[2];
        if (!size_read(im, n, size, corners, half))
                return false;
        x = compose_cast(c, x, element_info[e].bytes == 1 ? E_I32 : E_I64);
        for (int d = 0; d < 2 && x; d++)
                x = between(im, x, d + 1, size[d], corners, half);
        struct value *above = plus(c, x, whole / 2), *below = plus(c, x, -whole / 2);
        struct value *positive = compose_with(c, OP_gt, x, 0);
        x = compose_with(c, OP_div, compose_select(c, positive, above, below), whole);
        return tflite_output(im, n, 0, compose_cast(c, x, e));
}

bool tflite_import_resize_bilinear(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_ResizeBilinearOptions *o = TFLITE_OPTIONS(n, ResizeBilinearOptions);
        const struct tflite_tensor *x = n->inputs[0];
        if (tflite_is_quantized(x) && element_info[x->type->element].bytes <= 2)
                return resize_integers(im, n, o->align_corners, o->half_pixel_centers);
        if (!tflite_is_float(x))
                return tflite_no_element(im, n, 0);
        return resize(im, n, RESIZE_LINEAR, o->align_corners, o->half_pixel_centers);
}

bool tflite_import_resize_nearest(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_ResizeNearestNeighborOptions *o =
                TFLITE_OPTIONS(n, ResizeNearestNeighborOptions);
        return resize(im, n, RESIZE_NEAREST, o->align_corners, o->half_pixel_centers);
}
