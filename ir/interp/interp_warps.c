/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler handles variables of which each warp of a block has its own. They lie
 * in memory, all warps' side by side, and an iteration of a loop over warps that touches them loads
 * its own and stores them back. */
#include "ir/interp/interp_compile.h"

struct warp_variable {
        struct loop_variable *variable, *plain;   /* plain has the same slots, but no hardware
                                                   * tile. */
        struct loop_buffer *memory;
        struct warp_variable *outer;
};

static int size_of(const struct loop_variable *v)
{
        return v->rows * v->columns * v->type.lanes;
}

static struct loop_stmt *entry(struct compiler *c, struct loop_block *block,
                               enum loop_stmt_kind kind, const struct warp_variable *w, int k,
                               const struct loop_expr *warp)
{
        struct arena *arena = c->p->arena;
        const struct loop_variable *v = w->plain;
        struct loop_stmt *s = loop_append(arena, block, kind);
        struct loop_expr *first = loop_op(arena, LOOP_MUL, (struct loop_expr *)(uintptr_t)warp,
                                          loop_index(arena, size_of(v)), NULL),
                         *at = loop_op(arena, LOOP_ADD, first,
                                       loop_index(arena, (int64_t)k * v->type.lanes), NULL);
        s->row = k / v->columns;
        s->column = k % v->columns;
        if (kind == STMT_SET) {
                s->variable = w->plain;
                s->a = loop_load_vector(arena, w->memory, at, v->type.lanes, NULL);
        } else {
                s->buffer = w->memory;
                s->a = at;
                s->b = loop_tile_entry(arena, w->plain, s->row, s->column);
        }
        return s;
}

void compile_warp_variable(struct compiler *c, const struct loop_stmt *s)
{
        struct arena *arena = c->p->arena;
        struct warp_variable *w = ARENA_NEW(arena, struct warp_variable);
        const struct loop_variable *v = s->variable;
        w->variable = s->variable;
        w->outer = c->warp_variables;
        w->plain = loop_variable_new(arena, v->name, LOOP_VECTOR(v->type.element, v->type.lanes),
                                     VARIABLE_VAR);
        w->plain->rows = v->rows;
        w->plain->columns = v->columns;
        bind_variable(c, w->plain, bound_of(c, v)->value, -1);
        w->memory = ARENA_NEW(arena, struct loop_buffer);
        *w->memory = (struct loop_buffer){ .name = v->name, .element = v->type.element,
                                           .extent = (int64_t)v->warps * size_of(v),
                                           .space = SPACE_STACK, .offset = -1,
                                           .access = ACCESS_INOUT };
        struct loop_block *block = loop_block_new(arena);
        loop_append(arena, block, STMT_ALLOC)->buffer = w->memory;
        for (int i = 0; i < v->warps; i++)        /* The variable is zero here. */
                for (int k = 0; k < v->rows * v->columns; k++)
                        entry(c, block, STMT_STORE, w, k, loop_index(arena, i));
        compile_block(c, block);
        c->warp_variables = w;
}

struct search { const struct loop_variable *variable; bool found; };

static void find_stmt(struct loop_stmt *s, void *context)
{
        struct search *search = context;
        search->found |= s->variable == search->variable;
}

static void find_entry(struct loop_expr *e, void *context)
{
        struct search *search = context;
        search->found |= e->variable && e->variable == search->variable;
}

void compile_warp_body(struct compiler *c, const struct loop_stmt *loop)
{
        struct loop_expr *warp = loop_use(c->p->arena, loop->variable);
        struct loop_block *before = loop_block_new(c->p->arena),
                          *after = loop_block_new(c->p->arena);
        for (const struct warp_variable *w = c->warp_variables; w; w = w->outer) {
                struct search search = { w->variable, false };
                loop_block_walk(loop->body, find_stmt, find_entry, &search);
                for (int k = 0; search.found && k < w->plain->rows * w->plain->columns; k++) {
                        entry(c, before, STMT_SET, w, k, warp);
                        entry(c, after, STMT_STORE, w, k, warp);
                }
        }
        compile_block(c, before);
        compile_block(c, loop->body);
        compile_block(c, after);
}
