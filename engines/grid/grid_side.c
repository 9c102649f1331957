/* SPDX-License-Identifier: MIT */
/* grid, side: a lane gets neighbouring iterations of the innermost loop where these are words of 16
 * bytes in memory, so that loads and stores of a word are one instruction
 * (engines/grid/vector_access.c), and subscripts, and loops over a window, are evaluated once for
 * all of them.
 *
 *     for %c = 0 to 64 {                            for %c = 0 to 64 step 8 {
 *       var %best : f32 = -inf                        var %best : f32 = -inf
 *       for %k = 0 to 3 {                             ..
 *         set %best = max(%best,                      var %best8 : f32 = -inf
 *             f32(%x[%k * 64 + %c]))                  for %k = 0 to 3 {
 *       }                                               let %v = max(%best, f32(%x[%k * 64 + %c]))
 *       store %y[%c] = f16(%best)             ->        ..
 *     }                                                 let %v8 = max(%best8,
 *                                                           f32(%x[%k * 64 + %c + 7]))
 *                                                       set %best = %v
 *                                                       ..
 *                                                     }
 *                                                     let %w : f16 = f16(%best)
 *                                                     ..
 *                                                     store %y[%c] = %w
 *                                                     ..
 *
 * The loaded elements must be words, too, unless a lane has the whole loop: then neighbouring
 * iterations of the loop around it get neighbouring lanes. Only iterations that are independent of
 * each other may be written so. Exact: no value changes. */
#include "engines/grid/grid_side.h"

#include "passes/vectorize/jam.h"

enum { SIDE_MOST = 16, LEAST = 4, WORD_BYTES = 16, WHOLE_BYTES = 32 };

struct survey {
        struct arena *scratch;
        const struct loop_bounds *bounds;
        struct jam_nest nest;           /* Only its `lets` are used. */
        struct loop_variable *v;        /* The loop has this variable. */
        int64_t bytes;                  /* A stored element has this many bytes; 0: no store has
                                         * been seen yet. */
        int64_t side;                   /* A lane has this many neighbours; 0: it is not known
                                         * yet. */
        bool whole, good;
};

/* Returns e with 0 for v; variables that depend on v are replaced by their definitions. */
static struct loop_expr *at_first(const struct survey *s, struct loop_expr *e)
{
        if (!jam_depends(&s->nest, e, s->v))
                return e;
        if (e->op == LOOP_VARIABLE)
                return e->variable == s->v
                               ? loop_index(s->scratch, 0)
                               : at_first(s, (struct loop_expr *)(uintptr_t)jam_definition(
                                                     &s->nest, e->variable));
        struct loop_expr *copy = arena_copy(s->scratch, e, sizeof *e);
        for (int k = 0; k < e->arity; k++)
                copy->args[k] = e->args[k] ? at_first(s, e->args[k]) : NULL;
        return e->type.element == E_INDEX && e->op < LOOP_CAST
                       ? loop_op(s->scratch, e->op, copy->args[0], copy->args[1], copy->args[2])
                       : copy;
}

/* Are neighbouring iterations neighbours in the buffer, and do their words begin at multiples of
 * their size? */
static bool is_word(const struct survey *s, struct loop_expr *index)
{
        int64_t step;
        return jam_step(&s->nest, index, s->v, &step) && step == 1 &&
               loop_bounds_of(s->bounds, at_first(s, index)).multiple % s->side == 0;
}

/* Does e load different elements in neighbouring iterations? */
static bool loads_neighbours(const struct survey *s, const struct loop_expr *e)
{
        bool found = e->op == LOOP_LOAD && jam_depends(&s->nest, e->args[0], s->v);
        for (int i = 0; i < e->arity && !found; i++)
                found = e->args[i] && loads_neighbours(s, e->args[i]);
        return found;
}

static void look_at_load(struct loop_expr *e, void *context)
{
        struct survey *s = context;
        const bool lazy = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        /* An element that may not be loaded cannot be part of a word. */
        for (int i = 1; i < e->arity && lazy && !s->whole; i++)
                s->good &= !e->args[i] || !loads_neighbours(s, e->args[i]);
        if (e->op == LOOP_LOAD)
                s->good &= e->type.lanes == 1 && !e->group &&
                           (s->whole || !jam_depends(&s->nest, e->args[0], s->v) ||
                            is_word(s, e->args[0]));
}

static void find_stores(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        switch (stmt->kind) {
        case STMT_LET:
                jam_define(&s->nest, stmt);
                break;
        case STMT_STORE:
                s->good &= !stmt->c && stmt->a->type.lanes == 1 && stmt->b->type.lanes == 1 &&
                           (!s->bytes || s->bytes == element_info[stmt->buffer->element].bytes);
                s->bytes = element_info[stmt->buffer->element].bytes;
                break;
        case STMT_VAR: case STMT_SET: break;
        case STMT_FOR:
                s->good &= stmt->for_kind == FOR_SERIAL;
                break;
        default: s->good = false;
        }
        s->good &= stmt->kind == STMT_FOR || !stmt->variable || stmt->variable->type.lanes == 1;
}

static void look_at_stmt(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        if (stmt->kind == STMT_STORE)
                s->good &= is_word(s, stmt->a);
        if (stmt->kind == STMT_FOR)
                s->good &= !jam_depends(&s->nest, stmt->a, s->v) &&
                           !jam_depends(&s->nest, stmt->b, s->v);
}

int64_t grid_side_of(struct arena *scratch, const struct loop_bounds *bounds,
                     const struct loop_stmt *loop, int64_t total, int64_t lanes)
{
        struct survey s = { .scratch = scratch,
                            .bounds = bounds,
                            .nest.lets = map_new(scratch),
                            .v = loop->variable,
                            .good = true };
        int64_t from, to;
        if (!loop_is_int(loop->a, &from) || !loop_is_int(loop->b, &to) || from || loop->step != 1)
                return 1;
        loop_block_walk(loop->body, find_stores, NULL, &s);
        if (!s.good || !s.bytes)
                return 1;
        s.whole = to <= SIDE_MOST && to * s.bytes <= WHOLE_BYTES && to * s.bytes % WORD_BYTES == 0;
        s.side = s.whole ? to : WORD_BYTES / s.bytes;
        if (s.side < LEAST || s.side > SIDE_MOST || to % s.side || total / s.side < lanes)
                return 1;
        loop_block_walk(loop->body, look_at_stmt, look_at_load, &s);
        return s.good ? s.side : 1;
}

static void find_lets(struct loop_stmt *stmt, void *context)
{
        struct survey *s = context;
        if (stmt->kind == STMT_LET)
                jam_define(&s->nest, stmt);
}

bool grid_side_is_words(struct arena *scratch, const struct loop_bounds *bounds,
                        const struct loop_stmt *loop, int64_t side)
{
        struct survey s = { .scratch = scratch,
                            .bounds = bounds,
                            .nest.lets = map_new(scratch),
                            .v = loop->variable,
                            .side = side,
                            .good = true };
        loop_block_walk(loop->body, find_lets, NULL, &s);
        loop_block_walk(loop->body, look_at_stmt, look_at_load, &s);
        return s.good;
}

void grid_side_name(struct arena *arena, struct loop_block *block)
{
        for (struct loop_stmt **at = &block->first; *at; at = &(*at)->next) {
                struct loop_stmt *s = *at;
                if (s->body)
                        grid_side_name(arena, s->body);
                if ((s->kind != STMT_SET && s->kind != STMT_STORE) || s->a->op == LOOP_LITERAL)
                        continue;
                struct loop_expr **value = s->kind == STMT_SET ? &s->a : &s->b;
                struct loop_block with = { .end = &with.first };
                struct loop_stmt *let = loop_append(arena, &with, STMT_LET);
                let->variable = loop_variable_new(arena, "value", (*value)->type, VARIABLE_LET);
                let->a = *value;
                *value = loop_use(arena, let->variable);
                let->next = s;
                *at = let;
                at = &let->next;
        }
}

bool grid_side_write(struct arena *arena, struct loop_stmt *loop, int64_t side)
{
        struct loop_block *one = loop_block_new(arena), *all = loop_block_new(arena);
        struct jam_copy *same = jam_copy_new(arena, 1), *copy = jam_copy_new(arena, (int)side);
        const bool whole = loop->b->literal.i == side;
        same->all = true;
        jam_copy_set(same, loop->variable, 0, loop_use(arena, loop->variable));
        jam_range(same, loop->body->first, NULL, one);
        grid_side_name(arena, one);
        for (int i = 0; i < side; i++)
                jam_copy_set(copy, loop->variable, i,
                             whole ? loop_index(arena, i) : jam_plus(arena, loop->variable, i));
        jam_range(copy, one->first, NULL, all);
        if (same->failed || copy->failed)
                return false;
        loop->body = all;
        loop->step = side;
        return true;
}
