/* SPDX-License-Identifier: MIT */
/* vectorize: reductions along the loop, in vectors of partial results.
 *
 *     for %k = 0 to 100 {                    var %sums : f32x16 = 0.0
 *       set %sum = %sum + %x[%k]             for %k = 0 to 96 step 16 {
 *     }                                        set %sums = %sums + %x<16>[%k]
 *                                      ->    }
 *                                            set %sums = select(%rest, %sums + %x<16>[96, %rest],
 *                                            %sums) set %sum = %sum + sum_lanes(%sums)
 *
 * Several vectors of partial results take turns where the loop is long, because an addition takes
 * four cycles; where it is short, as blocks of numbers that share a scale are, iterations of the
 * loop around it take turns. Loops around it that hold nothing else stay around; the partial
 * results live outside of them all. With one lane, the partial results are scalars that take turns,
 * for loops inside one that becomes vectors. */
#include "passes/vectorize/vectorize.h"

#include "cost/code.h"
#include "passes/vectorize/averages.h"
#include "passes/vectorize/jam.h"

enum { REDUCTIONS_MAX = 4, TURNS_MAX = 4, LIGHT = 6, LONG = 16 };

struct reduction {
        const struct loop_stmt *set;    /* The statement is in the innermost body. */
        enum loop_opcode op;
        struct loop_variable *parts[TURNS_MAX];
};
struct reducing {
        const struct vectorizing *v;
        const struct loop_stmt *loop;   /* This is the outermost loop; `inner` is the innermost one
                                         * below. */
        const struct loop_stmt *inner, *around;   /* around: the loop that inner is in, or NULL. */
        struct reduction reductions[REDUCTIONS_MAX];
        int count, lanes, turns;
        int copies, turn;               /* copies: how many iterations of the loop around are
                                         * written at a time; turn: the partial result that an
                                         * iteration begins with. */
};

static enum loop_opcode lanes_op(enum loop_opcode op)
{
        return op == LOOP_ADD ? LOOP_SUM_LANES : op == LOOP_MAX ? LOOP_MAX_LANES : LOOP_MIN_LANES;
}

/* ---- what is reduced ---- */

static bool mentions(const struct loop_expr *e, const struct loop_variable *v)
{
        if (e->variable == v)
                return true;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i] && mentions(e->args[i], v))
                        return true;
        return false;
}

/* Is it set %v = %v op e, or e op %v? e is args[*other]. */
static bool accumulates(const struct loop_stmt *s, int *other)
{
        const struct loop_expr *e = s->a;
        if ((e->op != LOOP_ADD && e->op != LOOP_MAX && e->op != LOOP_MIN) || s->variable->rows ||
            e->type.lanes != 1)
                return false;
        for (*other = 0; *other < 2; ++*other) {
                const struct loop_expr *self = e->args[1 - *other];
                if (self->op == LOOP_VARIABLE && self->variable == s->variable)
                        return !mentions(e->args[*other], s->variable);
        }
        return false;
}

/* The count says how often the statements of a body mention the variable. */
struct count { const struct loop_variable *variable; int uses; };
static void count_use(struct loop_expr *e, void *context)
{
        struct count *c = context;
        c->uses += e->variable == c->variable;
}

static bool used_once(const struct loop_stmt *loop, const struct loop_variable *variable)
{
        struct count c = { variable, 0 };
        loop_block_walk(loop->body, NULL, count_use, &c);
        return c.uses == 1;
}

bool vectorize_accumulates(const struct loop_stmt *loop, const struct loop_stmt *set)
{
        int other;
        return accumulates(set, &other) && used_once(loop, set->variable);
}

static bool find_reductions(struct reducing *r)
{
        for (const struct loop_stmt *s = r->inner->body->first; s; s = s->next) {
                if (s->kind == STMT_LET)
                        continue;
                if (s->kind != STMT_SET || r->count == REDUCTIONS_MAX ||
                    !vectorize_accumulates(r->loop, s) || averages_has(r->v->averages, s->variable))
                        return false;
                enum element e = s->a->type.element;
                /* Lanes of bool are masks. */
                if (e == E_BOOL || (r->v->exact && element_is_float(e)))
                        return false;
                r->reductions[r->count++] = (struct reduction){ .set = s, .op = s->a->op };
        }
        return r->count > 0;
}

/* Returns the innermost loop, down through loops that hold lets and one loop; *around: the last but
 * one. */
static const struct loop_stmt *innermost(const struct loop_stmt *loop,
                                         const struct loop_stmt **around)
{
        *around = NULL;
        for (;;) {
                const struct loop_stmt *only = NULL;
                for (const struct loop_stmt *s = loop->body->first; s; s = s->next) {
                        if (s->kind == STMT_FOR && !only)
                                only = s;
                        else if (s->kind != STMT_LET)
                                return only ? NULL : loop;
                }
                if (!only)
                        return loop;
                *around = loop;
                loop = only;
        }
}

/* ---- code ---- */

static void declare_parts(struct reducing *r, struct loop_block *out)
{
        struct arena *arena = r->v->arena;
        for (int k = 0; k < r->count; k++)
                for (int t = 0; t < r->turns; t++) {
                        struct loop_variable *whole = r->reductions[k].set->variable;
                        struct loop_type type = LOOP_VECTOR(whole->type.element, r->lanes);
                        struct loop_stmt *s = loop_append(arena, out, STMT_VAR);
                        const char *name = r->lanes > 1
                                                   ? arena_printf(arena, "%.20s_lanes", whole->name)
                                                   : whole->name;
                        s->variable = loop_variable_new(arena, name, type, VARIABLE_VAR);
                        s->a = r->reductions[k].op == LOOP_ADD
                                       ? loop_literal(arena, type, (union scalar){ .u = 0 })
                                       : loop_splat(arena, type.lanes, loop_use(arena, whole));
                        r->reductions[k].parts[t] = s->variable;
                }
}

static struct loop_stmt *append_set(const struct reducing *r, struct loop_variable *variable,
                                    struct loop_expr *value, struct loop_block *out)
{
        struct loop_stmt *s = loop_append(r->v->arena, out, STMT_SET);
        s->variable = variable;
        s->a = value;
        return s;
}

static void join_parts(const struct reducing *r, struct loop_block *out)
{
        struct arena *arena = r->v->arena;
        for (int k = 0; k < r->count; k++) {
                const struct reduction *reduction = &r->reductions[k];
                struct loop_variable *whole = reduction->set->variable;
                for (int apart = r->turns; apart > 1; apart = (apart + 1) / 2)
                        for (int t = 0; t < apart / 2; t++) {
                                struct loop_variable *to = reduction->parts[t];
                                struct loop_expr *a = loop_use(arena, to);
                                struct loop_expr *b =
                                        loop_use(arena, reduction->parts[t + (apart + 1) / 2]);
                                append_set(r, to, loop_op(arena, reduction->op, a, b, NULL), out);
                        }
                struct loop_expr *all = loop_use(arena, reduction->parts[0]);
                if (r->lanes > 1)
                        all = loop_op(arena, lanes_op(reduction->op), all, NULL, NULL);
                append_set(r, whole,
                           loop_op(arena, reduction->op, loop_use(arena, whole), all, NULL), out);
        }
}

/* Writes one vector of iterations, into the partial results whose turn it is. */
static bool write_turn(const struct reducing *r, int turn, struct loop_expr *base,
                       struct loop_block *out)
{
        struct vector_substitution substitutions[REDUCTIONS_MAX];
        for (int k = 0; k < r->count; k++) {
                substitutions[k].variable = r->reductions[k].set->variable;
                substitutions[k].value =
                        loop_use(r->v->arena, r->reductions[k].parts[(r->turn + turn) % r->turns]);
        }
        return vectorize_body(r->v, r->inner, r->lanes, base, NULL, substitutions, r->count, out);
}

static struct loop_expr *place(const struct vectorizing *v, const struct loop_variable *variable,
                               int64_t offset)
{
        struct loop_expr *at =
                variable ? loop_use(v->arena, (struct loop_variable *)(uintptr_t)variable)
                         : loop_index(v->arena, 0);
        return loop_op(v->arena, LOOP_ADD, at, loop_index(v->arena, offset), NULL);
}

/* Writes a loop to an extent that a run gives: whole rounds, what is left of whole vectors, and the
 * rest. */
static bool write_open(const struct reducing *r, struct loop_block *out)
{
        const struct vectorizing *v = r->v;
        const struct loop_expr *extent = r->inner->b;
        struct vector_substitution vectors[REDUCTIONS_MAX], scalars[REDUCTIONS_MAX];
        bool good = true;
        struct loop_expr *from = loop_index(v->arena, 0);
        for (int turns = r->turns; turns; turns = turns > 1) {
                struct loop_expr *to = vectorize_whole(v, extent, (int64_t)turns * r->lanes);
                struct loop_stmt *strips = vectorize_open_loop(
                        v, r->inner, from, to, (int64_t)turns * r->lanes, out);
                for (int t = 0; good && t < turns; t++)
                        good = write_turn(r, t, place(v, strips->variable, t * r->lanes),
                                          strips->body);
                from = loop_expr_copy(v->arena, to);
        }
        for (int k = 0; k < r->count; k++) {
                vectors[k].variable = scalars[k].variable = r->reductions[k].set->variable;
                vectors[k].value = loop_use(v->arena, r->reductions[k].parts[0]);
                scalars[k].value = loop_use(v->arena, r->reductions[k].set->variable);
        }
        struct loop_block *rest =
                good ? vectorize_open_rest(v, r->inner, vectors, scalars, r->count) : NULL;
        if (rest)
                vectorize_append(out, rest);
        return rest != NULL;
}

static bool write_inner(const struct reducing *r, struct loop_block *out)
{
        if (vectorize_is_open(r->v, r->inner))
                return write_open(r, out);
        const struct vectorizing *v = r->v;
        int64_t from, trip = vectorize_trip(r->inner, &from), lanes = r->lanes, done = 0;
        int64_t rounds = trip / (lanes * r->turns), whole = trip / lanes * lanes;
        bool good = true;
        if (rounds > 1) {
                struct loop_stmt *strips =
                        vectorize_loop(v, r->inner, from, from + rounds * lanes * r->turns,
                                       lanes * r->turns, out);
                for (int t = 0; good && t < r->turns; t++)
                        good = write_turn(r, t, place(v, strips->variable, t * lanes),
                                          strips->body);
                done = rounds * lanes * r->turns;
        }
        for (; good && done < whole; done += lanes)
                good = write_turn(r, (int)(done / lanes), place(v, NULL, from + done), out);
        if (!good || done == trip)
                return good;
        struct vector_substitution vectors[REDUCTIONS_MAX], scalars[REDUCTIONS_MAX];
        for (int k = 0; k < r->count; k++) {
                struct loop_variable *part =
                        r->reductions[k].parts[(r->turn + done / lanes) % r->turns];
                vectors[k].variable = scalars[k].variable = r->reductions[k].set->variable;
                vectors[k].value = loop_use(v->arena, part);
                scalars[k].value = loop_use(v->arena, r->reductions[k].set->variable);
        }
        struct loop_block *rest =
                vectorize_rest(v, r->inner, from + done, trip - done, vectors, scalars, r->count);
        if (!rest)
                return false;
        *out->end = rest->first;
        out->end = rest->end;
        return true;
}

/* Writes iteration `number` of several of the loop around the innermost. */
static bool write_copy(const struct reducing *r, struct loop_variable *variable, int number,
                       struct loop_block *out)
{
        struct arena *arena = r->v->arena;
        struct jam_copy *copy = jam_copy_new(arena, 1);
        struct reducing one = *r;
        int64_t from;
        copy->all = true;
        jam_copy_set(copy, r->around->variable, 0, place(r->v, variable, number));
        for (int k = 0; k < r->count; k++) {
                struct loop_variable *sum = r->reductions[k].set->variable;
                jam_copy_set(copy, sum, 0, loop_use(arena, sum));
        }
        struct loop_block *body = loop_block_new(arena);
        jam_range(copy, r->around->body->first, NULL, body);
        one.turn = (int)(number * divide_up(vectorize_trip(r->inner, &from), r->lanes));
        bool good = !copy->failed;
        for (const struct loop_stmt *s = body->first; s && good; s = s->next) {
                if (s->kind == STMT_FOR) {
                        one.inner = s;
                        good = write_inner(&one, out);
                        continue;
                }
                struct loop_stmt *let = loop_append(arena, out, STMT_LET);
                let->variable = s->variable;
                let->a = s->a;
        }
        return good;
}

static bool write_copies(const struct reducing *r, struct loop_block *out)
{
        const struct vectorizing *v = r->v;
        int64_t from, trip = vectorize_trip(r->around, &from);
        struct loop_stmt *strips =
                trip > r->copies ? vectorize_loop(v, r->around, from, from + trip, r->copies, out)
                                 : NULL;
        for (int i = 0; i < r->copies; i++)
                if (!write_copy(r, strips ? strips->variable : NULL, (int)(strips ? i : from + i),
                                strips ? strips->body : out))
                        return false;
        return true;
}

/* Writes the loops around the innermost, as they are, or with several iterations at a time. */
static bool write_loops(const struct reducing *r, const struct loop_stmt *loop,
                        struct loop_block *out)
{
        if (loop == r->inner)
                return write_inner(r, out);
        if (loop == r->around && r->copies > 1)
                return write_copies(r, out);
        struct loop_stmt *copy = loop_append(r->v->arena, out, STMT_FOR);
        copy->variable = loop->variable;
        copy->a = loop->a;
        copy->b = loop->b;
        copy->step = loop->step;
        for (const struct loop_stmt *s = loop->body->first; s; s = s->next) {
                if (s->kind == STMT_FOR) {
                        if (!write_loops(r, s, copy->body))
                                return false;
                        continue;
                }
                struct loop_stmt *let = loop_append(r->v->arena, copy->body, STMT_LET);
                let->variable = s->variable;
                let->a = s->a;
        }
        return true;
}

/* Chooses how many partial results take turns and, where rounds are too few for that, how many
 * iterations of the loop around are written at a time. */
static void choose_turns(struct reducing *r, int64_t rounds)
{
        const struct vectorizing *v = r->v;
        bool light = cost_of_code(v->target, v->bounds, r->inner->body) <= LIGHT;
        int wanted = light ? TURNS_MAX : 2;
        int64_t from, around = r->around ? vectorize_trip(r->around, &from) : 0;
        r->copies = 1;
        r->turns = rounds >= 8 && light ? TURNS_MAX : rounds >= 4 ? 2 : 1;
        if (r->lanes == 1 || rounds > 2 || r->count > 1)
                return;
        for (int64_t copies = wanted / rounds; copies > 1 && r->copies == 1; copies--)
                if (around && around % copies == 0) {
                        r->copies = (int)copies;
                        r->turns = (int)(copies * rounds);
                }
}

static struct loop_block *reduce(const struct vectorizing *v, const struct loop_stmt *loop,
                                 int lanes)
{
        struct reducing r = { .v = v, .loop = loop, .lanes = lanes };
        r.inner = innermost(loop, &r.around);
        struct loop_block *out = loop_block_new(v->arena);
        int64_t from,
                trip = r.inner && loop->for_kind == FOR_SERIAL ? vectorize_trip(r.inner, &from) : 0;
        const bool open = r.inner && lanes > 1 && vectorize_is_open(v, r.inner);
        if ((trip < 2 && !open) || !find_reductions(&r))
                return NULL;
        int64_t rounds = open ? LONG : divide_up(trip, lanes);
        choose_turns(&r, rounds);
        if (lanes == 1 && rounds < LONG)
                return NULL;
        declare_parts(&r, out);
        if (!write_loops(&r, loop, out))
                return NULL;
        join_parts(&r, out);
        return out;
}

struct loop_block *vectorize_reduction(const struct vectorizing *v, const struct loop_stmt *loop)
{
        return reduce(v, loop, v->lanes);
}

struct loop_block *vectorize_partial_results(const struct vectorizing *v,
                                             const struct loop_stmt *loop)
{
        return reduce(v, loop, 1);
}
