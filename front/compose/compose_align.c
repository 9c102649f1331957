/* SPDX-License-Identifier: MIT */
/* The cheapest path is found as H. Sakoe and S. Chiba, "Dynamic programming algorithm optimization
 * for spoken word recognition" (1978), have it: row by row forward, with the step that led to each
 * element, then back along these steps. */
#include "front/compose/compose_align.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_window.h"

/* A path comes to an element from the one before it in both, from the row before, or from the
 * column before; these are stored. */
enum { FROM_BOTH, FROM_ROW, FROM_COLUMN };

static struct value *one(struct compose *c, struct value *v)
{
        return compose_reshape(c, v, 1, (const dim_t[]){ dim_of(1) });
}

static struct value *number(struct compose *c, double x) { return build_scalar(c->b, E_F32, x); }

/* Adds an element to the path sums of a row. held: the sum to its left; rows: its cost, the sums
 * above to the left and above. Yields its sum, to be held and as an element of the row, and its
 * step. */
static bool warp_element(struct compose *c, struct compose_loop *loop)
{
        struct value *left = loop->held, *cost = loop->rows[0], *both = loop->rows[1],
                     *above = loop->rows[2];
        struct value *diagonal = compose_binary(c, OP_lt, both, left);
        diagonal = compose_binary(c, OP_and, compose_binary(c, OP_lt, both, above), diagonal);
        struct value *down = compose_binary(c, OP_lt, above, left);
        down = compose_binary(c, OP_and, compose_binary(c, OP_lt, above, both), down);
        struct value *least = compose_select(c, down, above, left);
        struct value *step = compose_select(c, down, compose_integer(c, E_I64, FROM_ROW),
                                            compose_integer(c, E_I64, FROM_COLUMN));
        least = compose_select(c, diagonal, both, least);
        step = compose_select(c, diagonal, compose_integer(c, E_I64, FROM_BOTH), step);
        struct value *sum = add(c, least, cost);
        return compose_loop_close(c, loop, (struct value *[]){ sum, sum, step });
}

/* Yields the sums of a row, with an infinite sum in front of them, and the row's steps. `held` has
 * the sums of the row before, with that infinite sum; `rows` has the costs of this row. */
static bool warp_row(struct compose *c, struct compose_loop *loop, int64_t columns)
{
        struct value *before = loop->held, *far = number(c, INFINITY);
        struct value *scans[3] = { loop->rows[0], compose_part(c, before, 0, 0, columns), NULL };
        struct compose_loop inner;

        scans[2] = compose_part(c, before, 0, 1, columns);
        const struct compose_loop_parts parts = { .steps = columns,
                                                  .first = &far,
                                                  .carried = 1,
                                                  .scans = scans,
                                                  .scanned = 3,
                                                  .stacked = 2 };
        if (!far || !scans[1] || !scans[2] || !compose_loop_open(c, &parts, &inner) ||
            !warp_element(c, &inner))
                return compose_loop_close(c, loop, NULL);
        struct value *items[2] = { one(c, far), &inner.op->results[1] };
        struct value *sums = items[0] ? compose_concat(c, items, 2, 0) : NULL;
        return compose_loop_close(c, loop, (struct value *[]){ sums, &inner.op->results[2] });
}

/* Yields the next point from the path's end on, and the point itself as a row. held: row and
 * column, which are negative once the first element is behind. */
static bool warp_back(struct compose *c, struct compose_loop *loop, struct value *steps,
                      int64_t columns)
{
        struct value *row = loop->held, *column = loop->held + 1, *pair[2];
        struct value *at = add(c, times(c, row, (double)columns), column);
        at = compose_with(c, OP_max, at, 0);
        struct value *step = at ? build_gather(c->b, steps, at, 0) : NULL;
        struct value *same_row = compose_with(c, OP_eq, step, FROM_COLUMN);
        struct value *same_column = compose_with(c, OP_eq, step, FROM_ROW);
        /* The first row is gone along, and so is the first column, whatever the sums are. */
        struct value *first_row = compose_with(c, OP_eq, row, 0);
        struct value *first_column = compose_with(c, OP_eq, column, 0);
        struct value *start = compose_binary(c, OP_and, first_row, first_column);
        same_row = compose_binary(c, OP_or, same_row, first_row);
        same_row = compose_binary(c, OP_and, same_row, compose_unary(c, OP_not, first_column));
        same_column = compose_binary(c, OP_or, same_column, first_column);
        same_column = compose_binary(c, OP_and, same_column, compose_unary(c, OP_not, first_row));
        struct value *next_row = compose_select(c, same_row, row, plus(c, row, -1));
        struct value *next_column = compose_select(c, same_column, column, plus(c, column, -1));
        struct value *gone = compose_binary(c, OP_or, start, compose_with(c, OP_lt, row, 0));
        next_row = compose_select(c, gone, compose_integer(c, E_I64, -1), next_row);
        next_column = compose_select(c, gone, compose_integer(c, E_I64, -1), next_column);
        pair[0] = one(c, row);
        pair[1] = one(c, column);
        struct value *point = pair[0] && pair[1] ? compose_concat(c, pair, 2, 0) : NULL;
        return compose_loop_close(c, loop, (struct value *[]){ next_row, next_column, point });
}

bool compose_warp(struct compose *c, struct value *costs, struct compose_path *path)
{
        const int64_t rows = value_extent(costs, 0), columns = value_extent(costs, 1);
        const int64_t backward = 1;
        struct compose_loop forward, back;
        int64_t elements;

        if (!compose_elements(c, 2, (const int64_t[]){ rows, columns }, &elements) ||
            !compose_type_static(c, E_I64, 2, (const int64_t[]){ rows, columns }))
                return false;
        struct value *front[2] = { one(c, number(c, 0)), NULL };
        const dim_t width = dim_of(columns);
        front[1] = constant_number(c->m, type_tensor(c->m, E_F32, 1, &width), INFINITY);
        struct value *first = front[0] ? compose_concat(c, front, 2, 0) : NULL;
        const struct compose_loop_parts by_rows = { .steps = rows,
                                                    .first = &first,
                                                    .carried = 1,
                                                    .scans = &costs,
                                                    .scanned = 1,
                                                    .stacked = 1 };
        if (!first || !compose_loop_open(c, &by_rows, &forward) || !warp_row(c, &forward, columns))
                return false;
        struct value *steps =
                compose_reshape(c, &forward.op->results[1], 1, (const dim_t[]){ dim_of(elements) });
        struct value *end[2] = { compose_integer(c, E_I64, rows - 1),
                                 compose_integer(c, E_I64, columns - 1) };
        const struct compose_loop_parts from_end = { .steps = rows + columns - 1,
                                                     .first = end,
                                                     .carried = 2,
                                                     .stacked = 1,
                                                     .stack_backward = &backward };
        if (!steps || !compose_loop_open(c, &from_end, &back) ||
            !warp_back(c, &back, steps, columns))
                return false;
        path->points = compose_transpose(c, &back.op->results[2], (const int64_t[]){ 1, 0 });
        path->flags = path->points ? compose_with(c, OP_ge, compose_pick(c, path->points, 0, 0), 0)
                                   : NULL;
        return path->flags != NULL;
}

/* ---- tokens ---- */

/* No size of a suffix has been found to be there once, or not at all. */
enum { UNDECIDED = -2 };

struct value *compose_bifurcation(struct compose *c, struct value *source, struct value *prediction,
                                  int64_t start)
{
        const int64_t places = value_extent(prediction, 0),
                      length = value_extent(source, 0) - start,
                      compared = compose_min(places - 1, length);
        const dim_t one_place = dim_of(1);
        struct value *first = constant_number(c->m, type_tensor(c->m, E_BOOL, 1, &one_place), 1);

        if (compared < 1)
                return first;
        struct value *same = compose_part(c, source, 0, start, compared);
        same = compose_binary(c, OP_eq, same, compose_part(c, prediction, 0, 0, compared));
        same = same ? compose_cumulate(c, compose_cast(c, same, E_I64), REDUCE_min, 0, false, false)
                    : NULL;
        struct value *items[2] = { first, compose_cast(c, same, E_BOOL) };
        return items[1] ? compose_concat(c, items, 2, 0) : NULL;
}

/* Goes on with one token more. held: <source x bool>, where the last tokens so far end in the
 * source; what was found, or UNDECIDED. Yields the same. */
static bool suffix_step(struct compose *c, struct compose_loop *loop, struct value *source,
                        struct value *tokens, int64_t least)
{
        const int64_t length = value_extent(source, 0), along = 0;
        struct value *ends = loop->held, *answer = loop->held + 1, *back = loop->number;
        struct value *token = build_gather(
                c->b, tokens, compose_from(c, OP_sub, (double)(value_extent(tokens, 0) - 1), back),
                0);
        struct value *at = sub(c, compose_iota(c, E_I64, length), back);
        struct value *there = compose_with(c, OP_max, at, 0);
        there = there ? build_gather(c->b, source, there, 0) : NULL;
        there = compose_binary(c, OP_eq, there, token);
        there = compose_binary(c, OP_and, there, compose_with(c, OP_ge, at, 0));
        ends = compose_binary(c, OP_and, ends, there);
        struct value *count =
                compose_reduce(c, REDUCE_sum, compose_cast(c, ends, E_I64), &along, 1, E_COMPUTE);
        struct value *behind = plus(c, compose_iota(c, E_I64, length), 1);
        behind = compose_select(c, ends, behind, compose_integer(c, E_I64, 0));
        struct value *last = compose_reduce(c, REDUCE_max, behind, &along, 1, E_COMPUTE);
        struct value *found = compose_select(c, compose_with(c, OP_eq, count, 1), last,
                                             compose_integer(c, E_I64, UNDECIDED));
        found = compose_select(c, compose_with(c, OP_eq, count, 0), compose_integer(c, E_I64, -1),
                               found);
        struct value *counts = compose_with(c, OP_ge, back, (double)(least - 1));
        counts = compose_binary(c, OP_and, counts, compose_with(c, OP_eq, answer, UNDECIDED));
        answer = compose_select(c, counts, found, answer);
        return compose_loop_close(c, loop, (struct value *[]){ ends, answer });
}

struct value *compose_suffix(struct compose *c, struct value *source, struct value *tokens,
                             int64_t least, int64_t most)
{
        const int64_t steps = compose_min(most, value_extent(tokens, 0));
        const dim_t *dims = source->type->dims;
        struct compose_loop loop;

        if (!type_elements(source->type) || steps < least)
                return compose_integer(c, E_I64, -1);
        struct value *first[2] = { constant_number(c->m, type_tensor(c->m, E_BOOL, 1, dims), 1),
                                   compose_integer(c, E_I64, UNDECIDED) };
        const struct compose_loop_parts parts = { .steps = steps, .first = first, .carried = 2 };
        return compose_loop_open(c, &parts, &loop) && suffix_step(c, &loop, source, tokens, least)
                       ? compose_with(c, OP_max, &loop.op->results[1], -1)
                       : NULL;
}
