/* schedule: every contraction that a scheduled lowering can write gets its schedule, unless it has
 * one.
 *
 *   convolve_packed(%x, @w) ...   ->   convolve_packed(%x, @w) ... schedule="rows=2 columns=7 vectors=2"
 *
 * From the user's file of schedules (--schedule) where that has one for operations like it. Behind
 * a semicolon stands why: what it is predicted to cost, and which one comes next. Nothing else
 * changes: a schedule says how, not what. */
#include "kernels/kernels.h"
#include "passes/pass.h"
#include "schedule/book.h"
#include "schedule/schedule.h"

int pass_schedule(struct function *f, struct pass_context *context)
{
        const struct schedule_machine machine = { context->target, context->lower.threads };
        int count = 0;
        if (!target_has_vectors(context->target) || context->exact)
                return 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                if (op->schedule || !kernels_lowering(op))
                        continue;
                const struct schedule *given =
                        context->book ? schedule_book_find(context->book, f->module, op) : NULL;
                op->schedule = given ? given : schedule_for(op, &machine, f->module->arena);
                count++;
        }
        return count;
}
