/* SPDX-License-Identifier: MIT */
/* These operators give the same elements another shape, repeat them, or ask for shapes. A target
 * shape that is a run-time value is taken from the declared type of the result. */
#include "base/size.h"
#include "front/onnx/onnx_helpers.h"

/* ---- Reshape, Flatten, Squeeze, Unsqueeze ---- */

/* Resolves a shape by Reshape's rules: 0 copies an extent of x (unless allow_zero), one -1 takes
 * what is left. */
static bool reshape_resolve(struct onnx_import *im, const struct onnx_node *n, const struct type *x,
                            const int64_t *shape, int rank, bool allow_zero, int64_t *dims)
{
        int64_t total = type_elements(x), known;
        int open = -1;

        for (int i = 0; i < rank; i++) {
                dims[i] = shape[i];
                if (shape[i] == 0 && !allow_zero) {
                        if (i >= x->rank)
                                return onnx_invalid(im, n,
                                                    "shape[%d] is 0, but the operand is of rank %d",
                                                    i, x->rank);
                        dims[i] = type_extent(x, i);
                } else if (shape[i] == -1) {
                        if (open >= 0)
                                return onnx_invalid(im, n, "shape has two extents of -1");
                        open = i;
                        dims[i] = 1;
                } else if (shape[i] < 0 || shape[i] > NUMBER_MAX) {
                        return onnx_invalid(im, n, "shape[%d] is %lld, want -1 to %d", i,
                                            (long long)shape[i], NUMBER_MAX);
                }
        }
        if (!size_elements(dims, rank, &known))
                return onnx_invalid(im, n, "shape is too large");
        if (open >= 0) {
                if (known == 0 || total % known)
                        return onnx_invalid(im, n,
                                            "%lld elements do not divide into a shape with an open "
                                            "extent beside %lld",
                                            (long long)total, (long long)known);
                dims[open] = total / known;
        } else if (known != total) {
                return onnx_invalid(im, n, "a shape of %lld elements for an operand of %lld",
                                    (long long)known, (long long)total);
        }
        return true;
}

bool onnx_import_reshape(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t shape[RANK_MAX], extents[RANK_MAX], allow_zero = 0;
        const struct type *to;
        int rank;
        bool known;

        if (n->opset >= 14 && !onnx_int_range(im, n, "allowzero", 0, 0, 1, &allow_zero))
                return false;
        if (!onnx_operand_ints(im, n, 1, shape, RANK_MAX, &rank, &known))
                return false;
        if (known) {
                if (!reshape_resolve(im, n, x->type, shape, rank, allow_zero, extents))
                        return false;
                to = compose_type_static(im->c, value_element(x), rank, extents);
                return to && onnx_output(n, 0, compose_reshape(im->c, x, rank, to->dims));
        }
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
        for (int d = 0; d < rank; d++)
                dims[d < axis ? 0 : 1] =
                        dim_of(dim_extent(dims[d < axis ? 0 : 1]) * value_extent(x, d));
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
                if (named && value_extent(x, d) != 1)
                        return onnx_invalid(im, n, "axis %d is of extent %lld, want 1", d,
                                            (long long)value_extent(x, d));
                if (!(axes.state == AXES_ABSENT ? value_extent(x, d) == 1 : named))
                        dims[rank++] = dim_of(value_extent(x, d));
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
                        dims[d] = dim_of(value_extent(x, d - a));
                }
        }
        return onnx_output(n, 0, compose_reshape(im->c, x, rank, dims));
}

/* ---- Expand, Tile ---- */

bool onnx_import_expand(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        const struct type *t = x->type;
        int64_t shape[RANK_MAX];
        dim_t dims[RANK_MAX];
        int count;
        bool known;

        if (!onnx_operand_ints(im, n, 1, shape, RANK_MAX, &count, &known))
                return false;
        int rank = value_rank(x) > count ? value_rank(x) : count;
        if (known) {
                for (int d = 0; d < rank; d++) {
                        int a = d - (rank - t->rank), b = d - (rank - count);
                        int64_t have = a >= 0 ? type_extent(t, a) : 1, want = b >= 0 ? shape[b] : 1;
                        if (want < 0 || (have != 1 && want != 1 && have != want))
                                return onnx_invalid(
                                        im, n,
                                        "extent %lld at dimension %d cannot be expanded to %lld",
                                        (long long)have, d, (long long)want);
                        dims[d] = dim_of(have == 1 ? want : have);
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

bool onnx_import_tile(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        const struct type *to;
        int64_t repeats[RANK_MAX], extents[RANK_MAX];
        int count, rank = value_rank(x);
        bool known;

        if (!onnx_operand_ints(im, n, 1, repeats, RANK_MAX, &count, &known))
                return false;
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
                           constant_dims(im->m, (int)compose_max(end - start, 0), t->dims + start));
}

bool onnx_import_size(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_output(n, 0, compose_integer(im->c, E_I64, type_elements(n->inputs[0]->type)));
}

bool onnx_import_identity(struct onnx_import *im, struct onnx_node *n)
{
        (void)im;
        return onnx_output(n, 0, n->inputs[0]);
}
