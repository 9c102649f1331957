/* SPDX-License-Identifier: MIT */
/* Writes what asynchronous copies mean, in statements on vectors: either they arrive at once, or as
 * late as they may. A kernel that waits as it must computes the same in both cases.
 *
 * Late: elements that are copied into %b lie in %b_late until they arrive, %b_group says which
 * commit group they belong to (0: nothing is under way there), and until then %b holds garbage.
 * `groups` counts the commit groups that are closed. */
#include "ir/loop/loop_grid.h"

#include <math.h>

struct late {
        struct loop_buffer *buffer, *late, *group;
        bool there;                     /* The buffer has been allocated. */
        struct late *next;
};

struct loop_copies {
        struct arena *arena;
        struct loop_variable *groups;
        struct late *first;
};

static struct loop_expr *plus(struct arena *arena, struct loop_expr *a, int64_t b)
{
        struct loop_expr *more = loop_index(arena, b);
        return b ? loop_op(arena, LOOP_ADD, a, loop_splat(arena, a->type.lanes, more), NULL) : a;
}

static struct loop_expr *let(struct arena *arena, struct loop_block *block, const char *name,
                             struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_LET);
        s->variable = loop_variable_new(arena, name, value->type, VARIABLE_LET);
        s->a = value;
        return loop_use(arena, s->variable);
}

static void store(struct arena *arena, struct loop_block *block, struct loop_buffer *to,
                  struct loop_expr *at, struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_STORE);
        s->buffer = to;
        s->a = at;
        s->b = value;
}

/* ---- late ---- */

static struct late *late_of(const struct loop_copies *c, const struct loop_buffer *b)
{
        struct late *l = c ? c->first : NULL;
        while (l && l->buffer != b)
                l = l->next;
        return l;
}

static struct loop_buffer *own_buffer(struct arena *arena, const char *name, enum element e,
                                      int64_t extent)
{
        struct loop_buffer *b = ARENA_NEW(arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = name, .element = e, .extent = extent,
                                   .space = SPACE_STACK, .offset = -1, .access = ACCESS_INOUT };
        return b;
}

static void find_copies(struct loop_stmt *s, void *context)
{
        struct loop_copies *c = context;
        if (s->kind != STMT_COPY || late_of(c, s->buffer))
                return;
        struct late *l = ARENA_NEW(c->arena, struct late);
        l->buffer = s->buffer;
        l->late = own_buffer(c->arena, "late", s->buffer->element, s->buffer->extent);
        l->group = own_buffer(c->arena, "group", E_I32, s->buffer->extent);
        l->next = c->first;
        c->first = l;
}

struct loop_copies *loop_copies_late(struct arena *arena, const struct loop_function *f)
{
        struct loop_copies *c = ARENA_NEW(arena, struct loop_copies);
        c->arena = arena;
        loop_block_walk(f->body, find_copies, NULL, c);
        c->groups = loop_variable_new(arena, "groups", LOOP_TYPE(E_I32), VARIABLE_VAR);
        return c->first ? c : NULL;
}

struct loop_block *loop_copies_begin(const struct loop_copies *c)
{
        struct loop_block *block = loop_block_new(c->arena);
        loop_append(c->arena, block, STMT_VAR)->variable = c->groups;
        return block;
}

static struct loop_stmt *each_element(struct arena *arena, struct loop_block *block,
                                      const struct loop_buffer *b)
{
        struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
        loop->variable = loop_variable_new(arena, "e", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, b->extent);
        return loop;
}

static void add_alloc(const struct loop_copies *c, struct loop_block *block,
                      const struct loop_buffer *b)
{
        struct late *l = late_of(c, b);
        if (!l)
                return;
        l->there = true;
        loop_append(c->arena, block, STMT_ALLOC)->buffer = l->late;
        loop_append(c->arena, block, STMT_ALLOC)->buffer = l->group;
        struct loop_stmt *loop = each_element(c->arena, block, b);
        store(c->arena, loop->body, l->group, loop_use(c->arena, loop->variable),
              loop_int(c->arena, E_I32, 0));
}

static void add_commit(const struct loop_copies *c, struct loop_block *block)
{
        struct loop_stmt *s = loop_append(c->arena, block, STMT_SET);
        s->variable = c->groups;
        s->a = loop_op(c->arena, LOOP_ADD, loop_use(c->arena, c->groups),
                       loop_int(c->arena, E_I32, 1), NULL);
}

/* Appends the arrival of all commit groups but the last n. */
static void add_wait(const struct loop_copies *c, struct loop_block *block, int n)
{
        struct arena *arena = c->arena;
        for (const struct late *l = c->first; l; l = l->next) {
                if (!l->there)
                        continue;
                struct loop_stmt *loop = each_element(arena, block, l->buffer);
                struct loop_expr *e = loop_use(arena, loop->variable);
                struct loop_expr *group =
                        let(arena, loop->body, "g", loop_load(arena, l->group, e));
                struct loop_expr *last = loop_op(arena, LOOP_SUB, loop_use(arena, c->groups),
                                                 loop_int(arena, E_I32, n), NULL);
                struct loop_expr *zero = loop_int(arena, E_I32, 0);
                struct loop_expr *arrives = let(
                        arena, loop->body, "arrives",
                        loop_op(arena, LOOP_AND, loop_op(arena, LOOP_NE, group, zero, NULL),
                                loop_op(arena, LOOP_LE, group, last, NULL), NULL));
                store(arena, loop->body, l->buffer, e,
                      loop_op(arena, LOOP_SELECT, arrives, loop_load(arena, l->late, e),
                              loop_load(arena, l->buffer, e)));
                store(arena, loop->body, l->group, e,
                      loop_op(arena, LOOP_SELECT, arrives, zero, group));
        }
}

/* ---- copies ---- */

static struct loop_expr *garbage(struct arena *arena, enum element e, int lanes)
{
        enum element computes = element_info[e].compute;
        struct loop_expr *value = element_is_float(e) ? loop_float(arena, computes, NAN)
                                                      : loop_int(arena, computes, 0x5a);
        return loop_splat(arena, lanes, loop_cast(arena, e, value));
}

static void add_copy(const struct loop_copies *c, struct arena *arena, struct loop_block *block,
                     const struct loop_stmt *s)
{
        const struct late *l = late_of(c, s->buffer);
        int lanes = s->a->type.lanes;
        struct loop_expr *to = let(arena, block, "to", s->a),
                         *from = let(arena, block, "from", s->b),
                         *mask = s->c ? let(arena, block, "there", s->c) : NULL;
        for (int k = 0; k < s->code; k++) {
                struct loop_expr *at = plus(arena, to, k);
                store(arena, block, l ? l->late : s->buffer, at,
                      loop_load_vector(arena, s->source, plus(arena, from, k), lanes, mask));
                if (!l)
                        continue;
                struct loop_expr *next = loop_op(arena, LOOP_ADD, loop_use(arena, c->groups),
                                                 loop_int(arena, E_I32, 1), NULL);
                store(arena, block, l->group, at, loop_splat(arena, lanes, next));
                store(arena, block, s->buffer, at, garbage(arena, s->buffer->element, lanes));
        }
}

/* Appends a bulk copy, element by element. */
static void add_run(const struct loop_copies *c, struct arena *arena, struct loop_block *block,
                    const struct loop_stmt *s)
{
        struct loop_stmt *loop = loop_append(arena, block, STMT_FOR), one = *s;
        loop->variable = loop_variable_new(arena, "e", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, s->code);
        one.code = 1;
        one.a = loop_op(arena, LOOP_ADD, s->a, loop_use(arena, loop->variable), NULL);
        one.b = loop_op(arena, LOOP_ADD, s->b, loop_use(arena, loop->variable), NULL);
        add_copy(c, arena, loop->body, &one);
}

struct loop_block *loop_copies_expand(const struct loop_copies *late, struct arena *arena,
                                      const struct loop_stmt *s)
{
        struct loop_block *block = loop_block_new(arena);
        if (s->kind == STMT_COPY)
                (s->code > COPY_BYTES ? add_run : add_copy)(late, arena, block, s);
        else if (late && s->kind == STMT_ALLOC)
                add_alloc(late, block, s->buffer);
        else if (late && s->kind == STMT_COMMIT)
                add_commit(late, block);
        else if (late && s->kind == STMT_WAIT)
                add_wait(late, block, s->code);
        return block;
}
