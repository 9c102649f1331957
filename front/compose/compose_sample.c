/* SPDX-License-Identifier: MIT */
/* Images are sampled at points that a grid gives. Each neighbour of a point is one gather; outside
 * the image a neighbour is 0, clamped, or reflected. */
#include "front/compose/compose_resample.h"

#include "front/compose/compose_arithmetic.h"

enum { TAPS_MAX = 4, COMBINATIONS_MAX = 64 };

struct sample {
        const struct compose_sample *in;
        int dims;                       /* There are so many spatial dimensions. */
        int taps;                       /* A point has so many neighbours along each. */
        int combinations;               /* A point has so many neighbours in all. */
        dim_t points, pixels;           /* Each image of the batch has so many. */
        dim_t result[RANK_MAX];
};

/* A neighbour of each point along one spatial dimension has these, <batch x points> each. */
struct neighbour {
        struct value *index, *inside, *weight;
};

/* The image along one spatial dimension: its last pixel, and where it begins and ends, in pixels.
 * They are scalars of the coordinates' element. */
struct line {
        double low;
        struct value *last, *high, *extent;
};

static struct line line_of(struct compose *c, const struct sample *s, enum element e, dim_t extent)
{
        struct line l = { .low = s->in->align ? 0 : -0.5,
                          .last = compose_extent_less(c, e, extent, 1),
                          .extent = compose_extent_less(c, e, extent, 0) };
        l.high = s->in->align ? l.last : plus(c, l.extent, -0.5);
        return l;
}

/* Does x lie outside [low, high]? */
static struct value *beyond(struct compose *c, struct value *x, double low, struct value *high)
{
        struct value *right = compose_binary(c, OP_gt, x, high);
        return compose_binary(c, OP_or, compose_with(c, OP_lt, x, low), right);
}

/* Returns x as the nearest pixel of the image. */
static struct value *within(struct compose *c, struct value *x, const struct line *l)
{
        return compose_binary(c, OP_min, compose_with(c, OP_max, x, 0), l->last);
}

/* Returns x mirrored where the image begins and ends until it lies between them; a line of no
 * length is where it begins. */
static struct value *reflected(struct compose *c, struct value *x, const struct line *l)
{
        struct value *range = plus(c, l->high, -l->low), *below = compose_with(c, OP_lt, x, l->low);
        struct value *past = compose_select(c, below, compose_from(c, OP_sub, l->low, x),
                                            sub(c, x, l->high));
        struct value *times_over = compose_unary(c, OP_floor, divide(c, past, range));
        struct value *rest = sub(c, past, mul(c, times_over, range));
        struct value *half = times(c, compose_unary(c, OP_floor, times(c, times_over, 0.5)), 2);
        struct value *odd = compose_binary(c, OP_ne, times_over, half);
        struct value *otherwise = sub(c, l->high, rest);
        struct value *back = compose_select(c, compose_binary(c, OP_xor, below, odd),
                                            plus(c, rest, l->low), otherwise);
        back = compose_select(c, beyond(c, x, l->low, l->high), back, x);
        return back ? compose_select(c, compose_with(c, OP_gt, range, 0), back,
                                     build_like(c->b, back, l->low))
                    : NULL;
}

/* Returns where a coordinate of [-1, 1] lies along an extent, moved into the image where the
 * padding does so. For cubic interpolation with a border each neighbour is clamped by itself, as
 * in PyTorch and onnxruntime; the standard's reference clamps the point between them as well. */
static struct value *denormalized(struct compose *c, const struct sample *s, struct value *x,
                                  const struct line *l)
{
        x = plus(c, x, 1);
        if (s->in->align)
                x = mul(c, x, times(c, l->last, 0.5));
        else
                x = times(c, plus(c, mul(c, x, l->extent), -1), 0.5);
        if (s->in->mode == SAMPLE_NEAREST)
                x = compose_unary(c, OP_round, x);
        if (s->in->padding == PADDING_BORDER && s->in->mode == SAMPLE_CUBIC)
                return x;
        if (s->in->padding == PADDING_BORDER) {
                struct value *outside = beyond(c, x, l->low, l->high);
                return compose_select(c, outside, within(c, x, l), x);
        }
        return s->in->padding == PADDING_REFLECTION ? reflected(c, x, l) : x;
}

/* Returns the weight of neighbour number k at fraction t past the one on the left. */
static struct value *tap_weight(struct compose *c, const struct sample *s, struct value *t, int k)
{
        static const double a = -0.75;

        if (s->in->mode == SAMPLE_LINEAR)
                return k ? t : compose_from(c, OP_sub, 1, t);
        struct value *d =
                k < 2 ? plus(c, t, 1 - k)
                      : compose_from(c, OP_sub, k - 1, t); /* It is the distance of neighbour k -
                                                            * 1. */
        if (k == 1 || k == 2)
                return plus(c, mul(c, plus(c, times(c, d, a + 2), -(a + 3)), mul(c, d, d)), 1);
        return plus(c, mul(c, plus(c, mul(c, plus(c, times(c, d, a), -5 * a), d), 8 * a), d),
                    -4 * a);
}

static bool neighbours(struct compose *c, const struct sample *s, struct value *x, dim_t extent,
                       enum element e, struct neighbour *taps)
{
        if (!x)
                return false;
        const struct line l = line_of(c, s, value_element(x), extent);

        x = denormalized(c, s, x, &l);
        struct value *base = compose_unary(c, OP_floor, x), *t = base ? sub(c, x, base) : NULL;
        for (int k = 0; k < s->taps; k++) {
                struct value *at = s->in->mode == SAMPLE_CUBIC ? plus(c, base, k - 1)
                                   : k                         ? plus(c, base, k)
                                                               : base;
                taps[k].inside =
                        s->in->padding == PADDING_ZEROS
                                ? compose_unary(c, OP_not, beyond(c, at, 0, l.last))
                                : NULL;
                if (s->in->padding == PADDING_REFLECTION)
                        at = compose_unary(c, OP_trunc, reflected(c, at, &l));
                taps[k].index = compose_cast(c, within(c, at, &l), E_I32);
                taps[k].weight = s->in->mode == SAMPLE_NEAREST
                                         ? NULL
                                         : compose_cast(c, tap_weight(c, s, t, k), e);
                if (!taps[k].index)
                        return false;
        }
        return true;
}

/* Returns one neighbour of every point, as its pixel of the image <N x C x pixels> times its
 * weight. */
static struct value *combination(struct compose *c, struct value *image, const struct sample *s,
                                 struct neighbour (*taps)[TAPS_MAX], int dims, int number,
                                 const dim_t *extents)
{
        struct value *index = NULL, *inside = NULL, *weight = NULL;
        const int64_t onto[2] = { 0, 2 };

        for (int d = 0; d < dims; d++) {
                const struct neighbour *tap = &taps[d][number % s->taps];
                number /= s->taps;
                struct value *extent = compose_cast(c, compose_extent(c, extents[d]), E_I32);
                index = index ? add(c, mul(c, index, extent), tap->index) : tap->index;
                if (tap->inside)
                        inside = inside ? compose_binary(c, OP_and, inside, tap->inside)
                                        : tap->inside;
                if (tap->weight)
                        weight = weight ? mul(c, weight, tap->weight) : tap->weight;
        }
        const struct type *to =
                type_tensor(c->m, E_I64, 3,
                            (const dim_t[]){ image->type->dims[0], image->type->dims[1],
                                             s->points });
        struct attr *attrs = attrs_new(c->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", 2);
        index = compose_spread(c, index, to, onto);
        if (!index)
                return NULL;
        struct value *pixel = value_build(c->b, OP_gather_elements,
                                          (struct value *[]){ image, index }, 2, attrs, NULL);
        if (inside && pixel)
                pixel = compose_select(c, compose_spread(c, inside, to, onto), pixel,
                                       build_like(c->b, pixel, 0));
        return weight && pixel ? mul(c, pixel, compose_spread(c, weight, to, onto)) : pixel;
}

static bool sample_place(struct compose *c, const struct value *x, const struct value *grid,
                         struct sample *s)
{
        int rank = value_rank(x), mode = s->in->mode;

        s->taps = mode == SAMPLE_NEAREST ? 1 : mode == SAMPLE_LINEAR ? 2 : 4;
        if (!dim_equal(grid->type->dims[0], x->type->dims[0]) ||
            !dim_is(grid->type->dims[rank - 1], s->dims))
                return compose_invalid(c, "a grid %s for an image %s", compose_text(c, grid->type),
                                       compose_text(c, x->type));
        s->result[0] = x->type->dims[0];
        s->result[1] = x->type->dims[1];
        s->points = type_product(c->m, grid->type, 1, rank - 1);
        s->pixels = type_product(c->m, x->type, 2, rank);
        for (int d = 0; d < s->dims; d++) {
                s->result[d + 2] = grid->type->dims[d + 1];
                if (s->combinations <= COMBINATIONS_MAX)
                        s->combinations *= s->taps;
        }
        if (s->combinations > COMBINATIONS_MAX)
                return compose_unsupported(c, "more than %d neighbours of a point",
                                           COMBINATIONS_MAX);
        return element_is_float(value_element(x)) || mode == SAMPLE_NEAREST ||
               compose_unsupported(c, "interpolation of %s", element_info[value_element(x)].text);
}

/* Returns the sum over all neighbours of each point, <N x C x points>. */
static struct value *sampled(struct compose *c, const struct sample *s, struct value *x,
                             struct value *grid)
{
        struct neighbour taps[RANK_MAX][TAPS_MAX];
        const dim_t *image = x->type->dims;
        enum element computed = compose_wide_element(value_element(x));
        struct value *sum = NULL;

        grid = compose_reshape(c, compose_wide(c, grid), 3,
                               (const dim_t[]){ image[0], s->points, dim_of(s->dims) });
        x = compose_reshape(c, compose_cast(c, x, computed), 3,
                            (const dim_t[]){ image[0], image[1], s->pixels });
        if (!grid || !x)
                return NULL;
        for (int d = 0; d < s->dims; d++) { /* The grid counts dimensions from the last. */
                struct value *number = compose_integer(c, E_I64, s->dims - 1 - d);
                if (!neighbours(c, s, build_gather(c->b, grid, number, 2), image[d + 2], computed,
                                taps[d]))
                        return NULL;
        }
        for (int i = 0; i < s->combinations; i++) {
                struct value *term = combination(c, x, s, taps, s->dims, i, image + 2);
                sum = sum ? add(c, sum, term) : term;
                if (!sum)
                        return NULL;
        }
        return sum;
}

struct value *compose_grid_sample(struct compose *c, struct value *x, struct value *grid,
                                  const struct compose_sample *how)
{
        enum element e = value_element(x);
        struct sample s = { .in = how, .dims = value_rank(x) - 2, .combinations = 1 };

        if (!sample_place(c, x, grid, &s))
                return NULL;
        const struct type *to = compose_type(c, e, value_rank(x), s.result);
        if (!to)
                return NULL;
        if (type_is_static(to) && type_elements(to) == 0)
                return constant_number(c->m, to, 0);
        if (dim_is(s.pixels, 0)) {
                compose_invalid(c, "an image without pixels");
                return NULL;
        }
        x = sampled(c, &s, x, grid);
        return compose_cast(c, compose_reshape(c, x, to->rank, s.result), e);
}

struct value *compose_affine_grid(struct compose *c, struct value *theta, const struct type *to,
                                  bool align)
{
        enum element e = value_element(theta);
        const int dims = to->rank - 2;
        const int64_t onto[2] = { 0, dims + 1 };
        struct value *sum = NULL;

        theta = compose_wide(c, theta);
        if (!theta)
                return NULL;
        to = type_with_element(c->m, to, value_element(theta));
        for (int m = 0; m <= dims; m++) {
                struct value *factor = compose_pick(c, theta, 2, m);
                factor = compose_spread(c, factor, to, onto);
                if (m < dims) { /* x comes first, which is the last dimension. */
                        const dim_t extent = to->dims[dims - m];
                        struct value *last = compose_extent_less(c, E_F64, extent, 1);
                        struct value *at = build_iota(
                                c->b, type_tensor(c->m, to->element, 1, &extent), 0);
                        /* A single point lies at -1: it is number 0. */
                        struct value *step =
                                compose_from(c, OP_div, 2, compose_with(c, OP_max, last, 1));
                        at = align ? mul(c, at, compose_cast(c, step, to->element))
                                   : divide(c, plus(c, times(c, at, 2), 1),
                                            compose_extent_less(c, to->element, extent, 0));
                        at = compose_spread(c, plus(c, at, -1), to, (const int64_t[]){ dims - m });
                        factor = mul(c, factor, at);
                }
                sum = sum ? add(c, sum, factor) : factor;
                if (!sum)
                        return NULL;
        }
        return compose_cast(c, sum, e);
}
