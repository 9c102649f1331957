/* SPDX-License-Identifier: MIT */
/* vectorize: loops to an extent that only a run knows.
 *
 * Independent iterations become vectors up to the last multiple of their lanes; what remains is a
 * vector under a mask, in a loop of at most one iteration, or single iterations.
 *
 *     for %i = 0 to %N {                      for %i = 0 to %N / 8 * 8 step 8 {
 *       store %y[%i] = max(%x[%i], 0.0)         store %y[%i] = max(%x<8>[%i], 0.0)
 *     }                                ->     }
 *                                             for %i = %N / 8 * 8 to %N step 8 {
 *                                               let %rest = ramp<8>(0, 1) < splat<8>(%N - %i)
 *                                               store %y[%i] = max(%x<8>[%i, %rest], 0.0) mask %rest
 *                                             }
 *
 * Rows of sums are computed several at a time, side by side (unroll and jam). An element of w that
 * is loaded serves all of them, and while one sum waits for its product the others are added up.
 *
 *     for %i = 0 to %N {                      for %i = 0 to %N / 8 * 8 step 8 {
 *       for %j = 0 to 768 {                     for %j = 0 to 768 {
 *         var %sum : f32 = 0.0                    var %sum : f32 = 0.0
 *         for %k = 0 to 288 {                     ... 7 more
 *           set %sum = %sum +                     for %k = 0 to 288 {
 *               %x[%i * 288 + %k] *      ->         set %sum = %sum + ..
 *               %w[%k * 768 + %j]                   ... 7 more
 *         }                                       }
 *         store %y[%i * 768 + %j] = %sum          store %y[%i * 768 + %j] = %sum
 *       }                                         ... 7 more
 *     }                                         }
 *                                             }
 *                                             for %i = %N / 8 * 8 to %N / 4 * 4 step 4 { .. }
 *                                             for %i = %N / 4 * 4 to %N { .. }
 *
 * Where the extent of rows is a number, a contraction follows a schedule and this is not needed.
 * Every sum is added up as it was, so every bit stays. */
#include "passes/vectorize/vectorize.h"

#include "cost/code.h"
#include "passes/vectorize/independence.h"
#include "passes/vectorize/jam.h"

enum { ROWS_MOST = 8, ROWS_LEAST = 4 };

struct look { const struct vectorizing *v; bool known; };

static void look(struct loop_expr *e, void *context);

/* Is the variable an extent: a parameter, or what the kernel begins with and is made of them? */
static bool is_extent(const struct vectorizing *v, const struct loop_variable *variable)
{
        if (variable->kind != VARIABLE_LET)
                return variable->kind == VARIABLE_PARAMETER;
        for (const struct loop_stmt *s = v->kernel->body->first; s && s->kind == STMT_LET;
             s = s->next) {
                if (s->variable != variable)
                        continue;
                struct look inner = { v, true };
                loop_expr_walk(s->a, look, &inner);
                return inner.known;
        }
        return false;
}

static void look(struct loop_expr *e, void *context)
{
        struct look *l = context;
        l->known = l->known && e->op != LOOP_LOAD &&
                   (e->op != LOOP_VARIABLE || is_extent(l->v, e->variable));
}

bool vectorize_is_extent(const struct vectorizing *v, struct loop_expr *e)
{
        struct look l = { v, true };
        loop_expr_walk(e, look, &l);
        return l.known;
}

bool vectorize_is_open(const struct vectorizing *v, const struct loop_stmt *loop)
{
        int64_t number;
        if (loop->kind != STMT_FOR || loop->for_kind != FOR_SERIAL || loop->step != 1 ||
            loop_is_int(loop->b, &number) || !loop_is_int(loop->a, &number) || number)
                return false;
        return vectorize_is_extent(v, loop->b);
}

struct loop_expr *vectorize_whole(const struct vectorizing *v, const struct loop_expr *extent,
                                  int64_t step)
{
        struct loop_expr *all = loop_expr_copy(v->arena, extent);
        if (step == 1)
                return all;
        struct loop_expr *steps =
                loop_op(v->arena, LOOP_DIV, all, loop_index(v->arena, step), NULL);
        return loop_op(v->arena, LOOP_MUL, steps, loop_index(v->arena, step), NULL);
}

struct loop_stmt *vectorize_open_loop(const struct vectorizing *v, const struct loop_stmt *like,
                                      struct loop_expr *from, struct loop_expr *to, int64_t step,
                                      struct loop_block *out)
{
        struct loop_stmt *s = loop_append(v->arena, out, STMT_FOR);
        s->variable = loop_variable_new(v->arena, like->variable->name, like->variable->type,
                                        VARIABLE_LOOP);
        s->a = from;
        s->b = to;
        s->step = step;
        loop_bounds_set(v->bounds, s->variable, loop_bounds_for(v->bounds, from, to, step));
        return s;
}

struct loop_block *vectorize_open_rest(const struct vectorizing *v, const struct loop_stmt *loop,
                                       const struct vector_substitution *vectors,
                                       const struct vector_substitution *scalars, int count)
{
        struct loop_block *out[2];
        for (int masked = 0; masked < 2; masked++) {
                const int lanes = masked ? v->lanes : 1;
                struct loop_expr *to = vectorize_whole(v, loop->b, 1), *mask = NULL;
                out[masked] = loop_block_new(v->arena);
                struct loop_stmt *rest = vectorize_open_loop(
                        v, loop, vectorize_whole(v, loop->b, v->lanes), to, lanes, out[masked]);
                struct loop_expr *at = loop_use(v->arena, rest->variable);
                if (masked)
                        mask = vectorize_mask(
                                v,
                                loop_op(v->arena, LOOP_SUB, loop_expr_copy(v->arena, to), at, NULL),
                                rest->body);
                if (!vectorize_body(v, loop, lanes, loop_use(v->arena, rest->variable), mask,
                                    masked ? vectors : scalars, count, rest->body))
                        out[masked] = NULL;
        }
        return vectorize_cheaper(v, out[0], out[1]);
}

struct loop_block *vectorize_open_map(const struct vectorizing *v, const struct loop_stmt *loop)
{
        if (!vectorize_is_open(v, loop))
                return NULL;
        struct loop_block *out = loop_block_new(v->arena);
        struct loop_stmt *strips =
                vectorize_open_loop(v, loop, loop_index(v->arena, 0),
                                    vectorize_whole(v, loop->b, v->lanes), v->lanes, out);
        struct loop_block *rest = NULL;
        if (vectorize_body(v, loop, v->lanes, loop_use(v->arena, strips->variable), NULL, NULL, 0,
                           strips->body))
                rest = vectorize_open_rest(v, loop, NULL, NULL, 0);
        if (!rest)
                return NULL;
        vectorize_append(out, rest);
        return out;
}

/* ---- rows of sums ---- */

static void find_set(struct loop_stmt *s, void *found) { *(bool *)found |= s->kind == STMT_SET; }

static void find_vector(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->variable && s->variable->type.lanes > 1;
}

/* Are sums of scalars added up by loops inside? A schedule has made those of vectors. */
static bool has_sums(const struct loop_block *block)
{
        bool found = false, vectors = false;
        for (const struct loop_stmt *s = block->first; s && !found; s = s->next)
                if (s->kind == STMT_FOR)
                        loop_block_walk(s->body, find_set, NULL, &found);
        if (found)
                loop_block_walk((struct loop_block *)(uintptr_t)block, find_vector, NULL, &vectors);
        return found && !vectors;
}

/* Writes the rows from..to, `rows` at a time. Returns false where their statements cannot stand
 * side by side. */
static bool write_rows(const struct vectorizing *v, const struct loop_stmt *loop, int rows,
                       struct loop_expr *from, struct loop_expr *to, struct loop_block *out)
{
        /* The body's variables are new in each of the loops. */
        struct jam_copy *new = jam_copy_new(v->arena, 1), *c = jam_copy_new(v->arena, rows);
        struct loop_block *once = loop_block_new(v->arena);
        struct loop_stmt *s = vectorize_open_loop(v, loop, from, to, rows, out);
        bool changed = false;
        new->all = true;
        jam_copy_set(new, loop->variable, 0, loop_use(v->arena, s->variable));
        jam_range(new, loop->body->first, NULL, once);
        for (int i = 0; i < rows; i++)
                jam_copy_set(c, s->variable, i, jam_plus(v->arena, s->variable, i));
        jam_range(c, once->first, NULL, s->body);
        const bool good = !new->failed && !c->failed;
        if (good)
                s->body = vectorize_best(v, s->body, &changed);
        return good;
}

/* Returns the predicted cost of a row, where `rows` are computed at a time; below 0: they cannot
 * be. */
static double cost_of_row(const struct vectorizing *v, const struct loop_stmt *loop, int rows)
{
        struct loop_block *out = loop_block_new(v->arena);
        bool good =
                write_rows(v, loop, rows, loop_index(v->arena, 0), loop_index(v->arena, rows), out);
        return good ? cost_of_code(v->target, v->bounds, out->first->body) / rows : -1;
}

struct loop_block *vectorize_open_rows(const struct vectorizing *v, const struct loop_stmt *loop)
{
        struct loop_stmt *nest = (struct loop_stmt *)(uintptr_t)loop;
        if (!vectorize_is_open(v, loop) || !has_sums(loop->body) ||
            !loops_are_independent(v->bounds, &nest, 1, false))
                return NULL;
        struct loop_block *out = loop_block_new(v->arena);
        struct loop_expr *from = loop_index(v->arena, 0);
        const double one = cost_of_row(v, loop, 1);
        bool several = false, good = one >= 0;
        for (int rows = ROWS_MOST; rows >= ROWS_LEAST && good; rows /= 2) {
                /* The costs do not know that products share what they load. */
                const double cost = cost_of_row(v, loop, rows);
                if (cost < 0 || cost > one)
                        continue;
                struct loop_expr *to = vectorize_whole(v, loop->b, rows);
                good = write_rows(v, loop, rows, from, to, out);
                from = loop_expr_copy(v->arena, to);
                several = true;
        }
        return several && good && write_rows(v, loop, 1, from, vectorize_whole(v, loop->b, 1), out)
                       ? out
                       : NULL;
}
