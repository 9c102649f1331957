/* SPDX-License-Identifier: MIT */
/* Inputs, copies, and layers that give elements other places. */
#include "front/caffe/caffe_helpers.h"

#include <string.h>

#include "base/size.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_resample.h"

/* One shape is that of each top, or each has its own. */
bool caffe_import_input(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__InputParameter *o = n->p->input_param;
        int64_t extents[RANK_MAX];
        if (o->n_shape > 1 && o->n_shape != (size_t)n->top_count)
                return caffe_invalid(im, "%zu shapes of %d tops", o->n_shape, n->top_count);
        for (int i = 0; i < n->top_count; i++) {
                int rank = -1;
                if (o->n_shape) {
                        rank = caffe_extents(im, o->shape[o->n_shape > 1 ? i : 0], extents);
                        if (rank < 0)
                                return false;
                }
                const ProtobufCBinaryData top = n->p->top[i];
                char *name = arena_alloc(im->m->arena, top.len + 1);
                if (top.len)
                        memcpy(name, top.data, top.len);
                name[top.len] = 0;
                if (!caffe_output(n, i, caffe_add_input(im, name, rank, extents)))
                        return false;
        }
        return true;
}

/* Every top is what the bottom is. */
bool caffe_import_split(struct caffe_import *im, struct caffe_layer *n)
{
        (void)im;
        for (int i = 0; i < n->top_count; i++)
                n->tops[i] = n->bottoms[0];
        return true;
}

bool caffe_import_concat(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__ConcatParameter *o = n->p->concat_param;
        const int axis = caffe_axis(im, o->has_concat_dim ? (int64_t)o->concat_dim : o->axis,
                                    value_rank(n->bottoms[0]));
        return axis >= 0 &&
               caffe_top(n, compose_concat(im->c, n->bottoms, n->bottom_count, axis));
}

/* The axis is cut at points or, where there are none, into equal parts. */
bool caffe_import_slice(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__SliceParameter *o = n->p->slice_param;
        struct value *x = n->bottoms[0];
        const int axis =
                caffe_axis(im, o->has_slice_dim ? (int64_t)o->slice_dim : o->axis, value_rank(x));
        if (axis < 0)
                return false;
        const int64_t extent = value_extent(x, axis);
        if (o->n_slice_point ? o->n_slice_point != (size_t)n->top_count - 1
                             : extent % n->top_count != 0)
                return caffe_invalid(im, "an extent of %lld cut at %zu points into %d tops",
                                     (long long)extent, o->n_slice_point, n->top_count);
        int64_t start = 0;
        for (int i = 0; i < n->top_count; i++) {
                int64_t end = o->n_slice_point ? (i + 1 < n->top_count ? o->slice_point[i] : extent)
                                               : start + extent / n->top_count;
                if (end <= start || end > extent)
                        return caffe_invalid(im, "part %d goes from %lld to %lld of %lld", i,
                                             (long long)start, (long long)end, (long long)extent);
                if (!caffe_output(n, i, compose_part(im->c, x, axis, start, end - start)))
                        return false;
                start = end;
        }
        return true;
}

/* The first bottom is cut to the extents of the second one, from the axis on. */
bool caffe_import_crop(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__CropParameter *o = n->p->crop_param;
        struct value *x = n->bottoms[0];
        const struct value *to = n->bottoms[1];
        const int rank = value_rank(x), axis = caffe_axis(im, o->axis, rank);
        if (axis < 0)
                return false;
        if (value_rank(to) != rank)
                return caffe_invalid(im, "bottoms of %d and %d dimensions", rank, value_rank(to));
        if (o->n_offset > 1 && o->n_offset != (size_t)(rank - axis))
                return caffe_invalid(im, "%zu offsets of %d dimensions", o->n_offset, rank - axis);
        for (int d = axis; d < rank && x; d++) {
                const int64_t start = !o->n_offset      ? 0
                                      : o->n_offset > 1 ? o->offset[d - axis]
                                                        : o->offset[0],
                              extent = value_extent(to, d);
                if (start + extent > value_extent(x, d))
                        return caffe_invalid(im, "%lld elements from %lld on of %lld",
                                             (long long)extent, (long long)start,
                                             (long long)value_extent(x, d));
                x = compose_part(im->c, x, d, start, extent);
        }
        return caffe_top(n, x);
}

bool caffe_import_flatten(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__FlattenParameter *o = n->p->flatten_param;
        struct value *x = n->bottoms[0];
        const int rank = value_rank(x), first = caffe_axis(im, o->axis, rank),
                  last = first < 0 ? -1 : caffe_axis(im, o->end_axis, rank);
        int64_t row = 1;
        int count = 0;
        dim_t dims[RANK_MAX];
        if (last < 0)
                return false;
        if (last < first)
                return caffe_invalid(im, "axes from %d to %d", first, last);
        for (int d = 0; d < rank; d++) {
                if (d >= first && d <= last)
                        row *= value_extent(x, d);
                if (d < first || d > last)
                        dims[count++] = x->type->dims[d];
                else if (d == last)
                        dims[count++] = dim_of(row);
        }
        return caffe_top(n, compose_reshape(im->c, x, count, dims));
}

/* Some of the bottom's dimensions become others; 0 is that of the bottom, -1 what is left. */
bool caffe_import_reshape(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__ReshapeParameter *o = n->p->reshape_param;
        struct value *x = n->bottoms[0];
        const int rank = value_rank(x), first = o->axis < 0 ? rank + o->axis + 1 : o->axis;
        const int count = o->num_axes == -1 ? rank - first : o->num_axes;
        const int given =
                o->shape ? (int)compose_min((int64_t)o->shape->n_dim, NUMBER_MAX) : 0;
        int64_t known = 1, extents[RANK_MAX];
        dim_t dims[RANK_MAX];
        int open = -1, result = 0;
        if (first < 0 || first > rank || count < 0 || count > rank - first)
                return caffe_invalid(im, "%d axes from %d on of %d", o->num_axes, o->axis, rank);
        if (given > RANK_MAX - (rank - count))
                return caffe_unsupported(im, "a result of more than %d dimensions", RANK_MAX);
        for (int d = 0; d < first; d++)
                extents[result++] = value_extent(x, d);
        for (int i = 0; i < given; i++) {
                const int64_t stated = o->shape->dim[i];
                if (stated < -1 || (!stated && i >= count) || (stated == -1 && open >= 0))
                        return caffe_invalid(im, "dimension %d of the shape is %lld", i,
                                             (long long)stated);
                open = stated == -1 ? result : open;
                extents[result++] = stated ? stated : value_extent(x, first + i);
        }
        for (int d = first + count; d < rank; d++)
                extents[result++] = value_extent(x, d);
        const int64_t all = type_elements(x->type);
        for (int d = 0; d < result; d++)
                if (d != open && !int_mul(known, extents[d], &known))
                        return caffe_invalid(im, "the shape is too large");
        if (open >= 0)
                extents[open] = known ? all / known : 0;
        if (open >= 0 ? !known || all % known != 0 : known != all)
                return caffe_invalid(im, "a shape of %lld elements for %lld", (long long)known,
                                     (long long)all);
        for (int d = 0; d < result; d++)
                dims[d] = dim_of(extents[d]);
        return caffe_top(n, compose_reshape(im->c, x, result, dims));
}

/* Dimensions that `order` does not name follow in their order. */
bool caffe_import_permute(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__PermuteParameter *o = n->p->permute_param;
        struct value *x = n->bottoms[0];
        const int rank = value_rank(x);
        int64_t perm[RANK_MAX];
        bool seen[RANK_MAX] = { false };
        int count = 0;
        for (size_t i = 0; i < o->n_order; i++) {
                if (o->order[i] >= (uint32_t)rank || seen[o->order[i]])
                        return caffe_invalid(im, "order %zu is %u, of %d dimensions", i,
                                             o->order[i], rank);
                seen[o->order[i]] = true;
                perm[count++] = o->order[i];
        }
        for (int d = 0; d < rank; d++)
                if (!seen[d])
                        perm[count++] = d;
        return caffe_top(n, compose_transpose(im->c, x, perm));
}

/* The elements from the axis on stand there several times, one after another. */
bool caffe_import_tile(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__TileParameter *o = n->p->tile_param;
        struct value *x = n->bottoms[0];
        const int rank = value_rank(x), axis = caffe_axis(im, o->axis, rank);
        int64_t outer = 1, inner = 1, extent;
        dim_t dims[RANK_MAX];
        if (axis < 0)
                return false;
        if (o->tiles < 1)
                return caffe_invalid(im, "tiles is %d", o->tiles);
        for (int d = 0; d < rank; d++) {
                *(d < axis ? &outer : &inner) *= value_extent(x, d);
                dims[d] = x->type->dims[d];
        }
        if (!int_mul(value_extent(x, axis), o->tiles, &extent))
                return caffe_invalid(im, "the result is too large");
        dims[axis] = dim_of(extent);
        const struct type *t = compose_type(im->c, E_F32, rank, dims);
        const int64_t tiled[3] = { outer, o->tiles, inner };
        const struct type *rows = t ? compose_type_static(im->c, E_F32, 3, tiled) : NULL;
        if (!rows)
                return false;
        x = compose_reshape(im->c, x, 2, (dim_t[]){ dim_of(outer), dim_of(inner) });
        x = x ? compose_spread(im->c, x, rows, (const int64_t[]){ 0, 2 }) : NULL;
        return caffe_top(n, compose_reshape(im->c, x, rank, dims));
}

/* Channels of groups become groups of channels: channel k of group g is then channel g of group
 * k. */
bool caffe_import_shuffle_channel(struct caffe_import *im, struct caffe_layer *n)
{
        struct value *x = n->bottoms[0];
        const int rank = value_rank(x);
        const int64_t groups = n->p->shuffle_channel_param->group;
        if (rank < 2 || !groups || value_extent(x, 1) % groups)
                return caffe_invalid(im, "a bottom %s in %lld groups",
                                     compose_text(im->c, x->type), (long long)groups);
        int64_t rest = 1;
        for (int d = 2; d < rank; d++)
                rest *= value_extent(x, d);
        const dim_t split[4] = { x->type->dims[0], dim_of(groups),
                                 dim_of(value_extent(x, 1) / groups), dim_of(rest) };
        struct value *y = compose_reshape(im->c, x, 4, split);
        y = compose_transpose(im->c, y, (const int64_t[]){ 0, 2, 1, 3 });
        return caffe_top(n, compose_reshape(im->c, y, rank, x->type->dims));
}

/* Returns the extent that the layer gives to one of `in`, or -1 after an error. */
static int64_t resized_extent(struct caffe_import *im, const Caffe__InterpParameter *o, int64_t in,
                              int64_t stated)
{
        int64_t out = in;
        if (stated)
                out = stated;
        else if (o->shrink_factor < 1 || o->zoom_factor < 1)
                out = -1;
        else
                out = (in - 1) / o->shrink_factor + 1;
        if (out > 0 && !stated)
                out += (out - 1) * (o->zoom_factor - 1);
        if (in < 1 || out < 1 || out > NUMBER_MAX)
                caffe_invalid(im, "an extent of %lld, which becomes %lld", (long long)in,
                              (long long)out);
        return in < 1 || out < 1 || out > NUMBER_MAX ? -1 : out;
}

/* Images are cut by negative pads, then resized linearly, corners on corners. */
bool caffe_import_interp(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__InterpParameter *o = n->p->interp_param;
        const int64_t stated[2] = { o->height, o->width };
        struct compose_resize r = { .mode = RESIZE_LINEAR,
                                    .transform = RESIZE_ALIGN_CORNERS,
                                    .count = 2,
                                    .axes = { 2, 3 } };
        struct value *x = n->bottoms[0];
        if (value_rank(x) != 4)
                return caffe_invalid(im, "the bottom is %s, want images",
                                     compose_text(im->c, x->type));
        if (o->pad_beg > 0 || o->pad_end > 0)
                return caffe_unsupported(im, "pads of %d and %d, which are positive", o->pad_beg,
                                         o->pad_end);
        if (!stated[0] != !stated[1])
                return caffe_invalid(im, "want both height and width");
        for (int d = 0; d < 2; d++) {
                const int64_t low = -(int64_t)o->pad_beg,
                              in = value_extent(x, d + 2) - low + o->pad_end;
                const int64_t out = resized_extent(im, o, in, stated[d]);
                if (out < 0)
                        return false;
                r.out[d] = dim_of(out);
                r.scale[d] = (double)out / (double)in;
                if (in < value_extent(x, d + 2) && !(x = compose_part(im->c, x, d + 2, low, in)))
                        return false;
        }
        return caffe_top(n, compose_resize(im->c, x, &r));
}

/* Each number becomes the row of a table. */
bool caffe_import_embed(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__EmbedParameter *o = n->p->embed_param;
        const int64_t extents[2] = { o->input_dim, o->num_output }, columns = o->num_output;
        struct value *at = n->bottoms[0], *bias = NULL;
        if (!extents[0] || !extents[1])
                return caffe_invalid(im, "a table of %u x %u", o->input_dim, o->num_output);
        if (value_rank(at) == RANK_MAX)
                return caffe_unsupported(im, "a result of more than %d dimensions", RANK_MAX);
        if (!caffe_weights(im, n, o->bias_term ? 2 : 1))
                return false;
        struct value *table = caffe_weight(im, n, 0, 2, extents);
        if (table && o->bias_term)
                bias = caffe_weight(im, n, 1, 1, &columns);
        if (!table || (o->bias_term && !bias))
                return false;
        at = compose_cast(c, at, E_I32);
        struct value *y = at ? build_gather(c->b, table, at, 0) : NULL;
        if (y && bias)
                y = compose_binary(c, OP_add, y,
                                   compose_along(c, bias, y->type, value_rank(y) - 1));
        return caffe_top(n, y);
}
