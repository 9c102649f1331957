/* SPDX-License-Identifier: MIT */
/* A pool takes from a sliding window the largest element, the mean or the p-norm. */
#include "front/compose/compose_fixed.h"
#include "front/compose/compose_window.h"

#include <float.h>
#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* Returns a number for each dimension of x from those of the spatial window. */
static struct attr *window_attrs(struct compose *c, enum opcode code,
                                 const struct compose_window *w)
{
        struct attr *attrs = attrs_new(c->m, code);
        int rank = w->rank + 2;
        int64_t window[RANK_MAX] = { 1, 1 }, strides[RANK_MAX] = { 1, 1 },
                dilations[RANK_MAX] = { 1, 1 }, pads[2 * RANK_MAX] = { 0 };

        for (int d = 0; d < w->rank; d++) {
                window[d + 2] = w->kernel[d];
                strides[d + 2] = w->strides[d];
                dilations[d + 2] = w->dilations[d];
                pads[d + 2] = w->pads[d];
                pads[rank + d + 2] = w->high[d];
        }
        attr_set_ints(c->m, attrs, code, "window", window, rank);
        attr_set_ints(c->m, attrs, code, "strides", strides, rank);
        attr_set_ints(c->m, attrs, code, "dilations", dilations, rank);
        attr_set_ints(c->m, attrs, code, "pads", pads, 2 * rank);
        return attrs;
}

static struct value *window_reduce(struct compose *c, enum reducer kind, struct value *x,
                                   const struct compose_window *w)
{
        struct attr *attrs = window_attrs(c, OP_reduce_window, w);

        attr_set(attrs, OP_reduce_window, "kind", kind);
        return x ? value_build(c->b, OP_reduce_window, &x, 1, attrs, NULL) : NULL;
}

/* Places the window over x, and checks that every pad is smaller than the window. */
static bool pool_place(struct compose *c, const struct value *x, struct compose_pool *pool)
{
        struct compose_window *w = &pool->window;
        dim_t dims[RANK_MAX];

        for (int i = 0; i < 2 * w->rank && w->auto_pad == PAD_NOTSET; i++)
                if (w->pads[i] >= compose_window_extent(w, i % w->rank))
                        return compose_invalid(c, "pads[%d] is %lld for a window of extent %lld", i,
                                               (long long)w->pads[i],
                                               (long long)compose_window_extent(w, i % w->rank));
        if (!compose_window_place(c, w, x->type->dims + 2, pool->ceil_mode))
                return false;
        dims[0] = x->type->dims[0];
        dims[1] = x->type->dims[1];
        for (int d = 0; d < w->rank; d++)
                dims[d + 2] = w->out[d];
        return compose_type(c, value_element(x), w->rank + 2, dims) != NULL;
}

/* Turns a row-major position in x into the position that it has where each image is stored
 * column by column. */
static struct value *column_major(struct compose *c, struct value *at, const struct type *x)
{
        int64_t image = 1, before = 1;
        struct value *sum = NULL;

        for (int d = 2; d < x->rank; d++)
                image *= type_extent(x, d);
        int64_t after = image;
        for (int d = 2; d < x->rank; d++) {
                after /= compose_max(type_extent(x, d), 1);
                struct value *here =
                        compose_with(c, OP_rem, compose_with(c, OP_div, at, (double)after),
                                     (double)type_extent(x, d));
                here = times(c, here, (double)before);
                sum = sum ? add(c, sum, here) : here;
                before *= type_extent(x, d);
        }
        struct value *base = times(c, compose_with(c, OP_div, at, (double)image), (double)image);
        return add(c, base, sum);
}

/* Returns x, in which pads that depend on what a run gives are lower than all numbers. */
static struct value *padded_least(struct compose *c, struct compose_window *w, struct value *x)
{
        const enum element e = value_element(x);
        const bool is_signed = element_info[e].class == CLASS_SINT;
        const double least = element_is_float(e) ? -INFINITY
                             : is_signed         ? -ldexp(1, 8 * element_info[e].bytes - 1)
                                                 : 0;
        return compose_window_padded(c, w, x, least);
}

struct value *compose_max_pool(struct compose *c, struct value *x, struct compose_pool *pool,
                               struct value **at)
{
        if (!at)
                x = padded_least(c, &pool->window, x);
        if (!x || !pool_place(c, x, pool))
                return NULL;
        if (at) {
                *at = value_build(c->b, OP_arg_window, &x, 1,
                                  window_attrs(c, OP_arg_window, &pool->window), NULL);
                if (*at && pool->column_major)
                        *at = column_major(c, *at, x->type);
                if (!*at)
                        return NULL;
        }
        return window_reduce(c, REDUCE_max, x, &pool->window);
}

/* Returns how many of the window's elements count at each place along spatial dimension d, or NULL
 * where all do everywhere. Place o starts at o * stride - low pad; its element k counts where from
 * <= start + k * dilation < to. */
static struct value *window_counts(struct compose *c, const struct compose_window *w, int d,
                                   struct value *x, bool include_pads, enum element e)
{
        const dim_t in = x->type->dims[d + 2];
        const int64_t from = include_pads ? -w->pads[d] : 0,
                      behind = include_pads ? w->pads[w->rank + d] : 0, step = w->dilations[d];

        if (dim_is_static(in)) {
                int64_t last = (dim_extent(w->out[d]) - 1) * w->strides[d] - w->pads[d];
                if (-w->pads[d] >= from &&
                    last + compose_window_extent(w, d) <= dim_extent(in) + behind)
                        return NULL;
        } else if (include_pads ? w->high[d] == behind : !w->pads[d] && !w->high[d]) {
                return NULL;            /* No window ends behind the pads. */
        }
        struct value *places =
                build_iota(c->b, type_tensor(c->m, E_I64, 1, &w->out[d]), 0);
        struct value *start = times(c, places, (double)w->strides[d]);
        start = compose_with(c, OP_sub, start, (double)w->pads[d]);
        struct value *bounds[2];        /* They count the elements before `from`, and before the
                                         * end. */
        for (int i = 0; i < 2; i++) {
                struct value *end = plus(c, build_extent(c->b, x, d + 2), (double)behind);
                struct value *ahead = i ? compose_binary(c, OP_sub, end, start)
                                        : compose_from(c, OP_sub, (double)from, start);
                struct value *distance = compose_with(c, OP_max, ahead, 0);
                bounds[i] =
                        compose_with(c, OP_div, plus(c, distance, (double)step - 1), (double)step);
        }
        struct value *count =
                sub(c, compose_with(c, OP_min, bounds[1], (double)w->kernel[d]), bounds[0]);
        /* A window wholly in the padding averages to 0. */
        return compose_cast(c, compose_with(c, OP_max, count, 1), e);
}

/* Returns how many elements count at each place of a sum, spread over it, or NULL where it is
 * *everywhere. */
static struct value *pool_divisor(struct compose *c, const struct compose_pool *pool,
                                  struct value *x, struct value *sum, double *everywhere)
{
        const struct compose_window *w = &pool->window;
        struct value *divisor = NULL;

        *everywhere = 1;
        for (int d = 0; d < w->rank; d++) {
                struct value *counts = window_counts(c, w, d, x, pool->include_pads,
                                                     value_element(sum));
                double number = (double)w->kernel[d];
                if (!counts || value_is_splat(counts, &number)) {
                        *everywhere *= number;
                        continue;
                }
                counts = compose_spread(c, counts, sum->type, (const int64_t[]){ d + 2 });
                divisor = divisor ? mul(c, divisor, counts) : counts;
        }
        return divisor && *everywhere != 1 ? times(c, divisor, *everywhere) : divisor;
}

/* Returns 1 for each pixel of an image of x's extents, and 0 for pads that depend on what a run
 * gives. */
static struct value *padded_ones(struct compose *c, struct compose_window *w, const struct value *x)
{
        dim_t dims[RANK_MAX] = { dim_of(1), dim_of(1) };

        for (int d = 2; d < value_rank(x); d++)
                dims[d] = x->type->dims[d];
        const struct type *t = type_tensor(c->m, compose_wide_element(value_element(x)),
                                           value_rank(x), dims);
        return compose_window_padded(c, w, constant_number(c->m, t, 1), 0);
}

struct value *compose_average_pool(struct compose *c, struct value *x, struct compose_pool *pool)
{
        enum element e = value_element(x);
        double everywhere;

        struct compose_window w = pool->window;
        struct value *given = x, *ones = NULL;
        x = compose_window_padded(c, &pool->window, x, 0);
        if (x && x != given && !pool->include_pads && !(ones = padded_ones(c, &w, given)))
                return NULL;
        if (!x || !pool_place(c, x, pool))
                return NULL;
        x = compose_wide(c, x);
        struct value *sum = window_reduce(c, REDUCE_sum, x, &pool->window);
        if (!sum)
                return NULL;
        if (ones) {
                struct value *counts = window_reduce(c, REDUCE_sum, ones, &pool->window);
                struct value *both[2] = { sum, compose_cast(c, counts, value_element(sum)) };
                if (!both[1] || !compose_broadcast(c, both, 2))
                        return NULL;
                return compose_cast(c, divide(c, both[0], both[1]), e);
        }
        struct value *divisor = pool_divisor(c, pool, x, sum, &everywhere);
        if (!divisor)
                return compose_cast(c, compose_with(c, OP_div, sum, everywhere), e);
        return compose_cast(c, divide(c, sum, divisor), e);
}

/* Divides sums by a number, halves away from 0: by a multiplier slightly larger than its
 * reciprocal, so that halves, of either sign, are moved away from 0, and nothing else is. Returns
 * false where a multiplier is too short for that. */
static bool divided(struct compose *c, struct value *sum, double number, int64_t low, int64_t high,
                    enum element to, struct value **y)
{
        const int64_t n = (int64_t)number, most = (int64_t)1 << 30;
        struct compose_multiplier m = { 0 };
        if (n < 2 || n >= most >> 8 * element_info[to].bytes)
                return false;
        while (INT64_C(2) << -m.shift < n)
                m.shift--;
        m.m = (int32_t)((INT64_C(1) << (31 - m.shift)) / n + 1);
        *y = compose_rescale(c, sum,
                             &(struct compose_rescale){ .by = { &m, 1, 0 },
                                                        .low = low,
                                                        .high = high,
                                                        .to = to,
                                                        .once = true });
        return true;
}

struct value *compose_average_pool_integer(struct compose *c, struct value *x,
                                           struct compose_pool *pool, int64_t low, int64_t high)
{
        const enum element to = value_element(x);
        double everywhere;
        struct value *y;

        if (!pool_place(c, x, pool))
                return NULL;
        x = compose_cast(c, x, E_I32);
        struct value *sum = window_reduce(c, REDUCE_sum, x, &pool->window);
        if (!sum)
                return NULL;
        struct value *divisor = pool_divisor(c, pool, x, sum, &everywhere);
        if (!divisor && divided(c, sum, everywhere, low, high, to, &y))
                return y;
        if (!divisor)
                divisor = build_like(c->b, sum, everywhere);
        /* The division rounds toward 0, from half the divisor further away. */
        struct value *half = compose_with(c, OP_div, divisor, 2);
        struct value *below = compose_unary(c, OP_neg, half);
        half = compose_select(c, compose_with(c, OP_gt, sum, 0), half, below);
        return compose_bounded(c, divide(c, add(c, sum, half), divisor), low, high, to);
}

struct value *compose_lp_pool(struct compose *c, struct value *x, struct compose_pool *pool,
                              int64_t p)
{
        enum element e = value_element(x);

        if (!pool_place(c, x, pool))
                return NULL;
        x = compose_unary(c, OP_abs, compose_wide(c, x));
        struct value *power = p == 1   ? x
                              : p == 2 ? mul(c, x, x)
                                       : compose_with(c, OP_pow, x, (double)p);
        struct value *sum = window_reduce(c, REDUCE_sum, power, &pool->window);
        sum = p == 1   ? sum
              : p == 2 ? compose_unary(c, OP_sqrt, sum)
                       : compose_with(c, OP_pow, sum, 1.0 / (double)p);
        return compose_cast(c, sum, e);
}

struct value *compose_max_unpool(struct compose *c, struct value *x, struct value *at,
                                 const dim_t *dims, const dim_t *result)
{
        const int rank = value_rank(x);
        const struct type *t = compose_type(c, value_element(x), rank, dims),
                          *to = t ? compose_type(c, value_element(x), rank, result) : NULL;
        const int64_t begin[RANK_MAX] = { 0 };
        if (!t || !to)
                return NULL;
        const dim_t pooled = type_product(c->m, t, 0, rank),
                    places[2] = { type_product(c->m, x->type, 0, rank), dim_of(1) };
        at = compose_reshape(c, at, 2, places);
        x = compose_reshape(c, x, 1, places);
        struct value *none = constant_number(c->m, type_tensor(c->m, t->element, 1, &pooled), 0);
        struct value *y = compose_scatter(c, none, at, x, -1, SCATTER_REPLACE);
        y = compose_reshape(c, y, rank, dims);
        return compose_pad(c, y, y ? build_scalar(c->b, value_element(y), 0) : NULL,
                           constant_ints(c->m, begin, rank), PAD_CONSTANT, to);
}

struct value *compose_cumulate(struct compose *c, struct value *x, enum reducer kind, int axis,
                               bool exclusive, bool reverse)
{
        int rank = value_rank(x);
        int64_t window[RANK_MAX], pads[2 * RANK_MAX] = { 0 };
        struct attr *attrs = attrs_new(c->m, OP_reduce_window);

        if (type_is_empty(x->type))
                return x;
        for (int d = 0; d < rank; d++)
                window[d] = 1;
        /* Where a run gives the extent, a window of its bound reaches back to the first element,
         * too. */
        window[axis] = dim_bound(c->m, x->type->dims[axis]);
        pads[axis] = window[axis] - 1 + exclusive;
        pads[rank + axis] = -exclusive;
        attr_set(attrs, OP_reduce_window, "kind", kind);
        attr_set_ints(c->m, attrs, OP_reduce_window, "window", window, rank);
        attr_set_ints(c->m, attrs, OP_reduce_window, "pads", pads, 2 * rank);
        if (reverse)
                x = compose_reverse(c, x, axis);
        struct value *y = x ? value_build(c->b, OP_reduce_window, &x, 1, attrs, NULL) : NULL;
        return reverse ? compose_reverse(c, y, axis) : y;
}

/* ---- under a mask ---- */

/* Returns every step-th element of x along its last axis, from `start` on, `count` of them. */
static struct value *strided(struct compose *c, struct value *x, int64_t start, int64_t step,
                             int64_t count)
{
        const int axis = value_rank(x) - 1;
        const struct compose_slice s = { .count = 1,
                                         .axes = { axis },
                                         .starts = { start },
                                         .ends = { start + (count - 1) * step + 1 },
                                         .steps = { step } };
        return compose_slice(c, x, &s);
}

/* Returns x with `low` copies of a number in front of its last axis, and others behind it, or with
 * elements cut off there, so that it has this extent. */
static struct value *widened(struct compose *c, struct value *x, int64_t low, int64_t extent,
                             double number)
{
        const int rank = value_rank(x);
        int64_t lows[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];

        for (int d = 0; d < rank; d++)
                dims[d] = x->type->dims[d];
        dims[rank - 1] = dim_of(extent);
        lows[rank - 1] = low;
        const struct type *t = compose_type(c, value_element(x), rank, dims);
        struct value *value = constant_number(
                c->m, type_tensor(c->m, value_element(x), 0, NULL), number);
        return t ? compose_pad(c, x, value, constant_ints(c->m, lows, rank), PAD_CONSTANT, t)
                 : NULL;
}

struct value *compose_max_pool_masked(struct compose *c, struct value *x, struct value *mask,
                                      struct compose_pool *pool)
{
        struct compose_window *w = &pool->window;
        struct value *most = NULL, *alive = NULL;
        const int last = w->rank - 1;

        if (!mask || !compose_window_place(c, w, x->type->dims + 2, false))
                return NULL;
        const int64_t taps = w->kernel[last], step = w->strides[last];
        const int64_t count = dim_extent(w->out[last]);
        const int64_t low = w->pads[last], extent = (count - 1) * step + taps;
        if (taps > c->limits->unrolled_steps) {
                compose_unsupported(c, "a window of %lld elements under a mask", (long long)taps);
                return NULL;
        }
        if (count < 1)
                return compose_max_pool(c, x, pool, NULL);
        x = widened(c, x, low, extent, -FLT_MAX);
        mask = widened(c, mask, low, extent, 1);
        for (int64_t i = 0; x && mask && i < taps; i++) {
                struct value *here = strided(c, mask, i, step, count);
                alive = alive ? compose_binary(c, OP_and, alive, here) : here;
                struct value *number = strided(c, x, i, step, count);
                struct value *least = number ? build_like(c->b, number, -FLT_MAX) : NULL;
                number = compose_select(c, alive, number, least);
                most = most ? compose_binary(c, OP_max, most, number) : number;
        }
        w->kernel[last] = w->strides[last] = 1;
        w->pads[last] = w->pads[w->rank + last] = 0;
        w->auto_pad = PAD_NOTSET;
        return !most || w->rank == 1 ? most : compose_max_pool(c, most, pool, NULL);
}
