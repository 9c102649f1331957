/* SPDX-License-Identifier: MIT */
/* Operators that put elements where an index tensor says. */
#include "compiler/import/onnx_helpers.h"

enum { REPLACE = 0 };

static struct value *scatter(struct onnx_import *im, struct value *x, struct value *indices,
                             struct value *updates, int64_t axis, int64_t kind)
{
        struct attr *attrs = attrs_new(im->m, OP_scatter);
        struct value *operands[3] = { x, indices, updates };

        attr_set(attrs, OP_scatter, "axis", axis);
        attr_set(attrs, OP_scatter, "kind", kind);
        return x && indices && updates ? value_build(&im->b, OP_scatter, operands, 3, attrs, NULL)
                                       : NULL;
}

/* what both forms say: x, integer indices, updates like x, how they are combined; *kind: of
 * OP_scatter */
static bool scatter_read(struct onnx_import *im, struct onnx_node *n, int64_t *kind)
{
        static const char *const names[] = { "none", "add", "mul", "max", "min", NULL };
        static const int64_t kinds[] = { REPLACE, 1 + REDUCE_sum, 1 + REDUCE_prod, 1 + REDUCE_max,
                                         1 + REDUCE_min };
        struct value *like[2] = { n->inputs[0], n->inputs[2] };
        enum element indices = value_element(n->inputs[1]), e = value_element(n->inputs[0]);
        int number = 0;

        if (indices != E_I64 && indices != E_I32)
                return onnx_invalid(im, n, "indices are of %s, want i32 or i64",
                                    element_info[indices].text);
        if (!onnx_same_element(im, n, like, 2) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            (n->opset >= 16 && !onnx_choice(im, n, "reduction", names, 0, &number)))
                return false;
        *kind = kinds[number];
        return number < 1 || number > 2 || element_is_float(e) || element_is_integer(e) ||
               onnx_unsupported(im, n, "reduction %s of %s", names[number], element_info[e].text);
}

bool onnx_import_scatter_elements(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *indices = n->inputs[1], *updates = n->inputs[2];
        int64_t stated, kind;
        int axis;

        if (!scatter_read(im, n, &kind) || !onnx_int(im, n, "axis", 0, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            !onnx_want_rank(im, n, 1, value_rank(x), value_rank(x)))
                return false;
        bool fits = type_same_dims(indices->type, updates->type);
        for (int d = 0; d < value_rank(x); d++)
                fits = fits && (d == axis || value_extent(indices, d) <= value_extent(x, d));
        if (!fits)
                return onnx_invalid(im, n, "updates are %s at indices %s of an operand %s",
                                    type_text(im->arena, im->m, updates->type),
                                    type_text(im->arena, im->m, indices->type),
                                    type_text(im->arena, im->m, x->type));
        return onnx_indices_fit(im, n, indices, &x->type->dims[axis], 1) &&
               onnx_output(n, 0, scatter(im, x, indices, updates, axis, kind));
}

bool onnx_import_scatter_nd(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *indices = n->inputs[1], *updates = n->inputs[2];
        int64_t kind;

        if (!scatter_read(im, n, &kind) || !onnx_want_rank(im, n, 1, 1, RANK_MAX))
                return false;
        int outer = value_rank(indices) - 1;
        int64_t width = value_extent(indices, outer);
        bool fits = width >= 1 && width <= value_rank(x) &&
                    value_rank(updates) == outer + value_rank(x) - width;
        for (int d = 0; fits && d < value_rank(updates); d++)
                fits = value_extent(updates, d) ==
                       (d < outer ? value_extent(indices, d)
                                  : value_extent(x, d - outer + (int)width));
        if (!fits)
                return onnx_invalid(im, n, "updates are %s at indices %s of an operand %s",
                                    type_text(im->arena, im->m, updates->type),
                                    type_text(im->arena, im->m, indices->type),
                                    type_text(im->arena, im->m, x->type));
        return onnx_indices_fit(im, n, indices, x->type->dims, width) &&
               onnx_output(n, 0, scatter(im, x, indices, updates, -1, kind));
}

/* Operands cache [batch, .., length, ..], update, optional write_indices [batch]: where in its
 * cache each sample's update begins */
bool onnx_import_tensor_scatter(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const modes[] = { "linear", "circular", NULL };
        struct value *x = n->inputs[0], *update = n->inputs[1], *begin = onnx_input(n, 2);
        int64_t stated;
        int axis, circular;

        if (!onnx_same_element(im, n, n->inputs, 2) ||
            !onnx_choice(im, n, "mode", modes, 0, &circular) ||
            !onnx_int(im, n, "axis", -2, &stated) ||
            !onnx_axis(im, n, stated, value_rank(x), &axis) ||
            !onnx_want_rank(im, n, 1, value_rank(x), value_rank(x)) ||
            !onnx_want_element(im, n, 2, E_I64) || !onnx_want_rank(im, n, 2, 1, 1))
                return false;
        bool fits = axis > 0 && (!begin || value_extent(begin, 0) == value_extent(x, 0));
        for (int d = 0; d < value_rank(x); d++)
                fits = fits && (d == axis ? value_extent(update, d) <= value_extent(x, d)
                                          : value_extent(update, d) == value_extent(x, d));
        if (!fits)
                return onnx_invalid(im, n, "an update %s of a cache %s along axis %d",
                                    type_text(im->arena, im->m, update->type),
                                    type_text(im->arena, im->m, x->type), axis);
        struct value *at = build_iota(&im->b, type_with_element(im->m, update->type, E_I64), axis);
        if (begin)
                at = compose_binary(im->c, OP_add, at,
                                    compose_spread(im->c, begin, at->type, (const int64_t[]){ 0 }));
        if (circular)
                at = compose_with(im->c, OP_mod, at, (double)value_extent(x, axis));
        return onnx_output(n, 0, scatter(im, x, at, update, axis, REPLACE));
}

/* x, with zeros behind it in each dimension */
static struct value *enlarged(struct onnx_import *im, struct value *x, const dim_t *dims)
{
        int64_t none[RANK_MAX] = { 0 };

        if (!x)
                return NULL;
        struct value *operands[3] = { x, build_scalar(&im->b, value_element(x), 0),
                                      constant_ints(im->m, none, value_rank(x)) };
        return value_build(&im->b, OP_pad, operands, 3, NULL,
                           type_tensor(im->m, value_element(x), value_rank(x), dims));
}

static struct value *zeros(struct onnx_import *im, const struct type *t)
{
        return t ? constant_number(im->m, t, 0) : NULL;
}

/* Each element goes to its flat index in the tensor that was pooled. A stated shape that is larger
 * has zeros behind that. */
bool onnx_import_max_unpool(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *at = n->inputs[1];
        int rank = value_rank(x), count;
        int64_t stated[RANK_MAX];
        dim_t dims[RANK_MAX], result[RANK_MAX];
        struct compose_window w;
        bool known;

        if (!onnx_want_rank(im, n, 0, 3, RANK_MAX) || !onnx_want_element(im, n, 1, E_I64) ||
            !onnx_window_read(im, n, rank - 2, NULL, false, &w))
                return false;
        if (!type_same_dims(x->type, at->type))
                return onnx_invalid(im, n, "indices are %s for an operand %s",
                                    type_text(im->arena, im->m, at->type),
                                    type_text(im->arena, im->m, x->type));
        for (int d = 0; d < rank; d++) {
                int k = d - 2;
                dims[d] = result[d] = dim_of(value_extent(x, d));
                if (k >= 0)
                        dims[d] = result[d] =
                                dim_of((dim_extent(dims[d]) - 1) * w.strides[k] + w.kernel[k] -
                                       w.pads[k] - w.pads[k + rank - 2]);
        }
        if (onnx_input(n, 2) && onnx_operand_ints(im, n, 2, stated, RANK_MAX, &count, &known) &&
            known && count == rank) {
                for (int d = 0; d < rank; d++)
                        result[d] = dim_of(stated[d]);
        } else if (onnx_input(n, 2)) {
                const struct type *t = onnx_declared_as(im, n, 0, value_element(x), rank);
                if (!t)
                        return false;
                for (int d = 0; d < rank; d++)
                        result[d] = t->dims[d];
        }
        for (int d = 0; d < rank; d++)
                if (dim_extent(result[d]) < dim_extent(dims[d]) ||
                    (d < 2 && !dim_equal(result[d], dims[d])))
                        return onnx_invalid(
                                im, n, "output_shape has %lld in dimension %d, want %lld or more",
                                (long long)dim_extent(result[d]), d,
                                (long long)dim_extent(dims[d]));
        const struct type *t = compose_type(im->c, value_element(x), rank, dims);
        if (!t || !compose_type(im->c, value_element(x), rank, result))
                return false;
        const int64_t pooled = type_elements(t);
        at = compose_reshape(im->c, at, 2,
                             (const dim_t[]){ dim_of(type_elements(x->type)), dim_of(1) });
        x = compose_reshape(im->c, x, 1, (const dim_t[]){ dim_of(type_elements(x->type)) });
        struct value *y = scatter(im, zeros(im, type_static(im->m, t->element, 1, &pooled)), at, x,
                                  -1, REPLACE);
        return onnx_output(n, 0, enlarged(im, compose_reshape(im->c, y, rank, dims), result));
}

/* Where in its image element [window, position] of a column lies, pads and all: row-major, <windows
 * x positions x i64> */
static struct value *column_positions(struct onnx_import *im, const struct compose_window *w,
                                      const int64_t *padded)
{
        dim_t dims[2 * RANK_MAX];
        struct value *sum = NULL;

        for (int d = 0; d < w->rank; d++) {
                dims[d] = dim_of(w->kernel[d]);
                dims[w->rank + d] = dim_of(w->out[d]);
        }
        const struct type *t = compose_type(im->c, E_I64, 2 * w->rank, dims);
        for (int d = 0; t && d < w->rank; d++) {
                struct value *right = compose_with(
                        im->c, OP_mul, build_iota(&im->b, t, w->rank + d), (double)w->strides[d]);
                struct value *at =
                        compose_binary(im->c, OP_add,
                                       compose_with(im->c, OP_mul, build_iota(&im->b, t, d),
                                                    (double)w->dilations[d]),
                                       right);
                sum = sum ? compose_binary(im->c, OP_add,
                                           compose_with(im->c, OP_mul, sum, (double)padded[d]), at)
                          : at;
        }
        return sum;
}

struct columns {
        struct compose_window w;
        int count;                      /* spatial dimensions */
        int64_t image[RANK_MAX];        /* their extents */
        int64_t padded[RANK_MAX]; /* and with pads */
        int64_t windows, positions, pixels; /* elements of a block; blocks; pixels with pads */
        struct value *at;               /* pixels that elements of blocks lie on */
};

/* where blocks lie in an image with its pads, and how many */
static bool columns_place(struct onnx_import *im, struct onnx_node *n, struct columns *c)
{
        struct value *x = n->inputs[0];

        for (int d = 0; d < c->count; d++) {
                c->padded[d] = c->image[d] + c->w.pads[d] + c->w.pads[d + c->count];
                int64_t reach = c->padded[d] - compose_window_extent(&c->w, d);
                if (reach < 0)
                        return onnx_invalid(im, n, "a block of %lld in an extent of %lld",
                                            (long long)c->w.kernel[d], (long long)c->padded[d]);
                c->w.out[d] = reach / c->w.strides[d] + 1;
        }
        if (!compose_elements(im->c, c->count, c->w.kernel, &c->windows) ||
            !compose_elements(im->c, c->count, c->w.out, &c->positions) ||
            !compose_elements(im->c, c->count, c->padded, &c->pixels))
                return false;
        return (value_extent(x, 1) % c->windows == 0 && value_extent(x, 2) == c->positions) ||
               onnx_invalid(im, n, "columns %s, want a multiple of %lld by %lld",
                            type_text(im->arena, im->m, x->type), (long long)c->windows,
                            (long long)c->positions);
}

/* Both shapes are known. */
static bool columns_known(struct onnx_import *im, struct onnx_node *n, const int64_t *block, int blocks,
                          struct columns *c)
{
        if (c->count != blocks || blocks < 1)
                return onnx_invalid(im, n, "image_shape has %d values, block_shape %d", c->count, blocks);
        for (int d = 0; d < blocks; d++)
                if (c->image[d] < 0 || c->image[d] > NUMBER_MAX || block[d] < 1 || block[d] > NUMBER_MAX)
                        return onnx_invalid(im, n, "a block of %lld in an image of %lld", (long long)block[d],
                                            (long long)c->image[d]);
        return onnx_window_read(im, n, blocks, block, true, &c->w) && columns_place(im, n, c) &&
               (c->at = column_positions(im, &c->w, c->padded)) != NULL;
}

/* and, where there is something already */
static struct value *also(struct onnx_import *im, struct value *so_far, struct value *test)
{
        return so_far ? compose_binary(im->c, OP_and, so_far, test) : test;
}

/* low, x or high: of a run-time number */
static struct value *bounded(struct onnx_import *im, struct value *x, int64_t low, int64_t high)
{
        return compose_with(im->c, OP_min, compose_with(im->c, OP_max, x, (double)low),
                            (double)high);
}

/* Number `index`, of row-major order over run-time extents, as a subscript of each. */
static void subscripts(struct onnx_import *im, struct value *index, struct value *const *extents, int count,
                       struct value **digits)
{
        for (int d = count - 1; d >= 0; d--) {
                digits[d] = compose_binary(im->c, OP_rem, index, extents[d]);
                index = compose_binary(im->c, OP_div, index, extents[d]);
        }
}

/* A shape is a run-time value: what is declared says how many channels and pixels there are, the
 * extents of a block say where its elements lie. Where they contradict that, all lies outside. */
static bool columns_open(struct onnx_import *im, struct onnx_node *n, struct columns *c)
{
        struct value *x = n->inputs[0], *image = onnx_operand_vector(im, n, 1), *block = onnx_operand_vector(im, n, 2),
                     *fits = NULL, *tap[RANK_MAX], *place[RANK_MAX], *extents[RANK_MAX], *outs[RANK_MAX],
                     *elements = NULL, *blocks = NULL;

        if (!image || !block)
                return false;
        c->count = (int)compose_min(value_extent(block, 0), RANK_MAX);
        if (value_extent(image, 0) != value_extent(block, 0) || c->count < 1 ||
            c->count > RANK_MAX - 2)
                return onnx_invalid(im, n, "image_shape has %lld values, block_shape %lld",
                                    (long long)value_extent(image, 0),
                                    (long long)value_extent(block, 0));
        const struct type *to = onnx_declared_as(im, n, 0, value_element(x), c->count + 2);
        int64_t ones[RANK_MAX];
        for (int d = 0; d < c->count; d++)
                ones[d] = 1;
        if (!to || !onnx_window_read(im, n, c->count, ones, true, &c->w))
                return false;
        c->positions = value_extent(x, 2);
        if (!dim_is(to->dims[0], value_extent(x, 0)) || dim_is(to->dims[1], 0) ||
            !value_extent(x, 1) || value_extent(x, 1) % type_extent(to, 1) || !c->positions)
                return onnx_invalid(im, n, "columns %s for an output that is declared as %s",
                                    type_text(im->arena, im->m, x->type), type_text(im->arena, im->m, to));
        c->windows = value_extent(x, 1) / type_extent(to, 1);
        for (int d = 0; d < c->count; d++) {
                c->image[d] = type_extent(to, d + 2);
                c->padded[d] = c->image[d] + c->w.pads[d] + c->w.pads[d + c->count];
                struct value *stated = build_gather(&im->b, image, compose_integer(im->c, E_I64, d),
                                                    0),
                             *extent = build_gather(&im->b, block, compose_integer(im->c, E_I64, d),
                                                    0);
                fits = also(im, fits, compose_with(im->c, OP_eq, stated, (double)c->image[d]));
                fits = also(im, fits, compose_with(im->c, OP_ge, extent, 1));
                extents[d] = bounded(im, extent, 1, c->windows + 1);
                struct value *reach =
                        compose_with(im->c, OP_mul, compose_with(im->c, OP_sub, extents[d], 1),
                                     (double)c->w.dilations[d]);
                reach = compose_from(im->c, OP_sub, (double)(c->padded[d] - 1), reach);
                fits = also(im, fits, compose_with(im->c, OP_ge, reach, 0));
                outs[d] = compose_with(im->c, OP_add,
                                       compose_with(im->c, OP_div, reach, (double)c->w.strides[d]),
                                       1);
                outs[d] = bounded(im, outs[d], 1, c->positions + 1);
                elements =
                        elements ? compose_binary(im->c, OP_mul, elements, extents[d]) : extents[d];
                elements = bounded(im, elements, 1, c->windows + 1);
                blocks = blocks ? compose_binary(im->c, OP_mul, blocks, outs[d]) : outs[d];
                blocks = bounded(im, blocks, 1, c->positions + 1);
        }
        fits = also(im, fits, compose_with(im->c, OP_eq, elements, (double)c->windows));
        fits = also(im, fits, compose_with(im->c, OP_eq, blocks, (double)c->positions));
        const struct type *t =
                compose_elements(im->c, c->count, c->padded, &c->pixels)
                        ? compose_type(im->c, E_I64, 2,
                                       (const dim_t[]){ dim_of(c->windows), dim_of(c->positions) })
                        : NULL;
        if (!t || !fits)
                return false;
        subscripts(im, build_iota(&im->b, t, 0), extents, c->count, tap);
        subscripts(im, build_iota(&im->b, t, 1), outs, c->count, place);
        for (int d = 0; d < c->count; d++) {
                struct value *at = compose_with(im->c, OP_mul, tap[d], (double)c->w.dilations[d]);
                at = compose_binary(im->c, OP_add, at,
                                    compose_with(im->c, OP_mul, place[d], (double)c->w.strides[d]));
                c->at = d ? compose_binary(im->c, OP_add,
                                           compose_with(im->c, OP_mul, c->at, (double)c->padded[d]),
                                           at)
                          : at;
        }
        c->at = compose_select(im->c, fits, c->at, compose_integer(im->c, E_I64, c->pixels));
        return c->at != NULL;
}

static bool columns_read(struct onnx_import *im, struct onnx_node *n, struct columns *c)
{
        int64_t block[RANK_MAX];
        int blocks;
        bool known[2];

        if (onnx_has(n, "auto_pad") || onnx_has(n, "kernel_shape"))
                return onnx_invalid(im, n, "unknown attribute '%s'",
                                    onnx_has(n, "auto_pad") ? "auto_pad" : "kernel_shape");
        if (!onnx_operand_ints(im, n, 1, c->image, RANK_MAX - 2, &c->count, &known[0]) ||
            !onnx_operand_ints(im, n, 2, block, RANK_MAX - 2, &blocks, &known[1]) ||
            !onnx_want_rank(im, n, 0, 3, 3))
                return false;
        return known[0] && known[1] ? columns_known(im, n, block, blocks, c) : columns_open(im, n, c);
}

/* Operands x [batch, channels * windows, positions], image_shape, block_shape: what overlaps is
 * added up */
bool onnx_import_col2im(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct columns c;

        if (!columns_read(im, n, &c))
                return false;
        /* images last: an update is a pixel of all of them */
        int64_t pads[RANK_MAX] = { 0 }, ones[RANK_MAX] = { 1, 1 };
        dim_t dims[RANK_MAX] = { dim_of(value_extent(x, 0)),
                                 dim_of(value_extent(x, 1) / c.windows) };
        int64_t images = dim_extent(dims[0]) * dim_extent(dims[1]);
        x = compose_reshape(
                im->c, x, 3,
                (const dim_t[]){ dim_of(images), dim_of(c.windows), dim_of(c.positions) });
        x = x ? build_transpose(&im->b, x, (const int64_t[]){ 1, 2, 0 }) : NULL;
        struct value *at = compose_reshape(
                im->c, c.at, 3,
                (const dim_t[]){ dim_of(c.windows), dim_of(c.positions), dim_of(1) });
        const struct type *t = compose_type(im->c, value_element(n->inputs[0]), 2,
                                            (const dim_t[]){ dim_of(c.pixels), dim_of(images) });
        struct value *y = t ? scatter(im, zeros(im, t), at, x, -1, 1 + REDUCE_sum) : NULL;
        y = y ? build_transpose(&im->b, y, (const int64_t[]){ 1, 0 }) : NULL;
        for (int d = 0; d < c.count; d++) {
                dims[d + 2] = dim_of(c.padded[d]);
                pads[d + 2] = c.w.pads[d];
                ones[d + 2] = 1;
        }
        y = compose_reshape(im->c, y, c.count + 2, dims);
        for (int d = 0; d < c.count; d++)
                dims[d + 2] = dim_of(c.image[d]);
        return onnx_output(n, 0, y ? build_slice(&im->b, y, pads, ones, dims) : NULL);
}
