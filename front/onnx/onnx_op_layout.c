/* SPDX-License-Identifier: MIT */
/* These operators move elements: Transpose, Concat, Split, Slice, Pad, DepthToSpace and their kin.
 * Starts, pads and axes that are run-time values are brought into full rank by tensor operations;
 * the result's shape is then the declared one. */
#include "base/size.h"
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

bool onnx_import_transpose(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t perm[RANK_MAX];
        const int64_t *given;
        int count, rank = value_rank(x);
        bool taken[RANK_MAX] = { false };

        if (!onnx_ints(im, n, "perm", &given, &count))
                return false;
        if (onnx_has(n, "perm") && count != rank)
                return onnx_invalid(im, n, "perm has %d values for a tensor of rank %d", count,
                                    rank);
        for (int d = 0; d < rank; d++) {
                perm[d] = count ? given[d] : rank - 1 - d;
                if (perm[d] < 0 || perm[d] >= rank || taken[perm[d]])
                        return onnx_invalid(im, n,
                                            "perm[%d] is %lld, want every dimension below %d once",
                                            d, (long long)perm[d], rank);
                taken[perm[d]] = true;
        }
        return onnx_output(n, 0, compose_transpose(im->c, x, perm));
}

bool onnx_import_concat(struct onnx_import *im, struct onnx_node *n)
{
        int64_t stated;
        int axis;

        if (n->opset >= 4 && !onnx_has(n, "axis"))
                return onnx_invalid(im, n, "attribute axis is missing");
        if (!onnx_int(im, n, "axis", 1, &stated))
                return false;
        for (int i = 0; i < n->input_count; i++)
                if (!n->inputs[i])
                        return onnx_invalid(im, n, "operand %d is missing", i);
        return onnx_axis(im, n, stated, value_rank(n->inputs[0]), &axis) &&
               onnx_same_element(im, n, n->inputs, n->input_count) &&
               onnx_output(n, 0, compose_concat(im->c, n->inputs, n->input_count, axis));
}

/* ---- Split ---- */

/* Finds the extent of every output along the axis. Where num_outputs does not divide it, the
 * last part is smaller. */
static bool split_sizes(struct onnx_import *im, struct onnx_node *n, int64_t extent, int axis,
                        int64_t *sizes, int outputs)
{
        const int64_t *given = NULL;
        int64_t *held = arena_array(im->arena, (size_t)outputs, sizeof *held),
                num_outputs = outputs, sum = 0;
        int count = 0;
        bool known = true;

        if (n->opset < 13) {
                if (!onnx_ints(im, n, "split", &given, &count))
                        return false;
        } else if (onnx_input(n, 1)) {
                if (!onnx_operand_ints(im, n, 1, held, outputs, &count, &known))
                        return false;
                given = held;
        }
        if (n->opset >= 18 && onnx_has(n, "num_outputs")) {
                if (given)
                        return onnx_invalid(im, n, "both split and num_outputs are given");
                if (!onnx_int_range(im, n, "num_outputs", outputs, 1, NUMBER_MAX, &num_outputs))
                        return false;
                if (num_outputs != outputs)
                        return onnx_invalid(im, n, "num_outputs is %lld, but the node has %d",
                                            (long long)num_outputs, outputs);
        }
        if (!known) {
                for (int i = 0; i < outputs; i++) {
                        const struct type *t = onnx_declared_as(
                                im, n, i, value_element(n->inputs[0]), value_rank(n->inputs[0]));
                        if (!t)
                                return false;
                        sizes[i] = type_extent(t, axis);
                }
        } else if (given) {
                if (count != outputs)
                        return onnx_invalid(im, n, "split has %d values for %d outputs", count,
                                            outputs);
                for (int i = 0; i < outputs; i++)
                        sizes[i] = given[i];
        } else {
                int64_t chunk = divide_up(extent, outputs);
                if (extent % outputs && (n->opset < 18 || chunk * (outputs - 1) > extent))
                        return onnx_invalid(im, n, "extent %lld does not split into %d parts",
                                            (long long)extent, outputs);
                for (int i = 0; i < outputs; i++)
                        sizes[i] = i < outputs - 1 ? chunk : extent - chunk * (outputs - 1);
        }
        for (int i = 0; i < outputs; i++)
                if (sizes[i] < 0 || !int_add(sum, sizes[i], &sum))
                        return onnx_invalid(im, n, "part %d is of extent %lld", i,
                                            (long long)sizes[i]);
        return sum == extent || onnx_invalid(im, n, "the parts sum to %lld, want %lld",
                                             (long long)sum, (long long)extent);
}

/* Splits into parts of extents that only a run knows. */
static bool split_counted(struct onnx_import *im, struct onnx_node *n, int axis, int outputs)
{
        struct value *sizes = onnx_operand_vector(im, n, 1);

        if (!sizes || value_extent(sizes, 0) != outputs)
                return onnx_invalid(im, n, "split has not one value for each of %d outputs",
                                    outputs);
        return onnx_counted_parts(im, n, n->inputs[0], axis, sizes, n->output_count, n->outputs);
}

bool onnx_import_split(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int outputs = (int)n->proto->n_output, axis;
        int64_t *sizes = arena_array(im->arena, (size_t)outputs, sizeof *sizes), stated, start = 0;

        if (!onnx_int(im, n, "axis", 0, &stated) || !onnx_axis(im, n, stated, value_rank(x), &axis))
                return false;
        if (n->opset >= 13 && onnx_input(n, 1) && !value_is_constant(n->inputs[1])) {
                bool declared = true;
                for (int i = 0; i < outputs; i++)
                        declared &= onnx_is_declared(im, n, i, value_rank(x));
                if (!declared)
                        return split_counted(im, n, axis, outputs);
        }
        if (!split_sizes(im, n, value_extent(x, axis), axis, sizes, outputs))
                return false;
        for (int i = 0; i < n->output_count; i++) {
                if (n->wanted[i] &&
                    !onnx_output(n, i, compose_part(im->c, x, axis, start, sizes[i])))
                        return false;
                start += sizes[i];
        }
        return true;
}

/* ---- Slice ---- */

/* Returns how many elements a slice has along an axis of that extent; all are <i64>. */
static struct value *sliced(struct onnx_import *im, struct value *extent, struct value *start,
                            struct value *end, struct value *step)
{
        struct compose *c = im->c;
        struct value *back = compose_with(c, OP_lt, step, 0);
        struct value *one = compose_cast(c, back, E_I64), *last = sub(c, extent, one);

        start = compose_below_zero(c, start, add(c, start, extent));
        start = compose_with(c, OP_max, compose_binary(c, OP_min, start, last), 0);
        end = compose_below_zero(c, end, add(c, end, extent));
        end = compose_binary(c, OP_min, end, last);
        end = compose_binary(c, OP_max, end, compose_unary(c, OP_neg, one));
        struct value *span = sub(c, end, start);
        span = compose_select(c, back, compose_unary(c, OP_neg, span), span);
        struct value *stride = compose_unary(c, OP_abs,
                                             compose_with(c, OP_max, step, -(double)NUMBER_MAX));
        struct value *count = plus(c, divide(c, plus(c, span, -1), stride), 1);
        struct value *some = compose_with(c, OP_gt, span, 0);
        return compose_select(c, some, count, compose_integer(c, E_I64, 0));
}

/* Finds the result's type of a slice whose axes are known: the declared one, or extents that the
 * run counts. */
static const struct type *slice_type(struct onnx_import *im, struct onnx_node *n,
                                     struct value *starts, struct value *steps)
{
        struct value *x = n->inputs[0], *ends = onnx_operand_vector(im, n, 2);
        const int rank = value_rank(x);
        struct onnx_axes axes = { .state = AXES_ABSENT };
        dim_t dims[RANK_MAX];
        int64_t listed[RANK_MAX];
        bool known;

        if (onnx_is_declared(im, n, 0, rank))
                return onnx_declared_as(im, n, 0, value_element(x), rank);
        axes.count = (int)value_extent(starts, 0);
        for (int i = 0; i < axes.count; i++)
                listed[i] = i;
        if (onnx_input(n, 3) &&
            (!onnx_operand_ints(im, n, 3, listed, RANK_MAX, &axes.count, &known) ||
             (!known && !onnx_unsupported(im, n, "axes that only a run knows, of a result whose "
                                                 "shape is not declared"))))
                return NULL;
        if (!ends || value_extent(ends, 0) != axes.count) {
                onnx_invalid(im, n, "starts has %lld values, ends %lld for %d axes",
                             (long long)value_extent(starts, 0),
                             ends ? (long long)value_extent(ends, 0) : 0, axes.count);
                return NULL;
        }
        for (int d = 0; d < rank; d++)
                dims[d] = x->type->dims[d];
        for (int i = 0; i < axes.count; i++) {
                int axis;
                if (!onnx_axis(im, n, listed[i], rank, &axis))
                        return NULL;
                dim_t extent = x->type->dims[axis];
                struct value *start = onnx_element(im, starts, i), *end = onnx_element(im, ends, i),
                             *step = onnx_element(im, steps, i);
                struct value *count =
                        sliced(im, compose_extent(im->c, extent), start, end, step);
                dims[axis] = onnx_counted(im, n, 0, axis, count, dim_bound(im->m, extent));
                if (dim_equal(dims[axis], DIM_NONE))
                        return NULL;
        }
        return compose_type(im->c, value_element(x), rank, dims);
}

/* Makes a slice some of whose numbers are run-time values: the result has the declared shape or one
 * that the run counts, and starts and steps are computed as the standard says. */
static bool slice_dynamic(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *starts = onnx_operand_vector(im, n, 1), *axes, *steps;
        int rank = value_rank(x);

        if (!starts)
                return false;
        int64_t count = value_extent(starts, 0);
        axes = onnx_input(n, 3) ? onnx_operand_vector(im, n, 3) : compose_iota(im->c, E_I64, count);
        steps = onnx_input(n, 4) ? onnx_operand_vector(im, n, 4)
                                 : constant_number(im->m, starts->type, 1);
        if (!axes || !steps)
                return false;
        if (count > rank || value_extent(axes, 0) != count || value_extent(steps, 0) != count)
                return onnx_invalid(
                        im, n,
                        "starts has %lld values, axes %lld, steps %lld for a tensor of rank %d",
                        (long long)count, (long long)value_extent(axes, 0),
                        (long long)value_extent(steps, 0), rank);
        const struct type *to = slice_type(im, n, starts, steps);
        if (!to)
                return false;
        starts = compose_axes_scatter(im->c, axes, starts, rank, 0);
        steps = compose_axes_scatter(im->c, axes, steps, rank, 1);
        struct value *extent = compose_extents(im->c, rank, x->type->dims);
        struct value *last = sub(im->c, extent,
                                 compose_cast(im->c, compose_with(im->c, OP_lt, steps, 0), E_I64));
        starts = compose_below_zero(im->c, starts, add(im->c, starts, extent));
        starts = compose_with(im->c, OP_max, compose_binary(im->c, OP_min, starts, last), 0);
        return starts && steps &&
               onnx_output(n, 0,
                           value_build(&im->b, OP_slice, (struct value *[]){ x, starts, steps }, 3,
                                       NULL, to));
}

/* Makes a slice all of whose numbers are known. Checks that every axis is there once, and that no
 * step is 0. */
static bool slice_static(struct onnx_import *im, struct onnx_node *n, const int64_t *axes,
                         struct compose_slice *s)
{
        struct value *x = n->inputs[0];
        bool taken[RANK_MAX] = { false };

        for (int i = 0; i < s->count; i++) {
                if (!onnx_axis(im, n, axes[i], value_rank(x), &s->axes[i]))
                        return false;
                if (taken[s->axes[i]])
                        return onnx_invalid(im, n, "axis %d is given twice", s->axes[i]);
                taken[s->axes[i]] = true;
                if (s->steps[i] == 0)
                        return onnx_invalid(im, n, "steps[%d] is 0", i);
        }
        if (n->opset >= 10 && !compose_slice_is_placed(im->c, x->type, s))
                return slice_dynamic(im, n);    /* The run counts the elements. */
        return onnx_output(n, 0, compose_slice(im->c, x, s));
}

static bool slice_attributes(struct onnx_import *im, struct onnx_node *n)
{
        const int64_t *starts, *ends, *axes;
        int64_t all[RANK_MAX];
        int start_count, end_count, axis_count;
        struct compose_slice s = { .count = 0 };

        if (!onnx_ints(im, n, "starts", &starts, &start_count) ||
            !onnx_ints(im, n, "ends", &ends, &end_count) ||
            !onnx_ints(im, n, "axes", &axes, &axis_count))
                return false;
        if (start_count != end_count || (axis_count && axis_count != start_count) ||
            start_count > value_rank(n->inputs[0]))
                return onnx_invalid(
                        im, n, "starts has %d values, ends %d, axes %d for a tensor of rank %d",
                        start_count, end_count, axis_count, value_rank(n->inputs[0]));
        s.count = start_count;
        for (int i = 0; i < s.count; i++) {
                s.starts[i] = starts[i];
                s.ends[i] = ends[i];
                s.steps[i] = 1;
                all[i] = axis_count ? axes[i] : i;
        }
        return slice_static(im, n, all, &s);
}

/* Reads the starts or the ends of a slice where they are terms over extents that a run gives.
 * Returns false where they are values of another kind. */
static bool are_terms(struct onnx_import *im, const struct value *v, int64_t *numbers,
                      bool *by_term, dim_t *terms, int *count)
{
        struct amount amounts[AMOUNTS_MAX];

        if (!value_amounts(im->m, v, amounts, count) || *count > RANK_MAX)
                return false;
        for (int i = 0; i < *count; i++) {
                numbers[i] = amounts[i].number;
                by_term[i] = amounts[i].term;
                terms[i] = amounts[i].dim;
        }
        return true;
}

bool onnx_import_slice(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_slice s = { .count = 0 };
        int counts[4];
        bool known[4];
        int64_t axes[RANK_MAX], *lists[4] = { s.starts, s.ends, axes, s.steps };

        if (n->opset < 10)
                return slice_attributes(im, n);
        for (int i = 0; i < 4; i++) {
                if (!onnx_operand_ints(im, n, 1 + i, lists[i], RANK_MAX, &counts[i], &known[i]))
                        return false;
        }
        if (!known[2] || !known[3] ||
            (!known[0] && !are_terms(im, n->inputs[1], s.starts, s.start_by_term, s.since,
                                     &counts[0])) ||
            (!known[1] && !are_terms(im, n->inputs[2], s.ends, s.end_by_term, s.until, &counts[1])))
                return slice_dynamic(im, n);
        s.count = counts[0];
        for (int i = 1; i < 4; i++)
                if (counts[i] != s.count && (i == 1 || onnx_input(n, 1 + i)))
                        return onnx_invalid(im, n, "operand %d has %d values, want %d as starts",
                                            1 + i, counts[i], s.count);
        for (int i = 0; i < s.count; i++) {
                axes[i] = onnx_input(n, 3) ? axes[i] : i;
                s.steps[i] = onnx_input(n, 4) ? s.steps[i] : 1;
        }
        return slice_static(im, n, axes, &s);
}

/* ---- Pad, CenterCropPad ---- */

/* These are the modes, in the order of enum compose_pad_mode. */
static const char *const pad_modes[] = { "constant", "reflect", "edge", "wrap", NULL };

/* Returns the scalar with which mode constant fills. */
static struct value *pad_value(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[0], onnx_input(n, 2) };
        float number = 0;

        if (n->opset < 11)
                return onnx_float(im, n, "value", 0, &number)
                               ? build_scalar(&im->b, value_element(v[0]), number)
                               : NULL;
        if (!v[1])
                return build_scalar(&im->b, value_element(v[0]), 0);
        return onnx_same_element(im, n, v, 2) ? onnx_scalar(im, n, 2) : NULL;
}

/* Returns the type of a result that is padded by amounts of a run, along known axes. */
static const struct type *padded_type(struct onnx_import *im, struct onnx_node *n,
                                      struct value *pads, int count)
{
        const struct type *x = n->inputs[0]->type;
        int64_t listed[RANK_MAX];
        dim_t dims[RANK_MAX];
        bool known = true;

        for (int d = 0; d < x->rank; d++) {
                listed[d] = d;
                dims[d] = x->dims[d];
        }
        if (onnx_input(n, 3) && !onnx_operand_ints(im, n, 3, listed, RANK_MAX, &count, &known))
                return NULL;
        if (!known) {
                onnx_unsupported(im, n, "axes that only a run knows, of a result whose shape is "
                                        "not declared");
                return NULL;
        }
        for (int i = 0; i < count; i++) {
                int axis;
                if (!onnx_axis(im, n, listed[i], x->rank, &axis))
                        return NULL;
                struct value *before = onnx_element(im, pads, i),
                             *behind = onnx_element(im, pads, count + i);
                struct value *size = add(im->c, compose_extent(im->c, x->dims[axis]), before);
                size = compose_reshape(im->c, add(im->c, size, behind), 1,
                                       (const dim_t[]){ dim_of(1) });
                dims[axis] = onnx_extent_of(im, n, 0, axis, size, 0);
                if (dim_equal(dims[axis], DIM_NONE))
                        return NULL;
        }
        return compose_type(im->c, x->element, x->rank, dims);
}

static bool pad_dynamic(struct onnx_import *im, struct onnx_node *n, int mode, struct value *value)
{
        struct value *x = n->inputs[0], *pads = onnx_operand_vector(im, n, 1);
        int rank = value_rank(x);
        struct value *axes = NULL;

        if (!pads)
                return false;
        int64_t count = value_extent(pads, 0) / 2;
        if (onnx_input(n, 3) && !(axes = onnx_operand_vector(im, n, 3)))
                return false;
        if (value_extent(pads, 0) != 2 * (axes ? value_extent(axes, 0) : rank) || count > rank)
                return onnx_invalid(im, n, "pads has %lld values for %lld axes",
                                    (long long)value_extent(pads, 0),
                                    (long long)(axes ? value_extent(axes, 0) : rank));
        const struct type *to = onnx_is_declared(im, n, 0, rank)
                                        ? onnx_declared_as(im, n, 0, value_element(x), rank)
                                        : padded_type(im, n, pads, (int)count);
        if (!to)
                return false;
        struct value *low = build_slice(&im->b, pads, (const int64_t[]){ 0 },
                                        (const int64_t[]){ 1 }, (const dim_t[]){ dim_of(count) });
        if (axes)
                low = compose_axes_scatter(im->c, axes, low, rank, 0);
        return onnx_output(n, 0, compose_pad(im->c, x, value, low, mode, to));
}

/* Pads, or crops, an extent that a run gives. A crop has to leave something of it in every run. */
static bool pad_open(struct onnx_import *im, struct onnx_node *n, int64_t before, int64_t behind,
                     dim_t *dim)
{
        int64_t more, crop = (before < 0 ? -before : 0) + (behind < 0 ? -behind : 0);

        if (crop > dim_least(im->m, *dim))
                return onnx_unsupported(im, n, "pads %lld and %lld of an extent of %lld or more",
                                        (long long)before, (long long)behind,
                                        (long long)dim_least(im->m, *dim));
        if (!int_add(before, behind, &more))
                more = INT64_MAX;
        *dim = more >= 0 ? dim_binary(im->m, DIM_ADD, *dim, dim_of(more))
                         : dim_binary(im->m, DIM_SUB, *dim, dim_of(-more));
        return true;
}

/* Pads by constant numbers: pads has all low ones, then all high ones, one for each axis. */
static bool pad_static(struct onnx_import *im, struct onnx_node *n, int mode, struct value *value,
                       const int64_t *pads, int count, const struct onnx_axes *axes)
{
        struct value *x = n->inputs[0];
        int rank = value_rank(x), padded = axes->state == AXES_ABSENT ? rank : axes->count;
        int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];

        if (count != 2 * padded)
                return onnx_invalid(im, n, "pads has %d values, want %d", count, 2 * padded);
        for (int d = 0; d < rank; d++)
                dims[d] = x->type->dims[d];
        for (int i = 0; i < padded; i++) {
                int64_t d = axes->state == AXES_ABSENT ? i : axes->axes[i];
                int64_t before = pads[i], behind = pads[padded + i], sum;
                low[d] = before;
                if (before == 0 && behind == 0)
                        continue;
                if (!dim_is_static(dims[d])) {
                        if (!pad_open(im, n, before, behind, &dims[d]))
                                return false;
                        continue;
                }
                int64_t extent = dim_extent(dims[d]);
                /* It crops more than there is. */
                bool crops = before < -extent || behind < -extent;
                if (crops || !int_add(extent, before, &sum) || !int_add(sum, behind, &sum) ||
                    sum < 0)
                        return onnx_invalid(im, n, "pads %lld and %lld of an extent of %lld",
                                            (long long)before, (long long)behind,
                                            (long long)extent);
                /* Negative pads crop first. */
                extent += (before < 0 ? before : 0) + (behind < 0 ? behind : 0);
                if (mode != PAD_CONSTANT && extent < 1 && sum > 0)
                        return onnx_invalid(im, n, "mode %s of an extent of %lld", pad_modes[mode],
                                            (long long)extent);
                dims[d] = dim_of(sum);
        }
        const struct type *to = compose_type(im->c, value_element(x), rank, dims);
        return to &&
               onnx_output(n, 0,
                           compose_pad(im->c, x, value, constant_ints(im->m, low, rank), mode, to));
}

bool onnx_import_pad(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const early_modes[] = { "constant", "reflect", "edge", NULL };
        struct onnx_axes axes = { .state = AXES_ABSENT };
        int64_t held[2 * RANK_MAX];
        const int64_t *pads = held;
        int mode, count;
        bool known = true;

        if (!onnx_choice(im, n, "mode", n->opset < 19 ? early_modes : pad_modes, 0, &mode))
                return false;
        struct value *value = pad_value(im, n);
        if (!value)
                return false;
        if (n->opset < 11) {
                if (!onnx_ints(im, n, "pads", &pads, &count))
                        return false;
                return pad_static(im, n, mode, value, pads, count, &axes);
        }
        if (!onnx_operand_ints(im, n, 1, held, 2 * RANK_MAX, &count, &known))
                return false;
        if (n->opset < 18 || !onnx_input(n, 3))
                return known ? pad_static(im, n, mode, value, pads, count, &axes)
                             : pad_dynamic(im, n, mode, value);
        /* The axes say where the entries go, so their order counts. */
        int64_t listed[RANK_MAX], sorted[2 * RANK_MAX];
        int axis_count;
        bool axes_known;
        if (!onnx_operand_ints(im, n, 3, listed, RANK_MAX, &axis_count, &axes_known))
                return false;
        if (!known || !axes_known)
                return pad_dynamic(im, n, mode, value);
        if (!onnx_axes_read(im, n, 3, NULL, value_rank(n->inputs[0]), &axes))
                return false;
        if (count != 2 * axis_count)
                return onnx_invalid(im, n, "pads has %d values for %d axes", count, axis_count);
        for (int i = 0; i < axis_count; i++) {
                int64_t axis = listed[i] < 0 ? listed[i] + value_rank(n->inputs[0]) : listed[i];
                for (int k = 0; k < axis_count; k++) {
                        if (axes.axes[k] == axis) {
                                sorted[k] = held[i];
                                sorted[axis_count + k] = held[axis_count + i];
                        }
                }
        }
        return pad_static(im, n, mode, value, sorted, count, &axes);
}

/* Returns half of how much longer the first extent is than the second, rounded toward 0, as <1 x
 * i64>. */
static struct value *half_more(struct onnx_import *im, dim_t to, dim_t from)
{
        const dim_t one[1] = { dim_of(1) };
        struct value *more = compose_extent(im->c, to);
        more = compose_binary(im->c, OP_sub, more, compose_extent(im->c, from));
        struct value *size = compose_with(im->c, OP_shr, compose_unary(im->c, OP_abs, more), 1);
        struct value *less = compose_unary(im->c, OP_neg, size);
        struct value *half =
                compose_select(im->c, compose_with(im->c, OP_lt, more, 0), less, size);
        return compose_reshape(im->c, half, 1, one);
}

/* Returns <rank x i64>: how much is added in front of each dimension, or cut where it is negative,
 * where that makes one type of the other. */
static struct value *around_centre(struct onnx_import *im, const struct type *to,
                                   const struct type *from)
{
        struct value *low[RANK_MAX];
        int64_t numbers[RANK_MAX];
        bool known = true;

        for (int d = 0; d < to->rank; d++) {
                known = dim_difference(im->m, to->dims[d], from->dims[d], &numbers[d]) && known;
                numbers[d] = known ? numbers[d] / 2 : 0;
        }
        if (known)
                return constant_ints(im->m, numbers, to->rank);
        for (int d = 0; d < to->rank; d++)
                if (!(low[d] = half_more(im, to->dims[d], from->dims[d])))
                        return NULL;
        return build_concat(&im->b, low, to->rank, 0);
}

/* Crops or pads with 0 around the centre; the odd element is cut or added at the end. */
bool onnx_import_center_crop_pad(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t shape[RANK_MAX];
        int rank = value_rank(x), count;
        struct onnx_axes axes;
        dim_t dims[RANK_MAX];
        bool known;
        const struct type *to;
        const int64_t *given;
        int given_count;

        if (!onnx_axes_read(im, n, -1, "axes", rank, &axes) ||
            !onnx_ints(im, n, "axes", &given, &given_count) ||
            !onnx_operand_ints(im, n, 1, shape, RANK_MAX, &count, &known))
                return false;
        for (int d = 0; d < rank; d++)
                dims[d] = x->type->dims[d];
        if (known) {
                if (count != (given_count ? given_count : rank))
                        return onnx_invalid(im, n, "shape has %d values for %d axes", count,
                                            given_count ? given_count : rank);
                for (int i = 0; i < count; i++) {
                        int64_t d = !given_count ? i : given[i] < 0 ? given[i] + rank : given[i];
                        dims[d] = dim_of(shape[i]);
                }
                to = compose_type(im->c, value_element(x), rank, dims);
        } else {
                to = onnx_declared_as(im, n, 0, value_element(x), rank);
        }
        if (!to)
                return false;
        return onnx_output(n, 0,
                           compose_pad(im->c, x, build_scalar(&im->b, value_element(x), 0),
                                       around_centre(im, to, x->type), PAD_CONSTANT, to));
}

/* ---- DepthToSpace, SpaceToDepth, ReverseSequence ---- */

bool onnx_import_depth_to_space(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const modes[] = { "DCR", "CRD", NULL };
        int64_t b;
        int mode = 0;

        return onnx_want_rank(im, n, 0, 4, 4) && onnx_int_required(im, n, "blocksize", &b) &&
               (n->opset < 11 || onnx_choice(im, n, "mode", modes, 0, &mode)) &&
               onnx_output(n, 0, compose_depth_to_space(im->c, n->inputs[0], b, mode == 1));
}

bool onnx_import_space_to_depth(struct onnx_import *im, struct onnx_node *n)
{
        int64_t b;

        return onnx_want_rank(im, n, 0, 4, 4) && onnx_int_required(im, n, "blocksize", &b) &&
               onnx_output(n, 0, compose_space_to_depth(im->c, n->inputs[0], b));
}

bool onnx_import_reverse_sequence(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *lengths = n->inputs[1];
        int64_t batch, time;

        if (!onnx_want_rank(im, n, 0, 2, RANK_MAX) || !onnx_want_element(im, n, 1, E_I64) ||
            !onnx_want_rank(im, n, 1, 1, 1) ||
            !onnx_int_range(im, n, "batch_axis", 1, 0, 1, &batch) ||
            !onnx_int_range(im, n, "time_axis", 0, 0, 1, &time))
                return false;
        const dim_t many = lengths->type->dims[0];
        if (batch == time || !dim_equal(many, x->type->dims[batch]))
                return onnx_invalid(im, n, "time_axis %lld, batch_axis %lld and %s lengths",
                                    (long long)time, (long long)batch,
                                    dim_text(im->arena, im->m, many));
        return onnx_output(n, 0, compose_reverse_sequence(im->c, x, lengths, (int)batch));
}
