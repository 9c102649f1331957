/* SPDX-License-Identifier: MIT */
/* Layout, the conversions between a logical value <N x C x S.. > and its blocks <N x C/16 x S.. x
 * 16>: they are pads, reshapes and transposes, and constants are converted at once. */
#include "passes/layout/layout.h"

#include <string.h>

static bool same_extents(const dim_t *a, const dim_t *b, int count)
{
        return !count || !memcmp(a, b, (size_t)count * sizeof *a);
}

static struct value *pad_to(struct builder *b, struct value *x, const int64_t *low,
                            const dim_t *dims)
{
        int rank = x->type->rank;
        struct value *operands[] = { x, build_scalar(b, x->type->element, 0),
                                     constant_ints(b->m, low, rank) };
        return value_build(b, OP_pad, operands, 3, NULL,
                           type_tensor(b->m, x->type->element, rank, dims));
}

struct value *layout_reshape(struct builder *b, struct value *x, int rank, const dim_t *dims)
{
        return x && value_is_constant(x) ? constant_reshaped(b->m, x->constant, rank, dims)
                                         : build_reshape(b, x, rank, dims);
}

struct value *layout_transpose(struct builder *b, struct value *x, const int64_t *perm)
{
        return x && value_is_constant(x) ? constant_packed(b->m, x->constant, x->type->dims,
                                                           x->type->rank, x->type->dims, perm)
                                         : build_transpose(b, x, perm);
}

struct value *layout_slice(struct builder *b, struct value *x, const int64_t *starts,
                           const int64_t *steps, const dim_t *dims)
{
        return x && value_is_constant(x) ? constant_sliced(b->m, x->constant, starts, steps, dims)
                                         : build_slice(b, x, starts, steps, dims);
}

struct value *layout_pack(struct builder *b, struct value *x, const dim_t *padded, int rank,
                          const dim_t *dims, const int64_t *perm)
{
        static const int64_t none[RANK_MAX];
        if (value_is_constant(x))
                return constant_packed(b->m, x->constant, padded, rank, dims, perm);
        if (!same_extents(x->type->dims, padded, x->type->rank))
                x = pad_to(b, x, none, padded);
        return build_transpose(b, build_reshape(b, x, rank, dims), perm);
}

struct value *layout_crossed(struct layout *l, struct value *w, const struct multiply *m,
                             struct attr *attrs)
{
        if (!w || !multiply_by_warp_group(m) || !value_is_constant(w))
                return w;
        attr_set(attrs, OP_convolve_packed, "crossed", 1);
        if (w->constant->kind == CONSTANT_SPLAT)
                return w;
        const size_t bytes = (size_t)type_bytes(w->type),
                     eighth = (size_t)(m->channels / MULTIPLY_SWIZZLE *
                                       element_info[w->type->element].bytes);
        const unsigned char *from = constant_data(w->constant);
        unsigned char *to = constant_room(l->m, bytes);
        for (size_t i = 0; i < bytes / eighth; i++)     /* The eighths of swizzle line i / 8 change
                                                         * places. */
                memcpy(to + (i ^ i / MULTIPLY_SWIZZLE % MULTIPLY_SWIZZLE) * eighth,
                       from + i * eighth, eighth);
        struct value *crossed = constant_dense(l->m, w->type, to, NULL);
        crossed->constant->name = w->constant->name;
        return crossed;
}

struct value *layout_split(struct builder *b, struct value *x, int at, int64_t block)
{
        dim_t padded[RANK_MAX], dims[RANK_MAX];
        int64_t perm[RANK_MAX];
        int rank = x->type->rank, k = 0;
        for (int d = 0; d < rank; d++) {
                dims[d + (d > at)] = padded[d] = x->type->dims[d];
                perm[d] = k++;
                if (d == at)
                        k++;
        }
        dims[at] = dim_of(layout_blocks(type_extent(x->type, at), block));
        dims[at + 1] = dim_of(block);
        padded[at] = dim_of(dim_extent(dims[at]) * block);
        perm[rank] = at + 1;
        return layout_pack(b, x, padded, rank + 1, dims, perm);
}

const struct type *layout_type(struct module *m, const struct type *t, int64_t block)
{
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        dims[1] = dim_of(layout_blocks(type_extent(t, 1), block));
        dims[t->rank] = dim_of(block);
        return type_tensor(m, t->element, t->rank + 1, dims);
}

struct value *layout_halo(struct builder *b, struct value *x, int first, const int64_t *pads,
                          int count)
{
        int64_t low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];
        bool none = true;
        if (!x)
                return NULL;
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        for (int d = 0; d < count; d++) {
                low[first + d] = pads[d];
                const int64_t more = pads[d] + pads[count + d];
                dims[first + d] = dim_binary(b->m, more < 0 ? DIM_SUB : DIM_ADD, dims[first + d],
                                             dim_of(more < 0 ? -more : more));
                none &= !pads[d] && !pads[count + d];
        }
        return none ? x : pad_to(b, x, low, dims);
}

struct value *layout_slice_to(struct builder *b, struct value *x, const dim_t *dims)
{
        static const int64_t zeros[RANK_MAX];
        int64_t ones[RANK_MAX];
        for (int d = 0; d < RANK_MAX; d++)
                ones[d] = 1;
        return layout_slice(b, x, zeros, ones, dims);
}

/* Drops the lanes behind the channels first where there is one block, else last: where N is 1 the
 * rest is one piece of memory either way. */
struct value *layout_unblock(struct builder *b, struct value *x, const struct type *t)
{
        dim_t dims[RANK_MAX];
        int64_t perm[RANK_MAX] = { 0, 1, t->rank };
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        if (dim_is(dims[1], 1)) {
                dims[t->rank] = t->dims[1];
                x = layout_slice_to(b, x, dims);
        }
        for (int d = 2; d < t->rank; d++)
                perm[d + 1] = d;
        x = build_transpose(b, x, perm);
        memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
        if (x)
                dims[1] = dim_of(type_extent(x->type, 1) * type_extent(x->type, 2));
        return x ? layout_slice_to(b, build_reshape(b, x, t->rank, dims), t->dims) : NULL;
}
