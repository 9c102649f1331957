/* SPDX-License-Identifier: MIT */
/* Lowering, loops side by side: reductions of one row that do not need each other share a loop, so
 * that the row is read once.
 *
 *      var %best = -inf                        var %best = -inf
 *      for %k { set %best = max(%best, ..) }   var %sum = 0.0
 *      var %sum = 0.0                     ->   for %k {
 *      for %j { set %sum = %sum + .. }           set %best = max(%best, ..)
 *                                                set %sum = %sum + .. }
 *
 * Each reduction adds up the same elements in the same order as before. Loops that store, or may
 * fail, stay alone. */
#include "ir/lower/lower_emit.h"

enum { SETS_MAX = 4 };                  /* A loop has as many sets as vectorize takes, and of these
                                         * kinds alone. */

/* The set has the variables from outside that loops set. */
struct sets { const struct loop_variable *variables[SETS_MAX]; int count; bool plain; };

static void add_set(struct loop_stmt *s, void *context)
{
        struct sets *sets = context;
        bool sets_one = s->kind == STMT_SET && !s->variable->rows &&
                        (s->a->op == LOOP_ADD || s->a->op == LOOP_MAX || s->a->op == LOOP_MIN);
        sets->plain &= sets_one || s->kind == STMT_LET ||
                       (s->kind == STMT_FOR && s->for_kind == FOR_SERIAL);
        if (!sets_one)
                return;
        sets->plain &= sets->count < SETS_MAX;
        if (sets->plain)
                sets->variables[sets->count++] = s->variable;
}

static struct sets find_sets(const struct loop_stmt *loop)
{
        struct sets sets = { .plain = true };
        loop_block_walk(loop->body, add_set, NULL, &sets);
        return sets;
}

struct mention { const struct sets *sets; bool found; };

static void find_in_expr(struct loop_expr *x, void *context)
{
        struct mention *m = context;
        for (int i = 0; i < m->sets->count; i++)
                m->found |= x->variable == m->sets->variables[i];
}

/* Does a loop, which sets `own`, read or set one of `sets`? */
static bool needs(const struct loop_stmt *loop, const struct sets *own, const struct sets *sets)
{
        struct mention m = { .sets = sets };
        loop_block_walk(loop->body, NULL, find_in_expr, &m);
        for (int i = 0; i < sets->count; i++)
                for (int k = 0; k < own->count; k++)
                        m.found |= own->variables[k] == sets->variables[i];
        return m.found;
}

static bool mentions(const struct loop_expr *x, const struct sets *sets)
{
        struct mention m = { .sets = sets };
        find_in_expr((struct loop_expr *)(uintptr_t)x, &m);
        for (int i = 0; i < x->arity && !m.found; i++)
                m.found |= x->args[i] && mentions(x->args[i], sets);
        return m.found;
}

static bool may_share(const struct loop_stmt *a, const struct loop_stmt *b)
{
        const struct sets of_a = find_sets(a), of_b = find_sets(b);
        return b->for_kind == FOR_SERIAL && of_a.plain && of_b.plain && of_a.count &&
               of_a.count + of_b.count <= SETS_MAX && a->step == b->step &&
               loop_expr_same(a->a, b->a) && loop_expr_same(a->b, b->b) &&
               !needs(b, &of_b, &of_a) && !needs(a, &of_a, &of_b);
}

/* ---- merging ---- */

struct renaming { const struct loop_variable *from; struct loop_variable *to; };

static void rename_variable(struct loop_expr *x, void *context)
{
        const struct renaming *r = context;
        if (x->variable == r->from)
                x->variable = r->to;
}

/* Returns the loop behind `loop` that may share it, with only declarations between that do not need
 * what it sets; *last: the last of these, or the loop itself. */
static struct loop_stmt *find_partner(struct loop_stmt *loop, struct loop_stmt **last)
{
        const struct sets sets = find_sets(loop);
        *last = loop;
        for (struct loop_stmt *s = loop->next; s; *last = s, s = s->next) {
                if (s->kind == STMT_FOR)
                        return may_share(loop, s) ? s : NULL;
                if ((s->kind != STMT_VAR && s->kind != STMT_LET) || (s->a && mentions(s->a, &sets)))
                        return NULL;
        }
        return NULL;
}

static void merge_into(struct loop_stmt *loop, struct loop_stmt *partner)
{
        loop_block_walk(partner->body, NULL, rename_variable,
                        &(struct renaming){ partner->variable, loop->variable });
        *loop->body->end = partner->body->first;
        loop->body->end = partner->body->end;
}

void emit_merge_loops(struct loop_block *block)
{
        for (struct loop_stmt **at = &block->first; *at;) {
                struct loop_stmt *loop = *at, *last, *partner = NULL;
                if (loop->kind == STMT_FOR && loop->for_kind == FOR_SERIAL)
                        partner = find_partner(loop, &last);
                if (!partner) {
                        if (loop->body)
                                emit_merge_loops(loop->body);
                        if (loop->other)
                                emit_merge_loops(loop->other);
                        at = &loop->next;
                        continue;
                }
                merge_into(loop, partner);
                if (last != loop) {             /* Declarations come first. */
                        *at = loop->next;
                        last->next = loop;
                }
                loop->next = partner->next;
                if (!loop->next)
                        block->end = &loop->next;
                while (*at != loop)
                        at = &(*at)->next;
        }
}
