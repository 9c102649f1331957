/* SPDX-License-Identifier: MIT */
/* grid, nests: a sum over a nest of loops, the innermost of which is short, as products by weights
 * in blocks of few bits have it, becomes a sum over one loop that the lanes of a warp can share
 * (grid_rows.c). An iteration of it has SIDE neighbours of the innermost loop and all iterations of
 * the loops between the outermost one and that:
 *
 *     for %k = 0 to 28 {                         for %t = 0 to 112 {
 *       for %k2 = 0 to 2 {                         let %k : index = %t / 4
 *         for %k3 = 0 to 16 {                      let %k3 : index = %t % 4 * 4
 *           set %sum = %sum + %x[..] * ..   ->     let %term : f32 = %x[..] * ..
 *         }                                        ..
 *       }                                          let %term8 : f32 = %x[..] * ..
 *     }                                            set %sum = %sum + (%term + %term2 + ..)
 *                                                }
 *
 * So a lane loads words, and what the loops between read again (bytes of which each has two
 * numbers) lies in its registers. Sums are added up in another order: class R. */
#include "engines/grid/grid_nests.h"

#include "passes/vectorize/jam.h"

enum { SIDE = 4 };                      /* A lane has this many neighbours: words of 4 bytes or
                                         * more. */
/* Loops between run BETWEEN_MOST times at most, all together; a nest has TERMS_MOST sums or
 * fewer. */
enum { BETWEEN_MOST = 4, TERMS_MOST = 8 };
/* An innermost loop of more iterations is shared by the lanes as it is: each has SIDE of them. */
enum { INNER_MOST = SIDE * GRID_LANES };

/* ---- what counts as a nest ---- */

static bool begins_at_zero(const struct loop_stmt *loop)
{
        int64_t from;
        return loop_is_int(loop->a, &from) && from == 0;
}

static bool is_itself(const struct loop_stmt *set, int operand)
{
        const struct loop_expr *e = set->a->args[operand];
        return e->op == LOOP_VARIABLE && e->variable == set->variable;
}

/* Is a term added to the variable itself? */
static bool is_sum(const struct loop_stmt *s)
{
        return s->kind == STMT_SET && s->a->op == LOOP_ADD &&
               is_itself(s, 0) != is_itself(s, 1);
}

/* Does the body hold values and sums of terms only? */
static bool is_of_sums(const struct loop_block *body)
{
        int sums = 0;
        for (const struct loop_stmt *s = body->first; s; s = s->next) {
                if (s->kind != STMT_LET && !is_sum(s))
                        return false;
                sums += s->kind == STMT_SET;
        }
        return sums <= TERMS_MOST;
}

bool grid_nest_find(struct loop_stmt *loop, struct grid_nest *n)
{
        *n = (struct grid_nest){ .between = 1 };
        for (struct loop_stmt *inner = loop; inner;) {
                const int64_t trip = grid_row_trip(inner);
                if (n->depth == GRID_NEST_MOST || !trip || !begins_at_zero(inner))
                        return false;
                n->loops[n->depth] = inner;
                n->trips[n->depth++] = trip;
                struct loop_stmt *s = inner->body->first;
                while (s && s->kind == STMT_LET)
                        s = s->next;
                inner = s && s->kind == STMT_FOR && !s->next ? s : NULL;
        }
        const int last = n->depth - 1;
        for (int d = 1; d < last; d++)
                n->between *= n->trips[d];
        return n->depth > 1 && n->trips[last] % SIDE == 0 && n->trips[last] < INNER_MOST &&
               n->between <= BETWEEN_MOST &&
               n->trips[0] * n->trips[last] / SIDE >= GRID_LANES &&
               is_of_sums(n->loops[last]->body);
}

/* ---- one loop ---- */

static struct loop_stmt *put_let(struct arena *arena, struct loop_block *block,
                                 struct loop_variable *v, struct loop_expr *value)
{
        struct loop_stmt *let = loop_append(arena, block, STMT_LET);
        let->variable = v;
        v->kind = VARIABLE_LET;
        let->a = value;
        return let;
}

/* Says what the variables of all loops but the outermost are in each copy: the index of the
 * innermost loop is `first` plus the number of the neighbour. */
static void set_copies(struct jam_copy *copy, const struct grid_nest *n)
{
        const int last = n->depth - 1;
        for (int i = 0; i < copy->times; i++) {
                int64_t rest = i / SIDE;
                for (int d = last - 1; d > 0; d--) {
                        jam_copy_set(copy, n->loops[d]->variable, i,
                                     loop_index(copy->arena, rest % n->trips[d]));
                        rest /= n->trips[d];
                }
                jam_copy_set(copy, n->loops[last]->variable, i,
                             jam_plus(copy->arena, n->first, i % SIDE));
        }
}

static struct loop_expr *sum_of(struct jam_copy *copy, struct loop_variable *term, int from,
                                int count)
{
        return count == 1 ? jam_expr(copy, loop_use(copy->arena, term), from)
                          : loop_op(copy->arena, LOOP_ADD,
                                    sum_of(copy, term, from, count / 2),
                                    sum_of(copy, term, from + count / 2, count - count / 2), NULL);
}

/* A sum, and the value that is added to it in an iteration. */
struct term { struct loop_stmt *set; struct loop_variable *value; };

/* Moves the values of all loops to `values`, and behind them the terms of all sums. Returns how
 * many sums there are. */
static int take_values(struct arena *arena, const struct grid_nest *n, struct loop_block *values,
                       struct term terms[TERMS_MOST])
{
        int count = 0;
        for (int d = 0; d < n->depth; d++)
                for (struct loop_stmt *s = n->loops[d]->body->first; s; s = s->next) {
                        if (s->kind == STMT_LET)
                                put_let(arena, values, s->variable, s->a);
                        if (s->kind != STMT_SET)
                                continue;
                        terms[count] = (struct term){
                                s, loop_variable_new(arena, "term", s->variable->type, VARIABLE_LET)
                        };
                        put_let(arena, values, terms[count++].value, s->a->args[is_itself(s, 0)]);
                }
        return count;
}

void grid_nest_write(struct arena *arena, struct grid_nest *n)
{
        const int last = n->depth - 1;
        const int64_t words = n->trips[last] / SIDE;
        struct loop_stmt *loop = n->loops[0];
        struct term terms[TERMS_MOST];
        struct loop_block *body = loop_block_new(arena), *values = loop_block_new(arena);
        struct jam_copy *copy = jam_copy_new(arena, (int)n->between * SIDE);
        struct loop_variable *t = loop_variable_new(arena, "t", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        n->first = loop_variable_new(arena, n->loops[last]->variable->name, LOOP_TYPE(E_INDEX),
                                     VARIABLE_LET);
        put_let(arena, body, loop->variable,
                loop_op(arena, LOOP_DIV, loop_use(arena, t), loop_index(arena, words), NULL));
        struct loop_expr *word =
                loop_op(arena, LOOP_REM, loop_use(arena, t), loop_index(arena, words), NULL);
        put_let(arena, body, n->first,
                loop_op(arena, LOOP_MUL, word, loop_index(arena, SIDE), NULL));
        set_copies(copy, n);
        const int count = take_values(arena, n, values, terms);
        jam_range(copy, values->first, NULL, body);
        for (int i = 0; i < count; i++) {
                struct loop_stmt *set = loop_append(arena, body, STMT_SET);
                set->variable = terms[i].set->variable;
                set->a = loop_op(arena, LOOP_ADD, loop_use(arena, set->variable),
                                 sum_of(copy, terms[i].value, 0, copy->times), NULL);
        }
        loop->variable = t;
        loop->b = loop_index(arena, n->trips[0] * words);
        loop->body = body;
}
