/* SPDX-License-Identifier: MIT */
/* Regions of images are resized by sampling a grid over each. */
#include "front/compose/compose_resample.h"

#include "front/compose/compose_arithmetic.h"

enum { Y, X, SIDES };

/* Returns column `which` of the regions, over t, [regions, rows, columns]. */
static struct value *corner(struct compose *c, const struct compose_crops *r, int64_t which,
                            const struct type *t)
{
        struct value *v = compose_pick(c, compose_wide(c, r->regions), 1, which);
        return v ? compose_spread(c, v, t, (const int64_t[]){ 0 }) : NULL;
}

/* Returns where the pixels of the result lie along y or x, from 0 to 1 in the image: [regions,
 * rows, columns]. */
static struct value *places(struct compose *c, const struct compose_crops *r, int side,
                            const struct type *t)
{
        const int64_t count = r->extents[side];
        struct value *from = corner(c, r, side, t), *to = corner(c, r, SIDES + side, t);

        if (!from || !to)
                return NULL;
        if (count == 1)
                return times(c, add(c, from, to), 0.5);
        struct value *number = build_iota(c->b, type_with_element(c->m, t, E_I64), 1 + side);
        struct value *part = times(c, sub(c, to, from), 1 / (double)(count - 1));
        part = part ? mul(c, part, compose_cast(c, number, t->element)) : NULL;
        return part ? add(c, from, part) : NULL;
}

/* Returns the nearest pixel, as a place; halves are rounded up. */
static struct value *rounded(struct compose *c, struct value *at, dim_t pixels)
{
        if (dim_is(pixels, 1) || !at)
                return at;
        struct value *last = compose_extent_less(c, value_element(at), pixels, 1);
        at = compose_unary(c, OP_floor, plus(c, mul(c, at, last), 0.5));
        return divide(c, at, last);
}

/* Returns 0, the place in an image of one pixel, where it has only one. */
static struct value *in_one(struct compose *c, struct value *at, dim_t pixels)
{
        struct value *zero = build_like(c->b, at, 0);
        if (dim_is(pixels, 1))
                return zero;
        return compose_select(c, compose_with(c, OP_eq, compose_extent(c, pixels), 1), zero, at);
}

struct value *compose_crops(struct compose *c, const struct compose_crops *r)
{
        const enum element e = compose_wide_element(value_element(r->x));
        const dim_t regions = r->regions->type->dims[0],
                    dims[4] = { regions, dim_of(r->extents[Y]), dim_of(r->extents[X]), dim_of(1) },
                    all[4] = { regions, r->x->type->dims[1], dims[1], dims[2] };
        const struct compose_sample how = { .mode = r->nearest ? SAMPLE_NEAREST : SAMPLE_LINEAR,
                                            .padding = PADDING_BORDER,
                                            .align = true };
        const struct type *t = compose_type(c, e, 3, dims), *y = compose_type(c, e, 4, all);
        struct value *parts[SIDES], *outside = NULL;

        if (!t || !y)
                return NULL;
        for (int side = 0; side < SIDES; side++) {
                const dim_t pixels = r->x->type->dims[2 + side];
                struct value *at = places(c, r, side, t);
                if (at && dim_least(c->m, pixels) == 1) /* No place is outside of a single pixel. */
                        at = in_one(c, at, pixels);
                struct value *before = at ? compose_with(c, OP_lt, at, 0) : NULL;
                struct value *behind = at ? compose_with(c, OP_gt, at, 1) : NULL;
                if (!before || !behind)
                        return NULL;
                before = compose_binary(c, OP_or, before, behind);
                outside = outside ? compose_binary(c, OP_or, outside, before) : before;
                at = r->nearest ? rounded(c, at, pixels) : at;
                /* A grid has x, then y, from -1 to 1. */
                at = compose_reshape(c, plus(c, times(c, at, 2), -1), 4, dims);
                if (!(parts[SIDES - 1 - side] = at))
                        return NULL;
        }
        struct value *grid = build_concat(c->b, parts, SIDES, 3);
        struct value *x = compose_wide(c, r->x), *which = compose_cast(c, r->images, E_I64);
        struct value *images = x && which ? build_gather(c->b, x, which, 0) : NULL;
        struct value *v = grid && images ? compose_grid_sample(c, images, grid, &how) : NULL;
        outside = compose_spread(c, outside, type_with_element(c->m, y, E_BOOL),
                                 (const int64_t[]){ 0, 2, 3 });
        v = v && outside ? compose_select(c, outside, constant_number(c->m, y, r->outside), v)
                         : NULL;
        return compose_cast(c, v, value_element(r->x));
}
