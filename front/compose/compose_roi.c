/* SPDX-License-Identifier: MIT */
/* Regions of images are brought to one size by sampling their bins between pixels. */
#include "front/compose/compose_resample.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"

/* The points of one dimension, <regions x bins * samples>, have a pixel on both sides, with
 * weights, which are 0 outside the image. Not all of them need be samples of their bin. */
struct points {
        struct value *index[2], *weight[2], *counts;
};

static struct value *flattened(struct compose *c, struct value *v)
{
        return v ? compose_reshape(
                           c, v, 2,
                           (const dim_t[]){ v->type->dims[0],
                                            dim_of(value_extent(v, 1) * value_extent(v, 2)) })
                 : NULL;
}

/* The samples of one dimension are as many in each bin as sampling_ratio says. Where that is 0 a
 * bin of a region has ceil(size of the bin), which only a run may know, so they are taken in
 * blocks, as many as a region of the image's size has, and the blocks are a loop. Nothing is added
 * for what lies outside the image, so of a region that is larger only the samples from..to of each
 * bin count, which are at most 2 (extent + 4): their distance is above 0.5. */
struct samples {
        dim_t extent;
        int64_t bins, block;
        struct value *first, *bin;      /* These <regions> are where the region begins, and the size
                                         * of a bin. */
        struct value *count;            /* These <regions> are the samples of each bin; NULL stands
                                         * for `block`. */
        struct value *from, *to;        /* These <regions x bins> bound the samples that count;
                                         * where they are NULL all do. */
        struct value *blocks;           /* It is an i64, the number of blocks of the bin that has
                                         * most. */
};

static struct value *whole_up(struct compose *c, struct value *x)
{
        return compose_unary(c, OP_ceil, x);
}
static struct value *whole_down(struct compose *c, struct value *x)
{
        return compose_unary(c, OP_floor, x);
}
static struct value *between(struct compose *c, struct value *x, struct value *low,
                             struct value *high)
{
        return compose_binary(c, OP_min, compose_binary(c, OP_max, x, low), high);
}

/* Returns the number of the last sample at or before `limit`, of bins that begin at base with
 * samples `step` apart. */
static struct value *sample_before(struct compose *c, struct value *limit, struct value *base,
                                   struct value *step)
{
        return whole_down(c, plus(c, divide(c, sub(c, limit, base), step), -0.5));
}

/* Sets s->count, from, to and blocks, where the size of a region says how many samples it has. */
static bool count_samples(struct compose *c, struct samples *s)
{
        const int64_t along[2] = { 0, 1 }, regions[1] = { 0 };
        s->count = compose_with(c, OP_max, whole_up(c, s->bin), 0);
        if (!s->count)
                return false;
        const struct type *t =
                type_tensor(c->m, value_element(s->count), 2,
                            (const dim_t[]){ s->first->type->dims[0], dim_of(s->bins) });
        struct value *bin = compose_spread(c, s->bin, t, regions),
                     *count = compose_spread(c, s->count, t, regions);
        struct value *base = mul(c, build_iota(c->b, t, 1), bin);
        base = add(c, base, compose_spread(c, s->first, t, regions));
        struct value *zero = constant_number(c->m, t, 0), *few = compose_with(c, OP_le, count, 1),
                     *step = divide(c, bin, count);
        struct value *before = build_scalar(c->b, t->element, -1),
                     *behind = compose_extent_less(c, t->element, s->extent, 0);
        s->from = compose_select(
                c, few, zero,
                between(c, plus(c, sample_before(c, before, base, step), -1), zero, count));
        s->to = compose_select(
                c, few, count,
                between(c, plus(c, sample_before(c, behind, base, step), 2), zero, count));
        struct value *most =
                compose_reduce(c, REDUCE_max, sub(c, s->to, s->from), along, 2, E_COMPUTE);
        s->blocks = compose_cast(c, whole_up(c, compose_with(c, OP_div, most, (double)s->block)),
                                 E_I64);
        return s->blocks != NULL;
}

/* Makes the points of block number `turn`. */
static void points_read(struct compose *c, const struct samples *s, struct value *turn,
                        struct points *p)
{
        const int64_t onto[1] = { 0 }, bins[2] = { 0, 1 };
        const struct type *to = type_tensor(c->m, value_element(s->first), 3,
                                            (const dim_t[]){ s->first->type->dims[0],
                                                             dim_of(s->bins), dim_of(s->block) });
        struct value *bin = compose_spread(c, s->bin, to, onto), *number = build_iota(c->b, to, 2);
        if (s->count) {
                struct value *start = compose_spread(
                        c, times(c, compose_cast(c, turn, to->element), (double)s->block), to,
                        NULL);
                number = add(c, number, compose_spread(c, s->from, to, bins));
                number = add(c, number, start);
        }
        struct value *part = plus(c, number, 0.5),
                     *extent = compose_extent_less(c, to->element, s->extent, 0),
                     *last = compose_extent_less(c, to->element, s->extent, 1);
        struct value *at = mul(c, build_iota(c->b, to, 1), bin);
        at = add(c, compose_spread(c, s->first, to, onto), at);
        part = mul(c, part, bin);
        at = add(c, at,
                 s->count ? divide(c, part, compose_spread(c, s->count, to, onto))
                          : compose_with(c, OP_div, part, (double)s->block));
        struct value *right = compose_binary(c, OP_le, at, extent);
        struct value *inside = compose_binary(c, OP_and, compose_with(c, OP_ge, at, -1), right);
        p->counts = s->count ? compose_binary(c, OP_lt, number, compose_spread(c, s->to, to, bins))
                             : NULL;
        if (p->counts)
                inside = compose_binary(c, OP_and, inside, p->counts);
        at = compose_binary(c, OP_min, compose_with(c, OP_max, at, 0), last);
        struct value *low = whole_down(c, at),
                     *high = compose_binary(c, OP_min, plus(c, low, 1), last);
        struct value *share = sub(c, at, low), *none = build_scalar(c->b, to->element, 0);
        p->index[0] = flattened(c, compose_cast(c, low, E_I64));
        p->index[1] = flattened(c, compose_cast(c, high, E_I64));
        p->weight[0] =
                flattened(c, compose_select(c, inside, compose_from(c, OP_sub, 1, share), none));
        p->weight[1] = flattened(c, compose_select(c, inside, share, none));
        p->counts = flattened(c, p->counts);
}

/* Returns pixels (the low or the high ones in either dimension) times their shares: <regions x
 * rows x columns x channels>. */
static struct value *corner(struct compose *c, struct value *pixels, struct value *image,
                            const dim_t *extents, const struct points *p, int row, int column)
{
        const int64_t regions[1] = { 0 }, rows[2] = { 0, 1 }, columns[2] = { 0, 2 },
                      all[3] = { 0, 1, 2 };
        struct value *i = p[0].index[row], *j = p[1].index[column], *v = p[0].weight[row],
                     *w = p[1].weight[column];

        if (!i || !j || !v || !w)
                return NULL;
        const dim_t dims[3] = { i->type->dims[0], dim_of(value_extent(i, 1)),
                                dim_of(value_extent(j, 1)) };
        const struct type *at = type_tensor(c->m, E_I64, 3, dims),
                          *shares = type_tensor(c->m, value_element(v), 3, dims);
        struct value *height = compose_extent(c, extents[0]),
                     *width = compose_extent(c, extents[1]);
        struct value *index = compose_spread(c, mul(c, compose_cast(c, image, E_I64), height), at,
                                             regions);
        index = add(c, index, compose_spread(c, i, at, rows));
        struct value *right = compose_spread(c, j, at, columns);
        index = add(c, mul(c, index, width), right);
        struct value *other = compose_spread(c, w, shares, columns);
        struct value *weight = mul(c, compose_spread(c, v, shares, rows), other);
        struct value *found = index ? build_gather(c->b, pixels, index, 0) : NULL;
        return found ? mul(c, found, compose_spread(c, weight, found->type, all)) : NULL;
}

/* Makes the samples of all regions along dimension d (0: rows, 1: columns). */
static bool roi_samples(struct compose *c, const struct compose_roi_align *r, int d,
                        struct samples *s)
{
        struct value *side[2];

        for (int k = 0; k < 2; k++) {
                side[k] = compose_pick(c, r->regions, 1, 2 * k + 1 - d);
                side[k] = compose_with(c, OP_sub, times(c, side[k], r->scale),
                                       r->unshifted ? 0 : 0.5);
        }
        struct value *size = sub(c, side[1], side[0]);
        size = r->unshifted ? compose_with(c, OP_max, size, 1) : size;
        *s = (struct samples){ .extent = r->x->type->dims[2 + d],
                               .bins = r->bins[d],
                               .block = r->samples,
                               .first = side[0] };
        s->bin = compose_with(c, OP_div, size, (double)s->bins);
        if (r->samples)
                return s->bin != NULL;
        s->block = divide_up(dim_bound(c->m, s->extent), s->bins);
        return count_samples(c, s);
}

/* Returns the sum, or the largest, of one block of samples in each dimension for each bin:
 * [regions, rows, columns, channels]. */
static struct value *block_of_samples(struct compose *c, const struct compose_roi_align *r,
                                      const struct samples *s, struct value *const *turn)
{
        struct points points[2];
        struct value *y = NULL;
        const dim_t *extents = r->x->type->dims + 2, channels = dim_of(value_extent(r->x, 1));
        const dim_t dims[6] = { r->regions->type->dims[0],
                                dim_of(s[0].bins),
                                dim_of(s[0].block),
                                dim_of(s[1].bins),
                                dim_of(s[1].block),
                                channels };
        const int64_t rows[2] = { 0, 1 }, columns[2] = { 0, 2 };

        if (!compose_type(c, value_element(r->x), 6, dims))
                return NULL;
        for (int d = 0; d < 2; d++)
                points_read(c, &s[d], turn[d], &points[d]);
        struct value *pixels = compose_transpose(c, r->x, (const int64_t[]){ 0, 2, 3, 1 });
        if (!pixels)
                return NULL;
        pixels = compose_reshape(
                c, pixels, 2,
                (const dim_t[]){ type_product(c->m, pixels->type, 0, 3), channels });
        for (int k = 0; k < 4; k++) {
                struct value *term = corner(c, pixels, r->images, extents, points, k / 2, k % 2);
                y = y ? compose_binary(c, r->largest ? OP_max : OP_add, y, term) : term;
        }
        if (r->largest && y && points[0].counts) {
                const struct type *t = type_with_element(c->m, y->type, E_BOOL);
                struct value *counts = compose_spread(c, points[0].counts, t, rows);
                counts = compose_binary(c, OP_and, counts,
                                        compose_spread(c, points[1].counts, t, columns));
                y = compose_select(c, counts, y, build_like(c->b, y, -INFINITY));
        }
        return compose_reduce(c, r->largest ? REDUCE_max : REDUCE_sum,
                              compose_reshape(c, y, 6, dims), (const int64_t[]){ 2, 4 }, 2,
                              E_COMPUTE);
}

/* Combines all blocks of samples, one after the other. */
static struct value *all_samples(struct compose *c, const struct compose_roi_align *r,
                                 const struct samples *s)
{
        struct value *zero = compose_integer(c, E_I64, 0), *turn[2] = { zero, zero };
        struct value *blocks =
                s[0].count ? mul(c, s[0].blocks, s[1].blocks) : compose_integer(c, E_I64, 1);
        if (!blocks || !zero)
                return NULL;
        if (value_is_constant(blocks) && constant_element(blocks->constant, 0).u == 1)
                return block_of_samples(c, r, s, turn);
        const dim_t dims[4] = { r->regions->type->dims[0], dim_of(s[0].bins),
                                dim_of(s[1].bins), dim_of(value_extent(r->x, 1)) };
        struct value *first = constant_number(c->m, type_tensor(c->m, value_element(r->x), 4, dims),
                                              r->largest ? -INFINITY : 0);
        const struct compose_loop_parts parts = {
                .trip = blocks, .steps = 0, .first = &first, .carried = 1
        };
        struct compose_loop loop;
        if (!first || !compose_loop_open(c, &parts, &loop))
                return NULL;
        turn[0] = divide(c, loop.number, s[1].blocks);
        turn[1] = compose_binary(c, OP_rem, loop.number, s[1].blocks);
        struct value *next = compose_binary(c, r->largest ? OP_max : OP_add, loop.held,
                                            block_of_samples(c, r, s, turn));
        return compose_loop_close(c, &loop, &next) ? &loop.op->results[0] : NULL;
}

/* Returns the products of both x <regions x bins>, for each bin of the result y [regions, rows,
 * columns, channels]. */
static struct value *product_of_bins(struct compose *c, struct value *const *x,
                                     const struct value *y)
{
        const int64_t rows[2] = { 0, 1 }, columns[2] = { 0, 2 };
        const struct type *t = type_with_element(c->m, y->type, value_element(x[0]));
        struct value *by_rows = compose_spread(c, x[0], t, rows);
        return mul(c, by_rows, compose_spread(c, x[1], t, columns));
}

/* Returns the mean of all samples, or the largest of them. Samples outside the image, which were
 * left out so far, are 0. */
static struct value *finished(struct compose *c, const struct compose_roi_align *r,
                              const struct samples *s, struct value *y)
{
        if (!y || (r->samples && r->largest))
                return y;
        if (r->samples)
                return compose_with(c, OP_div, y, (double)(r->samples * r->samples));
        struct value *counts[2], *taken[2];
        for (int d = 0; d < 2; d++) {
                counts[d] = compose_spread(c, s[d].count, s[d].to->type, (const int64_t[]){ 0 });
                taken[d] = sub(c, s[d].to, s[d].from);
        }
        struct value *count = product_of_bins(c, counts, y);
        if (!r->largest)
                return divide(c, y,
                              compose_cast(c, compose_with(c, OP_max, count, 1), value_element(y)));
        struct value *all = product_of_bins(c, taken, y);
        all = compose_binary(c, OP_ge, all, compose_with(c, OP_max, count, 1));
        return compose_select(c, all, y, compose_with(c, OP_max, y, 0));
}

struct value *compose_roi_align(struct compose *c, const struct compose_roi_align *given)
{
        struct compose_roi_align r = *given;
        struct samples samples[2];

        r.x = compose_wide(c, r.x);
        r.regions = compose_wide(c, r.regions);
        if (!r.x || !r.regions || !roi_samples(c, &r, 0, &samples[0]) ||
            !roi_samples(c, &r, 1, &samples[1]))
                return NULL;
        struct value *y = finished(c, &r, samples, all_samples(c, &r, samples));
        y = compose_transpose(c, y, (const int64_t[]){ 0, 3, 1, 2 });
        return compose_cast(c, y, value_element(given->x));
}
