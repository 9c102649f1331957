/* SPDX-License-Identifier: MIT */
/* Makes statements of streams, and writes what they mean in plain ones. */
#include "ir/loop/stream.h"

/* ---- building ---- */

enum element loop_memory_element(const struct machine *m, int memory)
{
        return m->memories[memory].bits == 8 ? E_I8 : E_I32;
}

struct loop_buffer *loop_memory_alloc(struct arena *arena, struct loop_block *block,
                                      const char *name, const struct machine *machine, int memory,
                                      int64_t elements)
{
        struct loop_buffer *b = ARENA_NEW(arena, struct loop_buffer);
        b->name = arena_string(arena, name);
        b->element = loop_memory_element(machine, memory);
        b->extent = elements * machine_element_numbers(&machine->memories[memory]);
        b->space = SPACE_MEMORY;
        b->access = ACCESS_INOUT;
        b->memory = memory;
        b->offset = -1;
        loop_append(arena, block, STMT_ALLOC)->buffer = b;
        return b;
}

static struct loop_stmt *append(struct arena *arena, struct loop_block *block,
                                enum loop_stmt_kind kind, struct loop_place to)
{
        struct loop_stmt *s = loop_append(arena, block, kind);
        s->buffer = to.buffer;
        s->a = to.at;
        return s;
}

struct loop_stmt *loop_transfer(struct arena *arena, struct loop_block *block, struct loop_place to,
                                struct loop_place from, struct loop_expr *rows,
                                struct loop_expr *columns, int64_t step)
{
        struct loop_stmt *s = append(arena, block, STMT_TRANSFER, to);
        s->source = from.buffer;
        s->b = from.at;
        s->transfer = ARENA_NEW(arena, struct loop_transfer);
        *s->transfer = (struct loop_transfer){ .rows = rows, .columns = columns, .step = step };
        return s;
}

struct loop_stmt *loop_reset(struct arena *arena, struct loop_block *block, struct loop_place sums)
{
        return append(arena, block, STMT_RESET, sums);
}

struct loop_stmt *loop_product(struct arena *arena, struct loop_block *block,
                               struct loop_place sums, struct loop_place inputs,
                               struct loop_place weights)
{
        struct loop_stmt *s = append(arena, block, STMT_PRODUCT, sums);
        s->source = inputs.buffer;
        s->b = inputs.at;
        s->weights = weights.buffer;
        s->c = weights.at;
        return s;
}

struct loop_stmt *loop_apply(struct arena *arena, struct loop_block *block, enum loop_opcode op,
                             struct loop_place sums, struct loop_place other)
{
        struct loop_stmt *s = append(arena, block, STMT_APPLY, sums);
        s->code = (int)op;
        s->source = other.buffer;
        s->b = other.at;
        return s;
}

struct loop_stmt *loop_apply_immediate(struct arena *arena, struct loop_block *block,
                                       enum loop_opcode op, struct loop_place sums,
                                       int64_t immediate)
{
        struct loop_stmt *s = append(arena, block, STMT_APPLY, sums);
        s->code = (int)op;
        s->b = loop_int(arena, E_I32, immediate);
        return s;
}

struct loop_stmt *loop_activate(struct arena *arena, struct loop_block *block, struct loop_place to,
                                struct loop_place sums, struct loop_place parameters,
                                const struct loop_activation *activation)
{
        struct loop_stmt *s = append(arena, block, STMT_ACTIVATE, to);
        s->source = sums.buffer;
        s->b = sums.at;
        s->weights = parameters.buffer;
        s->c = parameters.at;
        s->activation = arena_copy(arena, activation, sizeof *activation);
        return s;
}

struct loop_stmt *loop_await(struct arena *arena, struct loop_block *block, struct loop_queue queue,
                             int64_t statements)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_AWAIT);
        s->queue = queue;
        s->step = statements;
        return s;
}

struct loop_stmt *loop_token(struct arena *arena, struct loop_block *block,
                             enum loop_stmt_kind kind, struct loop_queue queue)
{
        struct loop_stmt *s = loop_append(arena, block, kind);
        s->queue = queue;
        return s;
}

/* ---- what they are ---- */

int loop_stage_of(const struct machine *m, const struct loop_stmt *s)
{
        switch (s->kind) {
        case STMT_TRANSFER:
                return loop_transfer_loads(s) ? m->memories[s->buffer->memory].loader : m->store;
        case STMT_PUSH: return s->queue.from;
        case STMT_POP:
        case STMT_AWAIT: return s->queue.to;
        case STMT_ACTIVATE: return m->activate;
        default: return m->compute;
        }
}

const char *loop_apply_word(int code)
{
        switch (code) {
        case LOOP_MIN: return "min";
        case LOOP_MAX: return "max";
        case LOOP_ADD: return "add";
        case LOOP_SHR: return "shr";
        case LOOP_SHL: return "shl";
        default: return NULL;
        }
}

/* ---- in plain statements ---- */

struct expansion {
        struct arena *arena;
        const struct machine *m;
        const struct loop_stmt *s;
        struct loop_block *block;       /* The innermost block receives statements. */
};

static struct loop_expr *plus(struct expansion *e, struct loop_expr *a, struct loop_expr *b)
{
        return loop_op(e->arena, LOOP_ADD, a, b, NULL);
}

static struct loop_expr *times(struct expansion *e, struct loop_expr *a, int64_t b)
{
        return loop_op(e->arena, LOOP_MUL, a, loop_index(e->arena, b), NULL);
}

/* Opens a loop, and returns its variable. */
static struct loop_expr *open_loop(struct expansion *e, const char *name, struct loop_expr *count)
{
        struct loop_stmt *loop = loop_append(e->arena, e->block, STMT_FOR);
        loop->variable = loop_variable_new(e->arena, name, LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(e->arena, 0);
        loop->b = count;
        e->block = loop->body;
        return loop_use(e->arena, loop->variable);
}

static void store(struct expansion *e, struct loop_buffer *b, struct loop_expr *at,
                  struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(e->arena, e->block, STMT_STORE);
        s->buffer = b;
        s->a = at;
        s->b = value;
}

static struct loop_expr *load_sum(struct expansion *e, struct loop_buffer *b, struct loop_expr *at)
{
        return loop_cast(e->arena, E_I32, loop_load(e->arena, b, at));
}

static struct loop_expr *count_with(struct expansion *e, struct loop_expr *count,
                                    const struct loop_transfer *t, int before)
{
        for (int k = before; k < before + 2; k++)
                if (t->pad[k])
                        count = plus(e, count, t->pad[k]);
        return count;
}

/* Builds first <= at, and at < first + count. */
static struct loop_expr *is_within(struct expansion *e, struct loop_expr *at,
                                   struct loop_expr *first, struct loop_expr *count)
{
        struct loop_expr *end = plus(e, first, count);
        return loop_op(e->arena, LOOP_AND, loop_op(e->arena, LOOP_LE, first, at, NULL),
                       loop_op(e->arena, LOOP_LT, at, end, NULL), NULL);
}

static struct loop_expr *pad_of(struct expansion *e, const struct loop_transfer *t, int side)
{
        return t->pad[side] ? t->pad[side] : loop_index(e->arena, 0);
}

static void expand_load(struct expansion *e)
{
        const struct loop_transfer *t = e->s->transfer;
        int64_t numbers = machine_element_numbers(&e->m->memories[e->s->buffer->memory]);
        struct loop_expr *top = pad_of(e, t, 0), *left = pad_of(e, t, 2),
                         *width = count_with(e, t->columns, t, 2);
        struct loop_expr *r = open_loop(e, "r", count_with(e, t->rows, t, 0)),
                         *c = open_loop(e, "c", width);
        struct loop_expr *n = open_loop(e, "n", loop_index(e->arena, numbers));
        struct loop_expr *to = plus(e, loop_op(e->arena, LOOP_MUL, r, width, NULL), c);
        struct loop_expr *row = times(e, loop_op(e->arena, LOOP_SUB, r, top, NULL), t->step);
        struct loop_expr *column = times(e, loop_op(e->arena, LOOP_SUB, c, left, NULL), numbers);
        struct loop_expr *at = plus(e, plus(e, plus(e, e->s->b, row), column), n);
        struct loop_expr *value = loop_load(e->arena, e->s->source, at);
        if (t->pad[0] || t->pad[1] || t->pad[2] || t->pad[3]) {
                struct loop_expr *within =
                        loop_op(e->arena, LOOP_AND, is_within(e, r, top, t->rows),
                                is_within(e, c, left, t->columns), NULL);
                value = loop_cast(e->arena, E_I32, value);
                value = loop_op(e->arena, LOOP_SELECT, within, value, loop_int(e->arena, E_I32, 0));
                value = loop_cast(e->arena, e->s->buffer->element, value);
        }
        store(e, e->s->buffer, plus(e, plus(e, e->s->a, times(e, to, numbers)), n), value);
}

static void expand_store(struct expansion *e)
{
        const struct loop_transfer *t = e->s->transfer;
        int64_t numbers = machine_element_numbers(&e->m->memories[e->s->source->memory]);
        struct loop_expr *r = open_loop(e, "r", t->rows), *c = open_loop(e, "c", t->columns);
        struct loop_expr *n = open_loop(e, "n", loop_index(e->arena, numbers));
        struct loop_expr *element = plus(e, loop_op(e->arena, LOOP_MUL, r, t->columns, NULL), c);
        struct loop_expr *value = loop_load(
                e->arena, e->s->source, plus(e, plus(e, e->s->b, times(e, element, numbers)), n));
        struct loop_expr *to =
                plus(e, plus(e, e->s->a, times(e, r, t->step)), plus(e, times(e, c, numbers), n));
        store(e, e->s->buffer, to, loop_cast(e->arena, e->s->buffer->element, value));
}

static void expand_product(struct expansion *e)
{
        const struct loop_stmt *s = e->s;
        struct loop_expr *p = open_loop(e, "p", loop_index(e->arena, e->m->batch));
        struct loop_expr *o = open_loop(e, "o", loop_index(e->arena, e->m->block_out));
        struct loop_stmt *sum = loop_append(e->arena, e->block, STMT_VAR);
        struct loop_expr *to = plus(e, s->a, plus(e, times(e, p, e->m->block_out), o));
        sum->variable = loop_variable_new(e->arena, "sum", LOOP_TYPE(E_I32), VARIABLE_VAR);
        sum->a = s->code ? loop_int(e->arena, E_I32, 0) : load_sum(e, s->buffer, to);
        struct loop_block *outer = e->block;
        struct loop_expr *k = open_loop(e, "k", loop_index(e->arena, e->m->block_in));
        struct loop_expr *x =
                load_sum(e, s->source, plus(e, s->b, plus(e, times(e, p, e->m->block_in), k)));
        struct loop_expr *w =
                load_sum(e, s->weights, plus(e, s->c, plus(e, times(e, o, e->m->block_in), k)));
        struct loop_stmt *set = loop_append(e->arena, e->block, STMT_SET);
        set->variable = sum->variable;
        set->a =
                plus(e, loop_use(e->arena, sum->variable), loop_op(e->arena, LOOP_MUL, x, w, NULL));
        e->block = outer;
        store(e, s->buffer, to, loop_use(e->arena, sum->variable));
}

static void expand_element(struct expansion *e)
{
        const struct loop_stmt *s = e->s;
        struct loop_expr *n = open_loop(
                e, "n",
                loop_index(e->arena, machine_element_numbers(&e->m->memories[s->buffer->memory])));
        struct loop_expr *to = plus(e, s->a, n), *value = loop_int(e->arena, E_I32, 0);
        if (s->kind == STMT_APPLY) {
                struct loop_expr *other =
                        s->source ? load_sum(e, s->source, plus(e, s->b, n)) : s->b;
                value = loop_op(e->arena, (enum loop_opcode)s->code, load_sum(e, s->buffer, to),
                                other, NULL);
        }
        store(e, s->buffer, to, value);
}

static void expand_activation(struct expansion *e)
{
        const struct loop_stmt *s = e->s;
        const struct loop_activation *a = s->activation;
        int64_t numbers = machine_element_numbers(&e->m->memories[e->m->sums]);
        struct loop_expr *n = open_loop(e, "n", loop_index(e->arena, numbers));
        struct loop_expr *value = load_sum(e, s->source, plus(e, s->b, n)),
                         *shift = loop_int(e->arena, E_I32, a->shift);
        if (s->weights)
                value = plus(e, value, load_sum(e, s->weights, plus(e, s->c, n)));
        if (a->lanes)
                shift = load_sum(e, s->weights,
                                 plus(e, s->c, plus(e, loop_index(e->arena, numbers), n)));
        value = loop_op(e->arena, LOOP_SHR, plus(e, value, loop_int(e->arena, E_I32, a->add)),
                        shift, NULL);
        value = loop_op(e->arena, LOOP_MAX, value, loop_int(e->arena, E_I32, a->low), NULL);
        value = loop_op(e->arena, LOOP_MIN, value, loop_int(e->arena, E_I32, a->high), NULL);
        store(e, s->buffer, plus(e, s->a, n), loop_cast(e->arena, s->buffer->element, value));
}

struct loop_block *loop_stream_expand(struct arena *arena, const struct machine *m,
                                      const struct loop_stmt *s)
{
        struct loop_block *block = loop_block_new(arena);
        struct expansion e = { arena, m, s, block };
        if (s->kind == STMT_TRANSFER)
                (loop_transfer_loads(s) ? expand_load : expand_store)(&e);
        else if (s->kind == STMT_PRODUCT)
                expand_product(&e);
        else if (s->kind == STMT_ACTIVATE)
                expand_activation(&e);
        else if (loop_is_step(s))
                expand_element(&e);
        return block;
}
