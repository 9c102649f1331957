/* SPDX-License-Identifier: MIT */
/* Lowering makes a deep copy of a finished kernel.
 *
 * While a kernel is written, expressions may stand in several places (an index in every load), and
 * values get names before it is known how often they are used. The copy is a forest, without names
 * that only the next statement uses, once (names of subscripts stay, because they explain the
 * subscripts). */
#include <stdlib.h>
#include <string.h>

#include "ir/lower/lower_emit.h"
#include "ir/target/schedule.h"

struct copy {
        struct arena *arena;
        struct loop_variable **variables;
        struct loop_buffer **buffers;   /* The parameters come first, then what it allocates. */
        int *uses;                      /* Each variable has its number of uses here. */
        const struct loop_expr **inlined;         /* Each variable has the expression that stands
                                                   * for it, or NULL. */
};

static void count_use(struct loop_expr *x, void *context)
{
        struct copy *c = context;
        if (x->op == LOOP_VARIABLE)
                c->uses[x->variable->number]++;
}

static struct loop_expr *copy_expr(const struct copy *c, const struct loop_expr *from)
{
        if (!from)
                return NULL;
        if (from->op == LOOP_VARIABLE && c->inlined[from->variable->number])
                return copy_expr(c, c->inlined[from->variable->number]);
        struct loop_expr *x = ARENA_NEW(c->arena, struct loop_expr);
        *x = *from;
        if (x->variable)
                x->variable = c->variables[x->variable->number];
        if (x->buffer)
                x->buffer = c->buffers[x->buffer->number];
        for (int i = 0; i < x->arity; i++)
                x->args[i] = copy_expr(c, from->args[i]);
        return x;
}

/* Counts the nodes of x once copied, without those of subscripts, up to room; *found: x mentions
 * v. */
static int copied_size(const struct copy *c, const struct loop_expr *x,
                       const struct loop_variable *v, int room, bool *found)
{
        if (!x)
                return 0;
        if (x->op == LOOP_VARIABLE && c->inlined[x->variable->number])
                x = c->inlined[x->variable->number];
        *found |= x->op == LOOP_VARIABLE && x->variable == v;
        int size = x->type.element != E_INDEX;
        for (int i = 0; i < x->arity; i++)
                size += size < room ? copied_size(c, x->args[i], v, room - size, found) : 0;
        return size;
}

/* Is s a let that only the next statement uses, once, and are both small? */
static bool is_passing(const struct copy *c, const struct loop_stmt *s)
{
        const struct loop_stmt *next = s->next;
        if (s->kind != STMT_LET || s->variable->type.element == E_INDEX ||
            c->uses[s->variable->number] != 1 || !next)
                return false;
        bool found = false;
        int size = 0;
        const struct loop_expr *at = next->kind == STMT_STORE ? NULL : next->a;
        const struct loop_expr *exprs[] = { s->a, at, next->b };
        for (int i = 0; i < 3 && size <= EMIT_INLINE_MAX; i++)
                size += copied_size(c, exprs[i], s->variable, EMIT_INLINE_MAX + 1, &found);
        return found && size <= EMIT_INLINE_MAX;
}

static struct loop_block *copy_block(const struct copy *c, const struct loop_block *from)
{
        if (!from)
                return NULL;
        struct loop_block *block = loop_block_new(c->arena);
        for (const struct loop_stmt *s = from->first; s; s = s->next) {
                if (is_passing(c, s)) {
                        c->inlined[s->variable->number] = s->a;
                        continue;
                }
                struct loop_stmt *t = ARENA_NEW(c->arena, struct loop_stmt);
                *t = *s;
                t->next = NULL;
                t->a = copy_expr(c, s->a);
                t->b = copy_expr(c, s->b);
                t->c = copy_expr(c, s->c);
                if (s->activation)
                        t->activation = arena_copy(c->arena, s->activation, sizeof *s->activation);
                if (s->transfer) {
                        t->transfer = arena_copy(c->arena, s->transfer, sizeof *s->transfer);
                        t->transfer->rows = copy_expr(c, s->transfer->rows);
                        t->transfer->columns = copy_expr(c, s->transfer->columns);
                        for (int i = 0; i < 4; i++)
                                t->transfer->pad[i] = copy_expr(c, s->transfer->pad[i]);
                }
                if (s->kind == STMT_FOR || s->kind == STMT_LET || s->kind == STMT_VAR) {
                        t->variable = loop_variable_new(c->arena, s->variable->name,
                                                        s->variable->type, (int)s->variable->kind);
                        t->variable->rows = s->variable->rows;
                        t->variable->columns = s->variable->columns;
                        t->variable->warps = s->variable->warps;
                        if (s->variable->schedule)
                                t->variable->schedule =
                                        schedule_keep(c->arena, *s->variable->schedule);
                        c->variables[s->variable->number] = t->variable;
                } else if (s->variable) {
                        t->variable = c->variables[s->variable->number];
                }
                if (s->kind == STMT_ALLOC) {
                        struct loop_buffer *own =
                                arena_copy(c->arena, s->buffer, sizeof *s->buffer);
                        own->name = arena_string(c->arena, own->name);
                        c->buffers[s->buffer->number] = own;
                }
                if (s->buffer)
                        t->buffer = c->buffers[s->buffer->number];
                if (s->weights)
                        t->weights = c->buffers[s->weights->number];
                if (s->source)
                        t->source = c->buffers[s->source->number];
                t->body = copy_block(c, s->body);
                t->other = copy_block(c, s->other);
                *block->end = t;
                block->end = &t->next;
        }
        return block;
}

static char *copy_text(struct arena *arena, const char *text)
{
        return text ? arena_string(arena, text) : NULL;
}

static void number_alloc(struct loop_stmt *s, void *context)
{
        if (s->kind == STMT_ALLOC)
                s->buffer->number = (*(int *)context)++;
}

struct loop_function *kernel_copy(struct arena *arena, const struct loop_function *from)
{
        struct loop_function *kernel = ARENA_NEW(arena, struct loop_function);
        *kernel = *from;
        kernel->next = NULL;
        kernel->name = copy_text(arena, from->name);
        kernel->location = copy_text(arena, from->location);
        kernel->summary = copy_text(arena, from->summary);
        kernel->external = copy_text(arena, from->external);
        kernel->external_extents =
                arena_copy(arena, from->external_extents,
                           (size_t)from->external_count * sizeof *from->external_extents);
        kernel->buffers = arena_array(arena, (size_t)from->buffer_count, sizeof *kernel->buffers);
        for (int i = 0; i < from->buffer_count; i++) {
                kernel->buffers[i] = arena_copy(arena, from->buffers[i], sizeof **from->buffers);
                kernel->buffers[i]->name = copy_text(arena, from->buffers[i]->name);
        }
        size_t variables = (size_t)loop_number_variables(from);
        struct copy c = { .arena = arena };
        int buffers = from->buffer_count;
        loop_block_walk(from->body, number_alloc, NULL, &buffers);
        c.buffers = memory_alloc((size_t)buffers * sizeof *c.buffers + 1);
        memcpy(c.buffers, kernel->buffers, (size_t)from->buffer_count * sizeof *c.buffers);
        c.variables = memory_alloc(variables * sizeof *c.variables);
        kernel->scalars = arena_array(arena, (size_t)from->scalar_count, sizeof *kernel->scalars);
        for (int i = 0; i < from->scalar_count; i++) {
                kernel->scalars[i] = arena_copy(arena, from->scalars[i], sizeof **from->scalars);
                kernel->scalars[i]->name = copy_text(arena, from->scalars[i]->name);
                c.variables[i] = kernel->scalars[i];
        }
        c.uses = memory_alloc(variables * sizeof *c.uses);
        c.inlined = memory_alloc(variables * sizeof *c.inlined);
        loop_block_walk(from->body, NULL, count_use, &c);
        kernel->body = copy_block(&c, from->body);
        free(c.buffers);
        free(c.variables);
        free(c.uses);
        free(c.inlined);
        return kernel;
}
