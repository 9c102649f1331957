/* SPDX-License-Identifier: MIT */
/* This file has products of matrices. */
#include "front/compose/compose.h"

struct value *compose_dot(struct compose *c, struct value *a, struct value *b, int batch,
                          int contract_a, int contract_b, int accumulator)
{
        struct attr *attrs = attrs_new(c->m, OP_dot);
        int64_t dims[RANK_MAX], at_a = contract_a, at_b = contract_b;

        if (!a || !b)
                return NULL;
        for (int d = 0; d < batch; d++)
                dims[d] = d;
        attr_set_ints(c->m, attrs, OP_dot, "batch_a", dims, batch);
        attr_set_ints(c->m, attrs, OP_dot, "batch_b", dims, batch);
        attr_set_ints(c->m, attrs, OP_dot, "contract_a", &at_a, 1);
        attr_set_ints(c->m, attrs, OP_dot, "contract_b", &at_b, 1);
        attr_set(attrs, OP_dot, "accumulator", accumulator);
        return value_build(c->b, OP_dot, (struct value *[]){ a, b }, 2, attrs, NULL);
}

/* Returns x with its batch dimensions (all but the last two) broadcast to `dims`. */
static struct value *over_batch(struct compose *c, struct value *x, int batch, const dim_t *dims)
{
        dim_t full[RANK_MAX];

        for (int d = 0; d < batch; d++)
                full[d] = dims[d];
        full[batch] = x->type->dims[value_rank(x) - 2];
        full[batch + 1] = x->type->dims[value_rank(x) - 1];
        return build_broadcast_numpy(c->b, x, batch + 2, full);
}

static bool all_one(const struct value *x)
{
        for (int d = 0; d < value_rank(x) - 2; d++)
                if (!dim_is(x->type->dims[d], 1))
                        return false;
        return true;
}

struct value *compose_matmul_as(struct compose *c, struct value *a, struct value *b,
                                int accumulator)
{
        dim_t batch[RANK_MAX], dims[RANK_MAX];

        if (!a || !b)
                return NULL;
        const struct type *ta = a->type, *tb = b->type;
        int rank_a = ta->rank, rank_b = tb->rank, rank = 0;
        if (rank_a < 1 || rank_b < 1) {
                compose_invalid(c, "a product with a scalar");
                return NULL;
        }
        if (rank_a == 1)
                a = compose_reshape(c, a, 2, (const dim_t[]){ dim_of(1), ta->dims[0] });
        if (rank_b == 1)
                b = compose_reshape(c, b, 2, (const dim_t[]){ tb->dims[0], dim_of(1) });
        if (!a || !b)
                return NULL;
        int more = value_rank(a) > value_rank(b) ? value_rank(a) : value_rank(b),
            batches = more - 2;
        const dim_t *dims_a = a->type->dims, *dims_b = b->type->dims;
        dim_t rows = dims_a[value_rank(a) - 2], inner = dims_a[value_rank(a) - 1];
        dim_t inner_b = dims_b[value_rank(b) - 2], columns = dims_b[value_rank(b) - 1];
        if (!dim_equal(inner, inner_b)) {
                compose_invalid(c, "%s by %s: the inner extents %s and %s differ",
                                compose_text(c, ta), compose_text(c, tb),
                                dim_text(c->arena, c->m, inner),
                                dim_text(c->arena, c->m, inner_b));
                return NULL;
        }
        for (int d = 0; d < batches; d++) {
                int at_a = d - (more - value_rank(a)), at_b = d - (more - value_rank(b));
                dim_t in_a = at_a >= 0 ? dims_a[at_a] : dim_of(1),
                      in_b = at_b >= 0 ? dims_b[at_b] : dim_of(1);
                if (!dim_equal(in_a, in_b) && !dim_is(in_a, 1) && !dim_is(in_b, 1)) {
                        compose_invalid(c, "%s by %s: the batches do not broadcast",
                                        compose_text(c, ta), compose_text(c, tb));
                        return NULL;
                }
                batch[d] = dims[d] = dim_is(in_a, 1) ? in_b : in_a;
        }
        rank = batches;
        if (rank_a > 1)
                dims[rank++] = rows;
        if (rank_b > 1)
                dims[rank++] = columns;
        if (!compose_type(c, ta->element, rank, dims))
                return NULL;
        struct value *y;
        if (all_one(b)) {
                /* b is one matrix: the rows of all batches are multiplied by it. */
                a = over_batch(c, a, batches, batch);
                y = compose_dot(
                        c, a,
                        compose_reshape(c, b, 2, (const dim_t[]){ inner, columns }),
                        0, batches + 1, 0, accumulator);
        } else {
                struct value *right = over_batch(c, b, batches, batch);
                y = compose_dot(c, over_batch(c, a, batches, batch), right, batches, batches + 1,
                                batches, accumulator);
        }
        return compose_reshape(c, y, rank, dims);
}

struct value *compose_matmul(struct compose *c, struct value *a, struct value *b)
{
        return compose_matmul_as(c, a, b, E_COMPUTE);
}
