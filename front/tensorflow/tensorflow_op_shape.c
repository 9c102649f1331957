/* SPDX-License-Identifier: MIT */
/* Operators whose results are shapes, or that move elements. */
#include "front/tensorflow/tensorflow_helpers.h"

#include "base/size.h"
#include "front/compose/compose_move.h"

/* ---- shapes ---- */

/* Reshapes operand 0 to these extents, of which one may be -1. */
static bool reshape(struct tf_import *im, struct tf_node *n, const int64_t *extents, int rank)
{
        struct value *x = n->inputs[0].value;
        const int64_t count = type_elements(x->type);
        int64_t known = 1;
        int open = -1;
        dim_t dims[RANK_MAX];
        for (int d = 0; d < rank; d++) {
                if (extents[d] == -1 && open < 0)
                        open = d;
                else if (extents[d] < 0 || !int_mul(known, extents[d], &known))
                        return tf_invalid(im, "an extent of %lld", (long long)extents[d]);
                dims[d] = dim_of(extents[d]);
        }
        if (open >= 0)
                dims[open] = dim_of(known ? count / known : 0);
        if (open < 0 ? known != count : known && count % known)
                return tf_invalid(im, "%s has %lld elements, which do not fit the shape",
                                  compose_text(im->c, x->type), (long long)count);
        return tf_output(im, n, 0, compose_reshape(im->c, x, rank, dims));
}

bool tf_import_reshape(struct tf_import *im, struct tf_node *n)
{
        int64_t extents[RANK_MAX];
        int rank;
        return tf_ints(im, n, 1, extents, RANK_MAX, &rank) && reshape(im, n, extents, rank);
}

bool tf_import_squeeze(struct tf_import *im, struct tf_node *n)
{
        const Tf__AttrList *axes = tf_list(n, "squeeze_dims");
        const struct type *x = n->inputs[0].value->type;
        const size_t count = axes ? axes->n_i : 0;
        bool gone[RANK_MAX];
        int64_t extents[RANK_MAX];
        int rank = 0;
        for (int d = 0; d < x->rank; d++)
                gone[d] = !count && dim_is(x->dims[d], 1);
        for (size_t i = 0; i < count; i++) {
                const int axis = tf_axis(im, axes->i[i], x->rank);
                if (axis < 0)
                        return false;
                if (!dim_is(x->dims[axis], 1))
                        return tf_invalid(im, "dimension %d of %s is not of extent 1", axis,
                                          compose_text(im->c, x));
                gone[axis] = true;
        }
        for (int d = 0; d < x->rank; d++)
                if (!gone[d])
                        extents[rank++] = type_extent(x, d);
        return reshape(im, n, extents, rank);
}

bool tf_import_expand_dims(struct tf_import *im, struct tf_node *n)
{
        const struct type *x = n->inputs[0].value->type;
        int64_t axis, extents[RANK_MAX];
        if (!tf_one_int(im, n, 1, &axis))
                return false;
        const int at = tf_axis(im, axis, x->rank + 1);
        if (at < 0)
                return false;
        if (x->rank == RANK_MAX)
                return tf_unsupported(im, "rank %d", RANK_MAX + 1);
        for (int d = 0; d <= x->rank; d++)
                extents[d] = d == at ? 1 : type_extent(x, d - (d > at));
        return reshape(im, n, extents, x->rank + 1);
}

bool tf_import_transpose(struct tf_import *im, struct tf_node *n)
{
        const int rank = value_rank(n->inputs[0].value);
        int64_t perm[RANK_MAX];
        bool seen[RANK_MAX] = { false };
        int count;
        if (!tf_ints(im, n, 1, perm, RANK_MAX, &count))
                return false;
        if (count != rank)
                return tf_invalid(im, "perm has %d numbers, want %d", count, rank);
        for (int d = 0; d < rank; d++) {
                const int axis = tf_axis(im, perm[d], rank);
                if (axis < 0)
                        return false;
                if (seen[axis])
                        return tf_invalid(im, "perm has %d twice", axis);
                seen[axis] = true;
                perm[d] = axis;
        }
        return tf_output(im, n, 0, compose_transpose(im->c, n->inputs[0].value, perm));
}

/* Returns the element that the attribute out_type says, i32 where it is absent. */
static bool out_type(struct tf_import *im, const struct tf_node *n, enum element *e)
{
        const int64_t type = tf_type(n, "out_type", 3);
        return tf_element(type, e) || tf_invalid(im, "out_type %lld", (long long)type);
}

bool tf_import_shape(struct tf_import *im, struct tf_node *n)
{
        enum element e;
        if (!out_type(im, n, &e))
                return false;
        for (int i = 0; i < n->input_count; i++) {
                const struct type *x = n->inputs[i].value->type;
                struct value *extents = compose_extents(im->c, x->rank, x->dims);
                if (!tf_output(im, n, i, compose_cast(im->c, extents, e)))
                        return false;
        }
        return true;
}

/* The rank, or (variant 1) how many elements there are. */
bool tf_import_size(struct tf_import *im, struct tf_node *n)
{
        const struct type *x = n->inputs[0].value->type;
        enum element e;
        return out_type(im, n, &e) &&
               tf_output(im, n, 0,
                         compose_integer(im->c, e, tf_variant(n) ? type_elements(x) : x->rank));
}

/* ---- several tensors as one, and back ---- */

/* Concat (variant 1) has its axis first. */
bool tf_import_concat(struct tf_import *im, struct tf_node *n)
{
        const int count = n->input_count - 1, first = tf_variant(n);
        struct value **items = arena_array(im->arena, (size_t)count, sizeof *items);
        int64_t stated;
        for (int i = 0; i < count; i++)
                items[i] = n->inputs[i + first].value;
        if (!tf_one_int(im, n, first ? 0 : count, &stated))
                return false;
        const int axis = tf_axis(im, stated, value_rank(items[0]));
        return axis >= 0 && tf_output(im, n, 0, compose_concat(im->c, items, count, axis));
}

bool tf_import_pack(struct tf_import *im, struct tf_node *n)
{
        struct value **items = arena_array(im->arena, (size_t)n->input_count, sizeof *items);
        for (int i = 0; i < n->input_count; i++)
                items[i] = n->inputs[i].value;
        const int axis = tf_axis(im, tf_int(n, "axis", 0), value_rank(items[0]) + 1);
        return axis >= 0 && tf_output(im, n, 0, compose_stack(im->c, items, n->input_count, axis));
}

bool tf_import_unpack(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        const int axis = tf_axis(im, tf_int(n, "axis", 0), value_rank(x));
        if (axis < 0)
                return false;
        const int64_t count = value_extent(x, axis);
        if (count > TF_ANY || tf_int(n, "num", count) != count)
                return tf_invalid(im, "%lld outputs of an extent of %lld",
                                  (long long)tf_int(n, "num", count), (long long)count);
        for (int i = 0; i < count; i++)
                if (!tf_output(im, n, i, compose_pick(im->c, x, axis, i)))
                        return false;
        return true;
}

/* Split has its axis first; SplitV (variant 1) the sizes, then the axis. */
bool tf_import_split(struct tf_import *im, struct tf_node *n)
{
        const bool sized = tf_variant(n) == 1;
        struct value *x = n->inputs[sized ? 0 : 1].value;
        int64_t stated, most = tf_int(n, "num_split", sized ? TF_ANY : 0);
        if (sized && value_rank(n->inputs[1].value) == 1)
                most = value_extent(n->inputs[1].value, 0);
        if (most < 1 || most > TF_ANY)
                return tf_invalid(im, "%lld outputs", (long long)most);
        int64_t *sizes = arena_array(im->arena, (size_t)most, sizeof *sizes), sum = 0, start = 0;
        int count = (int)most, open = -1;
        if (!tf_one_int(im, n, sized ? 2 : 0, &stated))
                return false;
        const int axis = tf_axis(im, stated, value_rank(x));
        if (axis < 0)
                return false;
        const int64_t extent = value_extent(x, axis);
        if (sized && !tf_ints(im, n, 1, sizes, count, &count))
                return false;
        for (int i = 0; i < count; i++) {
                if (!sized)
                        sizes[i] = extent / count;
                if (sizes[i] == -1 && open < 0)
                        open = i;
                else if (sizes[i] < 0 || sizes[i] > extent)
                        return tf_invalid(im, "a size of %lld", (long long)sizes[i]);
                else
                        sum += sizes[i];
        }
        if (open >= 0 && sum <= extent)
                sizes[open] = extent - sum;
        if (open < 0 ? sum != extent : sum > extent)
                return tf_invalid(im, "sizes of %lld for an extent of %lld", (long long)sum,
                                  (long long)extent);
        for (int i = 0; i < count; i++) {
                if (!tf_output(im, n, i, compose_part(im->c, x, axis, start, sizes[i])))
                        return false;
                start += sizes[i];
        }
        return true;
}

/* ---- parts and pads ---- */

bool tf_import_slice(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        const int rank = value_rank(x);
        int64_t start[RANK_MAX], size[RANK_MAX];
        struct compose_slice s = { .count = rank };
        int count[2];
        if (!tf_ints(im, n, 1, start, RANK_MAX, &count[0]) ||
            !tf_ints(im, n, 2, size, RANK_MAX, &count[1]))
                return false;
        if (count[0] != rank || count[1] != rank)
                return tf_invalid(im, "%d begins and %d sizes for rank %d", count[0], count[1],
                                  rank);
        for (int d = 0; d < rank; d++) {
                const int64_t extent = value_extent(x, d);
                if (size[d] == -1)
                        size[d] = extent - start[d];
                if (start[d] < 0 || size[d] < 0 || start[d] > extent || size[d] > extent - start[d])
                        return tf_invalid(im, "%lld elements from %lld on of %lld",
                                          (long long)size[d], (long long)start[d],
                                          (long long)extent);
                s.axes[d] = d;
                s.starts[d] = start[d];
                s.ends[d] = start[d] + size[d];
                s.steps[d] = 1;
        }
        return tf_output(im, n, 0, compose_slice(im->c, x, &s));
}

bool tf_import_strided_slice(struct tf_import *im, struct tf_node *n)
{
        struct compose_strided s = { .begin_mask = tf_int(n, "begin_mask", 0),
                                     .end_mask = tf_int(n, "end_mask", 0),
                                     .ellipsis_mask = tf_int(n, "ellipsis_mask", 0),
                                     .new_axis_mask = tf_int(n, "new_axis_mask", 0),
                                     .shrink_axis_mask = tf_int(n, "shrink_axis_mask", 0) };
        s.begin_mask &= ~s.shrink_axis_mask; /* An index is one, whatever else is said. */
        for (int i = 0; i < 3; i++) {
                int many;
                if (!tf_ints(im, n, i + 1, s.numbers[i], RANK_MAX, &many))
                        return false;
                if (i && many != s.count)
                        return tf_invalid(im, "%d begins, and %d ends or strides", s.count, many);
                s.count = many;
        }
        return tf_output(im, n, 0, compose_strided_slice(im->c, n->inputs[0].value, &s));
}

/* Pads operand 0 by the amounts of operand 1, <rank x 2>. */
static bool pad(struct tf_import *im, struct tf_node *n, struct value *fill, int mode, int64_t less)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0].value, *amounts = n->inputs[1].value;
        const int rank = value_rank(x);
        int64_t low[RANK_MAX], numbers[2 * RANK_MAX], extents[RANK_MAX];
        int count = 0;
        if (value_rank(amounts) != 2 || value_extent(amounts, 1) != 2 ||
            value_extent(amounts, 0) != rank)
                return tf_invalid(im, "pads %s for rank %d", compose_text(c, amounts->type), rank);
        struct value *flat = compose_reshape(c, compose_cast(c, amounts, E_I64), 1,
                                             (const dim_t[]){ dim_of(2 * rank) });
        if (!rank)
                return tf_output(im, n, 0, x);
        if (!flat)
                return false;
        if (!value_ints(flat, numbers, 2 * RANK_MAX, &count))
                return tf_unsupported(im, "pads that only a run knows");
        for (int d = 0; d < rank; d++) {
                const int64_t *p = &numbers[2 * d], extent = value_extent(x, d);
                const int64_t most = less < 0 ? NUMBER_MAX : compose_max(0, extent - less);
                if (p[0] < 0 || p[1] < 0 || p[0] > most || p[1] > most)
                        return tf_invalid(im, "pads %lld and %lld of dimension %d",
                                          (long long)p[0], (long long)p[1], d);
                low[d] = p[0];
                extents[d] = extent + p[0] + p[1];
        }
        const struct type *t = compose_type_static(c, value_element(x), rank, extents);
        return t && tf_output(im, n, 0,
                              compose_pad(c, x, fill, constant_ints(im->m, low, rank), mode, t));
}

bool tf_import_pad(struct tf_import *im, struct tf_node *n)
{
        const enum element e = value_element(n->inputs[0].value);
        struct value *fill = tf_input(n, 2);
        fill = fill ? compose_one_number(im->c, "the value of pads", fill, e)
                    : build_scalar(im->c->b, e, 0);
        return fill && pad(im, n, fill, PAD_CONSTANT, -1);
}

bool tf_import_mirror_pad(struct tf_import *im, struct tf_node *n)
{
        static const char *const modes[] = { "REFLECT", NULL };
        struct value *fill = build_scalar(im->c->b, value_element(n->inputs[0].value), 0);
        return tf_word(im, n, "mode", modes, 0) == 0 && pad(im, n, fill, PAD_REFLECT, 1);
}

/* ---- elements repeated ---- */

/* Returns v over these extents, to which it broadcasts. */
static struct value *over(struct tf_import *im, struct value *v, const int64_t *extents, int rank)
{
        const struct type *t =
                v ? compose_type_static(im->c, value_element(v), rank, extents) : NULL;
        return t ? build_broadcast_numpy(im->c->b, v, rank, t->dims) : NULL;
}

bool tf_import_broadcast_to(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        int64_t extents[RANK_MAX];
        int rank;
        if (!tf_ints(im, n, 1, extents, RANK_MAX, &rank))
                return false;
        for (int d = 0; d < value_rank(x); d++) {
                const int at = d + rank - value_rank(x);
                const int64_t extent = value_extent(x, d);
                if (at < 0 || (extent != 1 && extent != extents[at]))
                        return tf_invalid(im, "%s does not broadcast to the shape",
                                          compose_text(im->c, x->type));
        }
        return tf_output(im, n, 0, over(im, x, extents, rank));
}

bool tf_import_fill(struct tf_import *im, struct tf_node *n)
{
        int64_t extents[RANK_MAX];
        int rank;
        struct value *number = n->inputs[1].value;
        if (!tf_ints(im, n, 0, extents, RANK_MAX, &rank))
                return false;
        number = compose_one_number(im->c, "the number to fill with", number,
                                    value_element(number));
        return tf_output(im, n, 0, over(im, number, extents, rank));
}

/* Zeros, or (variant 1) ones. */
bool tf_import_like(struct tf_import *im, struct tf_node *n)
{
        return tf_output(im, n, 0,
                         constant_number(im->m, n->inputs[0].value->type, tf_variant(n)));
}

bool tf_import_reverse(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        int64_t axes[RANK_MAX];
        int count;
        if (!tf_axes(im, n, 1, value_rank(x), axes, &count))
                return false;
        for (int i = 0; i < count && x; i++)
                if (value_extent(x, (int)axes[i]) > 1)
                        x = compose_reverse(im->c, x, (int)axes[i]);
        return tf_output(im, n, 0, x);
}

/* ---- pixels as channels ---- */

bool tf_import_depth(struct tf_import *im, struct tf_node *n)
{
        const bool to_space = tf_variant(n);
        const int64_t block = tf_int(n, "block_size", 0);
        bool first;
        struct value *x = tf_image(im, n, 0, 4, &first);
        if (!x)
                return false;
        if (block < 1 || block > NUMBER_MAX / 65536 ||
            (to_space ? value_extent(x, 1) % (block * block)
                      : value_extent(x, 2) % block || value_extent(x, 3) % block))
                return tf_invalid(im, "blocks of %lld of %s", (long long)block,
                                  compose_text(im->c, n->inputs[0].value->type));
        x = to_space ? compose_depth_to_space(im->c, x, block, false)
                     : compose_space_to_depth(im->c, x, block);
        return tf_output(im, n, 0, tf_as_image(im, x, first));
}
