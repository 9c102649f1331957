/* SPDX-License-Identifier: MIT */
/* dce: operations whose results nothing uses vanish; so do, at the end of every pass, constants
 * that nothing uses.
 *
 *   %1 = exp(%0)             ->      (nothing)
 *
 * One sweep goes from the last operation to the first, so that a sequence of unused operations goes
 * at once. An if loses results that nothing uses. A loop loses what it carries, scans and stacks
 * for nothing: values that only their own next value needs. Only pure operations are removed;
 * exact. */
#include "passes/pass.h"

static bool is_unused(const struct op *op)
{
        if (op->code == OP_yield || !(op_info[op->code].traits & (TRAIT_PURE | TRAIT_REGION)))
                return false;
        for (int i = 0; i < op->result_count; i++)
                if (op->results[i].uses)
                        return false;
        return true;
}

/* ---- results of ifs ---- */

/* Moves a branch of op into trimmed, which has only the used results of op, so that the branch
 * yields these. room: memory for the yielded values. */
static void move_branch(const struct op *op, struct op *trimmed, int which, struct value **room)
{
        struct region *branch = op->regions[which];
        struct builder inside = { .m = branch->function->module,
                                  .region = op_add_region(trimmed, which),
                                  .location = op->location };
        int count = 0;
        for (int i = 0; i < op->result_count; i++)
                if (op->results[i].uses)
                        room[count++] = op_operand(branch->last, i);
        struct op *yield = build_yield(&inside, room, count), *old = branch->last;
        while (branch->first != old)
                op_move_before(branch->first, yield);
}

/* Returns the if without the results that nothing uses, or op itself. */
static struct op *trim_if(struct op *op, struct arena *arena, struct diag *diag)
{
        struct builder b = { .m = op->region->function->module,
                             .region = op->region,
                             .before = op,
                             .location = op->location,
                             .diag = diag };
        const struct type **types = arena_array(arena, (size_t)op->result_count, sizeof *types);
        struct value **room = arena_array(arena, (size_t)op->result_count, sizeof *room),
                     *condition = op_operand(op, 0);
        int kept = 0;
        for (int i = 0; i < op->result_count; i++)
                if (op->results[i].uses)
                        types[kept++] = op->results[i].type;
        if (kept == op->result_count)
                return op;
        struct op *trimmed = op_build_results(&b, OP_if, &condition, 1, NULL, types, kept, 2);
        if (!trimmed)
                return NULL;
        move_branch(op, trimmed, 0, room);
        move_branch(op, trimmed, 1, room);
        for (int i = 0, k = 0; i < op->result_count; i++)
                if (op->results[i].uses)
                        value_replace(&op->results[i], &trimmed->results[k++]);
        op_erase(op);
        return op_infer(b.m, trimmed, diag) ? trimmed : NULL;
}

/* ---- parts of loops ---- */

struct needs { struct arena *arena; struct value **values; int count; };

static void need(struct needs *n, struct value *v)
{
        if (!v || v->kind == VALUE_CONSTANT)
                return;
        ARENA_GROW(n->arena, n->values, n->count);
        n->values[n->count++] = v;
}

static void need_operands(struct needs *n, const struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                need(n, op_operand(op, i));
        for (int i = 0; i < op->region_count; i++)
                for (struct op *o = region_walk(op->regions[i], NULL); o;
                     o = region_walk(op->regions[i], o))
                        for (int k = 0; k < o->operand_count; k++)
                                need(n, op_operand(o, k));
}

/* Returns the operation of region that v comes from, or NULL. */
static struct op *source_in(const struct value *v, const struct region *region)
{
        struct op *op = v->kind == VALUE_RESULT ? v->op : v->region->owner;
        while (op && op->region != region)
                op = op->region->owner;
        return op;
}

/* Finds what is needed of a loop, from what is needed of its results: needed[] holds it by operand
 * of the yield, and the number of a needed operation is 1. */
static void find_needed(const struct op_loop *loop, bool *needed, struct arena *arena)
{
        const struct region *body = loop->yield->region;
        bool *next = needed + (loop->go != NULL);
        struct needs n = { .arena = arena };
        for (struct op *op = body->first; op; op = op->next) {
                op->number = op->code == OP_counted;    /* It gives types their extents. */
                if (op->number)
                        need_operands(&n, op);
        }
        for (int i = 0; i < loop->yield->operand_count; i++)
                if (needed[i])
                        need(&n, op_operand(loop->yield, i));
        while (n.count) {
                const struct value *v = n.values[--n.count];
                int carried = v->kind == VALUE_ARGUMENT && v->region == body ? v->index - 1 : -1;
                struct op *op = source_in(v, body);
                if (carried >= 0 && carried < loop->carried && !next[carried]) {
                        next[carried] = true;
                        need(&n, loop->next[carried].value);
                } else if (op && !op->number) {
                        op->number = 1;
                        need_operands(&n, op);
                }
        }
}

/* Returns the loop without what nothing needs, or op itself. */
static struct op *trim_loop(struct op *op, struct arena *arena, struct diag *diag, int *erased)
{
        struct op_loop loop = op_loop(op);
        struct op_loop_kept kept = op_loop_all(arena, &loop);
        bool *needed = arena_array(arena, (size_t)loop.yield->operand_count, sizeof *needed),
             drops = false;
        needed[0] = loop.go != NULL;
        bool *next = needed + (loop.go != NULL);
        for (int i = 0; i < loop.carried + loop.stacked; i++)
                next[i] = op->results[i].uses != NULL;
        find_needed(&loop, needed, arena);
        for (int i = 0; i < loop.carried + loop.stacked; i++) {
                if (next[i])
                        continue;
                drops = true;
                *(i < loop.carried ? &kept.carried[i] : &kept.stacked[i - loop.carried]) = false;
                if (i < loop.carried)
                        op_set_operand(loop.yield, loop.next[i].index, &loop.held[i]);
                else                    /* Any value will do until the yield is built anew. */
                        op_set_operand(loop.yield, loop.stacked_rows[i - loop.carried].index,
                                       loop.number);
        }
        for (struct op *inner = loop.yield->previous, *before; inner; inner = before) {
                before = inner->previous;
                if (inner->number)
                        continue;
                op_erase(inner);
                ++*erased;
        }
        for (int i = 0; i < loop.scanned; i++)
                drops |= !(kept.scanned[i] = loop.rows[i].uses != NULL);
        struct op *trimmed = drops ? op_loop_keep(op, &kept, diag) : op;
        *erased += drops;
        return trimmed;
}

static int dce_region(struct region *region, struct arena *arena, struct diag *diag)
{
        int erased = 0;
        for (struct op *op = region->last, *previous; op; op = previous) {
                previous = op->previous;
                if (is_unused(op)) {
                        op_erase(op);
                        erased++;
                        continue;
                }
                int results = op->result_count;
                if (op->code == OP_if && !(op = trim_if(op, arena, diag)))
                        return -1;
                erased += results - op->result_count;
                for (int i = 0; i < op->region_count; i++)
                        erased += dce_region(op->regions[i], arena, diag);
                if (op->code == OP_loop && !trim_loop(op, arena, diag, &erased))
                        return -1;
        }
        return erased;
}

int pass_dce(struct function *f, struct pass_context *context)
{
        struct arena *arena = arena_new();
        int erased = dce_region(&f->body, arena, context->diag);
        arena_free(arena);
        return erased;
}
