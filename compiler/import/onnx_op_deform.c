/* SPDX-License-Identifier: MIT */
/* DeformConv: a convolution whose taps are sampled where offsets say. Columns of samples are made of
 * gathers, a row of channels for each neighbour of a sample; the rest is one product with the weights. */
#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

#include <string.h>

#include "base/size.h"

enum { CORNERS_MAX = 64 };

struct deformed {
        struct onnx_window w;
        int dims;                       /* spatial ones */
        int64_t groups, shared;         /* shared: groups of channels that have the same offsets */
        int64_t taps, positions, pixels; /* of a window; of the result; of an image */
        const struct type *points;      /* <N x positions x shared x taps>: the samples */
        enum element index;             /* of numbers of pixels */
};

/* the samples of all points along one dimension, left and right */
struct side {
        struct value *index[2], *inside[2], *weight[2];
};

/* index times step plus first, along dimension d of a grid, row-major, over dimension `onto` of the points */
static struct value *grid(struct onnx_import *im, const struct deformed *c, const int64_t *extents, int d, int onto,
                          int64_t step, int64_t first)
{
        struct value *at =
                build_iota(&im->b, type_static(im->m, c->points->element, c->dims, extents), d);

        at = plus(im->c, times(im->c, at, (double)step), (double)first);
        at = compose_reshape(im->c, at, 1, &c->points->dims[onto]);
        return compose_spread(im->c, at, c->points, (const int64_t[]){ onto });
}

/* offsets <dims x N x positions x shared x taps>; where the samples lie along dimension d */
static struct value *places(struct onnx_import *im, const struct deformed *c, struct value *offsets, int d)
{
        struct value *at = grid(im, c, c->w.out, d, 1, c->w.strides[d], -c->w.pads[d]);

        at = add(im->c, at, grid(im, c, c->w.kernel, d, 3, c->w.dilations[d], 0));
        return add(im->c, at, build_gather(&im->b, offsets, compose_integer(im->c, E_I64, d), 0));
}

static bool side_read(struct onnx_import *im, const struct deformed *c, struct value *at, int64_t extent,
                      struct side *s)
{
        struct value *low = compose_unary(im->c, OP_floor, at);

        s->weight[1] = at && low ? sub(im->c, at, low) : NULL;
        s->weight[0] = s->weight[1] ? compose_from(im->c, OP_sub, 1, s->weight[1]) : NULL;
        for (int k = 0; k < 2; k++) {
                struct value *corner = k ? plus(im->c, low, 1) : low;
                struct value *behind = compose_with(im->c, OP_ge, corner, 0);
                s->inside[k] = compose_binary(im->c, OP_and, behind,
                                              compose_with(im->c, OP_lt, corner, (double)extent));
                s->index[k] =
                        compose_cast(im->c, clamp(im->c, corner, 0, (double)extent - 1), c->index);
        }
        return s->index[0] && s->index[1] && s->inside[0] && s->inside[1] && s->weight[0];
}

/* One neighbour of every sample: its channels times its weight, 0 outside the image. rows: <N * shared *
 * pixels x channels>; image: where that of a point begins. */
static struct value *corner(struct onnx_import *im, const struct deformed *c, struct value *rows, struct value *image,
                            const struct side *sides, const dim_t *extents, int number)
{
        static const int64_t onto[] = { 0, 1, 2, 3 };
        struct value *index = NULL, *inside = NULL, *weight = NULL;

        for (int d = 0; d < c->dims; d++) {
                int k = number >> d & 1;
                index = index ? add(im->c, times(im->c, index, (double)dim_extent(extents[d])),
                                    sides[d].index[k])
                              : sides[d].index[k];
                inside = inside ? compose_binary(im->c, OP_and, inside, sides[d].inside[k])
                                : sides[d].inside[k];
                weight = weight ? mul(im->c, weight, sides[d].weight[k]) : sides[d].weight[k];
        }
        index = add(im->c, index, image);
        struct value *found = index ? build_gather(&im->b, rows, index, 0) : NULL;
        if (!found || !weight)
                return NULL;
        found = mul(im->c, found, compose_spread(im->c, weight, found->type, onto));
        return compose_select(im->c, compose_spread(im->c, inside, found->type, onto), found,
                              build_like(&im->b, found, 0));
}

/* v [N, shared * taps * parts, spatial] as <parts x N x positions x shared x taps> of the wide type */
static struct value *by_point(struct onnx_import *im, const struct deformed *c, struct value *v, int64_t parts)
{
        const dim_t *p = c->points->dims;

        v = compose_reshape(im->c, compose_wide(im->c, v), 5,
                            (const dim_t[]){ p[0], p[2], p[3], dim_of(parts), p[1] });
        return v ? build_transpose(&im->b, v, (const int64_t[]){ 3, 0, 4, 1, 2 }) : NULL;
}

/* <N x positions x shared x taps x channels of one that shares>: what the weights are multiplied by */
static struct value *columns(struct onnx_import *im, const struct onnx_node *n, const struct deformed *c)
{
        struct value *x = n->inputs[0], *mask = onnx_input(n, 4), *sum = NULL;
        const dim_t *extents = x->type->dims + 2, *points = c->points->dims;
        int64_t channels = value_extent(x, 1) / c->shared;
        struct side sides[RANK_MAX];

        struct value *offsets = by_point(im, c, n->inputs[2], c->dims);
        for (int d = 0; d < c->dims; d++)
                if (!offsets ||
                    !side_read(im, c, places(im, c, offsets, d), dim_extent(extents[d]), &sides[d]))
                        return NULL;
        struct value *rows =
                compose_reshape(im->c, compose_wide(im->c, x), 3,
                                (const dim_t[]){ dim_of(dim_extent(points[0]) * c->shared),
                                                 dim_of(channels), dim_of(c->pixels) });
        rows = rows ? build_transpose(&im->b, rows, (const int64_t[]){ 0, 2, 1 }) : NULL;
        rows = compose_reshape(
                im->c, rows, 2,
                (const dim_t[]){ dim_of(dim_extent(points[0]) * c->shared * c->pixels),
                                 dim_of(channels) });
        const struct type *images =
                type_tensor(im->m, c->index, 2, (const dim_t[]){ points[0], dim_of(c->shared) });
        struct value *image = times(im->c, build_iota(&im->b, images, 0), (double)c->shared);
        image = times(im->c, add(im->c, image, build_iota(&im->b, images, 1)), (double)c->pixels);
        image = compose_spread(im->c, image, c->points, (const int64_t[]){ 0, 2 });
        for (int k = 0; k < 1 << c->dims; k++) {
                struct value *term = corner(im, c, rows, image, sides, extents, k);
                sum = sum ? add(im->c, sum, term) : term;
                if (!sum)
                        return NULL;
        }
        if (!mask)
                return sum;
        mask = compose_reshape(im->c, by_point(im, c, mask, 1), 4, points);
        return mul(im->c, sum,
                   compose_spread(im->c, mask, sum->type, (const int64_t[]){ 0, 1, 2, 3 }));
}

/* Columns times weights [M, channels of a group, window]: <N x M x positions>. Inner dimensions are in the
 * order of the columns, so that a row of channels moves as a whole, and of one group nothing does. */
static struct value *product(struct onnx_import *im, const struct deformed *c, struct value *x, struct value *w)
{
        const int64_t groups = c->groups, outputs = value_extent(w, 0) / groups,
                      inner = value_extent(w, 1), images = type_extent(c->points, 0),
                      rows = images * c->positions;
        int64_t shared = c->shared;

        if (x && shared % groups && groups % shared) { /* neither lies in the other */
                x = build_transpose(&im->b, x, (const int64_t[]){ 0, 1, 3, 2, 4 });
                shared = 1;
        }
        const int64_t within = compose_max(shared / groups, 1),
                      split = compose_max(groups / shared, 1), channels = inner / within;
        x = compose_reshape(im->c, x, 6,
                            (const dim_t[]){ dim_of(rows), dim_of(groups / split), dim_of(within),
                                             dim_of(c->taps), dim_of(split), dim_of(channels) });
        x = x ? build_transpose(&im->b, x, (const int64_t[]){ 1, 4, 0, 2, 3, 5 }) : NULL;
        x = compose_reshape(
                im->c, x, 3,
                (const dim_t[]){ dim_of(groups), dim_of(rows), dim_of(inner * c->taps) });
        w = compose_reshape(im->c, w, 5,
                            (const dim_t[]){ dim_of(groups), dim_of(outputs), dim_of(within),
                                             dim_of(channels), dim_of(c->taps) });
        w = w ? build_transpose(&im->b, w, (const int64_t[]){ 0, 2, 4, 3, 1 }) : NULL;
        w = compose_reshape(
                im->c, w, 3,
                (const dim_t[]){ dim_of(groups), dim_of(inner * c->taps), dim_of(outputs) });
        x = onnx_dot(im, x, w, 1, 2, 1, E_COMPUTE);
        x = compose_reshape(im->c, x, 4,
                            (const dim_t[]){ dim_of(groups), dim_of(images), dim_of(c->positions),
                                             dim_of(outputs) });
        x = x ? build_transpose(&im->b, x, (const int64_t[]){ 1, 0, 3, 2 }) : NULL;
        return compose_reshape(
                im->c, x, 3,
                (const dim_t[]){ dim_of(images), dim_of(groups * outputs), dim_of(c->positions) });
}

/* offsets, or a mask: operand `input`, [N, shared * taps * parts, spatial] */
static bool per_point(struct onnx_import *im, const struct onnx_node *n, const struct deformed *c, int input,
                      int64_t parts)
{
        const struct value *v = onnx_input(n, input);
        int64_t numbers;

        if (!v)
                return true;
        bool fits = value_rank(v) == c->dims + 2 &&
                    value_extent(v, 0) == value_extent(n->inputs[0], 0) &&
                    int_mul(c->shared * parts, c->taps, &numbers) && value_extent(v, 1) == numbers;
        for (int d = 0; fits && d < c->dims; d++)
                fits = value_extent(v, d + 2) == c->w.out[d];
        if (fits)
                return true;
        char *want = arena_printf(im->arena, "[%lld, %lld * %lld * %lld",
                                  (long long)value_extent(n->inputs[0], 0), (long long)c->shared,
                                  (long long)c->taps, (long long)parts);
        for (int d = 0; d < c->dims; d++)
                want = arena_printf(im->arena, "%s, %lld", want, (long long)c->w.out[d]);
        return onnx_invalid(im, n, "operand %d is %s, want %s]", input, type_text(im->arena, im->m, v->type), want);
}

static bool deformed_read(struct onnx_import *im, struct onnx_node *n, struct deformed *c)
{
        struct value *x = n->inputs[0], *w = n->inputs[1];

        if (onnx_has(n, "auto_pad"))
                return onnx_invalid(im, n, "unknown attribute 'auto_pad'");
        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, n->inputs, n->input_count) ||
            !onnx_conv_shapes(im, n, x, w, &c->w, &c->groups) ||
            !onnx_int_range(im, n, "offset_group", 1, 1, NUMBER_MAX, &c->shared))
                return false;
        c->dims = value_rank(x) - 2;
        if (1 << c->dims > CORNERS_MAX)
                return onnx_unsupported(im, n, "more than %d neighbours of a sample", CORNERS_MAX);
        if (value_extent(x, 1) % c->shared)
                return onnx_invalid(im, n, "%lld channels in %lld groups of offsets",
                                    (long long)value_extent(x, 1), (long long)c->shared);
        int64_t image[RANK_MAX];
        dims_extents(image, c->dims, x->type->dims + 2);
        return compose_elements(im->c, c->dims, c->w.kernel, &c->taps) &&
               compose_elements(im->c, c->dims, c->w.out, &c->positions) &&
               compose_elements(im->c, c->dims, image, &c->pixels) &&
               per_point(im, n, c, 2, c->dims) && per_point(im, n, c, 4, 1);
}

/* Operands x [N, C, spatial], weights [M, C / groups, window], offsets, bias, mask */
bool onnx_import_deform_conv(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *y;
        struct deformed c = { .dims = 0 };
        dim_t dims[RANK_MAX];

        if (!deformed_read(im, n, &c))
                return false;
        enum element e = value_element(x), computed = compose_wide_element(e);
        dims[0] = dim_of(value_extent(x, 0));
        dims[1] = dim_of(value_extent(n->inputs[1], 0));
        memcpy(dims + 2, c.w.out, sizeof *dims * (size_t)c.dims);
        const struct type *to = compose_type(im->c, computed, c.dims + 2, dims);
        const struct type *all =
                to ? compose_type(im->c, computed, 4,
                                  (const dim_t[]){ dims[0], dim_of(c.positions),
                                                   dim_of(value_extent(x, 1)), dim_of(c.taps) })
                   : NULL;
        c.points = all ? compose_type(im->c, computed, 4,
                                      (const dim_t[]){ dims[0], dim_of(c.positions),
                                                       dim_of(c.shared), dim_of(c.taps) })
                       : NULL;
        if (!c.points)
                return false;
        if (type_elements(all) && !c.pixels)
                return onnx_invalid(im, n, "an image without pixels");
        if (type_elements(to) == 0 || type_elements(all) == 0) {
                y = constant_number(im->m, to, 0);
        } else {
                c.index = dim_extent(dims[0]) * c.shared * c.pixels <= INT32_MAX ? E_I32 : E_I64;
                struct value *samples = columns(im, n, &c);
                y = product(im, &c, samples, compose_wide(im->c, n->inputs[1]));
                y = compose_reshape(im->c, y, c.dims + 2, dims);
        }
        return onnx_output(n, 0, onnx_with_bias(im, n, compose_cast(im->c, y, e), 3));
}
