/* SPDX-License-Identifier: MIT */
/* Layout of groups of channels that are no whole blocks.
 *
 *   merged        few channels of several groups become one group, whose weights are blocks on a
 *                 diagonal of zeros: <32 x 8 ..> in 4 groups is <32 x 16 ..> in 2
 *   own blocks    a block has the channels of one group: <1 x 168 x S..> in 7 groups is read as
 *                 <1 x 7 x S.. x 24>, which costs copies of x and y, and no products by zeros but
 *                 those of lanes that pad the last vector
 *   copies        each output of a single channel reads a copy of it: a depthwise convolution */
#include "passes/layout/layout.h"

#include <string.h>

struct value *layout_repeat_channels(struct builder *b, struct value *x, int64_t times)
{
        dim_t dims[RANK_MAX] = { x->type->dims[0], x->type->dims[1], dim_of(times) };
        int64_t onto[RANK_MAX] = { 0, 1 };
        int rank = x->type->rank;
        for (int d = 2; d < rank; d++) {
                dims[d + 1] = x->type->dims[d];
                onto[d] = d + 1;
        }
        x = build_broadcast(b, x, type_tensor(b->m, x->type->element, rank + 1, dims), onto);
        dims[1] = dim_of(dim_extent(dims[1]) * times);
        memmove(dims + 2, dims + 3, (size_t)(rank - 2) * sizeof *dims);
        return build_reshape(b, x, rank, dims);
}

/* Makes the weights of `merged` groups those of one: [.., i, outputs, channels, ..] becomes row i
 * of a square whose diagonal it is. To get there, n zeros are put behind each row of n * m
 * elements; cut to n * m elements each, the rows then begin m elements further to the left every
 * time. */
struct value *layout_merge_groups(struct builder *b, struct value *w, int64_t groups,
                                  int64_t merged)
{
        const dim_t *old = w->type->dims;
        int64_t outputs = dim_extent(old[0]) / groups, channels = dim_extent(old[1]),
                left = groups / merged, window = 1;
        for (int d = 2; d < w->type->rank; d++)
                window *= dim_extent(old[d]);
        dim_t dims[RANK_MAX] = { dim_of(left), dim_of(merged), dim_of(outputs), dim_of(channels),
                                 dim_of(window) };
        dim_t padded[] = { dim_of(left), dim_of(merged), dim_of(outputs),
                           dim_of((merged + 1) * channels), dim_of(window) };
        static const int64_t swap[] = { 0, 2, 1, 3, 4 };
        struct value *v = layout_pack(b, layout_reshape(b, w, 5, dims), padded, 5, padded, swap);
        v = layout_reshape(b, v, 4,
                           (dim_t[]){ dim_of(left), dim_of(outputs),
                                      dim_of(merged * (merged + 1) * channels), dim_of(window) });
        v = layout_slice_to(b, v,
                            (dim_t[]){ dim_of(left), dim_of(outputs),
                                       dim_of(merged * merged * channels), dim_of(window) });
        v = layout_reshape(b, v, 5,
                           (dim_t[]){ dim_of(left), dim_of(outputs), dim_of(merged),
                                      dim_of(merged * channels), dim_of(window) });
        v = layout_transpose(b, v, swap);
        memcpy(dims, old, (size_t)w->type->rank * sizeof *dims);
        dims[1] = dim_of(dim_extent(dims[1]) * merged);
        return layout_reshape(b, v, w->type->rank, dims);
}

int64_t layout_merged_groups(const struct layout *l, int64_t groups, int64_t channels,
                             int64_t outputs, int64_t most)
{
        for (int64_t t = 2; t <= most && t <= groups; t++) {
                bool whole = t * channels % l->block == 0 && t * outputs % l->block == 0;
                if (groups % t == 0 && (whole || t == groups))
                        return t;
        }
        return 0;
}

bool layout_has_own_blocks(const struct layout *l, const struct op *convolve)
{
        const struct type *w = op_operand(convolve, 1)->type;
        int64_t groups = op_int(convolve, "groups"), channels = type_extent(w, 1),
                outputs = type_extent(w, 0) / groups;
        const enum element x = op_operand(convolve, 0)->type->element;
        const struct multiply *m = x == E_F32 ? multiply_in(l->context, x, w->element) : NULL;
        if (groups == 1 || channels == 1 || !m || m->registers || m->streams || m->channels > 1 ||
            op_result(convolve)->type->element != E_F32 || !layout_is_direct(convolve) ||
            (channels % l->block == 0 && outputs % l->block == 0) ||
            target_engine(l->context->target)->layout != LAYOUT_OF_LEAST_COST)
                return false;
        int64_t merged = layout_merged_groups(l, groups, channels, outputs, LAYOUT_MERGED_MAX),
                lanes = round_up(outputs, m->outputs);
        /* Copies of x and y take a third of the products' time or less. */
        return !merged || lanes + lanes / 3 < round_up(merged * outputs, m->outputs);
}

/* Returns [N, C, S..] as [N, groups, S.., channels of a group]. Where all channels of a position
 * are side by side, those of a group are, too. */
struct value *layout_groups(struct layout *l, struct value *x, int64_t groups)
{
        int64_t channels = type_extent(x->type, 1) / groups, perm[RANK_MAX] = { 0 };
        if (!is_last(l, x))
                return layout_split(&l->b, x, 1, channels);
        x = layout_blocked(l, x);
        if (!x)
                return NULL;
        const int spatial = x->type->rank - 3;
        dim_t dims[RANK_MAX] = { x->type->dims[0] };
        memcpy(dims + 1, x->type->dims + 2, (size_t)spatial * sizeof *dims);
        dims[1 + spatial] = dim_of(groups);
        dims[2 + spatial] = dim_of(channels);
        perm[1] = 1 + spatial;
        for (int d = 0; d < spatial; d++)
                perm[2 + d] = 1 + d;
        perm[2 + spatial] = 2 + spatial;
        return build_transpose(&l->b, build_reshape(&l->b, x, 3 + spatial, dims), perm);
}

struct value *layout_from_groups(struct layout *l, struct value *blocks, const struct value *y)
{
        if (!blocks || !is_last(l, y)) {
                struct value *v = blocks ? layout_unblock(&l->b, blocks, y->type) : NULL;
                return v ? layout_split(&l->b, v, 1, l->block) : NULL;
        }
        const int spatial = blocks->type->rank - 3;
        int64_t perm[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX] = { y->type->dims[0], dim_of(1) };
        for (int d = 0; d < spatial; d++)
                perm[1 + d] = 2 + d;
        perm[1 + spatial] = 1;
        perm[2 + spatial] = 2 + spatial;
        memcpy(dims + 2, y->type->dims + 2, (size_t)spatial * sizeof *dims);
        dims[2 + spatial] = y->type->dims[1];
        return build_reshape(&l->b, build_transpose(&l->b, blocks, perm), 3 + spatial, dims);
}
