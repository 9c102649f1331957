/* SPDX-License-Identifier: MIT */
/* Layout, neighbours: convolutions of fewer channels than a word has, for engines that multiply by
 * words.
 *
 *      a row of x [S, C]        r g b r g b r g b r g b ..
 *      a window of 3            |_______________| 9 bytes side by side
 *      words of 4               |_____| |_____| |_____|     the last one has 3 weights of zero
 *
 * The elements of a row of the window lie side by side in memory where channels are last. So x is
 * taken as rows of single bytes, [N, 1, .., S * C, 1], and the operation `neighbours` makes words
 * of these that begin at each byte: the window has as many words as its row needs, a word of bytes
 * apart, and no zeros are put behind each position's channels. Exact: zeros stand behind the
 * weights of a row alone. */
#include "passes/layout/neighbours.h"

#include <string.h>

bool layout_wants_neighbours(const struct target *target, const struct op *op, int64_t group)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const int last = x->rank - 1;
        int count;
        const int64_t *dilations = op_ints(op, "dilations", &count);
        return target_engine(target)->single_sums && group > 1 &&
               type_extent(x, 1) < group && type_extent(w, last) > 1 && layout_is_direct(op) &&
               op_int(op, "groups") == 1 && op_is_static(op) && dilations[count - 1] == 1 &&
               x->rank < RANK_MAX;
}

/* Returns x, [N, C, S..], as [N, 1, S.. with C, 1], with the pads around it and `positions` words
 * in a row. */
static struct value *bytes_of(struct layout *l, const struct op *op, struct value *x,
                              int64_t positions, int64_t group)
{
        const int rank = x->type->rank, spatial = rank - 2, last = spatial - 1;
        const int64_t channels = type_extent(x->type, 1),
                      *pads = op_ints(op, "pads", NULL);
        int64_t perm[RANK_MAX] = { 0 }, around[2 * RANK_MAX];
        for (int d = 1; d < rank; d++)
                perm[d] = d + 1 < rank ? d + 1 : 1;
        memcpy(around, pads, 2 * (size_t)spatial * sizeof *around);
        const int64_t wide = type_extent(x->type, rank - 1) + pads[last] + pads[spatial + last],
                      missing = divide_up(positions + group - 1, channels) - wide;
        around[spatial + last] += missing > 0 ? missing : 0;
        x = layout_transpose(&l->b, x, perm);
        x = x ? layout_halo(&l->b, x, 1, around, spatial) : NULL;
        if (!x)
                return NULL;
        dim_t dims[RANK_MAX] = { x->type->dims[0], dim_of(1) };
        for (int d = 0; d < spatial; d++)
                dims[2 + d] = x->type->dims[1 + d];
        dims[1 + spatial] = dim_of(dim_extent(dims[1 + spatial]) * channels);
        dims[2 + spatial] = dim_of(1);
        return layout_reshape(&l->b, x, spatial + 3, dims);
}

/* Returns w, [M, C, K..], as [M, bytes of a word, K.., words of a row]. */
static struct value *words_of(struct layout *l, struct value *w, int64_t words, int64_t group)
{
        const int rank = w->type->rank, last = rank - 1;
        int64_t perm[RANK_MAX] = { 0 };
        for (int d = 1; d < rank; d++)
                perm[d] = d + 1 < rank ? d + 1 : 1;
        const int64_t row = type_extent(w->type, 1) * type_extent(w->type, last);
        dim_t rows[RANK_MAX], padded[RANK_MAX], dims[RANK_MAX];
        rows[0] = w->type->dims[0];
        for (int d = 1; d < last - 1; d++)
                rows[d] = w->type->dims[1 + d];
        rows[last - 1] = dim_of(row);
        memcpy(padded, rows, sizeof rows);
        padded[last - 1] = dim_of(words * group);
        memcpy(dims, rows, sizeof rows);
        dims[last - 1] = dim_of(words);
        dims[last] = dim_of(group);
        w = layout_transpose(&l->b, w, perm);
        w = w ? layout_reshape(&l->b, w, last, rows) : NULL;
        int64_t turn[RANK_MAX] = { 0, last };
        for (int d = 1; d < last; d++)
                turn[1 + d] = d;
        return w ? layout_pack(&l->b, w, padded, rank, dims, turn) : NULL;
}

bool layout_neighbours(struct layout *l, const struct op *op, struct value *w, int64_t group,
                       struct neighbours *n)
{
        struct value *x = op_operand(op, 0);
        const int rank = x->type->rank, spatial = rank - 2, last = spatial - 1;
        const int64_t channels = type_extent(x->type, 1),
                      words = divide_up(channels * type_extent(w->type, rank - 1), group);
        memcpy(n->strides, op_ints(op, "strides", NULL), (size_t)spatial * sizeof *n->strides);
        memcpy(n->dilations, op_ints(op, "dilations", NULL),
               (size_t)spatial * sizeof *n->dilations);
        n->strides[last] *= channels;
        n->dilations[last] = group;
        const int64_t results = type_extent(op_result(op)->type, rank - 1),
                      positions = (results - 1) * n->strides[last] + (words - 1) * group + 1;
        x = bytes_of(l, op, x, positions, group);
        struct attr *attrs = attrs_new(l->m, OP_neighbours);
        attr_set(attrs, OP_neighbours, "count", group);
        n->x = x ? value_build(&l->b, OP_neighbours, &x, 1, attrs, NULL) : NULL;
        n->w = words_of(l, w, words, group);
        return n->x && n->w;
}
