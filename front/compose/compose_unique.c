/* SPDX-License-Identifier: MIT */
/* Equal rows of a matrix are found by bringing the rows into order and marking where groups of
 * equal ones begin. */
#include "front/compose/compose_sort.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_window.h"

/* Returns whether a equals b, where NaN equals NaN. */
static struct value *same(struct compose *c, struct value *a, struct value *b)
{
        struct value *equal = compose_binary(c, OP_eq, a, b);
        if (!equal || !element_is_float(value_element(a)))
                return equal;
        struct value *a_is_nan = compose_unary(c, OP_is_nan, a);
        struct value *both = compose_binary(c, OP_and, a_is_nan, compose_unary(c, OP_is_nan, b));
        return compose_binary(c, OP_or, equal, both);
}

/* Returns whether a comes before b, where NaN comes last. */
static struct value *before(struct compose *c, struct value *a, struct value *b)
{
        struct value *less = compose_binary(c, OP_lt, a, b);
        if (!less || !element_is_float(value_element(a)))
                return less;
        struct value *number = compose_unary(c, OP_not, compose_unary(c, OP_is_nan, a));
        struct value *last = compose_binary(c, OP_and, number, compose_unary(c, OP_is_nan, b));
        return compose_binary(c, OP_or, less, last);
}

/* Returns the order of rows of several columns: row i stands behind as many rows j as are smaller
 * in the first column in which both differ, or equal i everywhere and have the smaller number. */
static struct value *order_of_rows(struct compose *c, struct value *x)
{
        enum { I, J, COLUMN };
        const int64_t of_i[] = { I, COLUMN }, of_j[] = { J, COLUMN }, last = COLUMN;
        const int64_t columns = value_extent(x, 1);
        const dim_t n = x->type->dims[0], all_of[3] = { n, n, x->type->dims[1] };
        const struct type *t = compose_type(c, value_element(x), 3, all_of);
        if (!t)
                return NULL;
        struct value *a = compose_spread(c, x, t, of_i), *b = compose_spread(c, x, t, of_j);
        struct value *equal = same(c, a, b);
        struct value *column = build_iota(c->b, type_with_element(c->m, t, E_I64), COLUMN);
        column = compose_select(c, equal, build_like(c->b, column, (double)columns), column);
        struct value *differ = compose_reduce(c, REDUCE_min, column, &last, 1, E_COMPUTE);
        struct value *at = compose_with(c, OP_min, differ, (double)(columns - 1));
        at = compose_reshape(c, at, 3, (const dim_t[]){ n, n, dim_of(1) });
        a = compose_gather_elements(c, a, at, COLUMN);
        b = compose_gather_elements(c, b, at, COLUMN);
        struct value *less = before(c, b, a);
        if (!less)
                return NULL;
        struct value *i = build_iota(c->b, type_with_element(c->m, less->type, E_I64), I);
        struct value *j = build_iota(c->b, type_with_element(c->m, less->type, E_I64), J);
        struct value *all = compose_with(c, OP_eq, differ, (double)columns);
        all = compose_reshape(c, all, 3, less->type->dims);
        struct value *earlier = compose_binary(c, OP_and, all, compose_binary(c, OP_lt, j, i));
        struct value *behind = compose_cast(c, compose_binary(c, OP_or, less, earlier), E_I64);
        struct value *place = compose_reduce(c, REDUCE_sum, behind,
                                             (const int64_t[]){ J, COLUMN }, 2, E_COMPUTE);
        return compose_argsort_part(c, place, 0, 0, n);
}

/* Returns, of rows [n, columns], the one before each, and the first one itself. */
static struct value *shifted(struct compose *c, struct value *x)
{
        struct value *at = build_iota(c->b, type_tensor(c->m, E_I64, 1, &x->type->dims[0]), 0);
        at = compose_with(c, OP_max, plus(c, at, -1), 0);
        return at ? build_gather(c->b, x, at, 0) : NULL;
}

bool compose_group_rows(struct compose *c, struct value *x, struct compose_groups *groups)
{
        const int64_t last = 1;
        const dim_t rows = x->type->dims[0];
        struct value *begin = constant_number(c->m, type_tensor(c->m, E_BOOL, 1,
                                                                (const dim_t[]){ dim_of(1) }), 1);

        if (dim_is(x->type->dims[1], 1))
                groups->order =
                        compose_argsort_part(c, compose_reshape(c, x, 1, &rows), 0, 0, rows);
        else
                groups->order = order_of_rows(c, x);
        groups->first = begin;
        if (dim_is(rows, 1) || !groups->order)
                return groups->order != NULL;
        struct value *sorted = build_gather(c->b, x, groups->order, 0);
        if (sorted && !dim_is_static(rows)) {
                struct value *equals = same(c, shifted(c, sorted), sorted);
                struct value *every = compose_reduce(c, REDUCE_min, equals, &last, 1, E_COMPUTE);
                struct value *number = build_iota(c->b, type_tensor(c->m, E_I64, 1, &rows), 0);
                struct value *differs = compose_unary(c, OP_not, every);
                begin = compose_with(c, OP_eq, number, 0);
                groups->first = compose_binary(c, OP_or, begin, differs);
                return groups->first != NULL;
        }
        const int64_t n = dim_extent(rows);
        struct value *left = compose_part(c, sorted, 0, 0, n - 1);
        struct value *equal = same(c, left, compose_part(c, sorted, 0, 1, n - 1));
        struct value *all = compose_reduce(c, REDUCE_min, equal, &last, 1, E_COMPUTE);
        struct value *parts[] = { begin, compose_unary(c, OP_not, all) };
        groups->first = parts[1] ? compose_concat(c, parts, 2, 0) : NULL;
        return groups->first != NULL;
}

bool compose_list_groups(struct compose *c, const struct compose_groups *groups, int64_t count,
                         bool sorted, struct compose_unique *unique)
{
        const int64_t n = value_extent(groups->order, 0);
        struct value *begins = compose_positions(c, groups->first, count);
        struct value *ends[] = { count > 1 ? compose_part(c, begins, 0, 1, count - 1) : NULL,
                                 constant_ints(c->m, &n, 1) };
        struct value *end = count > 1 ? compose_concat(c, ends, 2, 0) : ends[1];
        struct value *sums = compose_cumulate(c, compose_cast(c, groups->first, E_I64), REDUCE_sum,
                                              0, false, false);
        struct value *back = compose_argsort(c, groups->order, 0, 0, n);

        unique->rows = build_gather(c->b, groups->order, begins, 0);
        unique->counts = sub(c, end, begins);
        unique->group = sums ? build_gather(c->b, plus(c, sums, -1), back, 0) : NULL;
        if (!sorted) {
                struct value *order = compose_argsort(c, unique->rows, 0, 0, count);
                struct value *number = compose_argsort(c, order, 0, 0, count);
                unique->rows = build_gather(c->b, unique->rows, order, 0);
                unique->counts = build_gather(c->b, unique->counts, order, 0);
                unique->group = build_gather(c->b, number, unique->group, 0);
        }
        return unique->rows && unique->counts && unique->group;
}

bool compose_list_all_groups(struct compose *c, const struct compose_groups *groups,
                             struct value *count, bool sorted, struct compose_unique *unique)
{
        const dim_t n = groups->order->type->dims[0];
        struct value *rows = compose_extent(c, n);
        struct value *begins = compose_argsort_part(c, groups->first, 0, 1, n);
        struct value *number = build_iota(c->b, type_tensor(c->m, E_I64, 1, &n), 0);
        struct value *next = compose_binary(c, OP_min, plus(c, number, 1), plus(c, rows, -1));
        struct value *end = begins && next ? build_gather(c->b, begins, next, 0) : NULL;
        struct value *sums = compose_cumulate(c, compose_cast(c, groups->first, E_I64), REDUCE_sum,
                                              0, false, false);
        struct value *back = compose_argsort_part(c, groups->order, 0, 0, n);
        struct value *is_last = compose_binary(c, OP_eq, plus(c, number, 1), count);

        if (!begins || !end || !sums || !back || !is_last)
                return false;
        /* The last group ends where the rows do; behind it there is none. */
        end = compose_select(c, is_last, rows, end);
        unique->rows = build_gather(c->b, groups->order, begins, 0);
        unique->counts = sub(c, end, begins);
        unique->group = build_gather(c->b, plus(c, sums, -1), back, 0);
        if (!sorted) {
                struct value *is_group = compose_binary(c, OP_lt, number, count);
                struct value *key = compose_select(c, is_group, unique->rows, rows);
                struct value *order = compose_argsort_part(c, key, 0, 0, n);
                struct value *place = compose_argsort_part(c, order, 0, 0, n);
                unique->rows = build_gather(c->b, unique->rows, order, 0);
                unique->counts = build_gather(c->b, unique->counts, order, 0);
                unique->group = build_gather(c->b, place, unique->group, 0);
        }
        return unique->rows && unique->counts && unique->group;
}
