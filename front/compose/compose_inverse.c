/* SPDX-License-Identifier: MIT */
/* Matrices are inverted by Gauss and Jordan's elimination with partial pivoting, all matrices of a
 * batch at once, in a loop over columns.
 *
 *      [ x | 1 ]  ->  [ 1 | inverse ]         step k: the row whose entry in column k is largest of
 *                                             those from k on becomes row k, is divided by that
 *                                             entry, and is subtracted from all other rows so
 *                                             often that column k is 0 in these */
#include "front/compose/compose_matrix.h"

#include "front/compose/compose_arithmetic.h"

/* Returns v [batch, n], which is the same for all of dimension `without`, over x [batch, n, 2
 * n]. */
static struct value *over(struct compose *c, struct value *v, const struct value *x, int without)
{
        return v && x ? compose_spread(c, v, x->type, (const int64_t[]){ 0, without == 1 ? 2 : 1 })
                      : NULL;
}

/* Returns the matrices after step `at`, which is an i64. */
static struct value *stepped(struct compose *c, struct value *x, struct value *at)
{
        struct value *column = build_gather(c->b, x, at, 2), *former = build_gather(c->b, x, at, 1);
        if (!column || !former)
                return NULL;
        const struct type *t = column->type, *index = type_with_element(c->m, t, E_I64),
                          *places = type_with_element(c->m, x->type, E_I64);
        struct value *here = compose_spread(c, at, index, NULL);
        struct value *done = compose_binary(c, OP_lt, build_iota(c->b, index, 1), here);
        struct value *size = compose_select(c, done, constant_number(c->m, t, -1),
                                            compose_unary(c, OP_abs, column));
        struct value *best = size ? compose_arg_reduce(c, size, REDUCE_max, 1, false) : NULL;
        best = compose_cast(c, best, E_I64);
        if (!best)
                return NULL;
        /* Rows `at` and `best` change places. */
        struct value *row = build_iota(c->b, places, 1);
        struct value *is_best = compose_binary(
                c, OP_eq, row, compose_spread(c, best, places, (const int64_t[]){ 0 }));
        struct value *is_at =
                compose_binary(c, OP_eq, row, compose_spread(c, at, places, NULL));
        struct value *zero = build_like(c->b, x, 0);
        const int64_t rows[1] = { 1 };
        struct value *chosen = compose_reduce(c, REDUCE_sum, compose_select(c, is_best, x, zero),
                                              rows, 1, E_COMPUTE);
        struct value *pivot = chosen ? build_gather(c->b, chosen, at, 1) : NULL;
        if (!pivot)
                return NULL;
        chosen = divide(c, chosen, compose_spread(c, pivot, chosen->type, (const int64_t[]){ 0 }));
        x = compose_select(c, is_best, over(c, former, x, 1), x);
        struct value *factor = build_gather(c->b, x, at, 2);
        factor = over(c, factor, x, 2);
        chosen = over(c, chosen, x, 1);
        struct value *taken = factor && chosen ? sub(c, x, mul(c, factor, chosen)) : NULL;
        return compose_select(c, is_at, chosen, taken);
}

struct value *compose_inverse(struct compose *c, struct value *x)
{
        const struct type *full = x->type;
        const int outer = full->rank - 2;
        const int64_t n = value_extent(x, outer);
        const dim_t batch = type_product(c->m, full, 0, outer);

        if (n != value_extent(x, outer + 1)) {
                compose_invalid(c, "matrices of %lld rows and %lld columns, want square ones",
                                (long long)n, (long long)value_extent(x, outer + 1));
                return NULL;
        }
        if (dim_is(batch, 0) || !n)
                return x;
        const dim_t dims[3] = { batch, dim_of(n), dim_of(n) };
        const struct type *index = compose_type(c, E_I64, 3, dims);
        if (!index)
                return NULL;
        struct value *row = build_iota(c->b, index, 1);
        struct value *unit = compose_binary(c, OP_eq, row, build_iota(c->b, index, 2));
        x = compose_reshape(c, compose_wide(c, x), 3, dims);
        if (!x || !unit)
                return NULL;
        struct value *both[2] = { x, compose_cast(c, unit, value_element(x)) };
        struct value *first[1] = { build_concat(c->b, both, 2, 2) }, *next[1];
        const struct compose_loop_parts parts = { .steps = n, .first = first, .carried = 1 };
        struct compose_loop loop;
        if (!first[0] || !compose_loop_open(c, &parts, &loop))
                return NULL;
        next[0] = stepped(c, &loop.held[0], loop.number);
        if (!compose_loop_close(c, &loop, next))
                return NULL;
        struct value *y = compose_part(c, &loop.op->results[0], 2, n, n);
        return compose_cast(c, compose_reshape(c, y, full->rank, full->dims), full->element);
}
