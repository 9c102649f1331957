/* SPDX-License-Identifier: MIT */
/* This file has elements in order, and positions of those for which a condition holds. */
#include "front/compose/compose_sort.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

struct value *compose_argsort(struct compose *c, struct value *x, int axis, int64_t descending,
                              int64_t count)
{
        return compose_argsort_part(c, x, axis, descending, dim_of(count));
}

struct value *compose_argsort_part(struct compose *c, struct value *x, int axis,
                                   int64_t descending, dim_t count)
{
        struct attr *attrs = attrs_new(c->m, OP_argsort);
        dim_t dims[RANK_MAX];

        for (int d = 0; x && d < value_rank(x); d++)
                dims[d] = d == axis ? count : x->type->dims[d];
        attr_set(attrs, OP_argsort, "axis", axis);
        attr_set(attrs, OP_argsort, "descending", descending);
        return x ? value_build(c->b, OP_argsort, &x, 1, attrs,
                               type_tensor(c->m, E_I64, value_rank(x), dims))
                 : NULL;
}

struct value *compose_checked(struct compose *c, struct value *x, struct value *fits)
{
        int64_t ones[RANK_MAX], zeros[RANK_MAX] = { 0 };
        const int rank = x ? value_rank(x) : 1;
        for (int d = 0; d < rank; d++)
                ones[d] = 1;
        struct value *start = compose_select(c, fits, compose_integer(c, E_I64, 0),
                                             compose_integer(c, E_I64, -1));
        start = compose_reshape(c, start, 1, (const dim_t[]){ dim_of(1) });
        struct value *starts[2] = { start, constant_ints(c->m, zeros, rank - 1) };
        if (rank > 1)
                start = start ? compose_concat(c, starts, 2, 0) : NULL;
        struct value *operands[3] = { x, start, constant_ints(c->m, ones, rank) };
        return x && start ? value_build(c->b, OP_slice, operands, 3, NULL, x->type) : NULL;
}

struct value *compose_positions(struct compose *c, struct value *flags, int64_t count)
{
        struct value *order = compose_argsort(c, flags, 0, 1, count);
        struct value *found = compose_reduce(c, REDUCE_sum, compose_cast(c, flags, E_I64),
                                             (const int64_t[]){ 0 }, 1, E_COMPUTE);
        struct value *fits = compose_with(c, OP_eq, found, (double)count);
        return compose_checked(c, order, fits);
}

struct value *compose_last_not_above(struct compose *c, struct value *x, struct value *keys)
{
        if (!x || !keys)
                return NULL;
        int64_t count = value_extent(keys, 0), step = 1;
        struct value *at = build_like(c->b, compose_cast(c, x, E_I32), 0);

        while (step < count)
                step *= 2;
        for (step /= 2; step > 0; step /= 2) {
                struct value *next = compose_with(c, OP_min, plus(c, at, (double)step),
                                                  (double)(count - 1));
                struct value *key = next ? build_gather(c->b, keys, next, 0) : NULL;
                at = compose_select(c, compose_binary(c, OP_le, key, x), next, at);
        }
        return at;
}

/* ---- boxes that stay ---- */

/* All boxes have the shape <batch x classes x boxes>; the best ones of classes have <batch x
 * classes x 1>. */
struct boxes {
        struct value *low[2], *high[2]; /* These are the corners, along both dimensions. */
        struct value *area;
};

static struct value *areas(struct compose *c, const struct boxes *b)
{
        struct value *right = sub(c, b->high[1], b->low[1]);
        return mul(c, sub(c, b->high[0], b->low[0]), right);
}

/* Reads boxes <batch x boxes x 4>, which are two corners in any order, or a center and extents,
 * for each of the classes of `to`. */
static void boxes_read(struct compose *c, struct value *boxes, const struct type *to, bool center,
                       struct boxes *b)
{
        for (int d = 0; d < 2; d++) {
                struct value *side[2];
                for (int k = 0; k < 2; k++) {
                        struct value *number = compose_pick(c, boxes, 2, d + 2 * k);
                        side[k] = compose_spread(c, number, to, (const int64_t[]){ 0, 2 });
                }
                struct value *half = center ? times(c, side[1], 0.5) : NULL;
                b->low[d] = center ? sub(c, side[0], half)
                                   : compose_binary(c, OP_min, side[0], side[1]);
                b->high[d] = center ? add(c, side[0], half)
                                    : compose_binary(c, OP_max, side[0], side[1]);
        }
        b->area = areas(c, b);
}

/* Returns which boxes share more than `threshold` of their union with the best one. */
static struct value *overlapping(struct compose *c, const struct boxes *all,
                                 const struct boxes *best, struct value *threshold)
{
        struct boxes common;

        for (int d = 0; d < 2; d++) {
                common.low[d] = compose_binary(c, OP_max, all->low[d], best->low[d]);
                common.high[d] =
                        compose_binary(c, OP_max, common.low[d],
                                       compose_binary(c, OP_min, all->high[d], best->high[d]));
        }
        struct value *shared = areas(c, &common), *sum = add(c, all->area, best->area);
        struct value *part = divide(c, shared, sub(c, sum, shared));
        struct value *some = compose_with(
                c, OP_gt,
                compose_binary(c, OP_min, shared, compose_binary(c, OP_min, all->area, best->area)),
                0);
        return compose_binary(c, OP_and, some, compose_binary(c, OP_gt, part, threshold));
}

/* Returns the boxes that stay, by falling score, then -1: <batch x classes x room x i64>. Each
 * iteration takes the best box that is left of every class, and leaves out those that overlap
 * it. */
static struct value *suppressed(struct compose *c, const struct compose_suppression *s,
                                struct value *alive, const struct boxes *all)
{
        const struct type *t = s->scores->type,
                          *list = type_tensor(
                                  c->m, E_I64, 3,
                                  (const dim_t[]){ t->dims[0], t->dims[1], dim_of(s->room) });
        struct value *first[2] = { alive, constant_number(c->m, list, -1) }, *yielded[3];
        const struct compose_loop_parts parts = { .trip = s->most,
                                                  .go = constant_number(
                                                          c->m, type_scalar(c->m, E_BOOL), 1),
                                                  .first = first,
                                                  .steps = s->room,
                                                  .carried = 2 };
        struct compose_loop loop;
        struct boxes best;

        if (!alive || !s->most || !compose_loop_open(c, &parts, &loop))
                return NULL;
        struct value *left = &loop.held[0], *taken = &loop.held[1];
        struct value *scores = compose_select(c, left, s->scores,
                                              build_like(c->b, s->scores, -INFINITY));
        struct value *at = compose_arg_reduce(c, scores, REDUCE_max, 2, false);
        at = compose_cast(c, at, E_I64);
        at = compose_reshape(c, at, 3, (const dim_t[]){ t->dims[0], t->dims[1], dim_of(1) });
        struct value *found = compose_gather_elements(c, left, at, 2);
        for (int d = 0; d < 2; d++) {
                best.low[d] = compose_gather_elements(c, all->low[d], at, 2);
                best.high[d] = compose_gather_elements(c, all->high[d], at, 2);
        }
        best.area = compose_gather_elements(c, all->area, at, 2);
        /* Integers as wide as the scores are vectors of as many lanes. */
        struct value *number = build_iota(c->b, type_with_element(c->m, t, E_I32), 2);
        struct value *right = compose_binary(c, OP_eq, number, compose_cast(c, at, E_I32));
        struct value *gone =
                compose_binary(c, OP_or, overlapping(c, all, &best, s->threshold), right);
        struct value *now = compose_binary(
                c, OP_and, compose_binary(c, OP_eq, build_iota(c->b, list, 2), loop.number), found);
        yielded[0] =
                compose_reduce(c, REDUCE_max, found, (const int64_t[]){ 0, 1, 2 }, 3, E_COMPUTE);
        yielded[1] = compose_binary(c, OP_and, left, compose_unary(c, OP_not, gone));
        yielded[2] = compose_select(c, now, at, taken);
        return compose_loop_close(c, &loop, yielded) ? &loop.op->results[1] : NULL;
}

struct value *compose_suppress(struct compose *c, const struct compose_suppression *s)
{
        const struct type *t = s->scores->type;
        struct boxes all;

        boxes_read(c, s->boxes, t, s->center, &all);
        struct value *alive =
                s->low ? compose_binary(c, OP_gt, s->scores, s->low)
                       : compose_unary(c, OP_not, compose_unary(c, OP_is_nan, s->scores));
        struct value *taken = suppressed(c, s, alive, &all);
        return compose_reshape(
                c, taken, 1,
                (const dim_t[]){ dim_of(type_extent(t, 0) * type_extent(t, 1) * s->room) });
}

struct value *compose_suppressed_rows(struct compose *c, const struct compose_suppression *s,
                                      struct value *taken, struct value *at)
{
        const int64_t classes = value_extent(s->scores, 1);
        struct value *columns[3];

        if (!at)
                return NULL;
        columns[0] = compose_with(c, OP_div, at, (double)(classes * s->room));
        columns[1] = compose_with(c, OP_rem, compose_with(c, OP_div, at, (double)s->room),
                                  (double)classes);
        columns[2] = build_gather(c->b, taken, at, 0);
        for (int k = 0; k < 3; k++)
                columns[k] = compose_reshape(c, columns[k], 2,
                                             (const dim_t[]){ at->type->dims[0], dim_of(1) });
        return build_concat(c->b, columns, 3, 1);
}
