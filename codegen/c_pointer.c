/* SPDX-License-Identifier: MIT */
/* Places that are known numbers from one index, as a turn of a loop has them, stand behind a pointer, where an address has a register
 * and a number or another register, but not all three (struct target's `pointers`): of x[k + 768] clang reckons k + 768 for
 * each place there is.
 *
 *     const ptrdiff_t xk = x_at + i;                   const f32 *const xk = &x[x_at + i];
 *     ... vld1q_f32(&x[xk]) ...                   ->   ... vld1q_f32(xk) ...
 *     ... vld1q_f32(&x[xk + 768]) ...                  ... vld1q_f32(&xk[768]) ...
 *
 * An index that is used for nothing else, of one buffer, in a block without loops and conditions. Its own place is read or written
 * there, whatever else is, so that the pointer points into the buffer (C99, 6.5.6). */
#include "codegen/c_writer.h"

enum { PLACES = 4 };                    /* that are worth a pointer */

struct index_uses {
        struct loop_variable *index;
        struct loop_buffer *buffer;
        int uses, places;
        bool own;                       /* the place at the index itself is touched for sure */
        bool written, several;          /* buffers */
};

/* index, or index + a number: its variable; NULL: it is neither */
static struct loop_variable *split_place(const struct loop_expr *at, int64_t *number)
{
        const struct loop_expr *index = at->op == LOOP_ADD ? at->args[0] : at;
        *number = 0;
        if (index->op != LOOP_VARIABLE || (at->op == LOOP_ADD && !loop_is_int(at->args[1], number)))
                return NULL;
        return index->variable;
}

/* ---- which ---- */

static struct index_uses *uses_of(const struct map *found, const struct loop_variable *v)
{
        return map_get(found, (const char *)&v, sizeof v);
}

static void note_place(const struct map *found, struct loop_buffer *b, const struct loop_expr *at, bool sure, bool written)
{
        int64_t number;
        struct loop_variable *v = split_place(at, &number);
        struct index_uses *u = v ? uses_of(found, v) : NULL;
        if (!u)
                return;
        u->several |= u->buffer && u->buffer != b;
        u->buffer = b;
        u->places++;
        u->own |= sure && !number;
        u->written |= written;
}

/* sure: it is evaluated, whatever conditions say. What a mask leaves out may be outside of the buffer, and stays an index. */
static void note_uses(const struct map *found, const struct loop_expr *e, bool sure)
{
        struct index_uses *u = e->op == LOOP_VARIABLE ? uses_of(found, e->variable) : NULL;
        const bool chooses = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        if (u)
                u->uses++;
        if (e->op == LOOP_LOAD && !e->args[1])
                note_place(found, e->buffer, e->args[0], sure, false);
        for (int i = 0; i < e->arity; i++)
                if (e->args[i])
                        note_uses(found, e->args[i], sure && (!chooses || !i));
}

static bool is_straight(const struct loop_block *b)
{
        for (const struct loop_stmt *s = b->first; s; s = s->next)
                if (s->kind != STMT_LET && s->kind != STMT_VAR && s->kind != STMT_SET && s->kind != STMT_STORE && s->kind != STMT_PREFETCH)
                        return false;
        return true;
}

static bool is_index(const struct loop_stmt *s)
{
        const struct loop_type t = s->kind == STMT_LET ? s->variable->type : (struct loop_type){ 0 };
        return s->kind == STMT_LET && t.element == E_INDEX && t.lanes == 1 && !s->variable->rows;
}

static void find_in(struct c_writer *w, const struct loop_block *b)
{
        struct map *found = map_new(w->arena);
        for (const struct loop_stmt *s = b->first; s; s = s->next) {
                if (is_index(s)) {
                        struct index_uses *u = ARENA_NEW(w->arena, struct index_uses);
                        u->index = s->variable;
                        map_set(found, (const char *)&u->index, sizeof u->index, u);
                }
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                note_uses(found, exprs[i], true);
                if (s->kind == STMT_STORE && !s->c)
                        note_place(found, s->buffer, s->a, true, true);
        }
        for (const struct loop_stmt *s = b->first; s; s = s->next) {
                struct index_uses *u = is_index(s) ? uses_of(found, s->variable) : NULL;
                if (u && u->places >= PLACES && u->places == u->uses && u->own && !u->several)
                        map_set(w->pointers, (const char *)&u->index, sizeof u->index, u);
        }
}

static void find_nested(struct loop_stmt *s, void *context)
{
        if (s->body && is_straight(s->body))
                find_in(context, s->body);
        if (s->other && is_straight(s->other))
                find_in(context, s->other);
}

void c_find_pointers(struct c_writer *w, const struct loop_function *f)
{
        w->pointers = target_pointers(w->target) ? map_new(w->arena) : NULL;
        if (w->pointers)
                loop_block_walk(f->body, find_nested, NULL, w);
}

/* ---- how they are printed ---- */

bool c_pointer_place(struct c_writer *w, const struct loop_expr *at, const char **pointer, int64_t *number)
{
        struct loop_variable *v = w->pointers && at ? split_place(at, number) : NULL;
        if (!v || !uses_of(w->pointers, v))
                return false;
        *pointer = c_use(w, v);
        return true;
}

bool c_pointer_declare(struct c_writer *w, const struct loop_stmt *s)
{
        const struct index_uses *u = w->pointers ? uses_of(w->pointers, s->variable) : NULL;
        if (!u)
                return false;
        const struct loop_buffer *root = loop_buffer_root(u->buffer, NULL);
        const enum element e = root->element;
        c_put(w, "%s%s *const %s = ", u->written ? "" : "const ", root->space == SPACE_STACK ? element_info[e].c_type : c_memory_type(w, e),
              c_name(w, s->variable)->text);
        c_vector_address(w, u->buffer, s->a);
        c_put(w, ";");
        c_end(w);
        return true;
}
