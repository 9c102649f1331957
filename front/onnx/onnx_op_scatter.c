/* SPDX-License-Identifier: MIT */
/* These operators put elements where an index tensor says. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_move.h"

/* Reads what both forms say: x, integer indices, updates like x, and how they are combined.
 * *kind is that of OP_scatter. */
static bool scatter_read(struct onnx_import *im, struct onnx_node *n, int64_t *kind)
{
        static const char *const names[] = { "none", "add", "mul", "max", "min", NULL };
        static const int64_t kinds[] = { SCATTER_REPLACE, 1 + REDUCE_sum, 1 + REDUCE_prod,
                                         1 + REDUCE_max, 1 + REDUCE_min };
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

/* Is the first extent in every run at most the second? */
static bool is_within(const struct onnx_import *im, dim_t part, dim_t whole)
{
        int64_t more;
        return (dim_exceeds(im->m, whole, part, &more) && more >= 0) ||
               dim_bound(im->m, part) <= dim_least(im->m, whole);
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
                fits = fits && (d == axis || is_within(im, indices->type->dims[d],
                                                       x->type->dims[d]));
        if (!fits)
                return onnx_invalid(im, n, "updates are %s at indices %s of an operand %s",
                                    compose_text(im->c, updates->type),
                                    compose_text(im->c, indices->type),
                                    compose_text(im->c, x->type));
        return onnx_indices_fit(im, n, indices, &x->type->dims[axis], 1) &&
               onnx_output(n, 0, compose_scatter(im->c, x, indices, updates, axis, kind));
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
                fits = dim_equal(updates->type->dims[d],
                                 d < outer ? indices->type->dims[d]
                                           : x->type->dims[d - outer + (int)width]);
        if (!fits)
                return onnx_invalid(im, n, "updates are %s at indices %s of an operand %s",
                                    compose_text(im->c, updates->type),
                                    compose_text(im->c, indices->type),
                                    compose_text(im->c, x->type));
        return onnx_indices_fit(im, n, indices, x->type->dims, width) &&
               onnx_output(n, 0, compose_scatter(im->c, x, indices, updates, -1, kind));
}

/* The operands are cache [batch, .., length, ..], update, and optional write_indices [batch], which
 * say where in its cache each sample's update begins. */
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
        const dim_t *held = x->type->dims, *given = update->type->dims;
        bool fits = axis > 0 && (!begin || dim_equal(begin->type->dims[0], held[0]));
        for (int d = 0; d < value_rank(x); d++)
                fits = fits && (d == axis ? dim_least(im->m, given[d]) <= dim_bound(im->m, held[d])
                                          : dim_equal(given[d], held[d]));
        if (!fits)
                return onnx_invalid(im, n, "an update %s of a cache %s along axis %d",
                                    compose_text(im->c, update->type), compose_text(im->c, x->type),
                                    axis);
        if (!is_within(im, given[axis], held[axis]))
                return onnx_unsupported(im, n,
                                        "an update of %s rows of a cache of %s, which may be "
                                        "fewer; --dim says how they differ, as in --dim P=S+K",
                                        dim_text(im->arena, im->m, given[axis]),
                                        dim_text(im->arena, im->m, held[axis]));
        return onnx_output(n, 0, compose_cache_update(im->c, x, update, begin, axis, circular));
}

/* Returns the extent times the stride, and some more. */
static dim_t unpooled(struct onnx_import *im, dim_t extent, int64_t stride, int64_t more)
{
        extent = dim_binary(im->m, DIM_MUL, extent, dim_of(stride));
        return dim_binary(im->m, more < 0 ? DIM_SUB : DIM_ADD, extent,
                          dim_of(more < 0 ? -more : more));
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
                                    compose_text(im->c, at->type), compose_text(im->c, x->type));
        for (int d = 0; d < rank; d++) {
                int k = d - 2;
                dims[d] = result[d] = x->type->dims[d];
                if (k >= 0)
                        dims[d] = result[d] = unpooled(
                                im, dims[d], w.strides[k],
                                w.kernel[k] - w.strides[k] - w.pads[k] - w.pads[k + rank - 2]);
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
                if (!is_within(im, dims[d], result[d]) ||
                    (d < 2 && !dim_equal(result[d], dims[d])))
                        return onnx_invalid(im, n,
                                            "output_shape has %s in dimension %d, want %s or more",
                                            dim_text(im->arena, im->m, result[d]), d,
                                            dim_text(im->arena, im->m, dims[d]));
        return onnx_output(n, 0, compose_max_unpool(im->c, x, at, dims, result));
}

/* Reads what follows from both shapes where they are known. */
static bool fold_known(struct onnx_import *im, struct onnx_node *n, const int64_t *block,
                       int blocks, int count, struct compose_fold *f)
{
        if (count != blocks || blocks < 1)
                return onnx_invalid(im, n, "image_shape has %d values, block_shape %d", count,
                                    blocks);
        for (int d = 0; d < blocks; d++)
                if (f->image[d] < 0 || f->image[d] > NUMBER_MAX || block[d] < 1 ||
                    block[d] > NUMBER_MAX)
                        return onnx_invalid(im, n, "a block of %lld in an image of %lld",
                                            (long long)block[d], (long long)f->image[d]);
        return onnx_window_read(im, n, blocks, block, true, &f->window);
}

/* Reads what follows where a shape is a run-time value: the declaration of the result says how many
 * channels and pixels there are. */
static bool fold_open(struct onnx_import *im, struct onnx_node *n, struct compose_fold *f)
{
        const struct value *x = f->x;
        int64_t ones[RANK_MAX];

        f->image_stated = onnx_operand_vector(im, n, 1);
        f->kernel_stated = onnx_operand_vector(im, n, 2);
        if (!f->image_stated || !f->kernel_stated)
                return false;
        const int64_t given = value_extent(f->image_stated, 0);
        const int count = (int)compose_min(value_extent(f->kernel_stated, 0), RANK_MAX);
        if (given != value_extent(f->kernel_stated, 0) || count < 1 || count > RANK_MAX - 2)
                return onnx_invalid(im, n, "image_shape has %lld values, block_shape %lld",
                                    (long long)given, (long long)value_extent(f->kernel_stated, 0));
        const struct type *to = onnx_declared_as(im, n, 0, value_element(x), count + 2);
        for (int d = 0; d < count; d++)
                ones[d] = 1;
        if (!to || !onnx_window_read(im, n, count, ones, true, &f->window))
                return false;
        f->channels = type_extent(to, 1);
        if (!dim_is(to->dims[0], value_extent(x, 0)) || !f->channels || !value_extent(x, 1) ||
            value_extent(x, 1) % f->channels || !value_extent(x, 2))
                return onnx_invalid(im, n, "columns %s for an output that is declared as %s",
                                    compose_text(im->c, x->type), compose_text(im->c, to));
        for (int d = 0; d < count; d++)
                f->image[d] = type_extent(to, d + 2);
        return true;
}

/* The operands are x [batch, channels * windows, positions], image_shape, block_shape. */
bool onnx_import_col2im(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_fold f = { .x = n->inputs[0] };
        int64_t block[RANK_MAX];
        int count, blocks;
        bool known[2];

        if (value_element(f.x) == E_BOOL)
                return onnx_unsupported(im, n, "sums of bool");
        if (onnx_has(n, "auto_pad") || onnx_has(n, "kernel_shape"))
                return onnx_invalid(im, n, "unknown attribute '%s'",
                                    onnx_has(n, "auto_pad") ? "auto_pad" : "kernel_shape");
        if (!onnx_operand_ints(im, n, 1, f.image, RANK_MAX - 2, &count, &known[0]) ||
            !onnx_operand_ints(im, n, 2, block, RANK_MAX - 2, &blocks, &known[1]) ||
            !onnx_want_rank(im, n, 0, 3, 3))
                return false;
        return (known[0] && known[1] ? fold_known(im, n, block, blocks, count, &f)
                                     : fold_open(im, n, &f)) &&
               onnx_output(n, 0, compose_fold(im->c, &f));
}
