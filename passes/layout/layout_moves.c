/* SPDX-License-Identifier: MIT */
/* Layout of operations that keep channels apart: the same operation on blocked operands, its
 * dimensions numbered as in the blocked form (0: N, 1: blocks of C, 2 ..: as before, last:
 * lanes). */
#include "passes/layout/layout.h"

#include <string.h>

#include "ir/tensor/relation.h"

static struct value *refuse(struct layout *l, enum remark_reason why)
{
        l->why = why;
        return NULL;
}

/* ---- element-wise ---- */

/* Makes a broadcast one to the blocked type `to`: where its operand has channels, these become
 * blocks and lanes. */
static struct value *broadcast_blocked(struct layout *l, const struct op *op, const struct type *to)
{
        struct value *x = op_operand(op, 0);
        const int64_t *old = op_ints(op, "dims", NULL);
        int64_t dims[RANK_MAX];
        int rank = x->type->rank, at = -1;
        for (int k = 0; k < rank; k++) {
                dims[k] = old[k];
                if (old[k] == 1 && type_extent(x->type, k) > 1)
                        at = k;
        }
        if (at < 0)
                return build_broadcast(&l->b, x, to, dims);
        dims[rank] = to->rank - 1;
        int64_t lanes = type_extent(to, to->rank - 1);
        bool same =
                at == 1 && blocks_of(x) && dim_is(blocks_of(x)->type->dims[x->type->rank], lanes);
        x = same ? blocks_of(x) : layout_split(&l->b, x, at, lanes);
        return build_broadcast(&l->b, x, to, dims);
}

/* Is v a splat, a broadcast, or computed from these element by element? Then it is built anew in
 * blocks rather than converted. */
static bool is_spread(const struct value *v, int depth)
{
        enum { DEPTH_MAX = 4 };
        if (value_is_splat(v, NULL) || op_is(v, OP_broadcast))
                return true;
        bool all = depth < DEPTH_MAX && v->kind == VALUE_RESULT &&
                   op_info[v->op->code].traits & TRAIT_ELEMENTWISE;
        for (int i = 0; all && i < v->op->operand_count; i++)
                all = is_spread(op_operand(v->op, i), depth + 1);
        return all;
}

static struct value *blocked_operand(struct layout *l, struct value *v, bool last);

static struct value *blocked_spread(struct layout *l, struct value *v, bool last)
{
        const struct type *to = layout_type(l->m, v->type, layout_lanes(l, v->type, last));
        struct value *operands[OPERAND_ROW_MAX];
        if (value_is_splat(v, NULL))
                return constant_splat(l->m, to, constant_data(v->constant));
        if (op_is(v, OP_broadcast))
                return broadcast_blocked(l, v->op, to);
        for (int i = 0; i < v->op->operand_count; i++) {
                operands[i] = blocked_operand(l, op_operand(v->op, i), last);
                if (!operands[i])
                        return NULL;
        }
        return value_build(&l->b, v->op->code, operands, v->op->operand_count, v->op->attrs, NULL);
}

static struct value *blocked_operand(struct layout *l, struct value *v, bool last)
{
        if (blocks_of(v) && is_last(l, v) == last)
                return blocks_of(v);
        return is_spread(v, 0) ? blocked_spread(l, v, last) : layout_blocked_as(l, v, last);
}

/* Returns the type of the result in blocks. */
static const struct type *result_type(struct layout *l, const struct op *op)
{
        const struct value *y = op_result(op);
        return layout_type(l->m, y->type, layout_lanes(l, y->type, is_last(l, y)));
}

/* Puts zeros behind the last channel: contractions in hardware tiles add up whole blocks. */
static struct value *zero_behind(struct layout *l, struct value *blocks, int64_t channels)
{
        const struct type *t = blocks->type;
        int64_t lanes = type_extent(t, t->rank - 1), count = type_extent(t, 1) * lanes;
        if (channels == count)
                return blocks;
        uint8_t *there = arena_array(l->m->arena, (size_t)count, sizeof *there);
        for (int64_t i = 0; i < count; i++)
                there[i] = i < channels;
        const struct type *mask =
                type_tensor(l->m, E_BOOL, 2, (dim_t[]){ t->dims[1], dim_of(lanes) });
        struct value *live =
                build_broadcast(&l->b, constant_dense(l->m, mask, there, NULL),
                                type_with_element(l->m, t, E_BOOL), (int64_t[]){ 1, t->rank - 1 });
        return build_select(&l->b, live, blocks, build_like(&l->b, blocks, 0));
}

static struct value *elementwise(struct layout *l, struct op *op)
{
        struct value *operands[OPERAND_ROW_MAX];
        bool any = false;
        for (int i = 0; i < op->operand_count; i++)
                any |= blocks_of(op_operand(op, i)) != NULL;
        for (int i = 0; any && i < op->operand_count; i++) {
                operands[i] = blocked_operand(l, op_operand(op, i), is_last(l, op_result(op)));
                if (!operands[i])
                        return NULL;
        }
        if (any && op->code == OP_cast && op_int(op, "to") == E_BF16)
                operands[0] = zero_behind(l, operands[0], type_extent(op_result(op)->type, 1));
        return any ? value_build(&l->b, op->code, operands, op->operand_count, op->attrs, NULL)
                   : NULL;
}

/* ---- windows and reductions ---- */

/* Sets an INTS attribute that has an entry for each dimension (pads: two), with one more for the
 * lanes. */
static void widen(struct layout *l, struct attr *attrs, const struct op *op, const char *name,
                  int64_t lanes)
{
        int count, rank = op_operand(op, 0)->type->rank, k = 0;
        int64_t wide[2 * RANK_MAX];
        const int64_t *old = op_ints(op, name, &count);
        for (int i = 0; i < count; i++) {
                wide[k++] = old[i];
                if ((i + 1) % rank == 0)
                        wide[k++] = lanes;
        }
        attr_set_ints(l->m, attrs, op->code, name, wide, k);
}

static struct value *window(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0);
        struct attr *attrs = attrs_new(l->m, op->code);
        attr_set(attrs, op->code, "kind", op_int(op, "kind"));
        attr_set(attrs, op->code, "accumulator", op_int(op, "accumulator"));
        widen(l, attrs, op, "window", 1);
        widen(l, attrs, op, "strides", 1);
        widen(l, attrs, op, "dilations", 1);
        widen(l, attrs, op, "pads", 0);
        return value_build(&l->b, op->code, (struct value *[]){ blocks_of(x) }, 1, attrs, NULL);
}

/* Builds a reduction over spatial axes. */
static struct value *reduce(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0);
        int64_t axes[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count) ||
            op_result(op)->type->rank != x->type->rank - count || !relation_keeps(op, 0, 0))
                return refuse(l, REMARK_layout_channels);
        struct value *operands[] = { blocks_of(x), constant_ints(l->m, axes, count) };
        return value_build(&l->b, OP_reduce, operands, 2, op->attrs, NULL);
}

bool layout_reduces_to_channels(const struct op *op)
{
        int64_t axes[RANK_MAX];
        int count;
        const int rank = op->code == OP_reduce ? op_operand(op, 0)->type->rank : 0;
        if (rank < 3 || !value_ints(op_operand(op, 1), axes, RANK_MAX, &count) || count != rank - 1)
                return false;
        for (int i = 0; i < count; i++)
                if (axes[i] == 1)
                        return false;
        return true;
}

/* Builds a reduction to the channels, whose result is a row of lanes for each block: in its logical
 * form, which is short. */
static struct value *reduce_to_channels(struct layout *l, struct op *op)
{
        struct value *x = blocks_of(op_operand(op, 0));
        int64_t axes[RANK_MAX];
        int count = 0;
        for (int d = 0; d + 1 < x->type->rank; d++)
                if (d != 1)
                        axes[count++] = d;
        struct value *operands[] = { x, constant_ints(l->m, axes, count) };
        struct value *y = value_build(&l->b, OP_reduce, operands, 2, op->attrs, NULL);
        if (!y)
                return NULL;
        const dim_t all = dim_of(type_elements(y->type));
        return layout_slice_to(&l->b, build_reshape(&l->b, y, 1, &all), op_result(op)->type->dims);
}

/* ---- moves ---- */

struct value *layout_shuffled(const struct op *op)
{
        if (op->code != OP_reshape)
                return NULL;
        const struct value *moved = op_operand(op, 0);
        const struct value *split = op_is(moved, OP_transpose) ? op_operand(moved->op, 0) : NULL;
        struct value *x = split && op_is(split, OP_reshape) ? op_operand(split->op, 0) : NULL;
        int rank = op_result(op)->type->rank;
        if (!x || rank < 2 || !type_same_dims(x->type, op_result(op)->type) ||
            split->type->rank != rank + 1)
                return NULL;
        const int64_t *perm = op_ints(moved->op, "perm", NULL);
        for (int d = 0; d <= rank; d++) {
                bool swapped = d == 1 || d == 2;
                if (perm[d] != (swapped ? 3 - d : d) ||
                    (!swapped && !dim_equal(split->type->dims[d], x->type->dims[d ? d - 1 : 0])))
                        return NULL;
        }
        return x;
}

/* Builds the channels in their other order; they are in one block. */
static struct value *shuffle(struct layout *l, const struct op *op, struct value *x)
{
        const struct type *split = op_operand(op_operand(op, 0)->op, 0)->type,
                          *y = blocks_of(x)->type;
        int64_t perm[RANK_MAX];
        dim_t dims[RANK_MAX];
        int rank = y->rank;
        if (rank == RANK_MAX)
                return refuse(l, REMARK_layout_channels);
        memcpy(dims, y->dims, (size_t)rank * sizeof *dims);
        for (int d = 0; d <= rank; d++)
                perm[d] = d;
        for (int d = 0; d < 2; d++) {
                dims[rank - 1 + d] = split->dims[1 + d];
                perm[rank - d] = rank - 1 + d;
        }
        struct value *v =
                build_transpose(&l->b, build_reshape(&l->b, blocks_of(x), rank + 1, dims), perm);
        return build_reshape(&l->b, v, rank, y->dims);
}

/* Builds a reshape that keeps N and C, and changes the other dimensions. */
static struct value *reshape(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0);
        const struct type *y = op_result(op)->type;
        if (y->rank < 2 || !dim_equal(y->dims[0], x->type->dims[0]) ||
            !dim_equal(y->dims[1], x->type->dims[1]))
                return refuse(l, REMARK_layout_channels);
        const struct type *to = result_type(l, op);
        return build_reshape(&l->b, blocks_of(x), to->rank, to->dims);
}

/* Builds a broadcast that copies along new dimensions behind C, which reshapes merge: an
 * upsampling. Other broadcasts are built where they are read. */
static struct value *repeat(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0);
        int64_t dims[RANK_MAX];
        int rank = x->type->rank;
        memcpy(dims, op_ints(op, "dims", NULL), (size_t)rank * sizeof *dims);
        if (!relation_keeps(op, 0, 0))
                return refuse(l, REMARK_layout_channels);
        for (const struct use *u = op_result(op)->uses; u; u = u->next)
                if (u->user->code != OP_reshape)
                        return refuse(l, REMARK_layout_repeated);
        const struct type *to = result_type(l, op);
        dims[rank] = to->rank - 1;
        return build_broadcast(&l->b, blocks_of(x), to, dims);
}

static struct value *concat(struct layout *l, struct op *op)
{
        int64_t axis = op_int(op, "axis");
        bool last = is_last(l, op_result(op));
        struct value **parts = arena_array(l->arena, (size_t)op->operand_count, sizeof *parts);
        bool any = false;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *x = op_operand(op, i);
                any |= blocks_of(x) != NULL;
                if (axis == 1 && !last && i + 1 < op->operand_count &&
                    type_extent(x->type, 1) % l->block)
                        return refuse(l, REMARK_layout_uneven);
        }
        for (int i = 0; any && i < op->operand_count; i++)
                parts[i] = blocked_operand(l, op_operand(op, i), last);
        if (axis == 1 && last)
                axis = op_result(op)->type->rank;
        return any ? build_concat(&l->b, parts, op->operand_count, (int)axis) : NULL;
}

static struct value *slice(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0);
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count, rank = x->type->rank;
        if (!value_ints(op_operand(op, 1), starts, RANK_MAX, &count) ||
            !value_ints(op_operand(op, 2), steps, RANK_MAX, &count))
                return refuse(l, REMARK_layout_uneven);
        bool last = is_last(l, x);
        const struct type *to = result_type(l, op);
        if (dim_is(op_result(op)->type->dims[1], 1))
                steps[1] = 1;
        if (!last && (steps[1] != 1 || starts[1] % l->block))
                return refuse(l, REMARK_layout_uneven);
        starts[rank] = last ? starts[1] : 0;
        steps[rank] = last ? steps[1] : 1;
        starts[1] = last ? 0 : starts[1] / l->block;
        steps[1] = 1;
        return build_slice(&l->b, blocks_of(x), starts, steps, to->dims);
}

static struct value *pad(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0);
        int64_t low[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 2), low, RANK_MAX, &count))
                return refuse(l, REMARK_layout_channels);
        low[x->type->rank] = 0;
        struct value *operands[] = { blocks_of(x), op_operand(op, 1),
                                     constant_ints(l->m, low, x->type->rank + 1) };
        return value_build(&l->b, OP_pad, operands, 3, op->attrs, result_type(l, op));
}

static struct value *gather(struct layout *l, struct op *op)
{
        return build_gather(&l->b, blocks_of(op_operand(op, 0)), op_operand(op, 1),
                            (int)op_int(op, "axis"));
}

static struct value *on_blocks(struct layout *l, struct op *op)
{
        if (is_plain(op_result(op)))
                return refuse(l, REMARK_layout_plain);
        if (!op->operand_count || op_result(op)->type->rank >= RANK_MAX)
                return refuse(l, REMARK_layout_channels);
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return elementwise(l, op);
        if (op->code == OP_concat)
                return concat(l, op);
        struct value *shuffled = layout_shuffled(op);
        if (shuffled && blocks_of(shuffled) && is_last(l, shuffled) && is_last(l, op_result(op)))
                return shuffle(l, op, shuffled);
        if (!op_operand(op, 0) || !blocks_of(op_operand(op, 0)) || op_result(op)->type->rank < 2)
                return refuse(l, REMARK_layout_channels);
        if (is_last(l, op_operand(op, 0)) != is_last(l, op_result(op)))
                return refuse(l, REMARK_layout_apart);
        if (op->code == OP_reshape)
                return reshape(l, op);
        if (op->code == OP_slice)
                return slice(l, op);
        if (!relation_keeps(op, 0, 1))
                return refuse(l, REMARK_layout_channels);
        switch (op->code) {
        case OP_reduce_window: return window(l, op);
        case OP_reduce:        return reduce(l, op);
        case OP_broadcast:     return repeat(l, op);
        case OP_pad:           return pad(l, op);
        case OP_gather:        return gather(l, op);
        default:               return refuse(l, REMARK_layout_channels);
        }
}

bool layout_transparent(struct layout *l, struct op *op)
{
        if (layout_reduces_to_channels(op) && blocks_of(op_operand(op, 0))) {
                struct value *y = reduce_to_channels(l, op);
                if (y)
                        value_replace(op_result(op), y);
                return y != NULL;
        }
        struct value *blocks = on_blocks(l, op);
        if (blocks)
                layout_form(l, op_result(op))->blocks = blocks;
        return blocks != NULL;
}
