/* SPDX-License-Identifier: MIT */
/* Determinants are found by Gaussian elimination with partial pivoting, all matrices of a batch at
 * once. */
#include "front/compose/compose_matrix.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* Returns v broadcast over x's dimensions, of which it lacks dimension `without`. */
static struct value *over(struct compose *c, struct value *v, const struct value *x, int without)
{
        return v && x ? compose_spread(c, v, x->type, (const int64_t[]){ 0, without == 1 ? 2 : 1 })
                      : NULL;
}

/* Does one step: the row whose first entry is largest changes places with the first row, and is
 * subtracted from all others, times what makes their first entry 0. *factor is that entry, negative
 * where rows changed places. Returns what is below and right of it, <batch x n - 1 x n - 1>. */
static struct value *eliminated(struct compose *c, struct value *x, struct value **factor)
{
        const int64_t starts[3] = { 0, 1, 1 }, steps[3] = { 1, 1, 1 };
        struct value *first = compose_pick(c, x, 2, 0);
        struct value *best =
                first ? compose_arg_reduce(c, compose_unary(c, OP_abs, first), REDUCE_max, 1, false)
                      : NULL;

        *factor = NULL;
        if (!best)
                return NULL;
        const dim_t *dims = x->type->dims, row[3] = { dims[0], dim_of(1), dims[2] };
        const struct type *rows = type_tensor(c->m, value_element(best), 3, row);
        struct value *at = compose_spread(c, best, rows, (const int64_t[]){ 0 });
        struct value *chosen = compose_gather_elements(c, x, at, 1);
        chosen = compose_reshape(c, chosen, 2, (const dim_t[]){ dims[0], dims[2] });
        struct value *pivot = compose_pick(c, chosen, 1, 0);
        if (!pivot)
                return NULL;
        struct value *same = compose_with(c, OP_eq, best, 0);
        *factor = compose_select(c, same, pivot, compose_unary(c, OP_neg, pivot));
        if (dim_is(dims[1], 1))
                return x;
        const struct type *index = type_with_element(c->m, x->type, value_element(best));
        struct value *number = build_iota(c->b, index, 1);
        struct value *here = compose_binary(c, OP_eq, number,
                                            compose_spread(c, best, index, (const int64_t[]){ 0 }));
        x = compose_select(c, here, over(c, compose_pick(c, x, 1, 0), x, 1), x);
        /* Where the pivot is 0, all below it is 0, and so is the determinant. */
        pivot = compose_select(c, compose_with(c, OP_eq, pivot, 0), build_like(c->b, pivot, 1),
                               pivot);
        struct value *share = compose_pick(c, x, 2, 0);
        share = share ? divide(c, share,
                               compose_spread(c, pivot, share->type, (const int64_t[]){ 0 }))
                      : NULL;
        share = over(c, share, x, 2);
        x = sub(c, x, mul(c, share, over(c, chosen, x, 1)));
        return x ? build_slice(c->b, x, starts, steps,
                               (const dim_t[]){ dims[0], dim_of(dim_extent(dims[1]) - 1),
                                                dim_of(dim_extent(dims[2]) - 1) })
                 : NULL;
}

/* Returns the product of all pivots, which a loop finds. The matrix that is left lies in the
 * corner of one of the same extents, which is 0 elsewhere. */
static struct value *in_loop(struct compose *c, struct value *x, struct value *one)
{
        const int64_t steps = value_extent(x, 1);
        struct value *const first[2] = { x, one };
        struct value *yielded[2], *factor;
        const struct compose_loop_parts parts = { .steps = steps, .first = first, .carried = 2 };
        struct compose_loop loop;

        if (!one || !compose_loop_open(c, &parts, &loop))
                return NULL;
        struct value *held = &loop.held[0], *product = &loop.held[1];
        held = eliminated(c, held, &factor);
        held = held ? compose_fitted(c, held, 1, steps) : NULL;
        yielded[0] = held ? compose_fitted(c, held, 2, steps) : NULL;
        yielded[1] = mul(c, product, factor);
        return compose_loop_close(c, &loop, yielded) ? &loop.op->results[1] : NULL;
}

struct value *compose_determinant(struct compose *c, struct value *x)
{
        const struct type *full = x->type;
        const int outer = full->rank - 2;
        const int64_t extent = value_extent(x, outer);
        const dim_t batch = type_product(c->m, full, 0, outer);

        if (extent != value_extent(x, outer + 1)) {
                compose_invalid(c, "matrices of %lld rows and %lld columns, want square ones",
                                (long long)extent, (long long)value_extent(x, outer + 1));
                return NULL;
        }
        const struct type *each = compose_type(c, compose_wide_element(full->element), 1, &batch);
        struct value *y = each ? constant_number(c->m, each, 1) : NULL;
        x = compose_reshape(c, compose_wide(c, x), 3,
                            (const dim_t[]){ batch, dim_of(extent), dim_of(extent) });
        if (!x || !y)
                return NULL;
        const bool none = dim_is(batch, 0);
        if (extent && !none && extent > c->limits->unrolled_steps) {
                y = in_loop(c, x, y);
        } else if (!none) {
                for (int64_t k = 0; k < extent; k++) {
                        struct value *factor;
                        x = eliminated(c, x, &factor);
                        y = k ? mul(c, y, factor) : factor;
                }
        }
        return compose_cast(c, compose_reshape(c, y, outer, full->dims), full->element);
}
