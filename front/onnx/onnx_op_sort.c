/* SPDX-License-Identifier: MIT */
/* These operators order elements, or find those for which something holds. */
#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"
#include "front/onnx/onnx_helpers.h"
#include "ir/tensor/amounts.h"

/* Returns the scalar that no number stands behind, by falling or by rising numbers. */
static struct value *last_of(struct onnx_import *im, enum element e, bool falling)
{
        const int bits = 8 * element_info[e].bytes;
        const bool is_signed = element_info[e].class == CLASS_SINT;

        if (element_is_float(e))
                return build_scalar(&im->b, e, falling ? -INFINITY : NAN);
        uint64_t top = is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
        return compose_integer(im->c, e,
                               (int64_t)(!falling ? top : is_signed ? ~top : 0));
}

/* Returns the first elements of x along the axis, where that is not all of them. */
static struct value *cut(struct onnx_import *im, struct value *x, int axis, dim_t extent)
{
        return !x || dim_equal(x->type->dims[axis], extent) ? x : onnx_first(im, x, axis, extent);
}

/* Imports TopK, sorted or not: where order is not asked for, sorted is one of the orders that are
 * allowed. */
/* Returns the first `kept` of the indices along the axis that bring x into order. A line that has
 * fewer in some run is filled up to its bound, by what comes last. */
static struct value *first_of(struct onnx_import *im, struct value *x, int axis, int64_t largest,
                              dim_t kept)
{
        const dim_t extent = x->type->dims[axis];
        int64_t more;

        if (dim_bound(im->m, kept) <= dim_least(im->m, extent) ||
            (dim_exceeds(im->m, extent, kept, &more) && more >= 0))
                return compose_argsort_part(im->c, x, axis, largest, kept);
        struct value *filled =
                compose_at_bound(im->c, x, last_of(im, value_element(x), largest));
        struct value *order =
                filled ? compose_argsort(im->c, filled, axis, largest, dim_bound(im->m, kept))
                       : NULL;
        for (int d = 0; d < value_rank(x); d++)
                order = cut(im, order, d, d == axis ? kept : x->type->dims[d]);
        return order;
}

bool onnx_import_top_k(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, largest = 1, sorted, k = 0;
        struct amount amounts[AMOUNTS_MAX];
        bool known = true;
        dim_t kept;
        int axis, count;

        if (!onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            (n->opset >= 11 && !onnx_int_range(im, n, "largest", 1, 0, 1, &largest)) ||
            (n->opset >= 11 && !onnx_int_range(im, n, "sorted", 1, 0, 1, &sorted)) ||
            (n->opset < 10 ? !onnx_int_required(im, n, "k", &k)
                           : !onnx_operand_int(im, n, 1, 0, &k, &known)))
                return false;
        if (!known && onnx_is_declared(im, n, 0, value_rank(x))) {
                const struct type *declared =
                        onnx_declared_as(im, n, 0, value_element(x), value_rank(x));
                if (!declared)
                        return false;
                k = type_extent(declared, axis);
                known = true;
        }
        const int64_t most = dim_bound(im->m, x->type->dims[axis]);
        if (known && (k < 0 || k > most))
                return onnx_invalid(im, n, "the %lld first of %lld elements", (long long)k,
                                    (long long)most);
        if (known)
                kept = dim_of(k);
        else if (value_amounts(im->m, n->inputs[1], amounts, &count) && count == 1 &&
                 amounts[0].term && dim_bound(im->m, amounts[0].dim) <= most)
                kept = amounts[0].dim;
        else
                kept = onnx_counted(im, n, 0, axis, onnx_scalar(im, n, 1), most);
        if (dim_equal(kept, DIM_NONE))
                return false;
        struct value *order = first_of(im, x, axis, largest, kept);
        if (!order || (onnx_wants(n, 1) && !onnx_output(n, 1, order)))
                return false;
        return onnx_output(n, 0, compose_gather_elements(im->c, x, order, axis));
}

/* ---- what holds ---- */

static struct value *flat(struct onnx_import *im, struct value *x)
{
        if (!x)
                return NULL;
        const dim_t elements = type_product(im->m, x->type, 0, value_rank(x));
        return compose_reshape(im->c, x, 1, &elements);
}

/* Returns v op the extent. */
static struct value *by_extent(struct onnx_import *im, enum opcode code, struct value *v, dim_t d)
{
        return dim_is_static(d) ? compose_with(im->c, code, v, (double)dim_extent(d))
                                : compose_binary(im->c, code, v, compose_extent(im->c, d));
}

/* The result <rank x n> has a column for each element that is not 0. */
bool onnx_import_non_zero(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *rows[RANK_MAX];
        int rank = value_rank(x);
        dim_t inner = dim_of(1);

        if (!onnx_want_rank(im, n, 0, 0, RANK_MAX))
                return false;
        struct value *flags = compose_binary(im->c, OP_ne, x, build_like(&im->b, x, 0));
        struct value *at = onnx_positions(im, n, flat(im, flags), E_I64, 2, 1);
        if (!at)
                return false;
        const dim_t column[2] = { dim_of(1), at->type->dims[0] };
        if (!rank)                      /* A scalar has no coordinates. */
                return onnx_output(n, 0,
                                   constant_number(im->m,
                                                   type_tensor(im->m, E_I64, 2,
                                                               (const dim_t[]){ dim_of(0),
                                                                                column[1] }),
                                                   0));
        for (int d = rank - 1; d >= 0; d--) {
                const dim_t extent = dim_binary(im->m, DIM_MAX, x->type->dims[d], dim_of(1));
                struct value *index = dim_is(inner, 1) ? at : by_extent(im, OP_div, at, inner);
                index = d ? by_extent(im, OP_rem, index, extent) : index;
                rows[d] = compose_reshape(im->c, index, 2, column);
                inner = dim_binary(im->m, DIM_MUL, inner, extent);
        }
        return onnx_output(n, 0, build_concat(&im->b, rows, rank, 0));
}

/* The result has the slices of x along the axis, or the elements of all of x, for which the
 * condition, <at most so many x bool>, holds. */
bool onnx_import_compress(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *flags = n->inputs[1];
        int64_t stated;
        int axis = 0;

        if (!onnx_want_element(im, n, 1, E_BOOL) || !onnx_want_rank(im, n, 1, 1, 1) ||
            !onnx_int(im, n, "axis", 0, &stated) ||
            (onnx_has(n, "axis") && !onnx_axis(im, n, stated, value_rank(x), &axis)))
                return false;
        if (!onnx_has(n, "axis"))
                x = flat(im, x);
        if (!x)
                return false;
        const dim_t conditions = flags->type->dims[0], extent = x->type->dims[axis];
        /* Where a run gives the extents, the gather checks positions. */
        if (dim_least(im->m, conditions) > dim_bound(im->m, extent))
                return onnx_invalid(im, n, "%lld conditions for an extent of %lld",
                                    (long long)dim_least(im->m, conditions),
                                    (long long)dim_bound(im->m, extent));
        struct value *at = onnx_positions(im, n, flags, value_element(x), value_rank(x), axis);
        return at && onnx_output(n, 0, build_gather(&im->b, x, at, axis));
}

/* ---- Unique ---- */

/* Returns x as a matrix that has a row for each slice along the axis. */
static struct value *rows_of(struct onnx_import *im, struct value *x, int axis)
{
        int64_t perm[RANK_MAX] = { axis };

        for (int d = 0, k = 1; d < value_rank(x); d++)
                if (d != axis)
                        perm[k++] = d;
        x = compose_transpose(im->c, x, perm);
        if (!x)
                return NULL;
        const dim_t dims[2] = { x->type->dims[0], type_product(im->m, x->type, 1, value_rank(x)) };
        return compose_reshape(im->c, x, 2, dims);
}

/* Finds the slices of x along the axis that differ, and their number: that of a constant x by
 * counting, else as the model declares output 0. */
static bool unique_slices(struct onnx_import *im, struct onnx_node *n, struct value *x, int axis,
                          bool sorted, struct compose_unique *unique)
{
        struct compose_groups groups;
        int64_t count;

        for (int d = 0; d < value_rank(x); d++)
                if (dim_least(im->m, x->type->dims[d]) < 1)
                        return onnx_unsupported(im, n, "no element to be found in %s",
                                                compose_text(im->c, x->type));
        if (!compose_group_rows(im->c, rows_of(im, x, axis), &groups))
                return false;
        if (!value_is_constant(groups.first) && !onnx_is_declared(im, n, 0, value_rank(x))) {
                struct value *found = compose_reduce(
                        im->c, REDUCE_sum, compose_cast(im->c, groups.first, E_I64),
                        (const int64_t[]){ 0 }, 1, E_COMPUTE);
                const int64_t most = dim_bound(im->m, x->type->dims[axis]);
                dim_t d = onnx_counted(im, n, 0, axis, found, most);
                if (dim_equal(d, DIM_NONE) ||
                    !compose_list_all_groups(im->c, &groups, found, sorted, unique))
                        return false;
                unique->rows = onnx_first(im, unique->rows, 0, d);
                unique->counts = onnx_first(im, unique->counts, 0, d);
                return unique->rows && unique->counts;
        }
        return onnx_how_many(im, n, groups.first, value_element(x), value_rank(x), axis, &count) &&
               (count || onnx_invalid(im, n, "no slice, want at least one")) &&
               compose_list_groups(im->c, &groups, count, sorted, unique);
}

/* The outputs are the slices of x along the axis that differ, or the elements of all of x; where
 * each comes first; which of them a slice of x is; and how often it comes. */
bool onnx_import_unique(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct compose_unique unique;
        int64_t stated, sorted;
        int axis = 0;

        if (!onnx_int(im, n, "axis", 0, &stated) ||
            (onnx_has(n, "axis") && !onnx_axis(im, n, stated, value_rank(x), &axis)) ||
            !onnx_int_range(im, n, "sorted", 1, 0, 1, &sorted))
                return false;
        x = onnx_has(n, "axis") ? x : flat(im, x);
        return unique_slices(im, n, x, axis, sorted, &unique) &&
               onnx_output(n, 0, build_gather(&im->b, x, unique.rows, axis)) &&
               (!onnx_wants(n, 1) || onnx_output(n, 1, unique.rows)) &&
               (!onnx_wants(n, 2) || onnx_output(n, 2, unique.group)) &&
               (!onnx_wants(n, 3) || onnx_output(n, 3, unique.counts));
}

/* The outputs of com.microsoft's Unique are the numbers that differ, in the order in which they
 * come; which of them an element is; and how often it comes. */
bool onnx_import_unique_numbers(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_unique unique;

        return onnx_want_rank(im, n, 0, 1, 1) &&
               unique_slices(im, n, n->inputs[0], 0, false, &unique) &&
               onnx_output(n, 0, build_gather(&im->b, n->inputs[0], unique.rows, 0)) &&
               (!onnx_wants(n, 1) || onnx_output(n, 1, unique.group)) &&
               (!onnx_wants(n, 2) || onnx_output(n, 2, unique.counts));
}

/* ---- NonMaxSuppression ---- */

/* The operands are boxes [batch, boxes, 4], scores [batch, classes, boxes], and optional numbers:
 * how many of a class at most, which part of their union two boxes may share, and which score is
 * too low. There is a row [batch, class, box] for each that stays. */
bool onnx_import_non_max_suppression(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_suppression s = { .boxes = n->inputs[0],
                                         .scores = n->inputs[1],
                                         .most = compose_integer(im->c, E_I64, 0) };
        int64_t center, most;
        bool known;

        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_element(im, n, 1, E_F32) ||
            !onnx_want_rank(im, n, 0, 3, 3) || !onnx_want_rank(im, n, 1, 3, 3) ||
            !onnx_int_range(im, n, "center_point_box", 0, 0, 1, &center) ||
            !onnx_operand_int(im, n, 2, 0, &most, &known))
                return false;
        const struct type *t = s.scores->type, *boxes = s.boxes->type;
        if (!dim_equal(boxes->dims[0], t->dims[0]) || !dim_equal(boxes->dims[1], t->dims[2]) ||
            !dim_is(boxes->dims[2], 4))
                return onnx_invalid(im, n, "boxes are %s for scores %s", compose_text(im->c, boxes),
                                    compose_text(im->c, t));
        /* What is no number is no score. */
        s.boxes = compose_at_bound(im->c, s.boxes, build_scalar(&im->b, E_F32, 0));
        s.scores = compose_at_bound(im->c, s.scores, build_scalar(&im->b, E_F32, NAN));
        if (!s.boxes || !s.scores)
                return false;
        t = s.scores->type;
        s.center = center;
        s.room = known ? compose_min(compose_max(most, 0), type_extent(t, 2)) : type_extent(t, 2);
        if (!s.room || !type_elements(t))
                return onnx_output(
                        n, 0,
                        constant_number(im->m,
                                        type_tensor(im->m, E_I64, 2,
                                                    (const dim_t[]){ dim_of(0), dim_of(3) }),
                                        0));
        if (onnx_input(n, 2))
                s.most = compose_with(im->c, OP_min,
                                      compose_cast(im->c, onnx_scalar(im, n, 2), E_I64),
                                      (double)s.room);
        s.threshold = onnx_input(n, 3) ? onnx_scalar(im, n, 3) : build_scalar(&im->b, E_F32, 0);
        s.low = onnx_input(n, 4) ? onnx_scalar(im, n, 4) : NULL;
        if (!s.threshold || (onnx_input(n, 4) && !s.low))
                return false;
        struct value *taken = compose_suppress(im->c, &s);
        struct value *flags = compose_with(im->c, OP_ge, taken, 0);
        struct value *at = onnx_positions(im, n, flags, E_I64, 2, 0);
        return at && onnx_output(n, 0, compose_suppressed_rows(im->c, &s, taken, at));
}
