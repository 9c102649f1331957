/* SPDX-License-Identifier: MIT */
/* jam: nests of sums compute several results at a time, side by side (unroll and jam), for targets
 * without vectors.
 *
 *     for %m = 0 to 16 {                              for %m = 0 to 16 step 4 {
 *       for %i = 0 to 9 {                               for %i = 0 to 9 {
 *         var %sum : f32 = 0.0                            var %sum : f32 = 0.0
 *         for %c = 0 to 96 {                              ... 3 more
 *           set %sum = %sum +                  ->         for %c = 0 to 96 {
 *               %x[%c * 9 + %i] *                           let %xe : f32 = %x[%c * 9 + %i]
 *               %w[%m * 96 + %c]                            let %we : f32 = %w[%m * 96 + %c]
 *         }                                                 ... 3 more
 *         store %y[..] = max(%sum, 0.0)                     set %sum = %sum + %xe * %we
 *       }                                                   ... 3 more
 *     }                                                   }
 *                                                         store %y[..] = max(%sum, 0.0)
 *                                                         ... 3 more
 *
 * While one sum waits for its products, others are added up, and what several read is loaded once.
 * Where columns (here: %i) are neighbours in memory, and enough of them, accumulator rows of them
 * are computed by loops that C compilers make vectors of (accumulator_rows.c). Each sum is added up
 * as it was, so every bit stays.
 *
 * The schedule of a contraction's sum (SCALAR in ir/target/schedule.def) says how many sums there
 * are, along which loop, and how wide accumulator rows are; a nest without a schedule gets the one
 * of least predicted time (jam_choose.c).
 *
 * Nothing is copied or padded: the workspace stays as it is. */
#include "ir/loop/loop_vector.h"
#include "passes/vectorize/jam.h"

#include "passes/vectorize/independence.h"
#include "passes/pass.h"

#include <string.h>

/* ---- nests ---- */

static void find_store(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_STORE;
}

static bool stores(const struct loop_stmt *s)
{
        bool found = false;
        if (s->body)
                loop_block_walk(s->body, find_store, NULL, &found);
        return found;
}

static bool is_row(const struct loop_stmt *s)
{
        return s->kind == STMT_FOR && s->for_kind == FOR_SERIAL && s->step == 1;
}

static bool is_plain_loop(const struct loop_stmt *s)
{
        int64_t from, to;
        return is_row(s) &&
               loop_is_int(s->a, &from) && loop_is_int(s->b, &to) && to > from;
}

/* Clears *good if s is not a loop, a value, a variable or a set. */
static void check_sums(struct loop_stmt *s, void *good)
{
        *(bool *)good &= s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_SET ||
                         s->kind == STMT_VAR;
}

/* Records the leaf's statements in the nest. Returns false unless they are values, variables, loops
 * that add up, and one store at the end. */
static bool take_leaf(struct jam_nest *nest, struct loop_block *leaf)
{
        bool good = true, sums = false;
        int variables = 0;
        nest->leaf = leaf;
        for (struct loop_stmt *s = leaf->first; s && good; s = s->next) {
                if (s->kind == STMT_FOR) {
                        sums = true;
                        loop_block_walk(s->body, check_sums, NULL, &good);
                } else if (s->kind == STMT_VAR) {
                        nest->sum = s;
                        variables++;
                } else if (s->kind == STMT_STORE) {
                        good = !s->next && !s->c;
                        nest->store = s;
                } else {
                        good = s->kind == STMT_LET;
                }
        }
        if (variables != 1)
                nest->sum = NULL;
        return good && sums && nest->store && variables;
}

static void take_let(struct loop_stmt *s, void *nest)
{
        if (s->kind == STMT_LET)
                jam_define(nest, s);
}

static bool find_loops(struct jam_nest *nest, struct loop_stmt *s)
{
        while (is_row(s) && nest->depth < JAM_DEPTH_MAX && (nest->plain || is_plain_loop(s))) {
                struct loop_stmt *inner = s->body->first;
                if (nest->plain == nest->depth && is_plain_loop(s))
                        nest->plain++;
                nest->loops[nest->depth++] = s;
                while (inner && inner->kind == STMT_LET)
                        inner = inner->next;
                if (!inner || inner->kind != STMT_FOR || inner->next || !stores(inner))
                        return take_leaf(nest, s->body);
                s = inner;
        }
        return false;
}

/* Finds the nest that begins with s; its map of definitions is in `scratch`. */
static bool find_nest(struct jam_nest *nest, struct loop_stmt *s, struct arena *scratch)
{
        *nest = (struct jam_nest){ .lets = map_new(scratch) };
        if (!find_loops(nest, s))
                return false;
        loop_block_walk(s->body, take_let, NULL, nest);
        return true;
}

/* ---- names for what is multiplied ---- */

static void find_load(struct loop_expr *e, void *context)
{
        const struct loop_buffer **b = context;
        if (e->op == LOOP_LOAD && !*b)
                *b = e->buffer;
}

/* Returns e or, if e is read from memory, a use of a new value that is defined before *at. */
static struct loop_expr *named(struct arena *arena, struct loop_expr *e, struct loop_stmt ***at,
                               const struct jam_nest *nest)
{
        const struct loop_buffer *from = NULL;
        loop_expr_walk(e, find_load, &from);
        if (!from)
                return e;
        struct loop_block *block = loop_block_new(arena);
        struct loop_stmt *let = loop_append(arena, block, STMT_LET);
        let->variable = loop_variable_new(arena, arena_printf(arena, "%se", from->name), e->type,
                                          VARIABLE_LET);
        let->a = e;
        let->next = **at;
        **at = let;
        *at = &let->next;
        jam_define(nest, let);
        return loop_use(arena, let->variable);
}

static void name_operands(struct arena *arena, struct loop_block *block,
                          const struct jam_nest *nest)
{
        for (struct loop_stmt **at = &block->first; *at; at = &(*at)->next) {
                if ((*at)->kind == STMT_FOR)
                        name_operands(arena, (*at)->body, nest);
                struct loop_expr *sum = (*at)->kind == STMT_SET ? (*at)->a : NULL,
                                 *product = sum && sum->op == LOOP_ADD ? sum->args[1] : NULL;
                if (!product || product->op != LOOP_MUL)
                        continue;
                for (int i = 0; i < 2; i++)
                        product->args[i] = named(arena, product->args[i], &at, nest);
        }
}

/* ---- writing the nest ---- */

struct jamming {
        struct arena *arena;
        const struct jam_nest *nest;
        const struct jam *jam;
        struct loop_variable *line; /* It counts the results side by side; NULL: there is one. */
        const struct loop_variable *alone[2]; /* These are the variables of the loops that compute
                                               * results from sums. */
        bool failed;
};

struct loop_expr *jam_plus(struct arena *arena, struct loop_variable *v, int64_t n)
{
        return loop_op(arena, LOOP_ADD, loop_use(arena, v), loop_index(arena, n), NULL);
}

struct loop_stmt *jam_append_loop(struct arena *arena, struct loop_variable *v, int64_t from,
                                  int64_t to, int64_t step, struct loop_block *out)
{
        struct loop_stmt *s = loop_append(arena, out, STMT_FOR);
        s->variable = v;
        s->a = loop_index(arena, from);
        s->b = loop_index(arena, to);
        s->step = step;
        return s;
}

/* Writes the body of a loop for its iteration `at`. */
static void write_once(struct jamming *j, const struct loop_stmt *loop, struct loop_expr *at,
                       struct loop_block *out)
{
        struct jam_copy *c = jam_copy_new(j->arena, 1);
        c->all = true;
        jam_copy_set(c, loop->variable, 0, at);
        jam_range(c, loop->body->first, NULL, out);
        j->failed |= c->failed;
}

/* Writes what replaces loop number d of the nest. */
static void write_loop(struct jamming *j, int d, struct loop_block *out)
{
        const struct jam *jam = j->jam;
        struct loop_stmt *loop = j->nest->loops[d];
        int64_t from, to;
        loop_is_int(loop->a, &from);
        loop_is_int(loop->b, &to);
        if (d == jam->column) {
                struct loop_expr *line = j->line ? loop_use(j->arena, j->line)
                                                 : loop_index(j->arena, 0);
                j->failed |= !jam_write_columns(j->arena, j->nest, jam, line, out, j->alone);
                return;
        }
        struct loop_block *body = loop_block_new(j->arena);
        int sums = d == jam->along ? jam->sums : 1;
        int64_t whole = from + (to - from) / sums * sums;
        bool inside = (jam->column > jam->along ? jam->column : jam->along) > d;
        for (const struct loop_stmt *s = loop->body->first; s; s = s->next) {
                if (inside && s->kind == STMT_FOR) {
                        write_loop(j, d + 1, body);
                } else {
                        struct loop_stmt *copy = loop_append(j->arena, body, s->kind);
                        *copy = *s;
                        copy->next = NULL;
                        body->end = &copy->next;
                }
        }
        struct loop_stmt *main = jam_append_loop(j->arena, loop->variable, from, whole, sums, out);
        if (d != jam->along) {
                main->body = body;
                return;
        }
        struct jam_copy *c = jam_copy_new(j->arena, sums);
        memcpy(c->alone, j->alone, sizeof c->alone);
        c->variable = loop->variable;
        c->line = j->line;
        for (int i = 0; i < sums; i++) {
                jam_copy_set(c, loop->variable, i, jam_plus(j->arena, loop->variable, i));
                if (j->line)
                        jam_copy_set(c, j->line, i, loop_index(j->arena, i));
        }
        jam_range(c, body->first, NULL, main->body);
        j->failed |= c->failed;
        if (whole == to)
                return;
        struct loop_variable *rest = loop_variable_new(j->arena, loop->variable->name,
                                                       LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_stmt *last = jam_append_loop(j->arena, rest, whole, to, 1, out);
        write_once(j, loop, loop_use(j->arena, rest), last->body);
}

/* ---- the pass ---- */

/* Returns the schedule that a sum of the nest has, or NULL. */
static const struct schedule *schedule_of(const struct jam_nest *nest)
{
        const struct loop_stmt *s = nest->leaf->first;
        while (s && !(s->kind == STMT_VAR && s->variable->schedule))
                s = s->next;
        return s ? s->variable->schedule : NULL;
}

static bool jam_found(struct jamming *j, struct jam_nest *nest, const struct target *target,
                      const struct loop_bounds *bounds, struct loop_block *out)
{
        struct jam jam;
        if (!jam_choose(nest, target, bounds, schedule_scalar(schedule_of(nest)), &jam))
                return false;
        j->nest = nest;
        j->jam = &jam;
        if (jam.along >= 0 && jam.column >= 0)
                j->line = loop_variable_new(j->arena, "line", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        name_operands(j->arena, nest->leaf, nest);
        write_loop(j, 0, out);
        return !j->failed;
}

/* Finds the nest that begins with s, and makes one of its loops over neighbours. */
static bool find_merged(struct arena *arena, struct loop_bounds *bounds, struct jam_nest *nest,
                        struct loop_stmt *s, struct arena *scratch)
{
        bool good = find_nest(nest, s, scratch);
        while (good && jam_merge(arena, bounds, nest))
                good = find_nest(nest, s, scratch);
        return good;
}

bool jam_find(struct arena *arena, struct loop_bounds *bounds, struct loop_block *block,
              const struct schedule *schedule, struct jam_nest *nest)
{
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next)
                if ((s->kind == STMT_FOR && find_merged(arena, bounds, nest, s, arena) &&
                     schedule_of(nest) == schedule) ||
                    jam_find(arena, bounds, s->body, schedule, nest) ||
                    jam_find(arena, bounds, s->other, schedule, nest))
                        return true;
        return false;
}

static struct loop_block *jam_nest(struct loop_program *p, struct loop_bounds *bounds,
                                   const struct target *target, struct loop_stmt *s)
{
        struct arena *scratch = arena_new();
        struct loop_block *out = loop_block_new(p->arena);
        struct jamming j = { .arena = p->arena };
        struct jam_nest nest;
        bool good = find_merged(p->arena, bounds, &nest, s, scratch) &&
                    jam_found(&j, &nest, target, bounds, out);
        arena_free(scratch);
        return good ? out : NULL;
}

static struct loop_block *jam_nests(struct loop_program *p, struct loop_bounds *bounds,
                                    const struct target *target, struct loop_block *block,
                                    int *count)
{
        struct loop_block *out = loop_block_new(p->arena);
        for (struct loop_stmt *s = block->first, *next; s; s = next) {
                struct loop_block *nest =
                        s->kind == STMT_FOR ? jam_nest(p, bounds, target, s) : NULL;
                next = s->next;
                if (nest) {
                        *out->end = nest->first;
                        out->end = nest->end;
                        ++*count;
                        continue;
                }
                if (s->body)
                        s->body = jam_nests(p, bounds, target, s->body, count);
                if (s->other)
                        s->other = jam_nests(p, bounds, target, s->other, count);
                s->next = NULL;
                *out->end = s;
                out->end = &s->next;
        }
        return out;
}

/* Forgets a schedule that was followed, because it says nothing of the nest that was written. */
static void forget_schedule(struct loop_stmt *s, void *context)
{
        (void)context;
        if (s->kind == STMT_VAR)
                s->variable->schedule = NULL;
}

int pass_jam(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        const struct engine *engine = target_engine(context->target);
        const bool scalars = !engine->vectors && !engine->launches;
        for (struct loop_function *f = p->kernels; f && scalars; f = f->next) {
                if (f->kind == FUNCTION_STREAM || f->external)
                        continue;
                struct arena *scratch = arena_new();
                int before = count;
                f->body = jam_nests(p, loop_bounds_new(scratch, f), context->target, f->body,
                                    &count);
                loop_block_walk(f->body, forget_schedule, NULL, NULL);
                if (count > before)
                        loop_function_rename(p->arena, f);
                arena_free(scratch);
        }
        return count;
}
