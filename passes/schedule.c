/* SPDX-License-Identifier: MIT */
/* schedule: every contraction that a scheduled lowering can write gets its schedule, unless it has
 * one.
 *
 *   convolve_packed(%x, @w) ...   ->   convolve_packed(%x, @w) ... schedule="rows=2 columns=7 vectors=2"
 *
 * The schedule comes from the user's file of schedules (--schedule) where that has one for such
 * operations. The text behind its semicolon is the reason: what it is predicted to cost, and which
 * schedule comes next. Nothing else changes: a schedule says how, not what. */
#include "kernels/kernels.h"
#include "passes/remark.h"
#include "schedule/book.h"
#include "schedule/schedule_choice.h"

#include <string.h>

/* Returns the schedule that the user's file has for op, or NULL where it has none that can be
 * followed. */
static const struct schedule *find_given(const struct op *op, const struct module *m,
                                         const struct lowering *lowering,
                                         const struct schedule_machine *machine,
                                         struct pass_context *context)
{
        const struct schedule *given =
                context->book ? schedule_book_find(context->book, m, op) : NULL;
        if (!given || given->kind != lowering->kind)
                return NULL;                    /* The schedule was written for another engine. */
        const char *where = op->location ? op->location : op_info[op->code].name;
        if (lowering->follows && !lowering->follows(op, machine, given)) {
                diag_warning(context->diag,
                             "--schedule: '%s' cannot be followed by node '" DIAG_NODE("%s") "', "
                             "which gets the schedule of least predicted time; try one that "
                             "--tune lists",
                             schedule_words(m->arena, given),
                             text_safe(m->arena, where, strlen(where)));
                return NULL;
        }
        return given;
}

static enum remark_reason choose(struct op *op, const struct module *m,
                                 const struct schedule_machine *machine,
                                 struct pass_context *context)
{
        if (op->schedule)
                return REMARK_schedule_kept;
        const struct lowering *lowering = kernels_lowering(op, context->target);
        if (context->exact && !(lowering && lowering->kind == SCHEDULE_scalar))
                return REMARK_schedule_in_order;
        if (!lowering)
                return kernels_code(op->code, context->target) ? REMARK_schedule_elements
                                                               : REMARK_schedule_own_layout;
        const struct schedule *given = find_given(op, m, lowering, machine, context);
        op->schedule = given ? given : schedule_for(op, machine, m->arena);
        return given ? REMARK_schedule_given : REMARK_schedule_chosen;
}

static void remark(struct remarks *remarks, const struct op *op, enum remark_reason why)
{
        struct text words = { 0 };
        if (op->schedule)
                schedule_print(&words, op->schedule);
        remark_op(remarks, why, op, op->schedule ? words.data : NULL);
        text_free(&words);
}

int pass_schedule(struct function *f, struct pass_context *context)
{
        const struct schedule_machine machine = { .target = context->target,
                                                  .threads = context->lower.threads,
                                                  .strip_percent = context->strip_percent,
                                                  .lower = &context->lower,
                                                  .library = context->library,
                                                  .memo = &context->memo,
                                                  .cold = schedule_is_cold(f, context->target),
                                                  .compact = context->compact };
        int count = 0;
        if (context->remarks && f == module_entry(f->module))
                remarks_begin(context->remarks, "schedule");
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                if (!kernels_code(op->code, context->target) &&
                    !(op_info[op->code].traits & TRAIT_CONTRACTION))
                        continue;
                enum remark_reason why = choose(op, f->module, &machine, context);
                count += why == REMARK_schedule_chosen || why == REMARK_schedule_given;
                if (context->remarks)
                        remark(context->remarks, op, why);
        }
        return count;
}
