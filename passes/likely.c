/* SPDX-License-Identifier: MIT */
/* likely: leaves out the code for likely extents (--dim N=1..512:16) that does not pay.
 *
 *     main {                                       main {
 *       if likely %N == 1 {           4 us           if likely %N == 1 {
 *         call @MatMul_2(@x, @W, @y)                   call @MatMul_2(@x, @W, @y)
 *       } else {                               ->    } else {
 *         if likely %N == 16 {       10 us             call @MatMul(@x, @W, @y; %N)
 *           call @MatMul_3(@x, @W, @y)               }
 *         } else {                                 }
 *           call @MatMul(@x, @W, @y; %N)
 *         }                    9 us for 1, 10 us for 16
 *       }
 *     }
 *
 * Both sides of such an if compute the same. A side for likely extents stays where its predicted
 * time is less, by --limit likely_percent, than that of what such a run would be done by without
 * it: the kernels for all extents, or for some of them, at these values. Predicted is the cost of
 * their code (cost/code.h) or of reading their constants, in the same way on both sides. */
#include <string.h>

#include "cost/code.h"
#include "passes/remark.h"

struct likely_pass {
        const struct pass_context *context;
        struct loop_program *p;
        struct arena *scratch;
        const struct loop_bounds *bounds;       /* They know the likely extents. */
        int dropped;
};

/* Is the condition of an if true for these extents? It joins comparisons by and. */
static bool is_met(const struct likely_pass *l, const struct loop_expr *e)
{
        if (e->op == LOOP_AND)
                return is_met(l, e->args[0]) && is_met(l, e->args[1]);
        const struct loop_range a = loop_bounds_of(l->bounds, e->args[0]),
                                b = loop_bounds_of(l->bounds, e->args[1]);
        return a.low == a.high && b.low == b.high && a.low == b.low;
}

/* Sets the extents that the condition of an if compares. */
static void set_extents(struct loop_bounds *bounds, const struct loop_expr *e)
{
        if (e->op == LOOP_AND) {
                set_extents(bounds, e->args[0]);
                set_extents(bounds, e->args[1]);
                return;
        }
        loop_bounds_set(bounds, e->args[0]->variable, loop_bounds_of(NULL, e->args[1]));
}

static double cost_of_kernel(const struct likely_pass *l, const struct loop_stmt *call)
{
        double bytes = 0;
        struct arena *scratch = arena_new();
        const int count = call->function->scalar_count;
        struct loop_range *scalars = arena_array(scratch, (size_t)count + 1, sizeof *scalars);
        for (int i = 0; i < count; i++)
                scalars[i] = loop_bounds_of(l->bounds, call->scalars[i]);
        for (int i = 0; i < call->function->buffer_count; i++)
                if (call->buffers[i]->space == SPACE_CONSTANT)
                        bytes += (double)call->buffers[i]->extent *
                                 element_info[call->buffers[i]->element].bytes;
        const double cost = cost_of_call(l->context->target, call->function, scalars, bytes);
        arena_free(scratch);
        return cost;
}

/* Returns how often a loop of main runs, as far as that is known; 1: it is not. */
static double trip(const struct likely_pass *l, const struct loop_stmt *s)
{
        if (s->kind != STMT_FOR)
                return 1;
        const struct loop_range a = loop_bounds_of(l->bounds, s->a),
                                b = loop_bounds_of(l->bounds, s->b);
        const bool known = a.low == a.high && b.low == b.high && b.low > a.low;
        return known ? (double)((b.low - a.low + s->step - 1) / s->step) : 1;
}

/* Returns the predicted cycles of a block of main at the likely extents. Of the ifs of the model
 * itself both sides count. */
static double cost_of_main(const struct likely_pass *l, const struct loop_block *block)
{
        double cost = 0;
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next)
                if (s->kind == STMT_CALL)
                        cost += cost_of_kernel(l, s);
                else if (s->kind == STMT_IF && s->likely)
                        cost += cost_of_main(l, is_met(l, s->a) ? s->body : s->other);
                else
                        cost += trip(l, s) * (cost_of_main(l, s->body) + cost_of_main(l, s->other));
        return cost;
}

/* Returns the condition of an if as text, as "N = 16, P = 0". */
static const char *condition_text(struct arena *arena, const struct loop_program *p,
                                  const struct loop_expr *e)
{
        if (e->op == LOOP_AND)
                return arena_printf(arena, "%s, %s", condition_text(arena, p, e->args[0]),
                                    condition_text(arena, p, e->args[1]));
        const int extent = loop_extent_number(p, e->args[0]->variable);
        const char *name = p->extents[extent].name;
        return arena_printf(arena, "%s = %lld", text_safe(arena, name, strlen(name)),
                            (long long)loop_bounds_of(NULL, e->args[1]).low);
}

/* Leaves out what does not pay in a block of main that begins with an if for likely extents: from
 * the least likely on, because what is in front of it would run that instead. */
static void choose(struct likely_pass *l, struct loop_block *block)
{
        struct loop_stmt *s = block->first;
        if (!s || s->kind != STMT_IF || !s->likely)
                return;
        choose(l, s->other);
        struct loop_bounds *bounds = loop_bounds_new(l->scratch, loop_main(l->p));
        set_extents(bounds, s->a);
        l->bounds = bounds;
        const double own = cost_of_main(l, s->body), general = cost_of_main(l, s->other);
        const bool pays =
                own * 100 <= general * (double)(100 - l->context->limits.likely_percent);
        if (l->context->remarks)
                remark_note(l->context->remarks,
                            (struct remark){ .reason = pays ? REMARK_likely_apart
                                                            : REMARK_likely_alike,
                                             .made_by = condition_text(l->scratch, l->p, s->a),
                                             .detail = arena_printf(l->scratch, "%.0f and %.0f",
                                                                    own, general) });
        if (pays)
                return;
        *block = *s->other;
        l->dropped++;
}

int pass_likely(struct loop_program *p, struct pass_context *context)
{
        if (context->remarks)
                remarks_begin(context->remarks, "likely");
        struct likely_pass l = { .context = context, .p = p, .scratch = arena_new() };
        for (p->at = 0; p->at < p->entry_count; p->at++)
                choose(&l, loop_main(p)->body);
        p->at = 0;
        arena_free(l.scratch);
        return l.dropped ? l.dropped + prune_unreached(p) : 0;
}
