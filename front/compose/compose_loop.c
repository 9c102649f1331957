/* SPDX-License-Identifier: MIT */
/* A loop is open while its region is being filled. */
#include "front/compose/compose_move.h"

/* ---- as many iterations as a run gives rows ---- */

/* The loop has room for the most rows, reads them by their numbers, and writes those of stacks in
 * the order of iterations. */

static bool is_open(const struct compose_loop *loop) { return !dim_equal(loop->extent, DIM_NONE); }

/* Finds out whether a run gives the number of rows, and makes it the number of iterations. */
static bool open_rows(struct compose *c, struct compose_loop *loop)
{
        struct compose_loop_parts *parts = &loop->parts;
        loop->extent = DIM_NONE;
        for (int i = 0; i < parts->scanned; i++)
                if (!dim_is_static(*parts->scans[i]->type->dims))
                        loop->extent = *parts->scans[i]->type->dims;
        if (!is_open(loop))
                return true;
        parts->trip = compose_extent(c, loop->extent);
        loop->last = compose_with(c, OP_sub, parts->trip, 1);
        return loop->last != NULL;
}

/* Sets the rows that an iteration reads. */
static bool read_rows(struct compose *c, struct compose_loop *loop)
{
        const struct compose_loop_parts *parts = &loop->parts;
        struct value *back = NULL;
        for (int i = 0; i < parts->scanned; i++) {
                struct value *number = loop->number;
                if (parts->scan_backward && parts->scan_backward[i])
                        number = back =
                                back ? back : compose_binary(c, OP_sub, loop->last, loop->number);
                loop->rows[i] = number ? build_gather(c->b, parts->scans[i], number, 0) : NULL;
                if (!loop->rows[i])
                        return false;
        }
        return true;
}

/* Returns the first rows of a stack, as many as there were iterations. */
static struct value *written_rows(struct compose *c, const struct compose_loop *loop,
                                  struct value *stack, bool backward)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];
        for (int d = 0; d < value_rank(stack); d++) {
                steps[d] = 1;
                dims[d] = d ? stack->type->dims[d] : loop->extent;
        }
        struct value *rows = build_slice(c->b, stack, starts, steps, dims);
        return backward ? compose_reverse(c, rows, 0) : rows;
}

/* ---- all loops ---- */

static const struct type *row_type(struct compose *c, const struct type *t)
{
        return type_tensor(c->m, t->element, t->rank - 1, t->dims + 1);
}

static struct op *new_loop(struct compose *c, const struct compose_loop *loop)
{
        const struct compose_loop_parts *parts = &loop->parts;
        const bool open = is_open(loop);
        const int results = parts->carried + parts->stacked, scanned = open ? 0 : parts->scanned;
        struct value **operands =
                arena_array(c->arena, (size_t)(2 + parts->carried + scanned), sizeof *operands);
        const struct type **types = arena_array(c->arena, (size_t)results, sizeof *types);
        struct attr *attrs = attrs_new(c->m, OP_loop);
        operands[0] = parts->trip;
        operands[1] = parts->go;
        for (int i = 0; i < parts->carried; i++)
                types[i] = (operands[2 + i] = parts->first[i])->type;
        for (int i = 0; i < scanned; i++)
                operands[2 + parts->carried + i] = parts->scans[i];
        for (int i = 0; i < parts->stacked; i++)
                types[parts->carried + i] =
                        type_scalar(c->m, E_BOOL); /* The type is a placeholder until the rows are
                                                    * known. */
        attr_set(attrs, OP_loop, "steps", parts->steps);
        attr_set(attrs, OP_loop, "carried", parts->carried);
        attr_set(attrs, OP_loop, "partial", open);
        if (parts->scan_backward && !open)
                attr_set_ints(c->m, attrs, OP_loop, "scan_backward", parts->scan_backward, scanned);
        if (parts->stack_backward && !open)
                attr_set_ints(c->m, attrs, OP_loop, "stack_backward", parts->stack_backward,
                              parts->stacked);
        return op_build_results(c->b, OP_loop, operands, 2 + parts->carried + scanned, attrs, types,
                                results, 1);
}

bool compose_loop_open(struct compose *c, const struct compose_loop_parts *parts,
                       struct compose_loop *loop)
{
        *loop = (struct compose_loop){ .parts = *parts };
        loop->rows = arena_array(c->arena, (size_t)parts->scanned + 1, sizeof(struct value *));
        loop->stacks = arena_array(c->arena, (size_t)parts->stacked + 1, sizeof(struct value *));
        if (!open_rows(c, loop) || !(loop->op = new_loop(c, loop)))
                return false;
        struct region *body = op_add_region(loop->op, 0);
        const int scanned = is_open(loop) ? 0 : parts->scanned;
        region_reserve(body, 1 + parts->carried + scanned);
        loop->number = region_add_argument(body, type_scalar(c->m, E_I64), "step");
        for (int i = 0; i < parts->carried; i++)
                region_add_argument(body, parts->first[i]->type, "held");
        loop->held = body->arguments + 1;
        for (int i = 0; i < scanned; i++)
                loop->rows[i] =
                        region_add_argument(body, row_type(c, parts->scans[i]->type), "row");
        loop->outer = c->b->region;
        c->b->region = body;
        return !is_open(loop) || read_rows(c, loop) || compose_loop_close(c, loop, NULL);
}

bool compose_loop_close(struct compose *c, struct compose_loop *loop, struct value *const *yielded)
{
        struct op *op = loop->op;
        const struct compose_loop_parts *parts = &loop->parts;
        bool good = true;
        if (!yielded) {
                c->b->region = loop->outer;
                return false;
        }
        int count = op->result_count + (op_operand(op, 1) != NULL);
        for (int i = 0; i < count && good; i++)
                good = yielded[i];
        good = good && build_yield(c->b, yielded, count);
        c->b->region = loop->outer;
        for (int i = parts->carried; i < op->result_count; i++)
                op->results[i].type = NULL;
        good = good && op_infer(c->m, op, c->b->diag);
        for (int i = 0; i < parts->stacked && good; i++) {
                struct value *stack = &op->results[parts->carried + i];
                if (is_open(loop))
                        stack = written_rows(c, loop, stack,
                                             parts->stack_backward && parts->stack_backward[i]);
                good = (loop->stacks[i] = stack) != NULL;
        }
        return good;
}
