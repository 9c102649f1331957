/* SPDX-License-Identifier: MIT */
/* A loop is open while its region is being filled. */
#include "front/compose/compose.h"

bool compose_loop_open(struct compose *c, const struct compose_loop_parts *parts,
                       struct compose_loop *loop)
{
        int results = parts->carried + parts->stacked;
        struct value **operands = arena_array(
                c->arena, (size_t)(2 + parts->carried + parts->scanned), sizeof *operands);
        const struct type **types = arena_array(c->arena, (size_t)results, sizeof *types);
        struct attr *attrs = attrs_new(c->m, OP_loop);
        operands[0] = parts->trip;
        operands[1] = parts->go;
        for (int i = 0; i < parts->carried; i++)
                types[i] = (operands[2 + i] = parts->first[i])->type;
        for (int i = 0; i < parts->scanned; i++)
                operands[2 + parts->carried + i] = parts->scans[i];
        for (int i = 0; i < parts->stacked; i++)
                types[parts->carried + i] =
                        type_scalar(c->m, E_BOOL); /* The type is a placeholder until the rows are
                                                    * known. */
        attr_set(attrs, OP_loop, "steps", parts->steps);
        attr_set(attrs, OP_loop, "carried", parts->carried);
        if (parts->scan_backward)
                attr_set_ints(c->m, attrs, OP_loop, "scan_backward", parts->scan_backward,
                              parts->scanned);
        if (parts->stack_backward)
                attr_set_ints(c->m, attrs, OP_loop, "stack_backward", parts->stack_backward,
                              parts->stacked);
        loop->op = op_build_results(c->b, OP_loop, operands, 2 + parts->carried + parts->scanned,
                                    attrs, types, results, 1);
        if (!loop->op)
                return false;
        struct region *body = op_add_region(loop->op, 0);
        region_reserve(body, 1 + parts->carried + parts->scanned);
        loop->number = region_add_argument(body, type_scalar(c->m, E_I64), "step");
        for (int i = 0; i < parts->carried; i++)
                region_add_argument(body, types[i], "held");
        for (int i = 0; i < parts->scanned; i++) {
                const struct type *t = parts->scans[i]->type;
                region_add_argument(body, type_tensor(c->m, t->element, t->rank - 1, t->dims + 1),
                                    "row");
        }
        loop->held = body->arguments + 1;
        loop->rows = loop->held + parts->carried;
        loop->outer = c->b->region;
        c->b->region = body;
        return true;
}

bool compose_loop_close(struct compose *c, struct compose_loop *loop, struct value *const *yielded)
{
        struct op *op = loop->op;
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
        for (int i = (int)op_int(op, "carried"); i < op->result_count; i++)
                op->results[i].type = NULL;
        return good && op_infer(c->m, op, c->b->diag);
}
