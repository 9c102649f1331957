/* SPDX-License-Identifier: MIT */
/* jam first makes one loop of two that go over memory as one loop does.
 *
 *     for %oh = 0 to 14 {                               for %ow = 0 to 196 {
 *       for %ow = 0 to 14 {                               ...
 *         ...                                               .. %x[%c * 196 + %ow]
 *           .. %x[%c * 196 + %oh * 14 + %ow]    ->        store %y[%ow] = ..
 *         store %y[%oh * 14 + %ow] = ..                 }
 *       }
 *     }
 *
 * Then an accumulator row takes columns of all rows. Two loops are merged where the step of the
 * outer one is the whole extent of the inner one in every subscript, and where nothing else depends
 * on either. */
#include "passes/vectorize/jam.h"

struct pair {
        const struct jam_nest *nest;
        const struct loop_variable *outer, *inner;
        int64_t trip; /* The inner loop has this many iterations. */
        bool good;
};

static void check_subscript(struct pair *p, const struct loop_expr *e)
{
        int64_t outer, inner;
        p->good &= jam_step(p->nest, e, p->outer, &outer) &&
                   jam_step(p->nest, e, p->inner, &inner) && outer == inner * p->trip;
}

/* Checks a value, which may depend on the two loops only by the subscripts of its loads. */
static void check_value(struct pair *p, const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD)
                check_subscript(p, e->args[0]);
        else if (e->op == LOOP_VARIABLE && e->type.element == E_INDEX)
                p->good &= !jam_depends(p->nest, e, p->outer) &&
                           !jam_depends(p->nest, e, p->inner);
        for (int i = e->op == LOOP_LOAD; i < e->arity; i++)
                if (e->args[i])
                        check_value(p, e->args[i]);
}

static void check_statement(struct loop_stmt *s, void *context)
{
        struct pair *p = context;
        bool subscript = s->kind == STMT_LET && s->variable->type.element == E_INDEX;
        if (s->kind == STMT_STORE)
                check_subscript(p, s->a);
        else if (s->a && !subscript)
                check_value(p, s->a);
        if (s->b)
                check_value(p, s->b);
        if (s->c)
                check_value(p, s->c);
}

bool jam_merge(struct arena *arena, struct loop_bounds *bounds, const struct jam_nest *nest)
{
        if (nest->depth < 2)
                return false;
        struct loop_stmt *outer = nest->loops[nest->depth - 2],
                         *inner = nest->loops[nest->depth - 1];
        struct pair p = { .nest = nest, .outer = outer->variable, .inner = inner->variable };
        int64_t rows, zero;
        p.good = loop_is_int(outer->a, &zero) && !zero && loop_is_int(inner->a, &zero) && !zero &&
                 loop_is_int(outer->b, &rows) && loop_is_int(inner->b, &p.trip);
        if (p.good)
                loop_block_walk(inner->body, check_statement, NULL, &p);
        if (!p.good)
                return false;
        struct jam_copy *first = jam_copy_new(arena, 1);
        struct loop_block *body = loop_block_new(arena);
        jam_copy_set(first, outer->variable, 0, loop_index(arena, 0));
        jam_range(first, outer->body->first, inner, body);
        jam_range(first, inner->body->first, NULL, body);
        if (first->failed)
                return false;
        loop_bounds_set(bounds, inner->variable, (struct loop_range){ 0, rows * p.trip - 1, 1 });
        outer->variable = inner->variable;
        outer->b = loop_index(arena, rows * p.trip);
        outer->body = body;
        return true;
}
