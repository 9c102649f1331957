/* SPDX-License-Identifier: MIT */
/* The taps of these convolutions are sampled where offsets say. Columns of samples are made of
 * gathers, a row of channels for each neighbour of a sample; the rest is one product with the
 * weights. */
#include "front/compose/compose_window.h"

#include "base/size.h"
#include "front/compose/compose_arithmetic.h"

enum { CORNERS_MAX = 64 };

/* These follow from the placed window. */
struct deformed {
        const struct compose_deformed *in;
        int dims;                       /* There are so many spatial dimensions. */
        int64_t taps;                   /* A window has so many taps. */
        dim_t positions;                /* The result has so many positions. */
        dim_t pixels;                   /* An image has so many pixels. */
        const struct type *points;      /* It is the type of the samples, <N x positions x shared x
                                         * taps>. */
        enum element index;             /* It is the type of pixels' numbers. */
};

/* Samples of all points along one dimension lie between a left and a right neighbour. */
struct side {
        struct value *index[2], *inside[2], *weight[2];
};

/* Returns index * step + first, along dimension d of a grid, whose points, row by row, lie along
 * dimension `onto` of the samples. */
static struct value *grid(struct compose *c, const struct deformed *g, const dim_t *extents, int d,
                          int onto, int64_t step, int64_t first)
{
        struct value *at =
                build_iota(c->b, type_tensor(c->m, g->points->element, g->dims, extents), d);

        at = plus(c, times(c, at, (double)step), (double)first);
        at = compose_reshape(c, at, 1, &g->points->dims[onto]);
        return compose_spread(c, at, g->points, (const int64_t[]){ onto });
}

/* Returns where samples lie along dimension d, by the offsets <dims x N x positions x shared x
 * taps>. */
static struct value *places(struct compose *c, const struct deformed *g, struct value *offsets,
                            int d)
{
        const struct compose_window *w = &g->in->window;
        dim_t taps[RANK_MAX];
        dims_of(taps, g->dims, w->kernel);
        struct value *at = grid(c, g, w->out, d, 1, w->strides[d], -w->pads[d]);

        at = add(c, at, grid(c, g, taps, d, 3, w->dilations[d], 0));
        return add(c, at, compose_pick(c, offsets, 0, d));
}

static bool side_read(struct compose *c, const struct deformed *g, struct value *at, dim_t pixels,
                      struct side *s)
{
        const enum element e = g->points->element;
        struct value *low = compose_unary(c, OP_floor, at);
        struct value *extent = compose_extent_less(c, e, pixels, 0);
        struct value *most = compose_extent_less(c, e, pixels, 1);

        s->weight[1] = at && low ? sub(c, at, low) : NULL;
        s->weight[0] = s->weight[1] ? compose_from(c, OP_sub, 1, s->weight[1]) : NULL;
        for (int k = 0; k < 2; k++) {
                struct value *corner = k ? plus(c, low, 1) : low;
                struct value *behind = compose_with(c, OP_ge, corner, 0);
                s->inside[k] = compose_binary(c, OP_and, behind,
                                              compose_binary(c, OP_lt, corner, extent));
                corner = compose_binary(c, OP_min, compose_with(c, OP_max, corner, 0), most);
                s->index[k] = compose_cast(c, corner, g->index);
        }
        return s->index[0] && s->index[1] && s->inside[0] && s->inside[1] && s->weight[0];
}

/* Returns x times an extent. */
static struct value *times_extent(struct compose *c, struct value *x, dim_t extent)
{
        if (!x || dim_is_static(extent))
                return times(c, x, x ? (double)dim_extent(extent) : 0);
        return mul(c, x, compose_cast(c, compose_extent(c, extent), value_element(x)));
}

/* Returns one neighbour of every sample: its channels times its weight, 0 outside the image. rows
 * are <N * shared * pixels x channels>; image says where that of a point begins. */
static struct value *corner(struct compose *c, const struct deformed *g, struct value *rows,
                            struct value *image, const struct side *sides, const dim_t *extents,
                            int number)
{
        static const int64_t onto[] = { 0, 1, 2, 3 };
        struct value *index = NULL, *inside = NULL, *weight = NULL;

        for (int d = 0; d < g->dims; d++) {
                int k = number >> d & 1;
                index = index ? add(c, times_extent(c, index, extents[d]), sides[d].index[k])
                              : sides[d].index[k];
                inside = inside ? compose_binary(c, OP_and, inside, sides[d].inside[k])
                                : sides[d].inside[k];
                weight = weight ? mul(c, weight, sides[d].weight[k]) : sides[d].weight[k];
        }
        index = add(c, index, image);
        struct value *found = index ? build_gather(c->b, rows, index, 0) : NULL;
        if (!found || !weight)
                return NULL;
        found = mul(c, found, compose_spread(c, weight, found->type, onto));
        return compose_select(c, compose_spread(c, inside, found->type, onto), found,
                              build_like(c->b, found, 0));
}

/* Returns v, [N, shared * taps * parts, spatial], as <parts x N x positions x shared x taps> of
 * the wide type. */
static struct value *by_point(struct compose *c, const struct deformed *g, struct value *v,
                              int64_t parts)
{
        const dim_t *p = g->points->dims;

        v = compose_reshape(c, compose_wide(c, v), 5,
                            (const dim_t[]){ p[0], p[2], p[3], dim_of(parts), p[1] });
        return compose_transpose(c, v, (const int64_t[]){ 3, 0, 4, 1, 2 });
}

/* Returns the samples that the weights are multiplied by: <N x positions x shared x taps x
 * channels of a group that shares offsets>. */
static struct value *columns(struct compose *c, const struct deformed *g)
{
        struct value *x = g->in->x, *mask = g->in->mask, *sum = NULL;
        const dim_t *extents = x->type->dims + 2, *points = g->points->dims;
        int64_t channels = value_extent(x, 1) / g->in->shared;
        struct side sides[RANK_MAX];

        struct value *offsets = by_point(c, g, g->in->offsets, g->dims);
        for (int d = 0; d < g->dims; d++)
                if (!offsets || !side_read(c, g, places(c, g, offsets, d), extents[d], &sides[d]))
                        return NULL;
        const dim_t parts[3] = { dim_binary(c->m, DIM_MUL, points[0], dim_of(g->in->shared)),
                                 dim_of(channels), g->pixels },
                    pixels[2] = { dim_binary(c->m, DIM_MUL, parts[0], g->pixels), parts[1] };
        struct value *rows = compose_reshape(c, compose_wide(c, x), 3, parts);
        rows = compose_transpose(c, rows, (const int64_t[]){ 0, 2, 1 });
        rows = compose_reshape(c, rows, 2, pixels);
        const struct type *images =
                type_tensor(c->m, g->index, 2, (const dim_t[]){ points[0], dim_of(g->in->shared) });
        struct value *image = times(c, build_iota(c->b, images, 0), (double)g->in->shared);
        image = times_extent(c, add(c, image, build_iota(c->b, images, 1)), g->pixels);
        image = compose_spread(c, image, g->points, (const int64_t[]){ 0, 2 });
        for (int k = 0; k < 1 << g->dims; k++) {
                struct value *term = corner(c, g, rows, image, sides, extents, k);
                sum = sum ? add(c, sum, term) : term;
                if (!sum)
                        return NULL;
        }
        if (!mask)
                return sum;
        mask = compose_reshape(c, by_point(c, g, mask, 1), 4, points);
        return mul(c, sum, compose_spread(c, mask, sum->type, (const int64_t[]){ 0, 1, 2, 3 }));
}

/* Returns the product of columns by weights [M, channels of a group, window]: <N x M x
 * positions>. Inner dimensions are in the order of the columns, so that a row of channels moves
 * as a whole, and with one group nothing moves. */
static struct value *product(struct compose *c, const struct deformed *g, struct value *x,
                             struct value *w)
{
        const int64_t groups = g->in->groups, outputs = value_extent(w, 0) / groups,
                      inner = value_extent(w, 1);
        const dim_t images = g->points->dims[0],
                    rows = dim_binary(c->m, DIM_MUL, images, g->positions);
        int64_t shared = g->in->shared;

        if (x && shared % groups && groups % shared) { /* Neither grouping is a refinement of the
                                                        * other. */
                x = compose_transpose(c, x, (const int64_t[]){ 0, 1, 3, 2, 4 });
                shared = 1;
        }
        const int64_t within = compose_max(shared / groups, 1),
                      split = compose_max(groups / shared, 1), channels = inner / within;
        x = compose_reshape(c, x, 6,
                            (const dim_t[]){ rows, dim_of(groups / split), dim_of(within),
                                             dim_of(g->taps), dim_of(split), dim_of(channels) });
        x = compose_transpose(c, x, (const int64_t[]){ 1, 4, 0, 2, 3, 5 });
        x = compose_reshape(
                c, x, 3, (const dim_t[]){ dim_of(groups), rows, dim_of(inner * g->taps) });
        w = compose_reshape(c, w, 5,
                            (const dim_t[]){ dim_of(groups), dim_of(outputs), dim_of(within),
                                             dim_of(channels), dim_of(g->taps) });
        w = compose_transpose(c, w, (const int64_t[]){ 0, 2, 4, 3, 1 });
        w = compose_reshape(
                c, w, 3,
                (const dim_t[]){ dim_of(groups), dim_of(inner * g->taps), dim_of(outputs) });
        x = compose_dot(c, x, w, 1, 2, 1, E_COMPUTE);
        x = compose_reshape(c, x, 4,
                            (const dim_t[]){ dim_of(groups), images, g->positions,
                                             dim_of(outputs) });
        x = compose_transpose(c, x, (const int64_t[]){ 1, 0, 3, 2 });
        return compose_reshape(
                c, x, 3,
                (const dim_t[]){ images, dim_of(groups * outputs), g->positions });
}

/* Checks that offsets, or a mask, are [N, shared * taps * parts, spatial]. */
static bool per_point(struct compose *c, const struct deformed *g, const struct value *v,
                      const char *what, int64_t parts)
{
        const struct value *x = g->in->x;
        int64_t numbers;

        if (!v)
                return true;
        bool fits = value_rank(v) == g->dims + 2 &&
                    dim_equal(v->type->dims[0], x->type->dims[0]) &&
                    int_mul(g->in->shared * parts, g->taps, &numbers) &&
                    dim_is(v->type->dims[1], numbers);
        for (int d = 0; fits && d < g->dims; d++)
                fits = dim_equal(v->type->dims[d + 2], g->in->window.out[d]);
        if (fits)
                return true;
        char *want =
                arena_printf(c->arena, "[%s, %lld * %lld * %lld",
                             dim_text(c->arena, c->m, x->type->dims[0]), (long long)g->in->shared,
                             (long long)g->taps, (long long)parts);
        for (int d = 0; d < g->dims; d++)
                want = arena_printf(c->arena, "%s, %s", want,
                                    dim_text(c->arena, c->m, g->in->window.out[d]));
        return compose_invalid(c, "%s %s, want %s]", what, compose_text(c, v->type), want);
}

static bool deformed_place(struct compose *c, struct compose_deformed *in, struct deformed *g)
{
        if (!compose_conv_place(c, in->x, in->w, &in->window, in->groups))
                return false;
        *g = (struct deformed){ .in = in, .dims = value_rank(in->x) - 2 };
        if (1 << g->dims > CORNERS_MAX)
                return compose_unsupported(c, "more than %d neighbours of a sample", CORNERS_MAX);
        if (value_extent(in->x, 1) % g->in->shared)
                return compose_invalid(c, "%lld channels in %lld groups of offsets",
                                       (long long)value_extent(in->x, 1), (long long)g->in->shared);
        g->positions = dims_product(c->m, g->dims, in->window.out);
        g->pixels = dims_product(c->m, g->dims, in->x->type->dims + 2);
        return compose_elements(c, g->dims, g->in->window.kernel, &g->taps) &&
               compose_type(c, E_F32, g->dims, in->window.out) &&
               compose_type(c, E_F32, g->dims, in->x->type->dims + 2) &&
               per_point(c, g, in->offsets, "the offsets are", g->dims) &&
               per_point(c, g, in->mask, "the mask is", 1);
}

struct value *compose_conv_deformed(struct compose *c, struct compose_deformed *d)
{
        struct value *x = d->x, *y;
        struct deformed g;
        dim_t dims[RANK_MAX];

        if (!deformed_place(c, d, &g))
                return NULL;
        enum element e = value_element(x), computed = compose_wide_element(e);
        dims[0] = x->type->dims[0];
        dims[1] = dim_of(value_extent(d->w, 0));
        for (int i = 0; i < g.dims; i++)
                dims[i + 2] = d->window.out[i];
        const dim_t samples[4] = { dims[0], g.positions, dim_of(value_extent(x, 1)),
                                   dim_of(g.taps) },
                    points[4] = { dims[0], samples[1], dim_of(d->shared), samples[3] };
        const struct type *to = compose_type(c, computed, g.dims + 2, dims),
                          *all = to ? compose_type(c, computed, 4, samples) : NULL;
        g.points = all ? compose_type(c, computed, 4, points) : NULL;
        if (!g.points)
                return NULL;
        const bool none = type_is_empty(to) || type_is_empty(all);
        if (!none && dim_least(c->m, g.pixels) < 1) {
                compose_invalid(c, "an image without pixels");
                return NULL;
        }
        if (none) {
                y = constant_number(c->m, to, 0);
        } else {
                const dim_t rows = dim_binary(c->m, DIM_MUL, dims[0], g.pixels);
                g.index = dim_bound(c->m, rows) <= INT32_MAX / d->shared ? E_I32 : E_I64;
                y = columns(c, &g);
                y = product(c, &g, y, compose_wide(c, d->w));
                y = compose_reshape(c, y, g.dims + 2, dims);
        }
        return compose_with_bias(c, compose_cast(c, y, e), d->bias);
}
