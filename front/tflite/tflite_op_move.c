/* SPDX-License-Identifier: MIT */
/* Operators that move elements: shapes, parts, pads, several tensors as one. */
#include "front/tflite/tflite_helpers.h"

#include <math.h>

#include "base/size.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

enum { BYTES = 256 };

/* ---- shapes ---- */

/* Reshapes operand 0 to these extents, of which one may be -1. */
static bool reshape(struct tflite_import *im, struct tflite_node *n, const int64_t *extents,
                    int rank)
{
        struct value *x = n->inputs[0]->value;
        const int64_t count = type_elements(x->type);
        int64_t known = 1;
        int open = -1;
        dim_t dims[RANK_MAX];
        for (int d = 0; d < rank; d++) {
                if (extents[d] == -1 && open < 0)
                        open = d;
                else if (extents[d] < 0 || !int_mul(known, extents[d], &known))
                        return tflite_invalid(im, "an extent of %lld", (long long)extents[d]);
                dims[d] = dim_of(extents[d]);
        }
        if (open >= 0)
                dims[open] = dim_of(known ? count / known : 0);
        if (open < 0 ? known != count : known && count % known)
                return tflite_invalid(im, "%s has %lld elements, which do not fit the shape",
                                      compose_text(im->c, x->type), (long long)count);
        return tflite_output(im, n, 0, compose_reshape(im->c, x, rank, dims));
}

bool tflite_import_reshape(struct tflite_import *im, struct tflite_node *n)
{
        const struct flat_span *shape = &TFLITE_OPTIONS(n, ReshapeOptions)->new_shape;
        const struct type *y = n->outputs[0]->type;
        int64_t extents[RANK_MAX];
        int rank = 0;
        if (tflite_input(n, 1)) {
                if (!tflite_ints(im, n, 1, extents, RANK_MAX, &rank))
                        return false;
        } else if (shape->data) {
                if (shape->count > RANK_MAX)
                        return tflite_unsupported(im, "rank %lld", (long long)shape->count);
                for (; rank < shape->count; rank++)
                        extents[rank] = flat_i32(shape, rank);
        } else {
                for (; rank < y->rank; rank++)
                        extents[rank] = type_extent(y, rank);
        }
        return reshape(im, n, extents, rank);
}

/* A sparse constant was expanded when it was read. */
bool tflite_import_densify(struct tflite_import *im, struct tflite_node *n)
{
        return tflite_output(im, n, 0, n->inputs[0]->value);
}

bool tflite_import_squeeze(struct tflite_import *im, struct tflite_node *n)
{
        const struct flat_span *axes = &TFLITE_OPTIONS(n, SqueezeOptions)->squeeze_dims;
        const struct type *x = n->inputs[0]->value->type;
        bool gone[RANK_MAX];
        int64_t extents[RANK_MAX];
        int rank = 0;
        for (int d = 0; d < x->rank; d++)
                gone[d] = !axes->count && dim_is(x->dims[d], 1);
        for (int64_t i = 0; i < axes->count; i++) {
                const int axis = tflite_axis(im, flat_i32(axes, i), x->rank);
                if (axis < 0)
                        return false;
                if (!dim_is(x->dims[axis], 1))
                        return tflite_invalid(im, "dimension %d of %s is not of extent 1", axis,
                                              compose_text(im->c, x));
                gone[axis] = true;
        }
        for (int d = 0; d < x->rank; d++)
                if (!gone[d])
                        extents[rank++] = type_extent(x, d);
        return reshape(im, n, extents, rank);
}

bool tflite_import_expand_dims(struct tflite_import *im, struct tflite_node *n)
{
        const struct type *x = n->inputs[0]->value->type;
        int64_t axis[1], extents[RANK_MAX];
        int count, at;
        if (!tflite_ints(im, n, 1, axis, 1, &count))
                return false;
        if (count != 1)
                return tflite_invalid(im, "%d axes, want one", count);
        if ((at = tflite_axis(im, axis[0], x->rank + 1)) < 0)
                return false;
        if (x->rank == RANK_MAX)
                return tflite_unsupported(im, "rank %d", RANK_MAX + 1);
        for (int d = 0; d <= x->rank; d++)
                extents[d] = d == at ? 1 : type_extent(x, d - (d > at));
        return reshape(im, n, extents, x->rank + 1);
}

bool tflite_import_transpose(struct tflite_import *im, struct tflite_node *n)
{
        const int rank = value_rank(n->inputs[0]->value);
        int64_t perm[RANK_MAX];
        bool seen[RANK_MAX] = { false };
        int count;
        if (!tflite_ints(im, n, 1, perm, RANK_MAX, &count))
                return false;
        if (count != rank)
                return tflite_invalid(im, "perm has %d numbers, want %d", count, rank);
        for (int d = 0; d < rank; d++) {
                const int axis = tflite_axis(im, perm[d], rank);
                if (axis < 0)
                        return false;
                if (seen[axis])
                        return tflite_invalid(im, "perm has %d twice", axis);
                seen[axis] = true;
                perm[d] = axis;
        }
        return tflite_output(im, n, 0, compose_transpose(im->c, n->inputs[0]->value, perm));
}

/* ---- several tensors as one, and back ---- */

/* Returns operand i in the numbers of the output, whose scale may be another one. */
static struct value *in_scale_of(struct tflite_import *im, const struct tflite_tensor *x,
                                 const struct tflite_tensor *y)
{
        float scale[2];
        int64_t zero[2];
        if (!tflite_is_quantized(x) || !tflite_is_quantized(y))
                return x->value;
        if (!tflite_affine(im, x, &scale[0], &zero[0]) ||
            !tflite_affine(im, y, &scale[1], &zero[1]))
                return NULL;
        if (scale[0] == scale[1] && zero[0] == zero[1])
                return x->value;
        const enum element e = x->type->element;
        if (e != E_U8 && e != E_I8)
                return x->value;        /* LiteRT copies numbers of 16 bits, whatever they mean. */
        const int low = e == E_I8 ? INT8_MIN : 0, high = low + BYTES - 1;
        unsigned char *table = arena_array(im->m->arena, BYTES, 1);
        const float inverse = 1 / scale[1];
        const float factor = scale[0] * inverse;
        const float bias = (float)-zero[0] * factor;
        for (int i = 0; i < BYTES; i++) {
                const float product = (float)(low + i) * factor;
                const float number = roundf(product + bias) + (float)zero[1];
                table[i] = (unsigned char)(int)fminf(fmaxf(number, (float)low), (float)high);
        }
        const int64_t count = BYTES;
        return compose_looked_up(im->c, x->value,
                                 constant_dense(im->m, type_static(im->m, e, 1, &count), table,
                                                NULL),
                                 low);
}

bool tflite_import_concatenation(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_ConcatenationOptions *o = TFLITE_OPTIONS(n, ConcatenationOptions);
        struct value **items = arena_array(im->arena, (size_t)n->input_count, sizeof *items);
        for (int i = 0; i < n->input_count; i++) {
                if (!n->inputs[i])
                        return tflite_invalid(im, "operand %d is missing", i);
                if (!(items[i] = in_scale_of(im, n->inputs[i], n->outputs[0])))
                        return false;
        }
        const int axis = tflite_axis(im, o->axis, value_rank(items[0]));
        if (axis < 0)
                return false;
        struct value *y = compose_concat(im->c, items, n->input_count, axis);
        if (o->fused && !tflite_is_float(n->outputs[0]))
                return tflite_unsupported(im, "fused activation %lld", (long long)o->fused);
        return tflite_output(im, n, 0, tflite_activated(im, y, o->fused));
}

bool tflite_import_pack(struct tflite_import *im, struct tflite_node *n)
{
        struct value **items = arena_array(im->arena, (size_t)n->input_count, sizeof *items);
        for (int i = 0; i < n->input_count; i++)
                if (!n->inputs[i] || !(items[i] = n->inputs[i]->value))
                        return tflite_invalid(im, "operand %d is missing", i);
        const int axis =
                tflite_axis(im, TFLITE_OPTIONS(n, PackOptions)->axis, value_rank(items[0]) + 1);
        return axis >= 0 &&
               tflite_output(im, n, 0, compose_stack(im->c, items, n->input_count, axis));
}

bool tflite_import_unpack(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        const int axis = tflite_axis(im, TFLITE_OPTIONS(n, UnpackOptions)->axis, value_rank(x));
        if (axis < 0)
                return false;
        if (value_extent(x, axis) != n->output_count)
                return tflite_invalid(im, "%d outputs of an extent of %lld", n->output_count,
                                      (long long)value_extent(x, axis));
        for (int i = 0; i < n->output_count; i++)
                if (!tflite_output(im, n, i, compose_pick(im->c, x, axis, i)))
                        return false;
        return true;
}

/* SPLIT has its axis first, SPLIT_V (variant 1) the sizes, then the axis. */
bool tflite_import_split(struct tflite_import *im, struct tflite_node *n)
{
        const bool sized = tflite_variant(n) == 1;
        struct value *x = n->inputs[sized ? 0 : 1]->value;
        int64_t axis[1], *sizes = arena_array(im->arena, (size_t)n->output_count, sizeof *sizes);
        int count, at;
        if (!tflite_ints(im, n, sized ? 2 : 0, axis, 1, &count))
                return false;
        if (count != 1 || (at = tflite_axis(im, axis[0], value_rank(x))) < 0)
                return count == 1 ? false : tflite_invalid(im, "%d axes, want one", count);
        const int64_t extent = value_extent(x, at);
        if (sized) {
                if (!tflite_ints(im, n, 1, sizes, n->output_count, &count))
                        return false;
                if (count != n->output_count)
                        return tflite_invalid(im, "%d sizes for %d outputs", count,
                                              n->output_count);
        } else if (extent % n->output_count) {
                return tflite_invalid(im, "an extent of %lld for %d outputs", (long long)extent,
                                      n->output_count);
        }
        int64_t sum = 0, start = 0;
        int open = -1;
        for (int i = 0; i < n->output_count; i++) {
                if (!sized)
                        sizes[i] = extent / n->output_count;
                if (sizes[i] == -1 && open < 0)
                        open = i;
                else if (sizes[i] < 0 || sizes[i] > extent)
                        return tflite_invalid(im, "a size of %lld", (long long)sizes[i]);
                else
                        sum += sizes[i];
        }
        if (open >= 0 && sum <= extent)
                sizes[open] = extent - sum;
        if (open < 0 ? sum != extent : sum > extent)
                return tflite_invalid(im, "sizes of %lld for an extent of %lld", (long long)sum,
                                      (long long)extent);
        for (int i = 0; i < n->output_count; i++) {
                if (!tflite_output(im, n, i, compose_part(im->c, x, at, start, sizes[i])))
                        return false;
                start += sizes[i];
        }
        return true;
}

/* ---- parts and pads ---- */

enum { ANY_PADS = -1 };

bool tflite_import_strided_slice(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_StridedSliceOptions *o = TFLITE_OPTIONS(n, StridedSliceOptions);
        struct compose_strided s = { .begin_mask = o->begin_mask,
                                     .end_mask = o->end_mask,
                                     .ellipsis_mask = o->ellipsis_mask,
                                     .new_axis_mask = o->new_axis_mask,
                                     .shrink_axis_mask = o->shrink_axis_mask,
                                     .offset = o->offset };
        for (int i = 0; i < 3; i++) {
                int many;
                if (!tflite_ints(im, n, i + 1, s.numbers[i], RANK_MAX, &many))
                        return false;
                if (i && many != s.count)
                        return tflite_invalid(im, "%d begins, and %d ends or strides", s.count,
                                              many);
                s.count = many;
        }
        return tflite_output(im, n, 0,
                             compose_strided_slice(im->c, n->inputs[0]->value, &s));
}

bool tflite_import_slice(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        const int rank = value_rank(x);
        int64_t start[RANK_MAX], size[RANK_MAX];
        struct compose_slice s = { .count = rank };
        int count[2];
        if (!tflite_ints(im, n, 1, start, RANK_MAX, &count[0]) ||
            !tflite_ints(im, n, 2, size, RANK_MAX, &count[1]))
                return false;
        if (count[0] != rank || count[1] != rank)
                return tflite_invalid(im, "%d begins and %d sizes for rank %d", count[0], count[1],
                                      rank);
        for (int d = 0; d < rank; d++) {
                const int64_t extent = value_extent(x, d);
                if (size[d] == -1)
                        size[d] = extent - start[d];
                if (start[d] < 0 || size[d] < 0 || start[d] > extent || size[d] > extent - start[d])
                        return tflite_invalid(im, "%lld elements from %lld on of %lld",
                                              (long long)size[d], (long long)start[d],
                                              (long long)extent);
                s.axes[d] = d;
                s.starts[d] = start[d];
                s.ends[d] = start[d] + size[d];
                s.steps[d] = 1;
        }
        return tflite_output(im, n, 0, compose_slice(im->c, x, &s));
}

/* Reads the amounts of operand 1, <rank x 2>; there are at most so many in front of a dimension,
 * and behind it, as it has elements, less `less`. */
static bool pads_read(struct tflite_import *im, struct tflite_node *n, int64_t *numbers, int less)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value, *amounts = n->inputs[1]->value;
        const int rank = value_rank(x);
        int count;
        if (value_rank(amounts) != 2 || value_extent(amounts, 1) != 2 ||
            value_extent(amounts, 0) != rank)
                return tflite_invalid(im, "pads %s for rank %d", compose_text(c, amounts->type),
                                      rank);
        struct value *flat = compose_reshape(c, compose_cast(c, amounts, E_I64), 1,
                                             (const dim_t[]){ dim_of(2 * rank) });
        if (!flat)
                return false;
        if (!value_ints(flat, numbers, 2 * RANK_MAX, &count))
                return tflite_unsupported(im, "pads that only a run knows");
        for (int d = 0; d < rank; d++) {
                const int64_t most =
                        less == ANY_PADS ? NUMBER_MAX : compose_max(0, value_extent(x, d) - less);
                const int64_t *p = &numbers[2 * d];
                if (p[0] < 0 || p[1] < 0 || p[0] > most || p[1] > most)
                        return tflite_invalid(im, "pads %lld and %lld of dimension %d",
                                              (long long)p[0], (long long)p[1], d);
        }
        return true;
}

/* Pads operand 0 by the amounts of operand 1. */
static bool pad(struct tflite_import *im, struct tflite_node *n, struct value *fill, int mode,
                int less)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value;
        const int rank = value_rank(x);
        int64_t low[RANK_MAX], numbers[2 * RANK_MAX], extents[RANK_MAX];
        if (!pads_read(im, n, numbers, less))
                return false;
        for (int d = 0; d < rank; d++) {
                low[d] = numbers[2 * d];
                extents[d] = value_extent(x, d) + low[d] + numbers[2 * d + 1];
        }
        const struct type *t = compose_type_static(c, value_element(x), rank, extents);
        return t &&
               tflite_output(im, n, 0,
                             compose_pad(c, x, fill, constant_ints(im->m, low, rank), mode, t));
}

bool tflite_import_pad(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_tensor *x = n->inputs[0];
        const enum element e = value_element(x->value);
        struct value *fill = tflite_input(n, 2);
        if (fill)
                fill = compose_one_number(im->c, "the value of pads", fill, e);
        else if (tflite_is_quantized(n->outputs[0]))
                fill = compose_integer(im->c, e, n->outputs[0]->q.zeros[0]);
        else
                fill = build_scalar(im->c->b, e, 0);
        return fill && pad(im, n, fill, PAD_CONSTANT, ANY_PADS);
}

/* Returns `count` elements of x from one end of the axis, in reverse order. */
static struct value *mirrored(struct compose *c, struct value *x, int axis, bool end, int64_t count)
{
        const int64_t from = end ? value_extent(x, axis) - count : 0;
        return compose_reverse(c, compose_part(c, x, axis, from, count), axis);
}

/* The outermost elements are mirrored, too. */
static bool symmetric(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        int64_t numbers[2 * RANK_MAX];
        if (!pads_read(im, n, numbers, 0))
                return false;
        for (int d = 0; d < value_rank(n->inputs[0]->value) && x; d++) {
                struct value *parts[3];
                int count = 0;
                if (numbers[2 * d])
                        parts[count++] = mirrored(im->c, x, d, false, numbers[2 * d]);
                parts[count++] = x;
                if (numbers[2 * d + 1])
                        parts[count++] = mirrored(im->c, x, d, true, numbers[2 * d + 1]);
                if (!parts[0] || !parts[count - 1])
                        return false;
                x = compose_concat(im->c, parts, count, d);
        }
        return tflite_output(im, n, 0, x);
}

bool tflite_import_mirror_pad(struct tflite_import *im, struct tflite_node *n)
{
        if (TFLITE_OPTIONS(n, MirrorPadOptions)->mode)
                return symmetric(im, n);
        struct value *fill = build_scalar(im->c->b, value_element(n->inputs[0]->value), 0);
        return pad(im, n, fill, PAD_REFLECT, 1);
}

/* Returns x at indices of the axis, where the first `batch` dimensions of both correspond. The axis
 * is moved behind these, and what lay between them is moved back. */
static struct value *gather_batches(struct tflite_import *im, struct value *x, struct value *at,
                                    int axis, int batch, int rank)
{
        struct compose *c = im->c;
        int64_t perm[RANK_MAX];
        dim_t dims[RANK_MAX];
        int count = 0;
        for (int d = 0; d < batch; d++)
                perm[count++] = d;
        perm[count++] = axis;
        for (int d = batch; d < value_rank(x); d++)
                if (d != axis)
                        perm[count++] = d;
        x = compose_transpose(c, x, perm);
        for (int d = 0; d < value_rank(at); d++)
                dims[d] = at->type->dims[d];
        dims[value_rank(at)] = dim_of(1);
        at = compose_cast(c, at, E_I64);
        at = at ? compose_reshape(c, at, value_rank(at) + 1, dims) : NULL;
        if (!x || !at)
                return NULL;
        struct attr *attrs = attrs_new(im->m, OP_gather_nd);
        attr_set(attrs, OP_gather_nd, "batch_dims", batch);
        struct value *y = value_build(c->b, OP_gather_nd, (struct value *[]){ x, at }, 2, attrs,
                                      NULL);
        const int rows = value_rank(at) - 1 - batch, between = axis - batch;
        for (int d = 0; d < rank; d++)
                perm[d] = d < batch || d >= axis + rows ? d
                          : d < axis                    ? d + rows
                                                        : d - between;
        return y ? compose_transpose(c, y, perm) : NULL;
}

bool tflite_import_gather(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_GatherOptions *o = TFLITE_OPTIONS(n, GatherOptions);
        struct value *x = n->inputs[0]->value, *at = n->inputs[1]->value;
        const int axis = tflite_axis(im, o->axis, value_rank(x));
        const int64_t batch = o->batch_dims + (o->batch_dims < 0 ? value_rank(at) : 0);
        if (axis < 0)
                return false;
        if (batch < 0 || batch > axis || batch > value_rank(at))
                return tflite_invalid(im, "batch_dims %lld of indices %s and axis %d",
                                      (long long)o->batch_dims, compose_text(im->c, at->type),
                                      axis);
        if (!element_is_integer(value_element(at)))
                return tflite_no_element(im, n, 1);
        dim_t dims[2 * RANK_MAX];
        int rank = 0;
        for (int d = 0; d < value_rank(x); d++) {
                if (d < batch && !dim_equal(x->type->dims[d], at->type->dims[d]))
                        return tflite_invalid(im, "indices %s of %s, which differ at dimension %d",
                                              compose_text(im->c, at->type),
                                              compose_text(im->c, x->type), d);
                for (int k = (int)batch; d == axis && k < value_rank(at); k++)
                        dims[rank++] = at->type->dims[k];
                if (d != axis)
                        dims[rank++] = x->type->dims[d];
        }
        if (compose_max(rank, value_rank(at) + (batch > 0)) > RANK_MAX)
                return tflite_unsupported(im, "rank %d", rank);
        if (!compose_type(im->c, value_element(x), rank, dims))
                return false;
        return tflite_output(im, n, 0,
                             batch ? gather_batches(im, x, at, axis, (int)batch, rank)
                                   : build_gather(im->c->b, x, at, axis));
}

/* ---- pixels as channels ---- */

static bool block_read(struct tflite_import *im, struct tflite_node *n, int64_t block, bool depth)
{
        const struct type *x = n->inputs[0]->value->type;
        if (!tflite_want_rank(im, n, 0, 4))
                return false;
        if (block < 1 || block > NUMBER_MAX / 2 ||
            (depth ? type_extent(x, 3) % (block * block)
                   : type_extent(x, 1) % block || type_extent(x, 2) % block))
                return tflite_invalid(im, "blocks of %lld of %s", (long long)block,
                                      compose_text(im->c, x));
        return true;
}

bool tflite_import_depth_to_space(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t block = TFLITE_OPTIONS(n, DepthToSpaceOptions)->block_size;
        if (!block_read(im, n, block, true))
                return false;
        struct value *x = tflite_to_front(im, n->inputs[0]->value);
        x = x ? compose_depth_to_space(im->c, x, block, false) : NULL;
        return tflite_output(im, n, 0, x ? tflite_to_back(im, x) : NULL);
}

bool tflite_import_space_to_depth(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t block = TFLITE_OPTIONS(n, SpaceToDepthOptions)->block_size;
        if (!block_read(im, n, block, false))
                return false;
        struct value *x = tflite_to_front(im, n->inputs[0]->value);
        x = x ? compose_space_to_depth(im->c, x, block) : NULL;
        return tflite_output(im, n, 0, x ? tflite_to_back(im, x) : NULL);
}
