/* SPDX-License-Identifier: MIT */
/* RoiAlign: regions of images, each brought to one size by sampling its bins between pixels. */
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

/* the points of one dimension, <regions x bins * samples>: the pixels on both sides of each, and
 * their shares, 0 outside the image; which are samples of the bin, NULL: all */
struct points { struct value *index[2], *weight[2], *counts; };

static struct value *flattened(struct onnx_import *im, struct value *v)
{
        return v ? compose_reshape(
                           im->c, v, 2,
                           (const dim_t[]){ dim_of(value_extent(v, 0)),
                                            dim_of(value_extent(v, 1) * value_extent(v, 2)) })
                 : NULL;
}

/* Samples of one dimension. By sampling_ratio each bin has so many; where that is 0 a bin of a
 * region has ceil(size of the bin), which only a run may know, so they are taken in blocks, as many
 * as a region of the image's size has, and the blocks are a loop. Of what lies outside the image
 * nothing is added, so of a region that is larger only the samples from..to of each bin count,
 * which are at most 2 (extent + 4): their distance is above 0.5. */
struct samples {
        int64_t extent, bins, block;
        struct value *first, *bin;      /* <regions>: where the region begins, the size of a bin */
        struct value *count;            /* <regions>, of each bin; NULL: block */
        struct value *from, *to;        /* <regions x bins>; NULL: all */
        struct value *blocks;           /* i64: of the bin that has most */
};

static struct value *whole_up(struct onnx_import *im, struct value *x)
{
        return compose_unary(im->c, OP_ceil, x);
}
static struct value *whole_down(struct onnx_import *im, struct value *x)
{
        return compose_unary(im->c, OP_floor, x);
}
static struct value *between(struct onnx_import *im, struct value *x, struct value *low,
                             struct value *high)
{
        return compose_binary(im->c, OP_min, compose_binary(im->c, OP_max, x, low), high);
}

/* the number of the last sample at or before `limit`, of bins that begin at base with samples
 * `step` apart */
static struct value *sample_before(struct onnx_import *im, double limit, struct value *base,
                                   struct value *step)
{
        return whole_down(im, plus(im->c,
                                   compose_binary(im->c, OP_div,
                                                  compose_from(im->c, OP_sub, limit, base), step),
                                   -0.5));
}

/* s->count, from, to and blocks, where a region says how many samples it has */
static bool count_samples(struct onnx_import *im, struct samples *s)
{
        const int64_t along[2] = { 0, 1 }, regions[1] = { 0 };
        s->count = compose_with(im->c, OP_max, whole_up(im, s->bin), 0);
        if (!s->count)
                return false;
        const struct type *t =
                type_tensor(im->m, value_element(s->count), 2,
                            (const dim_t[]){ dim_of(value_extent(s->first, 0)), dim_of(s->bins) });
        struct value *bin = compose_spread(im->c, s->bin, t, regions),
                     *count = compose_spread(im->c, s->count, t, regions);
        struct value *base = mul(im->c, build_iota(&im->b, t, 1), bin);
        base = add(im->c, base, compose_spread(im->c, s->first, t, regions));
        struct value *zero = constant_number(im->m, t, 0),
                     *few = compose_with(im->c, OP_le, count, 1),
                     *step = compose_binary(im->c, OP_div, bin, count);
        s->from = compose_select(
                im->c, few, zero,
                between(im, plus(im->c, sample_before(im, -1, base, step), -1), zero, count));
        s->to = compose_select(
                im->c, few, count,
                between(im, plus(im->c, sample_before(im, (double)s->extent, base, step), 2), zero,
                        count));
        struct value *most =
                compose_reduce(im->c, REDUCE_max, sub(im->c, s->to, s->from), along, 2, E_COMPUTE);
        s->blocks = compose_cast(
                im->c, whole_up(im, compose_with(im->c, OP_div, most, (double)s->block)), E_I64);
        return s->blocks != NULL;
}

/* the points of block number `turn` */
static void points_read(struct onnx_import *im, const struct samples *s, struct value *turn,
                        struct points *p)
{
        const int64_t onto[1] = { 0 }, bins[2] = { 0, 1 };
        const struct type *to = type_tensor(im->m, value_element(s->first), 3,
                                            (const dim_t[]){ dim_of(value_extent(s->first, 0)),
                                                             dim_of(s->bins), dim_of(s->block) });
        struct value *bin = compose_spread(im->c, s->bin, to, onto),
                     *number = build_iota(&im->b, to, 2);
        if (s->count) {
                struct value *start = compose_spread(
                        im->c,
                        times(im->c, compose_cast(im->c, turn, to->element), (double)s->block), to,
                        NULL);
                number = add(im->c, number, compose_spread(im->c, s->from, to, bins));
                number = add(im->c, number, start);
        }
        struct value *part = plus(im->c, number, 0.5),
                     *last = build_scalar(&im->b, to->element, (double)s->extent - 1);
        struct value *at = mul(im->c, build_iota(&im->b, to, 1), bin);
        at = add(im->c, compose_spread(im->c, s->first, to, onto), at);
        part = mul(im->c, part, bin);
        at = add(im->c, at,
                 s->count ? compose_binary(im->c, OP_div, part,
                                           compose_spread(im->c, s->count, to, onto))
                          : compose_with(im->c, OP_div, part, (double)s->block));
        struct value *right = compose_with(im->c, OP_le, at, (double)s->extent);
        struct value *inside =
                compose_binary(im->c, OP_and, compose_with(im->c, OP_ge, at, -1), right);
        p->counts = s->count ? compose_binary(im->c, OP_lt, number,
                                              compose_spread(im->c, s->to, to, bins))
                             : NULL;
        if (p->counts)
                inside = compose_binary(im->c, OP_and, inside, p->counts);
        at = compose_binary(im->c, OP_min, compose_with(im->c, OP_max, at, 0), last);
        struct value *low = whole_down(im, at),
                     *high = compose_binary(im->c, OP_min, compose_with(im->c, OP_add, low, 1),
                                            last);
        struct value *share = sub(im->c, at, low), *none = build_scalar(&im->b, to->element, 0);
        p->index[0] = flattened(im, compose_cast(im->c, low, E_I64));
        p->index[1] = flattened(im, compose_cast(im->c, high, E_I64));
        p->weight[0] = flattened(
                im, compose_select(im->c, inside, compose_from(im->c, OP_sub, 1, share), none));
        p->weight[1] = flattened(im, compose_select(im->c, inside, share, none));
        p->counts = flattened(im, p->counts);
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
        const dim_t dims[3] = { dim_of(value_extent(i, 0)), dim_of(value_extent(i, 1)),
                                dim_of(value_extent(j, 1)) };
        const struct type *at = type_tensor(im->m, E_I64, 3, dims),
                          *shares = type_tensor(im->m, value_element(v), 3, dims);
        struct value *index = compose_spread(
                im->c, compose_with(im->c, OP_mul, image, (double)dim_extent(extents[0])), at,
                regions);
        index = compose_binary(im->c, OP_add, index, compose_spread(im->c, i, at, rows));
        struct value *right = compose_spread(im->c, j, at, columns);
        index = compose_binary(im->c, OP_add,
                               compose_with(im->c, OP_mul, index, (double)dim_extent(extents[1])),
                               right);
        struct value *other = compose_spread(im->c, w, shares, columns);
        struct value *weight =
                compose_binary(im->c, OP_mul, compose_spread(im->c, v, shares, rows), other);
        struct value *found = index ? build_gather(&im->b, pixels, index, 0) : NULL;
        return found ? compose_binary(im->c, OP_mul, found,
                                      compose_spread(im->c, weight, found->type, all))
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
        if (value_extent(r->regions, 1) != 4 ||
            value_extent(n->inputs[2], 0) != value_extent(r->regions, 0) ||
            !value_extent(r->x, 2) || !value_extent(r->x, 3))
                return onnx_invalid(im, n, "regions are %s of images %s",
                                    type_text(im->arena, im->m, r->regions->type),
                                    type_text(im->arena, im->m, r->x->type));
        return true;
}

/* the samples along dimension d (0: rows, 1: columns) of all regions */
static bool roi_samples(struct onnx_import *im, const struct roi_align *r, int d, struct samples *s)
{
        struct value *side[2];

        for (int k = 0; k < 2; k++) {
                side[k] = build_gather(&im->b, r->regions,
                                       compose_integer(im->c, E_I64, 2 * k + 1 - d), 1);
                side[k] =
                        compose_with(im->c, OP_sub, compose_with(im->c, OP_mul, side[k], r->scale),
                                     r->unshifted ? 0 : 0.5);
        }
        struct value *size = sub(im->c, side[1], side[0]);
        size = r->unshifted ? compose_with(im->c, OP_max, size, 1) : size;
        *s = (struct samples){ .extent = value_extent(r->x, 2 + d),
                               .bins = r->bins[d],
                               .block = r->samples,
                               .first = side[0] };
        s->bin = compose_with(im->c, OP_div, size, (double)s->bins);
        if (r->samples)
                return s->bin != NULL;
        s->block = (s->extent + s->bins - 1) / s->bins;
        return count_samples(im, s);
}

/* what the bins [regions, rows, columns, channels] have of one block of samples in each
 * dimension */
static struct value *block_of_samples(struct onnx_import *im, struct onnx_node *n,
                                      const struct roi_align *r, const struct samples *s,
                                      struct value *const *turn)
{
        struct points points[2];
        struct value *y = NULL;
        const dim_t *extents = r->x->type->dims + 2, channels = dim_of(value_extent(r->x, 1));
        const dim_t dims[6] = { dim_of(value_extent(r->regions, 0)),
                                dim_of(s[0].bins),
                                dim_of(s[0].block),
                                dim_of(s[1].bins),
                                dim_of(s[1].block),
                                channels };
        const int64_t rows[2] = { 0, 1 }, columns[2] = { 0, 2 };

        if (!compose_type(im->c, value_element(r->x), 6, dims))
                return NULL;
        for (int d = 0; d < 2; d++)
                points_read(im, &s[d], turn[d], &points[d]);
        struct value *pixels = build_transpose(&im->b, r->x, (const int64_t[]){ 0, 2, 3, 1 });
        pixels = compose_reshape(
                im->c, pixels, 2,
                (const dim_t[]){ dim_of(value_extent(r->x, 0) * dim_extent(extents[0]) *
                                        dim_extent(extents[1])),
                                 channels });
        for (int k = 0; k < 4; k++) {
                struct value *term =
                        corner(im, pixels, n->inputs[2], extents, points, k / 2, k % 2);
                y = y ? compose_binary(im->c, r->mode ? OP_max : OP_add, y, term) : term;
        }
        if (r->mode && y && points[0].counts) {
                const struct type *t = type_with_element(im->m, y->type, E_BOOL);
                struct value *counts = compose_spread(im->c, points[0].counts, t, rows);
                counts = compose_binary(im->c, OP_and, counts,
                                        compose_spread(im->c, points[1].counts, t, columns));
                y = compose_select(im->c, counts, y, build_like(&im->b, y, -INFINITY));
        }
        return compose_reduce(im->c, r->mode ? REDUCE_max : REDUCE_sum,
                              compose_reshape(im->c, y, 6, dims), (const int64_t[]){ 2, 4 }, 2,
                              E_COMPUTE);
}

/* all blocks of samples, one after the other */
static struct value *all_samples(struct onnx_import *im, struct onnx_node *n,
                                 const struct roi_align *r, const struct samples *s)
{
        struct value *zero = compose_integer(im->c, E_I64, 0), *turn[2] = { zero, zero };
        struct value *blocks = s[0].count ? mul(im->c, s[0].blocks, s[1].blocks)
                                          : compose_integer(im->c, E_I64, 1);
        if (!blocks || !zero)
                return NULL;
        if (value_is_constant(blocks) && constant_element(blocks->constant, 0).u == 1)
                return block_of_samples(im, n, r, s, turn);
        const dim_t dims[4] = { dim_of(value_extent(r->regions, 0)), dim_of(s[0].bins),
                                dim_of(s[1].bins), dim_of(value_extent(r->x, 1)) };
        struct value *first = constant_number(
                im->m, type_tensor(im->m, value_element(r->x), 4, dims), r->mode ? -INFINITY : 0);
        const struct compose_loop_parts parts = {
                .trip = blocks, .steps = 0, .first = &first, .carried = 1
        };
        struct compose_loop loop;
        if (!first || !compose_loop_open(im->c, &parts, &loop))
                return NULL;
        turn[0] = compose_binary(im->c, OP_div, loop.number, s[1].blocks);
        turn[1] = compose_binary(im->c, OP_rem, loop.number, s[1].blocks);
        struct value *next = compose_binary(im->c, r->mode ? OP_max : OP_add, loop.held,
                                            block_of_samples(im, n, r, s, turn));
        return compose_loop_close(im->c, &loop, &next) ? &loop.op->results[0] : NULL;
}

/* x <regions x bins> of each dimension multiplied: for each bin of the result y [regions, rows,
 * columns, channels] */
static struct value *product_of_bins(struct onnx_import *im, struct value *const *x,
                                     const struct value *y)
{
        const int64_t rows[2] = { 0, 1 }, columns[2] = { 0, 2 };
        const struct type *t = type_with_element(im->m, y->type, value_element(x[0]));
        struct value *by_rows = compose_spread(im->c, x[0], t, rows);
        return mul(im->c, by_rows, compose_spread(im->c, x[1], t, columns));
}

/* the mean of all samples, or the largest of them: samples outside the image, which were left out,
 * are 0 */
static struct value *finished(struct onnx_import *im, const struct roi_align *r,
                              const struct samples *s, struct value *y)
{
        if (!y || (r->samples && r->mode))
                return y;
        if (r->samples)
                return compose_with(im->c, OP_div, y, (double)(r->samples * r->samples));
        struct value *counts[2], *taken[2];
        for (int d = 0; d < 2; d++) {
                counts[d] =
                        compose_spread(im->c, s[d].count, s[d].to->type, (const int64_t[]){ 0 });
                taken[d] = sub(im->c, s[d].to, s[d].from);
        }
        struct value *count = product_of_bins(im, counts, y);
        if (!r->mode)
                return compose_binary(im->c, OP_div, y,
                                      compose_cast(im->c, compose_with(im->c, OP_max, count, 1),
                                                   value_element(y)));
        struct value *all = product_of_bins(im, taken, y);
        all = compose_binary(im->c, OP_ge, all, compose_with(im->c, OP_max, count, 1));
        return compose_select(im->c, all, y, compose_with(im->c, OP_max, y, 0));
}

/* Operands x [batch, channels, rows, columns], regions [regions, 4] as x, y of two corners, the
 * image of each */
bool onnx_import_roi_align(struct onnx_import *im, struct onnx_node *n)
{
        struct roi_align r = { .unshifted = 1 };
        struct samples samples[2];

        r.x = compose_wide(im->c, n->inputs[0]);
        r.regions = compose_wide(im->c, n->inputs[1]);
        if (!roi_read(im, n, &r) || !roi_samples(im, &r, 0, &samples[0]) ||
            !roi_samples(im, &r, 1, &samples[1]))
                return false;
        struct value *y = finished(im, &r, samples, all_samples(im, n, &r, samples));
        y = y ? build_transpose(&im->b, y, (const int64_t[]){ 0, 3, 1, 2 }) : NULL;
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}
