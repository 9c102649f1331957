/* SPDX-License-Identifier: MIT */
/* Prints indices that the pass `pointers` has given a base as pointers.
 *
 *     const ptrdiff_t xk = x_at + i;                   const f32 *const xk = &x[x_at + i];
 *     ... vld1q_f32(&x[xk]) ...                   ->   ... vld1q_f32(xk) ...
 *     ... vld1q_f32(&x[xk + 768]) ...                  ... vld1q_f32(&xk[768]) ... */
#include "codegen/c_writer.h"

/* Returns the variable with a base that the subscript is, or to which it adds *number; NULL if it
 * is neither. */
static const struct loop_variable *pointer_of(const struct loop_expr *at, int64_t *number)
{
        const struct loop_expr *index = at->op == LOOP_ADD ? at->args[0] : at;
        *number = 0;
        if (index->op != LOOP_VARIABLE || !index->variable->base ||
            (at->op == LOOP_ADD && !loop_is_int(at->args[1], number)))
                return NULL;
        return index->variable;
}

static void find_written(struct loop_stmt *s, void *context)
{
        struct c_writer *w = context;
        int64_t number;
        const struct loop_variable *v = s->kind == STMT_STORE ? pointer_of(s->a, &number) : NULL;
        if (v)
                map_set(w->written, (const char *)&v, sizeof v, w);
}

void c_find_pointers(struct c_writer *w, const struct loop_function *f)
{
        w->written = map_new(w->arena);
        loop_block_walk(f->body, find_written, NULL, w);
}

bool c_pointer_place(struct c_writer *w, const struct loop_expr *at, const char **pointer,
                     int64_t *number)
{
        const struct loop_variable *v = at ? pointer_of(at, number) : NULL;
        if (v)
                *pointer = c_use(w, v);
        return v != NULL;
}

bool c_pointer_declare(struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_variable *v = s->variable;
        if (s->kind != STMT_LET || !v->base)
                return false;
        const struct loop_buffer *root = loop_buffer_root(v->base, NULL);
        const enum element e = root->element;
        c_put(w,
              "%s%s *const %s = ", map_get(w->written, (const char *)&v, sizeof v) ? "" : "const ",
              root->space == SPACE_STACK ? element_info[e].c_type : c_memory_type(w, e),
              c_name(w, v)->text);
        c_vector_address(w, v->base, s->a);
        c_put(w, ";");
        c_end(w);
        return true;
}
