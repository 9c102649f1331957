/* SPDX-License-Identifier: MIT */
/* Finds the parts of loops in Tensor IR, and builds loops with other parts. */
#include "ir/tensor/tensor.h"

#include <string.h>

struct op_loop op_loop(const struct op *op)
{
        struct op_loop loop = { .trip = op_operand(op, 0),
                                .go = op_operand(op, 1),
                                .steps = op_int(op, "steps"),
                                .partial = op_int(op, "partial"),
                                .carried = (int)op_int(op, "carried") };
        const struct region *body = op->regions[0];
        loop.scanned = op->operand_count - 2 - loop.carried;
        loop.stacked = op->result_count - loop.carried;
        loop.first = op->operands + 2;
        loop.scans = loop.first + loop.carried;
        loop.number = body->arguments;
        loop.held = loop.number + 1;
        loop.rows = loop.held + loop.carried;
        loop.last = op->results;
        loop.stacks = loop.last + loop.carried;
        loop.yield = body->last;
        loop.next_go = loop.go ? loop.yield->operands : NULL;
        loop.next = loop.yield->operands + (loop.go ? 1 : 0);
        loop.stacked_rows = loop.next + loop.carried;
        return loop;
}

static bool *all_true(struct arena *arena, int count)
{
        bool *all = arena_array(arena, (size_t)count, sizeof *all);
        for (int i = 0; i < count; i++)
                all[i] = true;
        return all;
}

struct op_loop_kept op_loop_all(struct arena *arena, const struct op_loop *loop)
{
        return (struct op_loop_kept){ loop->go != NULL,
                                      all_true(arena, loop->carried),
                                      all_true(arena, loop->scanned),
                                      all_true(arena, loop->stacked),
                                      NULL,
                                      0,
                                      NULL,
                                      0 };
}

/* ---- a loop of other parts ---- */

const struct type *type_of_stack(struct module *m, const struct type *row, int64_t steps)
{
        dim_t dims[RANK_MAX] = { dim_of(steps) };
        memcpy(dims + 1, row->dims, (size_t)row->rank * sizeof *dims);
        return type_tensor(m, row->element, row->rank + 1, dims);
}

/* Builds the loop itself, with an empty region. */
static struct op *kept_loop(struct builder *b, const struct op *op, const struct op_loop *old,
                            const struct op_loop_kept *kept)
{
        struct module *m = b->m;
        size_t room = (size_t)(op->operand_count + kept->more_count);
        struct value **operands = arena_array(m->arena, room, sizeof *operands);
        size_t results = (size_t)(op->result_count + kept->row_count);
        const struct type **types = arena_array(m->arena, results, sizeof *types);
        int64_t *scans = arena_array(m->arena, room, sizeof *scans);
        int64_t *stacks = arena_array(m->arena, results, sizeof *stacks);
        int operand_count = 2, result_count = 0, carried = 0, scanned = 0, stacked = 0;
        operands[0] = old->trip;
        operands[1] = kept->go ? old->go : NULL;
        for (int i = 0; i < old->carried; i++)
                if (kept->carried[i]) {
                        operands[operand_count++] = old->first[i].value;
                        types[result_count++] = old->last[i].type;
                        carried++;
                }
        for (int i = 0; i < old->scanned; i++)
                if (kept->scanned[i]) {
                        operands[operand_count++] = old->scans[i].value;
                        scans[scanned++] = op_ints(op, "scan_backward", NULL)[i];
                }
        for (int i = 0; i < kept->more_count; i++) {
                operands[operand_count++] = kept->more[i];
                scanned++;
        }
        for (int i = 0; i < old->stacked; i++)
                if (kept->stacked[i]) {
                        types[result_count++] = old->stacks[i].type;
                        stacks[stacked++] = op_ints(op, "stack_backward", NULL)[i];
                }
        for (int i = 0; i < kept->row_count; i++, stacked++)
                types[result_count++] = type_of_stack(m, kept->rows[i]->type, old->steps);
        struct attr *attrs = attrs_new(m, OP_loop);
        attr_set(attrs, OP_loop, "steps", old->steps);
        attr_set(attrs, OP_loop, "carried", carried);
        attr_set(attrs, OP_loop, "partial", old->partial);
        attr_set_ints(m, attrs, OP_loop, "scan_backward", scans, scanned);
        attr_set_ints(m, attrs, OP_loop, "stack_backward", stacks, stacked);
        return op_build_results(b, OP_loop, operands, operand_count, attrs, types, result_count, 1);
}

static void take_argument(struct region *body, struct value *old, bool kept)
{
        if (kept)
                value_replace(old, region_add_argument(body, old->type, old->name));
}

/* Moves the body: arguments that stay take the place of the old ones, and a new yield that of the
 * old yield. */
static void move_body(struct builder *b, const struct op *op, const struct op_loop *old,
                      const struct op_loop_kept *kept, struct region *body)
{
        size_t room = (size_t)(old->yield->operand_count + kept->row_count);
        struct value **yielded = arena_array(b->m->arena, room, sizeof *yielded);
        struct builder inside = { .m = b->m,
                                  .region = body,
                                  .location = b->location,
                                  .diag = b->diag };
        int count = 0;
        region_reserve(body, 1 + old->carried + old->scanned + kept->more_count);
        take_argument(body, old->number, true);
        for (int i = 0; i < old->carried; i++)
                take_argument(body, &old->held[i], kept->carried[i]);
        for (int i = 0; i < old->scanned; i++)
                take_argument(body, &old->rows[i], kept->scanned[i]);
        for (int i = 0; i < kept->more_count; i++) {
                const struct type *t = kept->more[i]->type;
                region_add_argument(body, type_tensor(b->m, t->element, t->rank - 1, t->dims + 1),
                                    "row");
        }
        if (kept->go)
                yielded[count++] = old->next_go->value;
        for (int i = 0; i < old->carried; i++)
                if (kept->carried[i])
                        yielded[count++] = old->next[i].value;
        for (int i = 0; i < old->stacked; i++)
                if (kept->stacked[i])
                        yielded[count++] = old->stacked_rows[i].value;
        for (int i = 0; i < kept->row_count; i++)
                yielded[count++] = kept->rows[i];
        struct op *yield = build_yield(&inside, yielded, count);
        for (struct op *o = op->regions[0]->first, *next; o != old->yield; o = next) {
                next = o->next;
                op_move_before(o, yield);
        }
}

struct op *op_loop_keep(struct op *op, const struct op_loop_kept *kept, struct diag *diag)
{
        struct op_loop old = op_loop(op);
        struct builder b = { .m = op->region->function->module, .region = op->region, .before = op,
                             .location = op->location, .diag = diag };
        struct op *loop = kept_loop(&b, op, &old, kept);
        if (!loop)
                return NULL;
        move_body(&b, op, &old, kept, op_add_region(loop, 0));
        int result = 0;
        for (int i = 0; i < old.carried + old.stacked; i++)
                if (i < old.carried ? kept->carried[i] : kept->stacked[i - old.carried])
                        value_replace(&op->results[i], &loop->results[result++]);
        op_erase(op);
        return op_infer(b.m, loop, diag) ? loop : NULL;
}
