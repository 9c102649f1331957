/* SPDX-License-Identifier: MIT */
/* Builders that several adjoints use. */
#include "ir/adjoint/adjoint.h"

struct value *adjoint_placed(struct builder *b, struct value *x, struct value *low,
                             const struct type *type)
{
        if (!x || !low)
                return NULL;
        struct value *operands[] = { x, build_scalar(b, x->type->element, 0), low };
        return value_build(b, OP_pad, operands, 3, NULL, type);
}

struct value *adjoint_placed_at(struct builder *b, struct value *x, const int64_t *low,
                                const struct type *type)
{
        return x ? adjoint_placed(b, x, constant_ints(b->m, low, type->rank), type) : NULL;
}

/* Returns x with a dimension of extent `inner` behind the axis, each index of which is x (repeated)
 * or the first of which is x, others being zero; then both are one dimension. */
static struct value *with_inner(struct builder *b, struct value *x, int axis, int64_t inner,
                                bool repeated)
{
        if (!x || inner == 1)
                return x;
        const int rank = x->type->rank;
        if (rank == RANK_MAX) {
                diag_error(b->diag, EXIT_UNSUPPORTED, "a derivative has more than %d dimensions",
                           RANK_MAX);
                return NULL;
        }
        dim_t apart[RANK_MAX + 1], joined[RANK_MAX];
        int64_t dims[RANK_MAX], low[RANK_MAX + 1] = { 0 };
        memcpy(joined, x->type->dims, (size_t)rank * sizeof *joined);
        for (int d = 0, to = 0; d < rank; d++) {
                dims[d] = to;
                apart[to++] = joined[d];
                if (d == axis)
                        apart[to++] = dim_of(1);
        }
        if (!repeated)
                x = build_reshape(b, x, rank + 1, apart);
        apart[axis + 1] = dim_of(inner);
        joined[axis] = dim_binary(b->m, DIM_MUL, joined[axis], dim_of(inner));
        if (!x)
                return NULL;
        const struct type *type = type_tensor(b->m, x->type->element, rank + 1, apart);
        x = repeated ? build_broadcast(b, x, type, dims) : adjoint_placed_at(b, x, low, type);
        return build_reshape(b, x, rank, joined);
}

struct value *adjoint_spread_out(struct builder *b, struct value *x, int axis, int64_t step)
{
        return with_inner(b, x, axis, step, false);
}

struct value *adjoint_repeated(struct builder *b, struct value *x, int axis, int64_t step)
{
        return with_inner(b, x, axis, step, true);
}

struct value *adjoint_reversed(struct builder *b, struct value *x, int axis)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        if (!x || type_extent(x->type, axis) < 2)
                return x;
        for (int d = 0; d < x->type->rank; d++)
                steps[d] = d == axis ? -1 : 1;
        starts[axis] = type_extent(x->type, axis) - 1;
        return build_slice(b, x, starts, steps, x->type->dims);
}

struct value *adjoint_spread_over(struct builder *b, struct value *x, const struct type *to,
                                  uint32_t mask)
{
        int64_t dims[RANK_MAX];
        int count = 0;
        for (int d = 0; d < to->rank; d++)
                if (!(mask >> d & 1))
                        dims[count++] = d;
        return x ? build_broadcast(b, x, type_with_element(b->m, to, x->type->element), dims)
                 : NULL;
}
