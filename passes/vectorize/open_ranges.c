/* SPDX-License-Identifier: MIT */
/* vectorize: loops to an extent that a run gives, in which comparisons of the loop's variable say
 * that an iteration lies inside, as those of a pad do. The iterations inside are a loop of their
 * own, from 0 on, which becomes vectors as any other; those before and behind stay as they are.
 *
 *     for %i = 0 to %N + 2 {                          for %i = 0 to 1 { .. }
 *       store %y[%i] = select(%i >= 1 &               for %j = 0 to %N {
 *           %i - 1 < %N, %x[%i - 1], 0.0)      ->       store %y[%j + 1] = %x[%j]
 *     }                                               }
 *                                                     for %i = %N + 1 to %N + 2 { .. } */
#include "passes/vectorize/vectorize.h"

struct ranges {
        const struct vectorizing *v;
        const struct loop_stmt *loop;
        int64_t from;                   /* The first iteration inside. */
        const struct loop_expr *below;  /* Iterations inside, plus `before`, are below this; NULL:
                                         * no comparison says so. */
        int64_t before;
        bool good;
};

/* Returns whether e is the loop's variable and a number. */
static bool is_place(const struct loop_expr *e, const struct loop_variable *variable,
                     int64_t *number)
{
        *number = 0;
        if (e->op == LOOP_VARIABLE)
                return e->variable == variable;
        if ((e->op != LOOP_ADD && e->op != LOOP_SUB) || !loop_is_int(e->args[1], number))
                return false;
        *number = e->op == LOOP_ADD ? *number : -*number;
        return e->args[0]->op == LOOP_VARIABLE && e->args[0]->variable == variable &&
               *number > -INT32_MAX && *number < INT32_MAX;
}

static void find(struct loop_expr *e, void *context)
{
        struct ranges *r = context;
        int64_t number, least;
        if ((e->op != LOOP_GE && e->op != LOOP_LT) ||
            !is_place(e->args[0], r->loop->variable, &number))
                return;
        if (e->op == LOOP_GE && loop_is_int(e->args[1], &least)) {
                least -= number;
                r->good &= least < INT32_MAX && (!r->from || least == r->from || least <= 0);
                r->from = least > r->from ? least : r->from;
        } else if (e->op == LOOP_LT && !loop_is_int(e->args[1], &least) &&
                   vectorize_is_extent(r->v, e->args[1])) {
                r->good &= !r->below ||
                           (loop_expr_same(r->below, e->args[1]) && r->before == number);
                r->below = e->args[1];
                r->before = number;
        }
}

/* Resolves an extent to a variable, or NULL, and a number, as far as the kernel's first lets
 * tell. */
static const struct loop_variable *sum_of(const struct ranges *r, const struct loop_expr *e,
                                          int64_t *number)
{
        int64_t more;
        *number = 0;
        if (loop_is_int(e, number))
                return NULL;
        if ((e->op == LOOP_ADD || e->op == LOOP_SUB) && loop_is_int(e->args[1], &more) &&
            more > -INT32_MAX && more < INT32_MAX) {
                const struct loop_variable *v = sum_of(r, e->args[0], number);
                *number += e->op == LOOP_ADD ? more : -more;
                return v;
        }
        if (e->op != LOOP_VARIABLE) {
                *number = INT64_MAX;
                return NULL;
        }
        for (const struct loop_stmt *s = r->v->kernel->body->first; s && s->kind == STMT_LET;
             s = s->next) {
                const struct loop_variable *v =
                        s->variable == e->variable ? sum_of(r, s->a, number) : NULL;
                if (v)
                        return v;
        }
        *number = 0;
        return e->variable;
}

/* Finds the end of the iterations inside: the least of what the comparison says and the loop's end.
 * *exact: it is the former in every run. *behind: so many iterations follow, where that is a
 * number; else -1. */
static struct loop_expr *end_of(const struct ranges *r, bool *exact, int64_t *behind)
{
        struct arena *arena = r->v->arena;
        struct loop_expr *all = loop_expr_copy(arena, r->loop->b);
        int64_t end, below;
        *exact = false;
        *behind = -1;
        if (!r->below)
                return all;
        struct loop_expr *inside = loop_op(arena, LOOP_SUB, loop_expr_copy(arena, r->below),
                                           loop_index(arena, r->before), NULL);
        const struct loop_variable *a = sum_of(r, r->loop->b, &end),
                                   *b = sum_of(r, r->below, &below);
        if (!a || a != b)
                return loop_op(arena, LOOP_MIN, inside, all, NULL);
        *behind = end - (below - r->before);
        *exact = *behind > 0;
        *behind = *exact ? *behind : 0;
        return *exact ? inside : all;
}

/* Comparisons have these answers: 0, 1, or -1, where they stay. */
struct answers { int least, below; };

/* Returns e with the answers; what stays is shared. */
static struct loop_expr *answered(const struct ranges *r, struct answers known, struct loop_expr *e)
{
        struct arena *arena = r->v->arena;
        struct loop_expr *args[3];
        int64_t number, least;
        bool same = true;
        if (!e)
                return NULL;
        if ((e->op == LOOP_GE || e->op == LOOP_LT) &&
            is_place(e->args[0], r->loop->variable, &number)) {
                const bool from = e->op == LOOP_GE && loop_is_int(e->args[1], &least) &&
                                  least - number == r->from;
                const bool below = e->op == LOOP_LT && r->below && number == r->before &&
                                   loop_expr_same(e->args[1], r->below);
                const int answer = from ? known.least : below ? known.below : -1;
                if (answer >= 0)
                        return loop_literal(arena, LOOP_TYPE(E_BOOL),
                                            (union scalar){ .u = (uint64_t)answer });
        }
        for (int i = 0; i < e->arity; i++) {
                args[i] = answered(r, known, e->args[i]);
                same &= args[i] == e->args[i];
        }
        if (same)
                return e;
        for (int i = 0; i < 2 && e->op == LOOP_AND; i++)
                if (args[i]->op == LOOP_LITERAL)
                        return args[i]->literal.u ? args[!i] : args[i];
        if (e->op == LOOP_SELECT && args[0]->op == LOOP_LITERAL)
                return args[args[0]->literal.u ? 1 : 2];
        struct loop_expr *copy = ARENA_NEW(arena, struct loop_expr);
        *copy = *e;
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = args[i];
        return copy;
}

static struct loop_block *answered_block(const struct ranges *r, struct answers known,
                                         const struct loop_block *block)
{
        struct loop_block *out = loop_block_new(r->v->arena);
        for (const struct loop_stmt *s = block->first; s; s = s->next) {
                struct loop_stmt *copy = loop_append(r->v->arena, out, s->kind), **next = out->end;
                *copy = *s;
                copy->next = NULL;
                out->end = next;
                copy->a = answered(r, known, s->a);
                copy->b = answered(r, known, s->b);
                copy->c = answered(r, known, s->c);
                copy->body = s->body ? answered_block(r, known, s->body) : NULL;
                copy->other = s->other ? answered_block(r, known, s->other) : NULL;
        }
        return out;
}

/* Writes `count` iterations from `from` on, as a loop from 0. Returns false where its body cannot
 * be written again. */
static bool write_range(const struct ranges *r, struct answers known, struct loop_expr *from,
                        struct loop_expr *count, struct loop_block *out)
{
        struct arena *arena = r->v->arena;
        struct loop_stmt part = *r->loop,
                         *s = vectorize_open_loop(r->v, r->loop, loop_index(arena, 0), count, 1,
                                                  out);
        struct loop_expr *at = loop_op(arena, LOOP_ADD, loop_use(arena, s->variable), from, NULL);
        part.body = answered_block(r, known, r->loop->body);
        return vectorize_body(r->v, &part, 1, at, NULL, NULL, 0, s->body);
}

struct loop_block *vectorize_open_ranges(const struct vectorizing *v, const struct loop_stmt *loop)
{
        struct ranges r = { .v = v, .loop = loop, .good = true };
        struct arena *arena = v->arena;
        int64_t more;
        bool changed = false, exact;
        if (!vectorize_is_open(v, loop))
                return NULL;
        loop_block_walk(loop->body, NULL, find, &r);
        if (!r.good || (!r.from && !r.below))
                return NULL;
        struct loop_expr *first = loop_index(arena, r.from), *end = end_of(&r, &exact, &more);
        const bool clipped = loop_bounds_of(v->bounds, loop->b).low < r.from;
        if (clipped)                    /* The loop may end before. */
                first = loop_op(arena, LOOP_MIN, first, loop_expr_copy(arena, loop->b), NULL);
        struct loop_expr *count = loop_op(arena, LOOP_SUB, end, first, NULL);
        if (loop_bounds_of(v->bounds, count).low < 0) {
                count = loop_op(arena, LOOP_MAX, count, loop_index(arena, 0), NULL);
                exact = false;
                more = -1;
        }
        struct loop_block *out = loop_block_new(arena);
        if (r.from && !write_range(&r, (struct answers){ 0, -1 }, loop_index(arena, 0), first, out))
                return NULL;
        if (!write_range(&r, (struct answers){ 1, 1 }, first, count, out))
                return NULL;
        if (r.below && more) {
                struct loop_expr *behind = loop_op(arena, LOOP_ADD, first, count, NULL),
                                 *rest = loop_op(arena, LOOP_SUB, loop_expr_copy(arena, loop->b),
                                                 behind, NULL);
                if (!write_range(&r, (struct answers){ clipped ? -1 : 1, exact ? 0 : -1 }, behind,
                                 more > 0 ? loop_index(arena, more) : rest, out))
                        return NULL;
        }
        out = vectorize_best(v, out, &changed);
        return changed ? out : NULL;
}
