/* dce: operations whose results nothing uses vanish; so do, at the end of every pass, constants that nothing uses.
 *
 *   %1 = exp(%0)             ->      (nothing)
 *
 * One sweep from the last operation to the first, so chains go at once. A loop loses what it carries, scans and stacks for
 * nothing: values that nothing but their own next value needs. Only pure operations; exact. */
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

/* ---- parts of loops ---- */

static const struct op *op_in_region(const struct op *op, const struct region *region)
{
        while (op->region != region)
                op = op->region->owner;
        return op;
}

/* Does somebody need v? What the operations of a loop's body say is in their numbers; needed: by operand of its yield. */
static bool is_needed(const struct value *v, const struct op_loop *loop, const bool *needed)
{
        for (const struct use *u = v->uses; u; u = u->next) {
                const struct op *user = op_in_region(u->user, loop->yield->region);
                if (user == loop->yield ? needed[u->index] : user->number)
                        return true;
        }
        return false;
}

/* needed[] of what is carried, from what is needed of the results; numbers of operations: are they needed? */
static void find_needed(const struct op_loop *loop, bool *needed)
{
        bool *next = needed + (loop->go != NULL);
        for (bool again = true; again;) {
                again = false;
                for (struct op *op = loop->yield->previous; op; op = op->previous) {
                        op->number = 0;
                        for (int i = 0; i < op->result_count && !op->number; i++)
                                op->number = is_needed(&op->results[i], loop, needed);
                }
                for (int i = 0; i < loop->carried; i++)
                        if (!next[i] && is_needed(&loop->held[i], loop, needed))
                                again = next[i] = true;
        }
}

/* the loop without what nothing needs, or itself */
static struct op *trim_loop(struct op *op, struct arena *arena, struct diag *diag, int *erased)
{
        struct op_loop loop = op_loop(op);
        struct op_loop_kept kept = op_loop_all(arena, &loop);
        bool *needed = arena_array(arena, (size_t)loop.yield->operand_count, sizeof *needed), drops = false;
        needed[0] = loop.go != NULL;
        bool *next = needed + (loop.go != NULL);
        for (int i = 0; i < loop.carried + loop.stacked; i++)
                next[i] = op->results[i].uses != NULL;
        find_needed(&loop, needed);
        for (int i = 0; i < loop.carried + loop.stacked; i++) {
                if (next[i])
                        continue;
                drops = true;
                *(i < loop.carried ? &kept.carried[i] : &kept.stacked[i - loop.carried]) = false;
                if (i < loop.carried)
                        op_set_operand(loop.yield, loop.next[i].index, &loop.held[i]);
                else                    /* anything, until the yield is made anew */
                        op_set_operand(loop.yield, loop.stacked_rows[i - loop.carried].index, loop.number);
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
