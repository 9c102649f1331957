/* SPDX-License-Identifier: MIT */
/* Resizing interpolates one axis after the other. For each axis the coordinate of every output in
 * the input is a vector that tensor operations compute (so scales and regions may be run-time
 * values; constant ones fold away); the neighbours are gathered and their weighted sum is taken. */
#include "front/compose/compose_resample.h"

#include <math.h>
#include <string.h>

#include "front/compose/compose_arithmetic.h"

/* What is known of axis number i of the operation. */
struct axis {
        const struct compose_resize *r;
        int i;
        dim_t in, out;                  /* These are its extents in the operand and the result. */
        struct value *scale;            /* It is out / in, an f64. */
};

static struct axis axis_of(struct compose *c, const struct compose_resize *r, int i, dim_t in)
{
        struct axis a = { .r = r, .i = i, .in = in, .out = r->out[i] };

        if (r->scales) {
                a.scale = compose_pick(c, r->scales, 0, i);
        } else if (r->scale[i] != 0) {
                a.scale = build_scalar(c->b, E_F64, r->scale[i]);
        } else {
                struct value *out = compose_extent_less(c, E_F64, a.out, 0);
                a.scale = divide(c, out, compose_extent_less(c, E_F64, a.in, 0));
        }
        return a;
}

/* ---- coordinates ---- */

/* Returns (y + 0.5) / scale - 0.5. */
static struct value *half_pixel(struct compose *c, struct value *y, struct value *scale)
{
        return plus(c, divide(c, plus(c, y, 0.5), scale), -0.5);
}

/* Returns the type that coordinates are computed in. Where a rounded one decides which element is
 * taken, that is f32, with the scale as it is given, as in onnxruntime and PyTorch: by 1/3 in f32,
 * output 1 is element 3, which is element 2.99999991 in f64, as in the standard's reference, which
 * --exact follows. */
static enum element coordinate_element(const struct compose *c, const struct compose_resize *r)
{
        bool decides = r->mode == RESIZE_NEAREST || r->transform == RESIZE_TF_CROP_AND_RESIZE;
        return decides && !c->exact ? E_F32 : E_F64;
}

/* Returns coordinates for the region roi[start], roi[end] of the input. *outside says which are
 * not in the input. */
static struct value *cropped(struct compose *c, const struct axis *a, struct value *y,
                             struct value **outside)
{
        enum element e = value_element(y);
        const int64_t in = dim_extent(a->in);
        double out = (double)dim_extent(a->out);
        struct value *start = compose_cast(c, compose_pick(c, a->r->roi, 0, a->i), e), *x,
                     *end = compose_cast(c, compose_pick(c, a->r->roi, 0, a->r->count + a->i), e);
        if (!start || !end)
                return NULL;
        if (out > 1)
                x = add(c, times(c, start, (double)in - 1),
                        compose_with(c, OP_div,
                                     times(c, mul(c, y, sub(c, end, start)), (double)in - 1),
                                     out - 1));
        else
                x = add(c, times(c, y, 0),
                        times(c, times(c, add(c, start, end), 0.5), (double)in - 1));
        struct value *above = compose_with(c, OP_gt, x, (double)in - 1);
        *outside = compose_binary(c, OP_or, compose_with(c, OP_lt, x, 0), above);
        return x;
}

/* Returns where elements of the result lie along an axis of the input. For a region, *outside says
 * which lie outside the input. What the standard calls length_resized is the extent of the result
 * here, as in onnxruntime and PyTorch; the standard's reference has scale times length. */
static struct value *coordinates(struct compose *c, const struct axis *a, struct value **outside)
{
        enum element e = coordinate_element(c, a->r);
        struct value *y = build_iota(c->b, type_tensor(c->m, e, 1, &a->out), 0),
                     *scale = compose_cast(c, a->scale, e);

        *outside = NULL;
        if (!y || !scale)
                return NULL;
        switch (a->r->transform) {
        case RESIZE_ALIGN_CORNERS: {    /* The first element is the only one where out is 1. */
                struct value *last = compose_extent_less(c, e, a->out, 1);
                last = compose_with(c, OP_max, last, 1);
                return divide(c, mul(c, y, compose_extent_less(c, e, a->in, 1)), last);
        }
        case RESIZE_ASYMMETRIC: return divide(c, y, scale);
        case RESIZE_TF_HALF_PIXEL_FOR_NN: return divide(c, plus(c, y, 0.5), scale);
        case RESIZE_PYTORCH_HALF_PIXEL: {
                struct value *out = compose_extent_less(c, e, a->out, 0);
                struct value *several = compose_with(c, OP_gt, out, 1);
                return compose_select(c, several, half_pixel(c, y, scale), y);
        }
        case RESIZE_HALF_PIXEL_SYMMETRIC: {
                struct value *in = compose_extent_less(c, e, a->in, 0);
                struct value *out = compose_extent_less(c, e, a->out, 0);
                struct value *adjustment = divide(c, out, mul(c, scale, in));
                struct value *right = compose_from(c, OP_sub, 1, adjustment);
                right = mul(c, right, times(c, in, 0.5));
                return add(c, half_pixel(c, y, scale), right);
        }
        case RESIZE_TF_CROP_AND_RESIZE: return cropped(c, a, y, outside);
        default: return half_pixel(c, y, scale);
        }
}

/* Returns a coordinate, an f64, as an index into [0, in). */
static struct value *index_at(struct compose *c, struct value *x, dim_t in)
{
        struct value *last = compose_extent_less(c, E_F64, in, 1);
        return compose_cast(
                c, compose_binary(c, OP_min, compose_with(c, OP_max, x, 0), last), E_I64);
}

/* Returns the next element for a smaller result, the one before for a larger result. */
static struct value *nearest_simple(struct compose *c, const struct axis *a, struct value *x)
{
        struct value *before = compose_unary(c, OP_floor, x), *next = compose_unary(c, OP_ceil, x);
        return compose_select(c, compose_with(c, OP_lt, a->scale, 1), next, before);
}

static struct value *nearest(struct compose *c, const struct axis *a, struct value *x)
{
        switch (a->r->round) {
        case NEAREST_SIMPLE: return nearest_simple(c, a, x);
        case NEAREST_PREFER_FLOOR: return compose_unary(c, OP_ceil, plus(c, x, -0.5));
        case NEAREST_PREFER_CEIL: return compose_unary(c, OP_floor, plus(c, x, 0.5));
        case NEAREST_FLOOR: return compose_unary(c, OP_floor, x);
        default: return compose_unary(c, OP_ceil, x);
        }
}

/* ---- weights ---- */

/* Returns the interpolation kernel at distance d >= 0: a tent of width 1, or Keys' cubic of
 * width 2. */
static struct value *kernel(struct compose *c, const struct compose_resize *r, struct value *d)
{
        double a = r->cubic;

        if (r->mode == RESIZE_LINEAR)
                return compose_with(c, OP_max, compose_from(c, OP_sub, 1, d), 0);
        struct value *square = mul(c, d, d);
        struct value *near = plus(c, mul(c, plus(c, times(c, d, a + 2), -(a + 3)), square), 1);
        struct value *far = plus(
                c, mul(c, plus(c, mul(c, plus(c, times(c, d, a), -5 * a), d), 8 * a), d), -4 * a);
        struct value *zero = build_scalar(c->b, E_F64, 0);
        struct value *otherwise = compose_select(c, compose_with(c, OP_lt, d, 2), far, zero);
        return compose_select(c, compose_with(c, OP_le, d, 1), near, otherwise);
}

/* Returns how many elements the kernel of an axis reaches to each side. */
static int64_t kernel_reach(const struct compose *c, const struct axis *a)
{
        double width = a->r->mode == RESIZE_LINEAR ? 1 : 2, scale = a->r->scale[a->i];

        if (!a->r->antialias)
                return (int64_t)width;
        if (a->r->scales) /* The scale is at least this, for so many outputs. */
                scale = ((double)dim_extent(a->out) - 0.5) / (double)dim_extent(a->in);
        else if (scale == 0)
                scale = fmax((double)dim_least(c->m, a->out), 1) / (double)dim_bound(c->m, a->in);
        double reach = ceil(width / (scale < 1 ? scale : 1));
        return reach < NUMBER_MAX ? (int64_t)reach : NUMBER_MAX;
}

/* ---- one axis ---- */

/* Returns v broadcast to the shape of `to`, in which v's two dimensions are axis and axis + 1. */
static struct value *spread_taps(struct compose *c, struct value *v, const struct type *to,
                                 int axis)
{
        return compose_spread(c, v, to, (const int64_t[]){ axis, axis + 1 });
}

/* Returns the sum of many neighbours, which are gathered at once. */
static struct value *sum_picked(struct compose *c, struct value *data, int axis,
                                struct value *index, struct value *weight)
{
        dim_t dims[2 * RANK_MAX];
        int rank = value_rank(data);
        for (int d = 0; d <= rank; d++)
                dims[d] = d == axis || d == axis + 1 ? index->type->dims[d - axis]
                                                     : data->type->dims[d < axis ? d : d - 1];
        const struct type *wide = compose_type(c, value_element(data), rank + 1, dims);
        struct value *picked = wide ? build_gather(c->b, data, index, axis) : NULL;
        return picked ? compose_reduce(c, REDUCE_sum,
                                       mul(c, picked, spread_taps(c, weight, wide, axis)),
                                       (const int64_t[]){ axis + 1 }, 1, E_COMPUTE)
                      : NULL;
}

/* Returns the sum of a few neighbours, with one product for each. */
static struct value *sum_taps(struct compose *c, struct value *data, int axis, struct value *index,
                              struct value *weight)
{
        struct value *sum = NULL;
        for (int k = 0; k < value_extent(index, 1); k++) {
                struct value *tap = compose_integer(c, E_I64, k),
                             *column = build_gather(c->b, index, tap, 1);
                struct value *picked = column ? build_gather(c->b, data, column, axis) : NULL;
                if (!picked)
                        return NULL;
                picked = mul(
                        c, picked,
                        compose_along(c, build_gather(c->b, weight, tap, 1), picked->type, axis));
                sum = sum ? add(c, sum, picked) : picked;
        }
        return sum;
}

/* Returns weights of the neighbours `at` of x along an axis, which are `distance` from it. */
static struct value *tap_weights(struct compose *c, const struct axis *a, struct value *at,
                                 struct value *distance)
{
        const struct compose_resize *r = a->r;
        const int64_t along_taps[1] = { 1 };
        if (r->antialias)
                distance = mul(c, distance, compose_with(c, OP_min, a->scale, 1));
        struct value *weight = kernel(c, r, distance);
        if (r->exclude_outside) {
                struct value *above =
                        compose_binary(c, OP_gt, at, compose_extent_less(c, E_F64, a->in, 1));
                struct value *beyond =
                        compose_binary(c, OP_or, compose_with(c, OP_lt, at, 0), above);
                weight = compose_select(c, beyond, build_scalar(c->b, E_F64, 0), weight);
        }
        if (!r->exclude_outside && !r->antialias)
                return weight;
        struct value *sum = compose_reduce(c, REDUCE_sum, weight, along_taps, 1, E_COMPUTE);
        sum = compose_select(c, compose_with(c, OP_eq, sum, 0), build_scalar(c->b, E_F64, 1), sum);
        return at ? divide(c, weight, compose_unreduce(c, sum, at->type, along_taps, 1)) : NULL;
}

static struct value *interpolate(struct compose *c, const struct axis *a, struct value *data,
                                 struct value *x)
{
        enum { FEW = 4 };
        int axis = a->r->axes[a->i];
        int64_t reach = kernel_reach(c, a), taps = 2 * reach;
        const struct type *table =
                compose_type(c, E_F64, 2, (const dim_t[]){ a->out, dim_of(taps) });
        struct value *base = compose_unary(c, OP_floor, x);

        if (!table || !base)
                return NULL;
        /* The neighbours are base + 1 - reach, ..., base + reach. */
        struct value *offset = plus(c, compose_iota(c, E_F64, taps), 1 - (double)reach);
        struct value *right = compose_spread(c, offset, table, (const int64_t[]){ 1 });
        struct value *at = add(c, compose_spread(c, base, table, (const int64_t[]){ 0 }), right);
        struct value *distance = compose_unary(
                c, OP_abs, sub(c, at, compose_spread(c, x, table, (const int64_t[]){ 0 })));
        struct value *weight =
                compose_cast(c, tap_weights(c, a, at, distance), value_element(data));
        struct value *index = index_at(c, at, a->in);
        if (!weight || !index)
                return NULL;
        return taps > FEW ? sum_picked(c, data, axis, index, weight)
                          : sum_taps(c, data, axis, index, weight);
}

/* ---- extents ---- */

/* Does resizing by this scale repeat each element the same number of times, whatever the extent? */
static bool repeats(const struct compose_resize *r, double scale)
{
        /* Output y * scale + k is element y for all k < scale. */
        static const unsigned rounds[] = {
                [RESIZE_HALF_PIXEL] = 1u << NEAREST_PREFER_FLOOR | 1u << NEAREST_PREFER_CEIL,
                [RESIZE_ASYMMETRIC] = 1u << NEAREST_FLOOR | 1u << NEAREST_SIMPLE,
                [RESIZE_TF_HALF_PIXEL_FOR_NN] = 1u << NEAREST_FLOOR,
        };
        return r->mode == RESIZE_NEAREST && scale >= 1 && scale <= NUMBER_MAX &&
               scale == floor(scale) && (size_t)r->transform < sizeof rounds / sizeof *rounds &&
               rounds[r->transform] >> r->round & 1;
}

static float scaled(int64_t extent, double scale)
{
        return floorf((float)extent * (float)scale);
}

/* Returns in * scale, rounded down, as a term in * p / q with small p and q; DIM_NONE: none is
 * equal to it at each extent. */
static dim_t scaled_term(struct module *m, dim_t in, double scale)
{
        enum { DIVISOR_MAX = 64, TRIED_MAX = 1 << 20 };
        const int64_t least = dim_least(m, in), bound = dim_bound(m, in);

        for (int64_t q = 1; q <= DIVISOR_MAX && bound <= TRIED_MAX; q++) {
                const double p = floor(scale * (double)q + 0.5);
                if (fabs(p - scale * (double)q) > 1e-6 * p || p > NUMBER_MAX)
                        continue;
                int64_t n = least;
                while (n <= bound && (double)scaled(n, scale) == (double)(n * (int64_t)p / q))
                        n++;
                if (n > bound)
                        return dim_binary(m, DIM_DIV,
                                          dim_binary(m, DIM_MUL, in, dim_of((int64_t)p)),
                                          dim_of(q));
        }
        return DIM_NONE;
}

bool compose_resize_by(struct compose *c, struct compose_resize *r, int i, dim_t in, double scale)
{
        r->scale[i] = scale;
        r->times[i] = 0;
        if (dim_is_static(in)) {
                const float out = scaled(dim_extent(in), scale);
                r->out[i] = dim_of(out < 9e18f ? (int64_t)out : INT64_MAX - 1);
                return true;
        }
        r->out[i] = scaled_term(c->m, in, scale);
        if (dim_equal(r->out[i], DIM_NONE))
                return false;
        if (repeats(r, scale))
                r->times[i] = (int64_t)scale;
        return true;
}

/* ---- all axes ---- */

/* Repeats each element of an axis. */
static struct value *repeated(struct compose *c, struct value *x, int axis, int64_t times)
{
        dim_t dims[2 * RANK_MAX];
        int64_t onto[RANK_MAX];
        const int rank = value_rank(x);
        for (int d = 0; d < rank; d++) {
                dims[d + (d > axis)] = x->type->dims[d];
                onto[d] = d + (d > axis);
        }
        dims[axis + 1] = dim_of(times);
        const struct type *wide = compose_type(c, value_element(x), rank + 1, dims);
        if (!wide)
                return NULL;
        x = build_broadcast(c->b, x, wide, onto);
        dims[axis] = dim_binary(c->m, DIM_MUL, dims[axis], dim_of(times));
        memmove(dims + axis + 1, dims + axis + 2, (size_t)(rank - axis - 1) * sizeof *dims);
        return compose_reshape(c, x, rank, dims);
}

static struct value *resized(struct compose *c, struct value *x, const struct compose_resize *r)
{
        struct value *masks[RANK_MAX] = { NULL };
        enum element e = value_element(x), computed = compose_wide_element(e);

        if (r->mode != RESIZE_NEAREST && !element_is_float(e))
                computed = element_info[e].bytes < 4 ? E_F32 : E_F64;
        x = compose_cast(c, x, computed);
        for (int i = 0; i < r->count && x; i++) {
                if (r->times[i]) {
                        x = repeated(c, x, r->axes[i], r->times[i]);
                        continue;
                }
                const dim_t in = x->type->dims[r->axes[i]];
                if (dim_equal(r->out[i], in) && !r->scales &&
                    (r->scale[i] == 1 || r->scale[i] == 0) &&
                    r->transform != RESIZE_TF_CROP_AND_RESIZE)
                        continue;
                const struct axis a = axis_of(c, r, i, in);
                struct value *at = compose_cast(c, coordinates(c, &a, &masks[i]), E_F64);
                if (r->mode == RESIZE_NEAREST) {
                        struct value *index = index_at(c, nearest(c, &a, at), in);
                        x = index ? build_gather(c->b, x, index, r->axes[i]) : NULL;
                } else {
                        x = interpolate(c, &a, x, at);
                }
        }
        for (int i = 0; i < r->count && x; i++)
                if (masks[i])
                        x = compose_select(c, compose_along(c, masks[i], x->type, r->axes[i]),
                                           build_like(c->b, x, r->extrapolation), x);
        if (!element_is_float(e) && r->mode != RESIZE_NEAREST)
                x = compose_unary(c, OP_round, x);
        return compose_cast(c, x, e);
}

/* Returns what resizing a tensor without elements makes. */
static struct value *nothing(struct compose *c, const struct type *x,
                             const struct compose_resize *r)
{
        dim_t dims[RANK_MAX];

        for (int d = 0; d < x->rank; d++)
                dims[d] = x->dims[d];
        for (int i = 0; i < r->count; i++)
                dims[r->axes[i]] = r->out[i];
        return constant_number(c->m, type_tensor(c->m, x->element, x->rank, dims), 0);
}

static bool extents_fit(struct compose *c, const struct type *x, const struct compose_resize *r)
{
        dim_t dims[RANK_MAX];

        for (int d = 0; d < x->rank; d++)
                dims[d] = x->dims[d];
        for (int i = 0; i < r->count; i++) {
                if (dim_is(x->dims[r->axes[i]], 0) && !dim_is(r->out[i], 0))
                        return compose_invalid(c, "an extent of 0 resized to %s",
                                               dim_text(c->arena, c->m, r->out[i]));
                dims[r->axes[i]] = r->out[i];
        }
        return compose_type(c, x->element, x->rank, dims) != NULL;
}

struct value *compose_resize(struct compose *c, struct value *x, const struct compose_resize *r)
{
        if (!extents_fit(c, x->type, r))
                return NULL;
        return type_is_static(x->type) && type_elements(x->type) == 0 ? nothing(c, x->type, r)
                                                                      : resized(c, x, r);
}
