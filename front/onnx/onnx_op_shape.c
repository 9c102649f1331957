/* SPDX-License-Identifier: MIT */
/* These operators give the same elements another shape, repeat them, or ask for shapes. A target
 * shape that is a run-time value is taken from the declared type of the result. */
#include "base/size.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/onnx/onnx_helpers.h"
#include "ir/tensor/amounts.h"

/* ---- Reshape, Flatten, Squeeze, Unsqueeze ---- */

/* Takes what is left of x's elements beside the known extents of a shape; DIM_NONE: they do not
 * divide, or that is not certain. `known` is the product of the others. */
static dim_t what_is_left(struct onnx_import *im, const struct type *x, const dim_t *dims, int rank,
                          int open)
{
        struct module *m = im->m;
        dim_t total = dim_of(1), known = dim_of(1);
        bool used[RANK_MAX] = { false };
        int64_t have = 1, want = 1;
        /* Terms of the shape that are terms of x cancel out. */
        for (int i = 0; i < rank; i++) {
                int d = 0;
                while (i != open && !dim_is_static(dims[i]) && d < x->rank &&
                       (used[d] || !dim_equal(x->dims[d], dims[i])))
                        d++;
                if (i == open || dim_is_static(dims[i]))
                        want *= i == open ? 1 : dim_extent(dims[i]);
                else if (d < x->rank)
                        used[d] = true;
                else
                        known = dim_binary(m, DIM_MUL, known, dims[i]);
        }
        for (int d = 0; d < x->rank; d++)
                if (dim_is_static(x->dims[d]))
                        have *= dim_extent(x->dims[d]);
                else if (!used[d])
                        total = dim_binary(m, DIM_MUL, total, x->dims[d]);
        if (!dim_is_static(known) && dim_equal(known, total))
                known = total = dim_of(1);
        if (!want || !dim_equal(known, dim_of(1)))
                return DIM_NONE;
        if (have % want == 0)
                return dim_binary(m, DIM_MUL, total, dim_of(have / want));
        return dim_binary(m, DIM_DIV, dim_binary(m, DIM_MUL, total, dim_of(have)), dim_of(want));
}

/* Resolves a shape by Reshape's rules: 0 copies an extent of x (unless allow_zero), one -1 takes
 * what is left. */
static bool reshape_resolve(struct onnx_import *im, const struct onnx_node *n, const struct type *x,
                            const struct amount *shape, int rank, bool allow_zero, dim_t *dims)
{
        int open = -1;

        for (int i = 0; i < rank; i++) {
                int64_t number = shape[i].number;
                dims[i] = amount_dim(shape[i]);
                if (shape[i].term)
                        continue;
                if (number == 0 && !allow_zero) {
                        if (i >= x->rank)
                                return onnx_invalid(im, n,
                                                    "shape[%d] is 0, but the operand is of rank %d",
                                                    i, x->rank);
                        dims[i] = x->dims[i];
                } else if (number == -1) {
                        if (open >= 0)
                                return onnx_invalid(im, n, "shape has two extents of -1");
                        open = i;
                        dims[i] = dim_of(1);
                } else if (number < 0 || number > NUMBER_MAX) {
                        return onnx_invalid(im, n, "shape[%d] is %lld, want -1 to %d", i,
                                            (long long)number, NUMBER_MAX);
                }
        }
        const struct type *to = compose_type(im->c, x->element, rank, dims);
        if (!to)
                return false;
        if (!type_is_static(x) || !type_is_static(to)) {
                if (open < 0)
                        return true;    /* The type rule of reshape compares the terms. */
                dims[open] = what_is_left(im, x, dims, rank, open);
                return !dim_equal(dims[open], DIM_NONE) ||
                       onnx_unsupported(im, n, "it is not certain what is left for the extent -1 "
                                               "of shape");
        }
        int64_t total = type_elements(x), known = type_elements(to);
        if (open >= 0) {
                if (known == 0 || total % known)
                        return onnx_invalid(im, n,
                                            "%lld elements do not divide into a shape with an open "
                                            "extent beside %lld",
                                            (long long)total, (long long)known);
                dims[open] = dim_of(total / known);
        } else if (known != total) {
                return onnx_invalid(im, n, "a shape of %lld elements for an operand of %lld",
                                    (long long)known, (long long)total);
        }
        return true;
}

/* Reads a shape of which only a run knows one extent: that is what is left by the others, and
 * becomes -1 in `shape`. Returns its number, or -1 where more are not known. */
static int read_partly(struct onnx_import *im, struct onnx_node *n, struct amount *shape, int *rank,
                       struct value **stated)
{
        struct value *v = onnx_input(n, 1);
        int open = -1;

        if (!v || value_rank(v) != 1 || !type_is_static(v->type) || value_extent(v, 0) > RANK_MAX)
                return -1;
        *rank = (int)value_extent(v, 0);
        for (int i = 0; i < *rank; i++) {
                struct amount amounts[AMOUNTS_MAX];
                struct value *element = compose_cast(im->c, onnx_element(im, v, i), E_I64);
                int count;
                if (element && value_amounts(im->m, element, amounts, &count)) {
                        shape[i] = amounts[0];
                        if (amounts[0].term || amounts[0].number != -1)
                                continue;
                        return -1;
                }
                if (open >= 0 || !element)
                        return -1;
                shape[open = i] = amount_of(-1);
                *stated = element;
        }
        return open;
}

/* Reshapes to a shape of which only a run knows one extent, which the run checks. */
static bool reshape_partly(struct onnx_import *im, struct onnx_node *n, bool allow_zero)
{
        struct value *x = n->inputs[0], *stated = NULL;
        struct amount shape[RANK_MAX];
        dim_t dims[RANK_MAX];
        int rank, open = read_partly(im, n, shape, &rank, &stated);

        if (open < 0)                   /* That it is not declared is the error. */
                return onnx_declared_as(im, n, 0, value_element(x), -1) != NULL;
        if (!reshape_resolve(im, n, x->type, shape, rank, allow_zero, dims))
                return false;
        struct value *extent = compose_extent(im->c, dims[open]);
        struct value *wrong = compose_binary(im->c, OP_ne, stated, extent);
        wrong = both(im->c, wrong, compose_with(im->c, OP_ne, stated, -1));
        if (!allow_zero && open < value_rank(x) && dim_equal(x->type->dims[open], dims[open]))
                wrong = both(im->c, wrong, compose_with(im->c, OP_ne, stated, 0));
        const struct type *to = compose_type(im->c, value_element(x), rank, dims);
        return to && onnx_fail_if(im, n, wrong) &&
               onnx_output(n, 0, compose_reshape(im->c, x, rank, to->dims));
}

bool onnx_import_reshape(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct amount shape[AMOUNTS_MAX];
        dim_t dims[AMOUNTS_MAX];
        int64_t allow_zero = 0;
        const struct type *to;
        int rank;
        bool known;

        if (n->opset >= 14 && !onnx_int_range(im, n, "allowzero", 0, 0, 1, &allow_zero))
                return false;
        if (!onnx_operand_amounts(im, n, 1, shape, RANK_MAX, &rank, &known))
                return false;
        if (known) {
                if (!reshape_resolve(im, n, x->type, shape, rank, allow_zero, dims))
                        return false;
                to = compose_type(im->c, value_element(x), rank, dims);
                return to && onnx_output(n, 0, compose_reshape(im->c, x, rank, to->dims));
        }
        if (!onnx_is_declared(im, n, 0, -1))
                return reshape_partly(im, n, allow_zero);
        to = onnx_declared_as(im, n, 0, value_element(x), -1);
        if (!to)
                return false;
        if (type_elements(to) != type_elements(x->type))
                return onnx_invalid(im, n,
                                    "output 0 is declared as %s for an operand of %lld elements",
                                    compose_text(im->c, to), (long long)type_elements(x->type));
        return onnx_output(n, 0, compose_reshape(im->c, x, to->rank, to->dims));
}

bool onnx_import_flatten(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int rank = value_rank(x);
        int64_t axis;
        dim_t dims[2] = { dim_of(1), dim_of(1) };

        if (!onnx_int_range(im, n, "axis", 1, n->opset < 11 ? 0 : -rank, rank, &axis))
                return false;
        if (axis < 0)
                axis += rank;
        for (int d = 0; d < rank; d++) {
                dim_t *to = &dims[d < axis ? 0 : 1];
                *to = dim_binary(im->m, DIM_MUL, *to, x->type->dims[d]);
        }
        return compose_type(im->c, value_element(x), 2, dims) &&
               onnx_output(n, 0, compose_reshape(im->c, x, 2, dims));
}

/* Gives x's elements the declared shape, which run-time axes cannot say. */
static bool reshape_declared(struct onnx_import *im, struct onnx_node *n, int rank)
{
        struct value *x = n->inputs[0];
        const struct type *to = onnx_declared_as(im, n, 0, value_element(x), rank);

        if (to && type_elements(to) != type_elements(x->type))
                return onnx_invalid(im, n,
                                    "output 0 is declared as %s for an operand of %lld elements",
                                    compose_text(im->c, to), (long long)type_elements(x->type));
        return to && onnx_output(n, 0, compose_reshape(im->c, x, to->rank, to->dims));
}

bool onnx_import_squeeze(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct onnx_axes axes;
        dim_t dims[RANK_MAX];
        int rank = 0;

        if (!onnx_axes_read(im, n, n->opset < 13 ? -1 : 1, "axes", value_rank(x), &axes))
                return false;
        if (axes.state == AXES_RUNTIME)
                return reshape_declared(im, n, value_rank(x) - axes.count);
        for (int d = 0, a = 0; d < value_rank(x); d++) {
                bool named = a < axes.count && axes.axes[a] == d;
                a += named;
                if (named && !dim_is(x->type->dims[d], 1))
                        return onnx_invalid(im, n, "axis %d is of extent %lld, want 1", d,
                                            (long long)value_extent(x, d));
                if (!(axes.state == AXES_ABSENT ? dim_is(x->type->dims[d], 1) : named))
                        dims[rank++] = x->type->dims[d];
        }
        return onnx_output(n, 0, compose_reshape(im->c, x, rank, dims));
}

bool onnx_import_unsqueeze(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct onnx_axes axes;
        const int64_t *values;
        dim_t dims[RANK_MAX];
        int64_t count;
        int listed;

        if (n->opset < 13) {
                if (!onnx_ints(im, n, "axes", &values, &listed))
                        return false;
                if (!listed && !onnx_has(n, "axes"))
                        return onnx_invalid(im, n, "attribute axes is missing");
                count = listed;
        } else {
                if (!onnx_input(n, 1))
                        return onnx_invalid(im, n, "operand 1 (axes) is missing");
                count = type_elements(n->inputs[1]->type);
        }
        /* The axes count dimensions of the result. */
        if (count > RANK_MAX - value_rank(x))
                return onnx_unsupported(im, n, "a result of more than %d dimensions", RANK_MAX);
        int rank = value_rank(x) + (int)count;
        if (!onnx_axes_read(im, n, n->opset < 13 ? -1 : 1, "axes", rank, &axes))
                return false;
        if (axes.state == AXES_RUNTIME)
                return reshape_declared(im, n, rank);
        for (int d = 0, a = 0; d < rank; d++) {
                if (a < axes.count && axes.axes[a] == d) {
                        dims[d] = dim_of(1);
                        a++;
                } else {
                        dims[d] = x->type->dims[d - a];
                }
        }
        return onnx_output(n, 0, compose_reshape(im->c, x, rank, dims));
}

/* ---- Expand, Tile ---- */

bool onnx_import_expand(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        const struct type *t = x->type;
        struct amount shape[AMOUNTS_MAX];
        dim_t dims[RANK_MAX];
        int count;
        bool known;

        if (!onnx_operand_amounts(im, n, 1, shape, RANK_MAX, &count, &known))
                return false;
        struct value *vector = known ? NULL : onnx_operand_vector(im, n, 1);
        const bool counts = !known && vector &&
                            !onnx_is_declared(im, n, 0, -1) && value_extent(vector, 0) <= RANK_MAX;
        count = counts ? (int)value_extent(vector, 0) : count;
        int rank = value_rank(x) > count ? value_rank(x) : count;
        if (counts) {
                /* An extent of x that is not 1 stays: the shape must have the same, or 1. */
                for (int d = 0; d < rank; d++) {
                        int a = d - (rank - t->rank), b = d - (rank - count);
                        dims[d] = a >= 0 ? t->dims[a] : dim_of(1);
                        if (dim_is(dims[d], 1) && b >= 0)
                                dims[d] = onnx_extent_of(im, n, 0, d, vector, b);
                        if (dim_equal(dims[d], DIM_NONE))
                                return false;
                }
        } else if (known) {
                for (int d = 0; d < rank; d++) {
                        int a = d - (rank - t->rank), b = d - (rank - count);
                        dim_t have = a >= 0 ? t->dims[a] : dim_of(1),
                              want = b >= 0 ? amount_dim(shape[b]) : dim_of(1);
                        dims[d] = dim_is(have, 1) ? want : have;
                        if (dim_equal(want, DIM_NONE) ||
                            (!dim_is(have, 1) && !dim_is(want, 1) && !dim_equal(have, want)))
                                return onnx_invalid(
                                        im, n, "extent %s at dimension %d cannot be expanded to %s",
                                        dim_text(im->arena, im->m, have), d,
                                        b >= 0 && !shape[b].term
                                                ? arena_printf(im->arena, "%lld",
                                                               (long long)shape[b].number)
                                                : dim_text(im->arena, im->m, want));
                }
        } else {
                const struct type *to = onnx_declared_as(im, n, 0, value_element(x), -1);
                if (!to)
                        return false;
                rank = to->rank;
                for (int d = 0; d < rank; d++)
                        dims[d] = to->dims[d];
                for (int d = 0; d < t->rank; d++) {
                        int at = rank - t->rank + d;
                        if (at < 0 || (!dim_is(t->dims[d], 1) && !dim_equal(t->dims[d], dims[at])))
                                return onnx_invalid(
                                        im, n, "%s cannot be expanded to the declared %s",
                                        compose_text(im->c, t), compose_text(im->c, to));
                }
        }
        return compose_type(im->c, value_element(x), rank, dims) &&
               onnx_output(n, 0, build_broadcast_numpy(&im->b, x, rank, dims));
}

/* Returns x repeated along up to TILED_MAX of the dimensions that `repeats` still names, and
 * takes these out of it. A dimension that is repeated becomes [times, extent], those between lie
 * together, and all are broadcast at once. */
static struct value *tile_some(struct onnx_import *im, struct value *x, int64_t *repeats)
{
        enum { TILED_MAX = RANK_MAX / 2 - 1 };
        dim_t dims[RANK_MAX], rows[RANK_MAX], tiled[RANK_MAX];
        int64_t place[RANK_MAX];
        int row_rank = 0, rank = 0, count = 0;

        for (int d = 0; d < value_rank(x); d++) {
                int64_t extent = dim_extent(dims[d] = dim_of(value_extent(x, d)));
                bool repeated = repeats[d] != 1 && count < TILED_MAX;
                if (repeated) {
                        count++;
                        tiled[rank++] = dim_of(repeats[d]);
                        dims[d] = dim_of(dim_extent(dims[d]) * repeats[d]);
                        repeats[d] = 1;
                }
                if (repeated || row_rank == 0) {
                        place[row_rank] = rank;
                        rows[row_rank++] = dim_of(extent);
                        tiled[rank++] = dim_of(extent);
                } else {
                        rows[row_rank - 1] = dim_of(dim_extent(rows[row_rank - 1]) * extent);
                        tiled[rank - 1] = dim_of(dim_extent(tiled[rank - 1]) * extent);
                }
        }
        const struct type *to = type_tensor(im->m, value_element(x), rank, tiled);
        return compose_reshape(
                im->c, compose_spread(im->c, compose_reshape(im->c, x, row_rank, rows), to, place),
                value_rank(x), dims);
}

/* Repeats x, of extents that only a run knows, or as often as only a run knows: along each axis,
 * element i is that at i % extent. */
static bool tile_counted(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *repeats = onnx_operand_vector(im, n, 1);

        if (!repeats || value_extent(repeats, 0) != value_rank(x))
                return onnx_invalid(im, n, "repeats has not one value for each of %d dimensions",
                                    value_rank(x));
        for (int d = 0; d < value_rank(n->inputs[0]) && x; d++) {
                struct value *times = onnx_element(im, repeats, d);
                const bool known = times && value_is_constant(times);
                const int64_t number = known ? constant_element(times->constant, 0).i : 0;
                if (known && number == 1)
                        continue;
                struct value *extent = compose_extent(im->c, x->type->dims[d]);
                dim_t tiled = dim_binary(im->m, DIM_MUL, x->type->dims[d], dim_of(number));
                if (known && dim_equal(tiled, DIM_NONE))
                        return onnx_invalid(im, n, "repeats[%d] is %lld", d, (long long)number);
                if (!known)
                        tiled = onnx_counted(im, n, 0, d,
                                             compose_binary(im->c, OP_mul, times, extent), -1);
                if (dim_equal(tiled, DIM_NONE))
                        return false;
                struct value *at = build_iota(&im->b, type_tensor(im->m, E_I64, 1, &tiled), 0);
                x = build_gather(&im->b, x, compose_binary(im->c, OP_rem, at, extent), d);
        }
        return x && onnx_output(n, 0, x);
}

bool onnx_import_tile(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        const struct type *to;
        int64_t repeats[RANK_MAX], extents[RANK_MAX];
        int count, rank = value_rank(x);
        bool known;

        if (!onnx_operand_ints(im, n, 1, repeats, RANK_MAX, &count, &known))
                return false;
        if (!type_is_static(x->type) || (!known && !onnx_is_declared(im, n, 0, rank)))
                return tile_counted(im, n);
        if (known) {
                if (count != rank)
                        return onnx_invalid(im, n, "repeats has %d values for a tensor of rank %d",
                                            count, rank);
                for (int d = 0; d < rank; d++)
                        if (repeats[d] < 0 || !int_mul(value_extent(x, d), repeats[d], &extents[d]))
                                return onnx_invalid(im, n, "repeats[%d] is %lld", d,
                                                    (long long)repeats[d]);
                to = compose_type_static(im->c, value_element(x), rank, extents);
        } else {
                to = onnx_declared_as(im, n, 0, value_element(x), rank);
                for (int d = 0; to && d < rank; d++) {
                        repeats[d] =
                                value_extent(x, d) ? type_extent(to, d) / value_extent(x, d) : 1;
                        if (!dim_is(to->dims[d], repeats[d] * value_extent(x, d)))
                                return onnx_invalid(
                                        im, n, "extent %lld at dimension %d is no multiple of %lld",
                                        (long long)type_extent(to, d), d,
                                        (long long)value_extent(x, d));
                }
        }
        if (!to)
                return false;
        for (int d = 0; d < rank && x; d++)
                if (repeats[d] != 1)
                        x = tile_some(im, x, repeats);
        return onnx_output(n, 0, x);
}

/* ---- Shape, Size, Identity ---- */

/* Returns the extent of x's dimension d, asked of an input of the graph where one has it, so that
 * nobody has to compute x for it. */
static struct value *extent_of(struct onnx_import *im, struct value *x, int d)
{
        struct region *body = &im->b.region->function->body;
        dim_t extent = x->type->dims[d];

        for (int i = 0; i < body->argument_count && !dim_is_static(extent); i++) {
                struct value *input = &body->arguments[i];
                for (int k = 0; input->type->kind == TYPE_TENSOR && k < value_rank(input); k++)
                        if (dim_equal(input->type->dims[k], extent))
                                return build_extent(&im->b, input, k);
        }
        return build_extent(&im->b, x, d);
}

/* Returns x's extents from dimension `start` to `end` - 1 as <n x i64>. */
static struct value *shape_of(struct onnx_import *im, struct value *x, int start, int end)
{
        struct value *extents[RANK_MAX];
        bool open = false;

        for (int d = start; d < end; d++)
                open |= !dim_is_static(x->type->dims[d]);
        if (!open)
                return constant_dims(im->m, end - start, x->type->dims + start);
        for (int d = start; d < end; d++)
                extents[d - start] = compose_reshape(im->c, extent_of(im, x, d), 1,
                                                     (const dim_t[]){ dim_of(1) });
        return compose_concat(im->c, extents, end - start, 0);
}

bool onnx_import_shape(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *t = n->inputs[0]->type;
        int64_t start = 0, end = t->rank;

        if (n->opset >= 15 &&
            (!onnx_int(im, n, "start", 0, &start) || !onnx_int(im, n, "end", t->rank, &end)))
                return false;
        start = compose_min(compose_max(start < 0 ? start + t->rank : start, 0), t->rank);
        end = compose_min(compose_max(end < 0 ? end + t->rank : end, 0), t->rank);
        return onnx_output(n, 0,
                           shape_of(im, n->inputs[0], (int)start, (int)compose_max(end, start)));
}

bool onnx_import_size(struct onnx_import *im, struct onnx_node *n)
{
        struct value *size = compose_integer(im->c, E_I64, 1);

        for (int d = 0; d < value_rank(n->inputs[0]); d++)
                size = compose_binary(im->c, OP_mul, size, extent_of(im, n->inputs[0], d));
        return onnx_output(n, 0, size);
}

bool onnx_import_identity(struct onnx_import *im, struct onnx_node *n)
{
        (void)im;
        return onnx_output(n, 0, n->inputs[0]);
}
