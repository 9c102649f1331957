/* SPDX-License-Identifier: MIT */
/* vectorize: writes nests in which elements that are stored side by side are read far apart, and
 * the other way round along another loop.
 *
 *     for %i = 0 to 32 {                       for %i = 0 to 32 step 16 {
 *       for %j = 0 to 48 {                       for %j = 0 to 48 step 16 {
 *         store %y[%i * 48 + %j]         ->        rows: %x<16>[%j * 32 + %i], %x<16>[(%j + 1) * 32 + %i], ...
 *           = %x[%j * 32 + %i]                     columns: the square of them transposed, in registers
 *       }                                          store %y<16>[%i * 48 + %j] = first column, ...
 *     }                                          }
 *                                              }
 *
 * Here %j is the lane of what is stored, %i that of the rows; either may be the outer loop, with
 * others between them. Elements beyond the whole squares are computed as in other loops.
 *
 * It also writes nests in which the elements of a few rows take turns:
 *
 *     for %i = 0 to 224 {                      for %i = 0 to 224 step 16 {
 *       for %c = 0 to 4 {                        rows: %x<16>[%i], %x<16>[224 + %i], ...
 *         store %y[%i * 4 + %c]          ->      woven, in registers: x0[%i], x1[%i], x2[%i], x3[%i], x0[%i + 1], ...
 *           = %x[%c * 224 + %i]                  store %y<16>[%i * 4] = the first of them, ...
 *       }                                      }
 *     } */
#include "passes/vectorize/vectorize.h"

enum { LOADS_MAX = 2, LOOPS_MAX = 8 };

struct square {
        const struct vectorizing *v;
        const struct loop_stmt *loops[LOOPS_MAX];         /* The loops go from the outermost to the
                                                           * innermost. */
        int depth;
        int lane, other;                /* The numbers of the loops along what is stored, and along
                                         * the rows. */
        const struct loop_expr *loads[LOADS_MAX];         /* The loads of the rows are here. */
        struct loop_variable *loaded[LOADS_MAX];          /* The variables stand for the loads in
                                                           * `body`. */
        int count;
        struct loop_block *body;
        struct loop_expr *at[LOOPS_MAX];                  /* The value of each loop's variable in
                                                           * the code being written. */
};

static const struct loop_block *body_of(const struct square *s)
{
        return s->loops[s->depth - 1]->body;
}

/* ---- what is where ---- */

static const struct loop_expr *definition_of(const struct square *s,
                                             const struct loop_variable *variable)
{
        for (const struct loop_stmt *t = body_of(s)->first; t; t = t->next)
                if (t->kind == STMT_LET && t->variable == variable)
                        return t->a;
        return NULL;
}

/* Finds how far e moves with the loop. Returns false if it moves unevenly. */
static bool step_of(const struct square *s, const struct loop_expr *e,
                    const struct loop_variable *loop, int64_t *step)
{
        int64_t a, b, factor;
        *step = 0;
        switch (e->op) {
        case LOOP_LITERAL: return true;
        case LOOP_VARIABLE: {
                const struct loop_expr *definition = definition_of(s, e->variable);
                *step = e->variable == loop;
                return definition ? step_of(s, definition, loop, step)
                                  : e->variable->kind != VARIABLE_VAR;
        }
        case LOOP_ADD: case LOOP_SUB:
                if (!step_of(s, e->args[0], loop, &a) || !step_of(s, e->args[1], loop, &b))
                        return false;
                return e->op == LOOP_ADD ? !__builtin_add_overflow(a, b, step)
                                         : !__builtin_sub_overflow(a, b, step);
        case LOOP_MUL:
                if (!step_of(s, e->args[0], loop, &a))
                        return false;
                if (!loop_is_int(e->args[1], &factor))  /* An extent that a run gives, or others: it
                                                         * must not move. */
                        return !a && step_of(s, e->args[1], loop, &b) && !b;
                return !__builtin_mul_overflow(a, factor, step);
        default:
                return false;
        }
}

static bool may_be_stored(const struct square *s, const struct loop_buffer *b)
{
        for (const struct loop_stmt *t = body_of(s)->first; t; t = t->next)
                if (t->kind == STMT_STORE &&
                    (t->buffer == b ||
                     (b->alias_class > 0 && b->alias_class == t->buffer->alias_class)))
                        return true;
        return false;
}

/* Notes loads along the rows; others must be good for vectors along the lane. */
static bool find_loads(struct square *s, const struct loop_expr *e)
{
        int64_t step, across;
        const int before = s->count;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && !find_loads(s, e->args[i]))
                        return false;
        if (e->op == LOOP_SELECT && s->v->open && s->count > before)
                return false;           /* It may read elements that are not there. */
        if (e->op != LOOP_LOAD)
                return true;
        const struct loop_variable *lane = s->loops[s->lane]->variable,
                                   *other = s->loops[s->other]->variable;
        if (!step_of(s, e->args[0], lane, &step) || !step_of(s, e->args[0], other, &across))
                return false;
        if (step == 0 || step == 1)
                return true;
        /* Elements of the row are read whether they are needed or not. */
        struct loop_range r = loop_bounds_of(s->v->bounds, e->args[0]);
        if (across != 1 || s->count == LOADS_MAX || may_be_stored(s, e->buffer) || r.low < 0 ||
            r.high >= e->buffer->extent)
                return false;
        s->loads[s->count++] = e;
        return true;
}

static bool classify(struct square *s, int lane, int other)
{
        int64_t step;
        s->lane = lane;
        s->other = other;
        s->count = 0;
        for (const struct loop_stmt *t = body_of(s)->first; t; t = t->next) {
                if (t->kind == STMT_STORE &&
                    (t->c || !step_of(s, t->a, s->loops[lane]->variable, &step) || step != 1 ||
                     !find_loads(s, t->b)))
                        return false;
                if (t->kind == STMT_LET ? !find_loads(s, t->a) : t->kind != STMT_STORE)
                        return false;
        }
        return s->count > 0;
}

/* Finds loops that hold nothing but the next one, of which the outermost and the innermost are at
 * least as long as a vector. */
static bool find_loops(struct square *s, const struct loop_stmt *loop)
{
        int64_t from;
        for (;;) {
                const struct loop_stmt *first = loop->body->first;
                if (s->depth == LOOPS_MAX || !vectorize_trip(loop, &from))
                        return false;
                s->loops[s->depth++] = loop;
                if (!first || first->kind != STMT_FOR || first->next)
                        break;
                loop = first;
        }
        return s->depth > 1 && vectorize_trip(s->loops[0], &from) >= s->v->lanes &&
               vectorize_trip(loop, &from) >= s->v->lanes;
}

/* ---- code ---- */

/* Returns the body with variables in place of the loads; lets keep their variables, because only
 * twins of them are written. */
static struct loop_expr *without_loads(const struct square *s, const struct loop_expr *e)
{
        if (!e)
                return NULL;
        for (int k = 0; k < s->count; k++)
                if (e == s->loads[k])
                        return loop_use(s->v->arena, s->loaded[k]);
        struct loop_expr *copy = ARENA_NEW(s->v->arena, struct loop_expr);
        *copy = *e;
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = without_loads(s, e->args[i]);
        return copy;
}

static void make_body(struct square *s)
{
        s->body = loop_block_new(s->v->arena);
        for (int k = 0; k < s->count; k++)
                s->loaded[k] =
                        loop_variable_new(s->v->arena, "loaded", s->loads[k]->type, VARIABLE_LET);
        for (const struct loop_stmt *t = body_of(s)->first; t; t = t->next) {
                struct loop_stmt *copy = loop_append(s->v->arena, s->body, t->kind);
                copy->variable = t->variable;
                copy->buffer = t->buffer;
                copy->streaming = t->streaming;
                copy->a = without_loads(s, t->a);
                copy->b = without_loads(s, t->b);
        }
}

/* Returns e where the loops are at `at`, and the lane's is `further` on. */
static struct loop_expr *placed(const struct square *s, const struct loop_expr *e, int64_t further)
{
        struct arena *arena = s->v->arena;
        if (e->op == LOOP_VARIABLE) {
                const struct loop_expr *definition = definition_of(s, e->variable);
                for (int d = 0; d < s->depth; d++)
                        if (s->loops[d]->variable == e->variable)
                                return loop_op(arena, LOOP_ADD, loop_expr_copy(arena, s->at[d]),
                                               loop_index(arena, d == s->lane ? further : 0), NULL);
                return definition ? placed(s, definition, further) : loop_expr_copy(arena, e);
        }
        if (!e->arity)
                return loop_expr_copy(arena, e);
        return loop_op(arena, e->op, placed(s, e->args[0], further), placed(s, e->args[1], further),
                       NULL);
}

static int substitute_loops(const struct square *s, struct vector_substitution *substitutions)
{
        for (int d = 0; d < s->depth; d++)
                substitutions[d] = (struct vector_substitution){ s->loops[d]->variable, s->at[d] };
        return s->depth;
}

static bool write_square(const struct square *s, struct loop_block *out)
{
        const struct vectorizing *v = s->v;
        struct loop_expr *columns[LOADS_MAX][LANES_MAX];
        for (int k = 0; k < s->count; k++) {
                for (int i = 0; i < v->lanes; i++)
                        columns[k][i] = loop_load_vector(v->arena, s->loads[k]->buffer,
                                                         placed(s, s->loads[k]->args[0], i),
                                                         v->lanes, NULL);
                vector_transpose(v->arena, columns[k], v->lanes, out);
        }
        struct loop_stmt along = *s->loops[s->lane];
        along.body = s->body;
        for (int i = 0; i < v->lanes; i++) {
                struct vector_substitution substitutions[LOOPS_MAX + LOADS_MAX];
                int count = 0;
                for (int d = 0; d < s->depth; d++) {
                        struct loop_expr *at = loop_expr_copy(v->arena, s->at[d]);
                        if (d == s->other)
                                at = loop_op(v->arena, LOOP_ADD, at, loop_index(v->arena, i), NULL);
                        if (d != s->lane)
                                substitutions[count++] =
                                        (struct vector_substitution){ s->loops[d]->variable, at };
                }
                for (int k = 0; k < s->count; k++)
                        substitutions[count++] =
                                (struct vector_substitution){ s->loaded[k], columns[k][i] };
                if (!vectorize_body(v, &along, v->lanes, s->at[s->lane], NULL, substitutions, count,
                                    out))
                        return false;
        }
        return true;
}

struct part { int64_t from, to; };      /* A part is a range of a loop's iterations. */

/* Writes one loop after the other, from depth d on; whole: in squares, else as it was. */
static bool write_loops(struct square *s, int d, const struct part *outer, const struct part *inner,
                        bool whole, struct loop_block *out)
{
        const struct vectorizing *v = s->v;
        if (d == s->depth) {
                struct vector_substitution substitutions[LOOPS_MAX];
                struct loop_stmt once = *s->loops[d - 1];
                once.variable =
                        loop_variable_new(v->arena, "once", once.variable->type, VARIABLE_LOOP);
                return whole ? write_square(s, out)
                             : vectorize_body(v, &once, 1, loop_index(v->arena, 0), NULL,
                                              substitutions, substitute_loops(s, substitutions),
                                              out);
        }
        bool by_lanes = whole && (d == 0 || d == s->depth - 1);
        int64_t from, trip = vectorize_trip(s->loops[d], &from), step = by_lanes ? v->lanes : 1;
        struct part part = d == 0              ? *outer
                           : d == s->depth - 1 ? *inner
                                               : (struct part){ from, from + trip };
        if (outer->from == outer->to || inner->from == inner->to)
                return true;
        s->at[d] = loop_index(v->arena, part.from);
        if (part.to - part.from > step) {
                struct loop_stmt *loop =
                        vectorize_loop(v, s->loops[d], part.from, part.to, step, out);
                s->at[d] = loop_use(v->arena, loop->variable);
                out = loop->body;
        }
        return write_loops(s, d + 1, outer, inner, whole, out);
}

static struct part whole_part(const struct square *s, const struct loop_stmt *loop,
                              struct part *rest)
{
        int64_t from, trip = vectorize_trip(loop, &from), whole = trip / s->v->lanes * s->v->lanes;
        *rest = (struct part){ from + whole, from + trip };
        return (struct part){ from, from + whole };
}

struct loop_block *vectorize_transpose(const struct vectorizing *v, const struct loop_stmt *loop)
{
        struct square s = { .v = v };
        struct loop_block *out = loop_block_new(v->arena), *edges = loop_block_new(v->arena);
        struct part outer_rest, inner_rest;
        bool changed = false;
        if (v->lanes & (v->lanes - 1) || !find_loops(&s, loop) ||
            (!classify(&s, s.depth - 1, 0) && !classify(&s, 0, s.depth - 1)))
                return NULL;
        make_body(&s);
        struct part outer = whole_part(&s, s.loops[0], &outer_rest);
        struct part inner = whole_part(&s, s.loops[s.depth - 1], &inner_rest),
                    all = { inner.from, inner_rest.to };
        if (!write_loops(&s, 0, &outer, &inner, true, out) ||
            !write_loops(&s, 0, &outer, &inner_rest, false, edges) ||
            !write_loops(&s, 0, &outer_rest, &all, false, edges))
                return NULL;
        vectorize_append(out, vectorize_best(v, edges, &changed));
        return out;
}

/* ---- rows that take turns ---- */

static const struct loop_stmt *store_of(const struct square *s)
{
        const struct loop_stmt *t = body_of(s)->first;
        while (t && t->kind == STMT_LET)
                t = t->next;
        return t && t->kind == STMT_STORE && !t->c && !t->next ? t : NULL;
}

static bool reads_what_is_stored(const struct square *s, const struct loop_expr *e)
{
        bool found = e->op == LOOP_LOAD && may_be_stored(s, e->buffer);
        for (int i = 0; i < e->arity && !found; i++)
                found = e->args[i] && reads_what_is_stored(s, e->args[i]);
        return found;
}

/* Finds two loops: the inner one over a few rows, a power of two that divides the lanes, whose
 * elements lie side by side where they are stored. */
static bool find_turns(struct square *s, const struct loop_stmt *loop)
{
        const struct loop_stmt *inner = loop->body->first;
        int64_t from, first, rows, step, across;
        if (!inner || inner->kind != STMT_FOR || inner->next)
                return false;
        s->loops[s->depth++] = loop;
        s->loops[s->depth++] = inner;
        rows = vectorize_trip(inner, &first);
        const struct loop_stmt *store = store_of(s);
        if (!store || first || rows < 2 || s->v->lanes % rows || (rows & (rows - 1)) ||
            !(vectorize_trip(loop, &from) >= s->v->lanes || vectorize_is_open(s->v, loop)) ||
            !step_of(s, store->a, loop->variable, &step) ||
            !step_of(s, store->a, inner->variable, &across) || step != rows || across != 1)
                return false;
        for (const struct loop_stmt *t = body_of(s)->first; t; t = t->next)
                if (reads_what_is_stored(s, t->kind == STMT_LET ? t->a : t->b))
                        return false;
        return true;
}

/* Returns a row's values for the iterations from `at` on, as they would be stored. */
static struct loop_expr *write_row(const struct square *s, struct loop_expr *at, int64_t number,
                                   struct loop_block *out)
{
        const struct vectorizing *v = s->v;
        const struct vector_substitution row = { s->loops[1]->variable,
                                                 loop_index(v->arena, number) };
        struct loop_block *code = loop_block_new(v->arena);
        struct loop_stmt along = *s->loops[0], **last = &code->first;
        along.body = s->body;
        if (!vectorize_body(v, &along, v->lanes, at, NULL, &row, 1, code))
                return NULL;
        while ((*last)->next)
                last = &(*last)->next;
        struct loop_expr *value = (*last)->kind == STMT_STORE ? (*last)->b : NULL;
        *last = NULL;
        code->end = last;
        vectorize_append(out, code);
        return value;
}

static bool write_turns(const struct square *s, struct loop_expr *at, struct loop_block *out)
{
        const struct vectorizing *v = s->v;
        struct loop_expr *rows[LANES_MAX];
        const struct loop_stmt *store = store_of(s);
        int64_t from, count = vectorize_trip(s->loops[1], &from);
        for (int i = 0; i < count; i++)
                if (!(rows[i] = write_row(s, at, i, out)))
                        return false;
        vector_transpose(v->arena, rows, (int)count, out);
        struct square placing = *s;
        placing.at[0] = at;
        placing.at[1] = loop_index(v->arena, 0);
        for (int i = 0; i < count; i++) {
                struct loop_stmt *t = loop_append(v->arena, out, STMT_STORE);
                t->buffer = store->buffer;
                t->a = loop_op(v->arena, LOOP_ADD, placed(&placing, store->a, 0),
                               loop_index(v->arena, (int64_t)i * v->lanes), NULL);
                t->b = rows[i];
        }
        return vectorize_is_native(v, out);
}

/* Writes iterations from..to of the outer loop: whole vectors to out, others to edges. */
static bool write_part(const struct square *s, struct part part, struct loop_block *out,
                       struct loop_block *edges)
{
        const struct vectorizing *v = s->v;
        int64_t end = part.to - (part.to - part.from) % v->lanes;
        if (end > part.from) {
                struct loop_stmt *loop =
                        vectorize_loop(v, s->loops[0], part.from, end, v->lanes, out);
                if (!write_turns(s, loop_use(v->arena, loop->variable), loop->body))
                        return false;
        }
        if (end == part.to)
                return true;
        struct loop_stmt *rest = vectorize_loop(v, s->loops[0], end, part.to, 1, edges);
        return vectorize_body(v, s->loops[0], 1, loop_use(v->arena, rest->variable), NULL, NULL, 0,
                              rest->body);
}

/* Writes all iterations of an open loop: those that fill vectors, and what is left as a loop from
 * 0. */
static bool write_open(const struct square *s, struct loop_block *out, struct loop_block *edges)
{
        const struct vectorizing *v = s->v;
        const struct loop_stmt *all = s->loops[0];
        struct loop_stmt *loop =
                vectorize_open_loop(v, all, loop_index(v->arena, 0),
                                    vectorize_whole(v, all->b, v->lanes), v->lanes, out);
        if (!write_turns(s, loop_use(v->arena, loop->variable), loop->body))
                return false;
        struct loop_expr *left = loop_op(v->arena, LOOP_REM, loop_expr_copy(v->arena, all->b),
                                         loop_index(v->arena, v->lanes), NULL);
        struct loop_stmt *rest =
                vectorize_open_loop(v, all, loop_index(v->arena, 0), left, 1, edges);
        struct loop_expr *at = loop_op(v->arena, LOOP_ADD, loop_use(v->arena, rest->variable),
                                       vectorize_whole(v, all->b, v->lanes), NULL);
        return vectorize_body(v, all, 1, at, NULL, NULL, 0, rest->body);
}

struct loop_block *vectorize_turns(const struct vectorizing *v, const struct loop_stmt *loop)
{
        struct square s = { .v = v };
        struct loop_block *out = loop_block_new(v->arena), *edges = loop_block_new(v->arena);
        int64_t places[VECTORIZE_BREAKS_MAX + 1], from;
        bool changed = false;
        if (!find_turns(&s, loop))
                return NULL;
        make_body(&s);
        for (struct loop_stmt *t = s.body->first; t; t = t->next)
                if (t->kind == STMT_STORE)      /* The statement is the store of a row by itself:
                                                 * the loop's elements lie side by side. */
                        t->a = loop_use(v->arena,
                                        (struct loop_variable *)(uintptr_t)loop->variable);
        const bool open = vectorize_is_open(v, loop);
        int64_t end = open ? 0 : vectorize_trip(loop, &from) + from;
        int count = open ? 0 : vectorize_breaks(loop, from, end, places);
        places[count] = end;
        if (open && !write_open(&s, out, edges))
                return NULL;
        for (int i = 0; i <= count && !open; from = places[i++])
                if (!write_part(&s, (struct part){ from, places[i] }, out, edges))
                        return NULL;
        vectorize_append(out, vectorize_best(v, edges, &changed));
        return out;
}
