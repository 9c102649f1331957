/* SPDX-License-Identifier: MIT */
/* This file makes masks out of indices, and numbers in equal steps. */
#include "front/compose/compose_mask.h"
#include "front/compose/compose_arithmetic.h"

struct value *compose_one_hot(struct compose *c, struct value *indices, int axis, int64_t depth)
{
        const int rank = value_rank(indices) + 1;
        int64_t others[RANK_MAX];
        dim_t dims[RANK_MAX + 1];

        for (int d = 0, k = 0; d < rank; d++) {
                dims[d] = d == axis ? dim_of(depth) : indices->type->dims[k];
                if (d != axis)
                        others[k++] = d;
        }
        const struct type *to = compose_type(c, E_I64, rank, dims);
        if (!to)
                return NULL;
        indices = compose_cast(c, indices, E_I64);
        indices = compose_below_zero(c, indices, plus(c, indices, (double)depth));
        struct value *right = build_iota(c->b, to, axis);
        return compose_binary(c, OP_eq, compose_spread(c, indices, to, others), right);
}

/* Returns the number of the column less that of the row, in the last two dimensions of t, as
 * i64. */
static struct value *diagonal(struct compose *c, const struct type *t)
{
        const struct type *index = type_with_element(c->m, t, E_I64);
        struct value *row = build_iota(c->b, index, t->rank - 2);

        return sub(c, build_iota(c->b, index, t->rank - 1), row);
}

struct value *compose_triangle(struct compose *c, struct value *x, struct value *k, bool upper)
{
        struct value *kept = compose_binary(c, upper ? OP_ge : OP_le, diagonal(c, x->type), k);
        return compose_select(c, kept, x, build_like(c->b, x, 0));
}

struct value *compose_eye(struct compose *c, const struct type *t, int64_t k)
{
        return compose_binary(c, OP_eq, diagonal(c, t), compose_integer(c, E_I64, k));
}

struct value *compose_range(struct compose *c, struct value *start, struct value *delta,
                            const struct type *t)
{
        const enum element e = t->element, computed = element_is_float(e) ? E_F64 : e;
        struct value *steps = build_iota(c->b, type_with_element(c->m, t, computed), 0);
        struct value *right = mul(c, steps, compose_cast(c, delta, computed));
        struct value *v = add(c, compose_cast(c, start, computed), right);
        return compose_cast(c, v, e);
}
