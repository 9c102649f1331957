/* SPDX-License-Identifier: MIT */
/* Operators that order elements, or find those for which something holds. */
#include "compiler/import/onnx_helpers.h"

#include <math.h>

/* The first `count` of the indices along axis that bring x into order. */
static struct value *argsort(struct onnx_import *im, struct value *x, int axis, int64_t descending,
                             int64_t count)
{
        struct attr *attrs = attrs_new(im->m, OP_argsort);
        dim_t dims[RANK_MAX];

        for (int d = 0; x && d < value_rank(x); d++)
                dims[d] = dim_of(d == axis ? count : value_extent(x, d));
        attr_set(attrs, OP_argsort, "axis", axis);
        attr_set(attrs, OP_argsort, "descending", descending);
        return x ? value_build(&im->b, OP_argsort, &x, 1, attrs,
                               type_tensor(im->m, E_I64, value_rank(x), dims))
                 : NULL;
}

/* Sorted or not: sorted is one of the orders that are allowed where it is not asked for. */
bool onnx_import_top_k(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, largest = 1, sorted, k;
        bool known = true;
        int axis;

        if (!onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            (n->opset >= 11 && !onnx_int_range(im, n, "largest", 1, 0, 1, &largest)) ||
            (n->opset >= 11 && !onnx_int_range(im, n, "sorted", 1, 0, 1, &sorted)) ||
            (n->opset < 10 ? !onnx_int_required(im, n, "k", &k)
                           : !onnx_operand_int(im, n, 1, 0, &k, &known)))
                return false;
        if (!known) {
                const struct type *declared =
                        onnx_declared_as(im, n, 0, value_element(x), value_rank(x));
                if (!declared)
                        return false;
                k = type_extent(declared, axis);
        }
        if (k < 0 || k > value_extent(x, axis))
                return onnx_invalid(im, n, "the %lld first of %lld elements", (long long)k,
                                    (long long)value_extent(x, axis));
        struct value *order = argsort(im, x, axis, largest, k);
        if (!order || (onnx_wants(n, 1) && !onnx_output(n, 1, order)))
                return false;
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", axis);
        return onnx_output(n, 0,
                           value_build(&im->b, OP_gather_elements, (struct value *[]){ x, order },
                                       2, attrs, NULL));
}

/* ---- what holds ---- */

static int64_t count_true(const struct value *flags)
{
        int64_t elements = type_elements(flags->type), count = 0;

        for (int64_t i = 0; i < elements; i++)
                count += constant_element(flags->constant, i).u != 0;
        return count;
}

/* The positions of the true ones of flags <n x bool>, `count` of them; code that finds another
 * number fails: no slice begins at -1. */
static struct value *positions(struct onnx_import *im, struct value *flags, int64_t count)
{
        struct value *order = argsort(im, flags, 0, 1, count);
        struct value *found = compose_reduce(im->c, REDUCE_sum, compose_cast(im->c, flags, E_I64),
                                             (const int64_t[]){ 0 }, 1, E_COMPUTE);
        struct value *fits = compose_with(im->c, OP_eq, found, (double)count);
        struct value *start = compose_select(im->c, fits, compose_integer(im->c, E_I64, 0),
                                             compose_integer(im->c, E_I64, -1));
        struct value *step = constant_ints(im->m, (const int64_t[]){ 1 }, 1);
        struct value *operands[3] = {
                order, compose_reshape(im->c, start, 1, (const dim_t[]){ dim_of(1) }), step
        };

        return order && operands[1] ? value_build(&im->b, OP_slice, operands, 3, NULL, order->type)
                                    : NULL;
}

/* how many there are: of constant flags; else what the model declares for that dimension of its
 * result */
static bool how_many(struct onnx_import *im, struct onnx_node *n, const struct value *flags,
                     enum element e, int rank, int dimension, int64_t *count)
{
        if (value_is_constant(flags)) {
                *count = count_true(flags);
                return true;
        }
        const struct type *declared = onnx_declared_as(im, n, 0, e, rank);
        if (!declared)
                return false;
        *count = type_extent(declared, dimension);
        return *count <= value_extent(flags, 0) ||
               onnx_invalid(im, n, "output 0 is declared as %s, at most %lld are possible",
                            type_text(im->arena, im->m, declared),
                            (long long)value_extent(flags, 0));
}

/* <rank x n>: a column for each element that is not 0 */
bool onnx_import_non_zero(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *rows[RANK_MAX];
        int rank = value_rank(x);
        int64_t elements = type_elements(x->type), count, inner = 1;

        struct value *flags =
                compose_reshape(im->c, compose_binary(im->c, OP_ne, x, build_like(&im->b, x, 0)), 1,
                                (const dim_t[]){ dim_of(elements) });
        if (!flags || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !how_many(im, n, flags, E_I64, 2, 1, &count))
                return false;
        struct value *at = positions(im, flags, count);
        for (int d = rank - 1; d >= 0; d--) {
                struct value *index =
                        inner > 1 ? compose_with(im->c, OP_div, at, (double)inner) : at;
                index = d ? compose_with(im->c, OP_rem, index,
                                         (double)compose_max(1, value_extent(x, d)))
                          : index;
                rows[d] = compose_reshape(im->c, index, 2,
                                          (const dim_t[]){ dim_of(1), dim_of(count) });
                inner *= compose_max(1, value_extent(x, d));
        }
        return onnx_output(n, 0, build_concat(&im->b, rows, rank, 0));
}

/* slices of x along axis, or elements of all of it, where condition <at most so many x bool>
 * holds */
bool onnx_import_compress(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *flags = n->inputs[1];
        int64_t stated, count;
        int axis = 0;

        if (!onnx_want_element(im, n, 1, E_BOOL) || !onnx_want_rank(im, n, 1, 1, 1) ||
            !onnx_int(im, n, "axis", 0, &stated) ||
            (onnx_has(n, "axis") && !onnx_axis(im, n, stated, value_rank(x), &axis)))
                return false;
        if (!onnx_has(n, "axis"))
                x = compose_reshape(im->c, x, 1, (const dim_t[]){ dim_of(type_elements(x->type)) });
        if (!x)
                return false;
        if (value_extent(flags, 0) > value_extent(x, axis))
                return onnx_invalid(im, n, "%lld conditions for an extent of %lld",
                                    (long long)value_extent(flags, 0),
                                    (long long)value_extent(x, axis));
        return how_many(im, n, flags, value_element(x), value_rank(x), axis, &count) &&
               onnx_output(n, 0, build_gather(&im->b, x, positions(im, flags, count), axis));
}

/* ---- NonMaxSuppression ---- */

struct boxes {
        struct value *low[2], *high[2], *area;  /* <batch x classes x boxes>, or of the best ones
                                                 * <batch x classes x 1> */
};

static struct value *picked_from(struct onnx_import *im, struct value *x, struct value *at)
{
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);

        attr_set(attrs, OP_gather_elements, "axis", 2);
        return x && at ? value_build(&im->b, OP_gather_elements, (struct value *[]){ x, at }, 2,
                                     attrs, NULL)
                       : NULL;
}

static struct value *areas(struct onnx_import *im, const struct boxes *b)
{
        struct value *right = compose_binary(im->c, OP_sub, b->high[1], b->low[1]);
        return compose_binary(im->c, OP_mul, compose_binary(im->c, OP_sub, b->high[0], b->low[0]),
                              right);
}

/* boxes <batch x boxes x 4>, two corners, in any order, or a center and extents, for each of the
 * classes of `to` */
static void boxes_read(struct onnx_import *im, struct value *boxes, const struct type *to,
                       bool center, struct boxes *b)
{
        for (int d = 0; d < 2; d++) {
                struct value *side[2];
                for (int k = 0; k < 2; k++) {
                        struct value *number = build_gather(
                                &im->b, boxes, compose_integer(im->c, E_I64, d + 2 * k), 2);
                        side[k] = compose_spread(im->c, number, to, (const int64_t[]){ 0, 2 });
                }
                struct value *half = center ? compose_with(im->c, OP_mul, side[1], 0.5) : NULL;
                b->low[d] = center ? compose_binary(im->c, OP_sub, side[0], half)
                                   : compose_binary(im->c, OP_min, side[0], side[1]);
                b->high[d] = center ? compose_binary(im->c, OP_add, side[0], half)
                                    : compose_binary(im->c, OP_max, side[0], side[1]);
        }
        b->area = areas(im, b);
}

/* which boxes share more than that part of their union with the best one */
static struct value *overlapping(struct onnx_import *im, const struct boxes *all,
                                 const struct boxes *best, struct value *threshold)
{
        struct boxes common;

        for (int d = 0; d < 2; d++) {
                common.low[d] = compose_binary(im->c, OP_max, all->low[d], best->low[d]);
                common.high[d] =
                        compose_binary(im->c, OP_max, common.low[d],
                                       compose_binary(im->c, OP_min, all->high[d], best->high[d]));
        }
        struct value *shared = areas(im, &common),
                     *sum = compose_binary(im->c, OP_add, all->area, best->area);
        struct value *part =
                compose_binary(im->c, OP_div, shared, compose_binary(im->c, OP_sub, sum, shared));
        struct value *some =
                compose_with(im->c, OP_gt,
                             compose_binary(im->c, OP_min, shared,
                                            compose_binary(im->c, OP_min, all->area, best->area)),
                             0);
        return compose_binary(im->c, OP_and, some, compose_binary(im->c, OP_gt, part, threshold));
}

/* <batch x classes x room x i64>: the boxes that stay, by falling score, then -1. Each turn takes
 * the best box of every class that is left, and leaves out what overlaps it. */
static struct value *suppressed(struct onnx_import *im, struct value *scores, struct value *alive,
                                const struct boxes *all, struct value *threshold,
                                struct value *trip, int64_t room)
{
        const struct type *t = scores->type,
                          *list = type_tensor(
                                  im->m, E_I64, 3,
                                  (const dim_t[]){ t->dims[0], t->dims[1], dim_of(room) });
        struct value *first[2] = { alive, constant_number(im->m, list, -1) }, *yielded[3];
        const struct compose_loop_parts parts = { .trip = trip,
                                                  .go = constant_number(
                                                          im->m, type_scalar(im->m, E_BOOL), 1),
                                                  .first = first,
                                                  .steps = room,
                                                  .carried = 2 };
        struct compose_loop loop;
        struct boxes best;

        if (!alive || !trip || !compose_loop_open(im->c, &parts, &loop))
                return NULL;
        struct value *left = &loop.held[0], *taken = &loop.held[1];
        struct value *at = argsort(
                im, compose_select(im->c, left, scores, build_like(&im->b, scores, -INFINITY)), 2,
                1, 1);
        struct value *found = picked_from(im, left, at);
        for (int d = 0; d < 2; d++) {
                best.low[d] = picked_from(im, all->low[d], at);
                best.high[d] = picked_from(im, all->high[d], at);
        }
        best.area = picked_from(im, all->area, at);
        struct value *right = compose_binary(
                im->c, OP_eq, build_iota(&im->b, type_with_element(im->m, t, E_I64), 2), at);
        struct value *gone =
                compose_binary(im->c, OP_or, overlapping(im, all, &best, threshold), right);
        struct value *now = compose_binary(
                im->c, OP_and,
                compose_binary(im->c, OP_eq, build_iota(&im->b, list, 2), loop.number), found);
        yielded[0] = compose_reduce(im->c, REDUCE_max, found, (const int64_t[]){ 0, 1, 2 }, 3,
                                    E_COMPUTE);
        yielded[1] = compose_binary(im->c, OP_and, left, compose_unary(im->c, OP_not, gone));
        yielded[2] = compose_select(im->c, now, at, taken);
        return compose_loop_close(im->c, &loop, yielded) ? &loop.op->results[1] : NULL;
}

/* Operands boxes [batch, boxes, 4], scores [batch, classes, boxes], and optional numbers: how many
 * of a class at most, which part of their union two boxes may share, and which score is too low. A
 * row [batch, class, box] for each that stays. */
bool onnx_import_non_max_suppression(struct onnx_import *im, struct onnx_node *n)
{
        struct value *scores = n->inputs[1], *columns[3], *trip = compose_integer(im->c, E_I64, 0),
                     *threshold;
        int64_t center, most, count;
        struct boxes all;
        bool known;

        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_element(im, n, 1, E_F32) ||
            !onnx_want_rank(im, n, 0, 3, 3) || !onnx_want_rank(im, n, 1, 3, 3) ||
            !onnx_int_range(im, n, "center_point_box", 0, 0, 1, &center) ||
            !onnx_operand_int(im, n, 2, 0, &most, &known))
                return false;
        const struct type *t = scores->type, *boxes = n->inputs[0]->type;
        if (!dim_equal(boxes->dims[0], t->dims[0]) || !dim_equal(boxes->dims[1], t->dims[2]) ||
            !dim_is(boxes->dims[2], 4))
                return onnx_invalid(im, n, "boxes are %s for scores %s",
                                    type_text(im->arena, im->m, boxes),
                                    type_text(im->arena, im->m, t));
        int64_t room =
                known ? compose_min(compose_max(most, 0), type_extent(t, 2)) : type_extent(t, 2);
        if (!room || !type_elements(t))
                return onnx_output(
                        n, 0,
                        constant_number(im->m,
                                        type_tensor(im->m, E_I64, 2,
                                                    (const dim_t[]){ dim_of(0), dim_of(3) }),
                                        0));
        if (onnx_input(n, 2))
                trip = compose_with(im->c, OP_min,
                                    compose_cast(im->c, onnx_scalar(im, n, 2), E_I64),
                                    (double)room);
        threshold = onnx_input(n, 3) ? onnx_scalar(im, n, 3) : build_scalar(&im->b, E_F32, 0);
        struct value *low = onnx_input(n, 4) ? onnx_scalar(im, n, 4) : NULL;
        if (!threshold || (onnx_input(n, 4) && !low))
                return false;
        boxes_read(im, n->inputs[0], t, center, &all);
        struct value *alive =
                low ? compose_binary(im->c, OP_gt, scores, low)
                    : compose_unary(im->c, OP_not, compose_unary(im->c, OP_is_nan, scores));
        struct value *taken = suppressed(im, scores, alive, &all, threshold, trip, room);
        taken = compose_reshape(
                im->c, taken, 1,
                (const dim_t[]){ dim_of(type_extent(t, 0) * type_extent(t, 1) * room) });
        struct value *flags = compose_with(im->c, OP_ge, taken, 0);
        if (!flags || !how_many(im, n, flags, E_I64, 2, 0, &count))
                return false;
        struct value *at = positions(im, flags, count);
        columns[0] = compose_with(im->c, OP_div, at, (double)(type_extent(t, 1) * room));
        columns[1] = compose_with(im->c, OP_rem, compose_with(im->c, OP_div, at, (double)room),
                                  (double)type_extent(t, 1));
        columns[2] = build_gather(&im->b, taken, at, 0);
        for (int k = 0; k < 3; k++)
                columns[k] = compose_reshape(im->c, columns[k], 2,
                                             (const dim_t[]){ dim_of(count), dim_of(1) });
        return onnx_output(n, 0, build_concat(&im->b, columns, 3, 1));
}
