/* SPDX-License-Identifier: MIT */
/* RoiAlign: regions of images, each brought to one size by sampling its bins between pixels. */
#include "compiler/import/onnx_helpers.h"

/* the points of one dimension, <regions x bins * samples>: the pixels on both sides of each, and
 * their shares, 0 outside the image */
struct points { struct value *index[2], *weight[2]; };

static struct value *flattened(struct onnx_import *im, struct value *v)
{
        return v ? onnx_reshape(im, v, 2,
                                (const dim_t[]){ onnx_dim(v, 0), onnx_dim(v, 1) * onnx_dim(v, 2) })
                 : NULL;
}

static void points_read(struct onnx_import *im, struct value *first, struct value *size,
                        int64_t extent, int64_t bins, int64_t samples, struct points *p)
{
        const int64_t onto[1] = { 0 };
        const struct type *to = type_tensor(im->m, onnx_element(first), 3,
                                            (const dim_t[]){ onnx_dim(first, 0), bins, samples });
        struct value *bin = onnx_spread(im, onnx_with(im, OP_div, size, (double)bins), to, onto);
        struct value *part = onnx_with(im, OP_add, build_iota(&im->b, to, 2), 0.5);
        struct value *last = build_scalar(&im->b, to->element, (double)extent - 1);
        struct value *at = onnx_binary(im, OP_mul, build_iota(&im->b, to, 1), bin);
        at = onnx_binary(im, OP_add, onnx_spread(im, first, to, onto), at);
        at = onnx_binary(im, OP_add, at,
                         onnx_with(im, OP_div, onnx_binary(im, OP_mul, part, bin),
                                   (double)samples));
        struct value *right = onnx_with(im, OP_le, at, (double)extent);
        struct value *inside = onnx_binary(im, OP_and, onnx_with(im, OP_ge, at, -1), right);
        at = onnx_binary(im, OP_min, onnx_with(im, OP_max, at, 0), last);
        struct value *low = onnx_unary(im, OP_floor, at),
                     *high = onnx_binary(im, OP_min, onnx_with(im, OP_add, low, 1), last);
        struct value *share = onnx_binary(im, OP_sub, at, low),
                     *none = build_scalar(&im->b, to->element, 0);
        p->index[0] = flattened(im, onnx_cast(im, low, E_I64));
        p->index[1] = flattened(im, onnx_cast(im, high, E_I64));
        p->weight[0] =
                flattened(im, onnx_select(im, inside, onnx_from(im, OP_sub, 1, share), none));
        p->weight[1] = flattened(im, onnx_select(im, inside, share, none));
}

/* <regions x rows x columns x channels>: pixels (low or high ones in either dimension) times their
 * shares */
static struct value *corner(struct onnx_import *im, struct value *pixels, struct value *image,
                            const dim_t *extents, const struct points *p, int row, int column)
{
        const int64_t regions[1] = { 0 }, rows[2] = { 0, 1 }, columns[2] = { 0, 2 },
                      all[3] = { 0, 1, 2 };
        struct value *i = p[0].index[row], *j = p[1].index[column], *v = p[0].weight[row],
                     *w = p[1].weight[column];

        if (!i || !j || !v || !w)
                return NULL;
        const dim_t dims[3] = { onnx_dim(i, 0), onnx_dim(i, 1), onnx_dim(j, 1) };
        const struct type *at = type_tensor(im->m, E_I64, 3, dims),
                          *shares = type_tensor(im->m, onnx_element(v), 3, dims);
        struct value *index =
                onnx_spread(im, onnx_with(im, OP_mul, image, (double)extents[0]), at, regions);
        index = onnx_binary(im, OP_add, index, onnx_spread(im, i, at, rows));
        struct value *right = onnx_spread(im, j, at, columns);
        index = onnx_binary(im, OP_add, onnx_with(im, OP_mul, index, (double)extents[1]), right);
        struct value *other = onnx_spread(im, w, shares, columns);
        struct value *weight = onnx_binary(im, OP_mul, onnx_spread(im, v, shares, rows), other);
        struct value *found = index ? build_gather(&im->b, pixels, index, 0) : NULL;
        return found ? onnx_binary(im, OP_mul, found, onnx_spread(im, weight, found->type, all))
                     : NULL;
}

struct roi_align {
        struct value *x, *regions;
        int64_t bins[2], samples;       /* rows and columns of results; samples of each, along each */
        int mode, unshifted;
        float scale;
};

static bool roi_read(struct onnx_import *im, struct onnx_node *n, struct roi_align *r)
{
        static const char *const modes[] = { "avg", "max", NULL }, *const shifts[] = {
                "half_pixel", "output_half_pixel", NULL
        };

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 4, 4) ||
            !onnx_same_element(im, n, n->inputs, 2) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_want_element(im, n, 2, E_I64) || !onnx_want_rank(im, n, 2, 1, 1) ||
            !onnx_choice(im, n, "mode", modes, 0, &r->mode) ||
            (n->opset >= 16 &&
             !onnx_choice(im, n, "coordinate_transformation_mode", shifts, 0, &r->unshifted)) ||
            !onnx_int_range(im, n, "output_height", 1, 1, NUMBER_MAX, &r->bins[0]) ||
            !onnx_float(im, n, "spatial_scale", 1, &r->scale) ||
            !onnx_int_range(im, n, "output_width", 1, 1, NUMBER_MAX, &r->bins[1]) ||
            !onnx_int_range(im, n, "sampling_ratio", 0, 0, NUMBER_MAX, &r->samples) || !r->x ||
            !r->regions)
                return false;
        if (onnx_dim(r->regions, 1) != 4 ||
            onnx_dim(n->inputs[2], 0) != onnx_dim(r->regions, 0) || !onnx_dim(r->x, 2) ||
            !onnx_dim(r->x, 3))
                return onnx_invalid(im, n, "regions are %s of images %s",
                                    type_text(im->arena, im->m, r->regions->type),
                                    type_text(im->arena, im->m, r->x->type));
        return r->samples ||
               onnx_unsupported(im, n, "sampling_ratio 0, samples that depend on a region's size");
}

/* the samples along dimension d (0: rows, 1: columns) of all regions */
static bool roi_points(struct onnx_import *im, const struct roi_align *r, int d,
                       struct points *points)
{
        struct value *side[2];

        for (int k = 0; k < 2; k++) {
                side[k] = build_gather(&im->b, r->regions, onnx_integer(im, E_I64, 2 * k + 1 - d),
                                       1);
                side[k] = onnx_with(im, OP_sub, onnx_with(im, OP_mul, side[k], r->scale),
                                    r->unshifted ? 0 : 0.5);
        }
        struct value *size = onnx_binary(im, OP_sub, side[1], side[0]);
        if (!size)
                return false;
        points_read(im, side[0], r->unshifted ? onnx_with(im, OP_max, size, 1) : size,
                    onnx_dim(r->x, 2 + d), r->bins[d], r->samples, points);
        return true;
}

/* Operands x [batch, channels, rows, columns], regions [regions, 4] as x, y of two corners, the
 * image of each */
bool onnx_import_roi_align(struct onnx_import *im, struct onnx_node *n)
{
        struct roi_align r = { .unshifted = 1 };
        struct points points[2];
        struct value *y = NULL;

        r.x = onnx_wide(im, n->inputs[0]);
        r.regions = onnx_wide(im, n->inputs[1]);
        if (!roi_read(im, n, &r))
                return false;
        const dim_t *extents = r.x->type->dims + 2, channels = onnx_dim(r.x, 1);
        const dim_t dims[6] = { onnx_dim(r.regions, 0), r.bins[0], r.samples, r.bins[1], r.samples,
                                channels };
        if (!onnx_type(im, n, onnx_element(r.x), 6, dims) || !roi_points(im, &r, 0, &points[0]) ||
            !roi_points(im, &r, 1, &points[1]))
                return false;
        struct value *pixels = build_transpose(&im->b, r.x, (const int64_t[]){ 0, 2, 3, 1 });
        pixels = onnx_reshape(im, pixels, 2,
                              (const dim_t[]){ onnx_dim(r.x, 0) * extents[0] * extents[1],
                                               channels });
        for (int k = 0; k < 4; k++) {
                struct value *term =
                        corner(im, pixels, n->inputs[2], extents, points, k / 2, k % 2);
                y = y ? onnx_binary(im, r.mode ? OP_max : OP_add, y, term) : term;
        }
        y = onnx_reshape(im, y, 6, dims);
        y = onnx_reduce(im, r.mode ? REDUCE_max : REDUCE_sum, y, (const int64_t[]){ 2, 4 }, 2,
                        E_COMPUTE);
        y = y && !r.mode ? onnx_with(im, OP_div, y, (double)(r.samples * r.samples)) : y;
        y = y ? build_transpose(&im->b, y, (const int64_t[]){ 0, 3, 1, 2 }) : NULL;
        return onnx_output(n, 0, onnx_cast(im, y, onnx_element(n->inputs[0])));
}
