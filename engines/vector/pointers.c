/* SPDX-License-Identifier: MIT */
/* pointers: marks indices that C compilers should keep as addresses, on targets whose loads take a
 * register and a number, or two registers, but not all three (struct target's `pointers`). For x[k
 * + 768] clang would compute k + 768 in a register of its own for each such number.
 *
 *     let %xk : index = %i * 4                        let %xk : index of %x = %i * 4
 *     let %a : f32x4 = %x<4>[%xk]              ->     let %a : f32x4 = %x<4>[%xk]
 *     let %b : f32x4 = %x<4>[%xk + 768]               let %b : f32x4 = %x<4>[%xk + 768]
 *
 * The C printer then declares xk as &x[i * 4] (codegen/c_pointer.c). The pass marks lets with at
 * least PLACES_LEAST uses, all of which are subscripts of one buffer at the index or a number after
 * it, in a block without loops and conditions. The element at the index itself must always be read
 * or written, so that the pointer points into the buffer (C99, 6.5.6). Exact: the index does not
 * change. */
#include "passes/pass.h"

enum { PLACES_LEAST = 4 };

struct index_uses {
        struct loop_buffer *buffer;
        int uses;                       /* It counts the uses of the variable, of any kind. */
        int places;                     /* It counts the uses as a subscript, or as a subscript plus
                                         * a number. */
        bool own;                       /* The element at the index itself is always accessed. */
        bool several;                   /* The uses are of several buffers. */
};

struct finding { struct arena *scratch; struct map *found; int count; };

/* Returns the variable of a subscript that is an index, or an index + *number; NULL where it is
 * neither. */
static struct loop_variable *split_subscript(const struct loop_expr *at, int64_t *number)
{
        const struct loop_expr *index = at->op == LOOP_ADD ? at->args[0] : at;
        *number = 0;
        if (index->op != LOOP_VARIABLE || (at->op == LOOP_ADD && !loop_is_int(at->args[1], number)))
                return NULL;
        return index->variable;
}

static struct index_uses *uses_of(const struct finding *f, const struct loop_variable *v)
{
        return map_get(f->found, (const char *)&v, sizeof v);
}

static void note_place(const struct finding *f, struct loop_buffer *b, const struct loop_expr *at,
                       bool certain)
{
        int64_t number;
        struct loop_variable *v = split_subscript(at, &number);
        struct index_uses *u = v ? uses_of(f, v) : NULL;
        if (!u)
                return;
        u->several |= u->buffer && u->buffer != b;
        u->buffer = b;
        u->places++;
        u->own |= certain && !number;
}

/* Notes the uses in e; certain: e is always evaluated. Elements that a mask leaves out may be
 * outside of the buffer, so the index of a masked access cannot be a pointer. */
static void note_uses(const struct finding *f, const struct loop_expr *e, bool certain)
{
        struct index_uses *u = e->op == LOOP_VARIABLE ? uses_of(f, e->variable) : NULL;
        const bool chooses = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        if (u)
                u->uses++;
        if (e->op == LOOP_LOAD && !e->args[1])
                note_place(f, e->buffer, e->args[0], certain);
        for (int i = 0; i < e->arity; i++)
                if (e->args[i])
                        note_uses(f, e->args[i], certain && (!chooses || !i));
}

static bool is_straight(const struct loop_block *b)
{
        for (const struct loop_stmt *s = b->first; s; s = s->next)
                if (s->kind != STMT_LET && s->kind != STMT_VAR && s->kind != STMT_SET &&
                    s->kind != STMT_STORE && s->kind != STMT_PREFETCH && s->kind != STMT_KEEP)
                        return false;
        return true;
}

static bool is_index(const struct loop_stmt *s)
{
        const struct loop_type t =
                s->kind == STMT_LET ? s->variable->type : (struct loop_type){ 0 };
        return s->kind == STMT_LET && t.element == E_INDEX && t.lanes == 1 && !s->variable->rows;
}

static void find_in(struct finding *f, const struct loop_block *b)
{
        f->found = map_new(f->scratch);
        for (const struct loop_stmt *s = b->first; s; s = s->next) {
                if (is_index(s))
                        map_set(f->found, (const char *)&s->variable, sizeof s->variable,
                                ARENA_NEW(f->scratch, struct index_uses));
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                note_uses(f, exprs[i], true);
                if (s->kind == STMT_STORE && !s->c)
                        note_place(f, s->buffer, s->a, true);
        }
        for (const struct loop_stmt *s = b->first; s; s = s->next) {
                const struct index_uses *u = is_index(s) ? uses_of(f, s->variable) : NULL;
                if (!u || u->places < PLACES_LEAST || u->places != u->uses || !u->own || u->several)
                        continue;
                s->variable->base = u->buffer;
                f->count++;
        }
}

static void find_in_bodies(struct loop_stmt *s, void *context)
{
        if (s->body && is_straight(s->body))
                find_in(context, s->body);
        if (s->other && is_straight(s->other))
                find_in(context, s->other);
}

int pass_pointers(struct loop_program *p, struct pass_context *context)
{
        struct finding f = { .scratch = arena_new() };
        if (target_pointers(context->target))
                for (struct loop_function *k = p->kernels; k; k = k->next)
                        if (k->kind == FUNCTION_KERNEL || k->kind == FUNCTION_TASK)
                                loop_block_walk(k->body, find_in_bodies, NULL, &f);
        arena_free(f.scratch);
        return f.count;
}
