/* jam: nests of sums compute several results at a time, side by side (unroll and jam), for targets
 * without vectors.
 *
 *     for %m = 0 to 16 {                              for %m = 0 to 16 step 4 {
 *       for %i = 0 to 196 {                             for %i = 0 to 196 step 4 {
 *         var %sum : f32 = 0.0                            var %sum : f32 = 0.0
 *         for %c = 0 to 96 {                              ... 15 more
 *           set %sum = %sum +                  ->         for %c = 0 to 96 {
 *               %x[%c * 196 + %i] *                         let %xe : f32 = %x[%c * 196 + %i]
 *               %w[%m * 96 + %c]                            let %we : f32 = %w[%m * 96 + %c]
 *         }                                                 ... 3 more of each
 *         store %y[..] = max(%sum, 0.0)                     set %sum = %sum + %xe * %we
 *       }                                                   ... 15 more
 *     }                                                   }
 *                                                         store %y[..] = %sum
 *                                                         ... 15 more
 *                                                         for %r = 0 to 4 {
 *                                                           for %t = 0 to 4 {
 *                                                             store %y[..] = max(%y[..], 0.0)
 *                                                           }
 *                                                         }
 *
 * While one sum waits for its products, others are added up, and what several read is loaded once.
 * Each sum is added up as it was, so every bit stays. Where columns are neighbours in memory, C
 * compilers make vectors of them, given stores of nothing but sums: what becomes of these is
 * computed where they lie then. Where windows reach over the border, inner loops differ from column
 * to column: then it is rows alone, of outputs.
 *
 * Nothing is copied or padded: the workspace stays as it is. */
#include "ir/loop_vector.h"
#include "passes/vectorize/jam.h"

#include "passes/vectorize/independence.h"
#include "passes/pass.h"

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

static bool is_plain_loop(const struct loop_stmt *s)
{
        int64_t from, to;
        return s->kind == STMT_FOR && s->for_kind == FOR_SERIAL && s->step == 1 &&
               loop_is_int(s->a, &from) && loop_is_int(s->b, &to) && to > from;
}

/* loops, values and sums */
static void check_sums(struct loop_stmt *s, void *good)
{
        *(bool *)good &= s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_SET ||
                         s->kind == STMT_VAR;
}

/* values, variables, loops that add up, and one store */
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

static bool find_nest(struct jam_nest *nest, struct loop_stmt *s)
{
        *nest = (struct jam_nest){ .depth = 0 };
        while (is_plain_loop(s) && nest->depth < JAM_DEPTH_MAX) {
                struct loop_stmt *inner = s->body->first;
                nest->loops[nest->depth++] = s;
                while (inner && inner->kind == STMT_LET)
                        inner = inner->next;
                if (!inner || inner->kind != STMT_FOR || inner->next || !stores(inner))
                        return take_leaf(nest, s->body);
                s = inner;
        }
        return false;
}

struct reading {
        const struct loop_buffer *result;
        bool found;
};

static void look_at_load(struct loop_expr *e, void *context)
{
        struct reading *r = context;
        r->found |= e->op == LOOP_LOAD &&
                    (e->buffer == r->result ||
                     (r->result->alias_class && e->buffer->alias_class == r->result->alias_class));
}

static bool lies_apart(const struct jam_nest *nest)
{
        struct reading r = { nest->store->buffer, false };
        loop_block_walk(nest->leaf, NULL, look_at_load, &r);
        return !r.found;
}

/* ---- names for what is multiplied ---- */

static void find_load(struct loop_expr *e, void *context)
{
        const struct loop_buffer **b = context;
        if (e->op == LOOP_LOAD && !*b)
                *b = e->buffer;
}

/* a value of its own in front of *at, if it is read from memory */
static struct loop_expr *named(struct arena *arena, struct loop_expr *e, struct loop_stmt ***at)
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
        return loop_use(arena, let->variable);
}

static void name_operands(struct arena *arena, struct loop_block *block)
{
        for (struct loop_stmt **at = &block->first; *at; at = &(*at)->next) {
                if ((*at)->kind == STMT_FOR)
                        name_operands(arena, (*at)->body);
                struct loop_expr *sum = (*at)->kind == STMT_SET ? (*at)->a : NULL,
                                 *product = sum && sum->op == LOOP_ADD ? sum->args[1] : NULL;
                if (!product || product->op != LOOP_MUL)
                        continue;
                for (int i = 0; i < 2; i++)
                        product->args[i] = named(arena, product->args[i], &at);
        }
}

/* ---- a nest anew ---- */

struct jamming {
        struct arena *arena;
        const struct jam_nest *nest;
        const struct jam *jam;
        const struct loop_variable *alone; /* of the loop over what becomes of sums */
        bool failed;
};

static struct loop_stmt *column_loop(const struct jamming *j)
{
        return j->nest->loops[j->jam->column];
}

static struct loop_expr *plus(struct arena *arena, struct loop_variable *v, int64_t n)
{
        return loop_op(arena, LOOP_ADD, loop_use(arena, v), loop_index(arena, n), NULL);
}

/* an empty loop */
static struct loop_stmt *append_loop(struct arena *arena, struct loop_variable *v, int64_t from,
                                     int64_t to, int64_t step, struct loop_block *out)
{
        struct loop_stmt *s = loop_append(arena, out, STMT_FOR);
        s->variable = v;
        s->a = loop_index(arena, from);
        s->b = loop_index(arena, to);
        s->step = step;
        return s;
}

/* the body of a loop for one iteration */
static void write_once(struct jamming *j, const struct loop_stmt *loop, struct loop_expr *at,
                       struct loop_block *out)
{
        struct jam_copy *c = jam_copy_new(j->arena, 1);
        c->all = true;
        jam_copy_set(c, loop->variable, 0, at);
        jam_range(c, loop->body->first, NULL, out);
        j->failed |= c->failed;
}

static void uses_variable(struct loop_expr *e, void *context)
{
        const struct loop_variable **v = context;
        if (e->op == LOOP_VARIABLE && e->variable == *v)
                *v = NULL;
}

static bool block_uses(struct loop_block *block, const struct loop_variable *v)
{
        loop_block_walk(block, NULL, uses_variable, &v);
        return !v;
}

/* Values of s.. that a block uses, and what these use, in front of it. */
static void with_values(struct jamming *j, struct loop_stmt *s, struct loop_block *body)
{
        enum { MOST = 64 };
        const struct loop_stmt *lets[MOST];
        int count = 0;
        for (; s && count < MOST; s = s->next)
                if (s->kind == STMT_LET)
                        lets[count++] = s;
        j->failed |= count == MOST;
        while (count-- > 0) {
                if (!block_uses(body, lets[count]->variable))
                        continue;
                struct loop_stmt *let = loop_append(j->arena, loop_block_new(j->arena), STMT_LET);
                *let = *lets[count];
                let->next = body->first;
                body->first = let;
        }
}

/* the store alone, of this value */
static struct loop_block *store_of(struct jamming *j, struct loop_expr *value)
{
        struct loop_block *block = loop_block_new(j->arena);
        struct loop_stmt *copy = loop_append(j->arena, block, STMT_STORE);
        *copy = *j->nest->store;
        copy->next = NULL;
        copy->b = value;
        return block;
}

/* for t = 0 to columns { store y[..] = what becomes of y[..] } */
static void write_results(struct jamming *j, struct loop_block *out)
{
        const struct jam_nest *nest = j->nest;
        struct loop_stmt *column = column_loop(j), *store = nest->store;
        struct loop_variable *t =
                loop_variable_new(j->arena, "t", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_stmt *each = append_loop(j->arena, t, 0, j->jam->columns, 1, out);
        struct loop_block *values = store_of(j, store->b);
        int from = j->jam->row < 0 ? j->jam->column : j->jam->row;
        for (int d = nest->depth - 1; d >= from; d--)
                with_values(j, nest->loops[d]->body->first, values);
        struct jam_copy *c = jam_copy_new(j->arena, 1);
        c->all = true;
        jam_copy_set(c, column->variable, 0,
                     loop_op(j->arena, LOOP_ADD, loop_use(j->arena, column->variable),
                             loop_use(j->arena, t), NULL));
        /* the sum is what lies there, whose subscript moves, too */
        for (const struct loop_stmt *s = values->first; s; s = s->next) {
                jam_copy_set(c, nest->sum->variable, 0,
                             loop_load(j->arena, store->buffer, jam_expr(c, store->a, 0)));
                jam_range(c, s, s->next, each->body);
        }
        j->failed |= c->failed;
        j->alone = t;
        store->buffer->access = ACCESS_INOUT;
}

static void write_columns(struct jamming *j, struct loop_block *out)
{
        const struct jam *jam = j->jam;
        const struct jam_nest *nest = j->nest;
        struct loop_stmt *column = column_loop(j), *last = NULL;
        struct jam_copy *c = jam_copy_new(j->arena, jam->columns);
        for (int i = 0; i < jam->columns; i++)
                jam_copy_set(c, column->variable, i, plus(j->arena, column->variable, i));
        bool apart = jam->neighbours && nest->store->b->op != LOOP_VARIABLE;
        for (struct loop_stmt *s = column->body->first; s; s = s->next)
                last = s->kind == STMT_FOR ? s : last;
        jam_range(c, column->body->first, apart ? last->next : NULL, out);
        if (apart) {
                struct loop_block *sums = store_of(j, loop_use(j->arena, nest->sum->variable));
                with_values(j, last->next, sums);
                jam_range(c, sums->first, NULL, out);
                write_results(j, out);
        }
        j->failed |= c->failed;
}

/* what stands for loop number d of the nest */
static void write_loop(struct jamming *j, int d, struct loop_block *out)
{
        const struct jam *jam = j->jam;
        struct loop_stmt *loop = j->nest->loops[d];
        int64_t from, to;
        loop_is_int(loop->a, &from);
        loop_is_int(loop->b, &to);
        if (d == jam->column) {
                struct loop_stmt *s =
                        append_loop(j->arena, loop->variable, from, to, jam->columns, out);
                write_columns(j, s->body);
                return;
        }
        struct loop_block *body = loop_block_new(j->arena);
        int rows = d == jam->row ? jam->rows : 1;
        int64_t whole = from + (to - from) / rows * rows;
        bool inside = (jam->column > jam->row ? jam->column : jam->row) > d;
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
        struct loop_stmt *main = append_loop(j->arena, loop->variable, from, whole, rows, out);
        if (d != jam->row) {
                main->body = body;
                return;
        }
        struct jam_copy *c = jam_copy_new(j->arena, rows);
        c->alone = j->alone;
        c->variable = loop->variable;
        for (int i = 0; i < rows; i++)
                jam_copy_set(c, loop->variable, i, plus(j->arena, loop->variable, i));
        jam_range(c, body->first, NULL, main->body);
        j->failed |= c->failed;
        if (whole == to)
                return;
        struct loop_variable *rest = loop_variable_new(j->arena, loop->variable->name,
                                                       LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        struct loop_stmt *last = append_loop(j->arena, rest, whole, to, 1, out);
        write_once(j, loop, loop_use(j->arena, rest), last->body);
}

/* ---- the pass ---- */

static struct loop_block *jam_nest(struct loop_program *p, const struct loop_bounds *bounds,
                                   const struct target *target, struct loop_stmt *s)
{
        struct jam_nest nest;
        struct jam jam;
        if (!find_nest(&nest, s))
                return NULL;
        nest.apart = lies_apart(&nest);
        if (!jam_choose(&nest, target, bounds, &jam))
                return NULL;
        struct jamming j = { .arena = p->arena, .nest = &nest, .jam = &jam };
        struct loop_block *out = loop_block_new(p->arena);
        name_operands(p->arena, nest.leaf);
        write_loop(&j, 0, out);
        return j.failed ? NULL : out;
}

static struct loop_block *jam_nests(struct loop_program *p, const struct loop_bounds *bounds,
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

int pass_jam(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (struct loop_function *f = p->kernels; f && !target_has_vectors(context->target);
             f = f->next) {
                struct arena *scratch = arena_new();
                int before = count;
                f->body = jam_nests(p, loop_bounds_new(scratch, f), context->target, f->body,
                                    &count);
                if (count > before)
                        loop_function_rename(p->arena, f);
                arena_free(scratch);
        }
        return count;
}
