/* SPDX-License-Identifier: MIT */
/* Prints indices that the pass `pointers` has given a base as pointers.
 *
 *     const ptrdiff_t xk = x_at + i;                   const f32 *const xk = &x[x_at + i];
 *     ... vld1q_f32(&x[xk]) ...                   ->   ... vld1q_f32(xk) ...
 *     ... vld1q_f32(&x[xk + 768]) ...                  ... vld1q_f32(&xk[768]) ...
 *
 * Where loads move a pointer themselves (CAN_WALK, ir/loop/capability.h) and their addresses reach
 * less far than they are apart, it walks from one to the next, in the order of statements:
 *
 *     const i8 *xi = &x[x_at];
 *     ... walk_i8x4(&xi, 0) ...
 *     ... walk_i8x4(&xi, 448) ... */
#include "codegen/c_writer.h"
#include "ir/loop/capability.h"

struct walk { int64_t at; };            /* The pointer has moved so far. */

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

/* ---- pointers that walk ---- */

/* The loads that one pointer is for. */
struct walk_finding {
        const struct c_writer *w;
        const struct loop_variable *pointer;
        int here;                       /* The statement has so many of them. */
        int64_t reach, furthest;
        bool good;
};

static void find_places(struct walk_finding *f, const struct loop_expr *e, bool certain)
{
        const struct capability *row = capability_of_walk(f->w->target, e);
        int64_t number;
        if (row && pointer_of(e->args[0]->args[0], &number) == f->pointer) {
                f->here++;
                f->good &= certain;
                f->reach = row->level;
                number = number < 0 ? -number : number;
                f->furthest = number > f->furthest ? number : f->furthest;
                return;
        }
        f->good &= e->op != LOOP_VARIABLE || e->variable != f->pointer;
        const bool chooses = e->op == LOOP_SELECT || e->op == LOOP_AND || e->op == LOOP_OR;
        for (int i = 0; i < e->arity; i++)
                if (e->args[i])
                        find_places(f, e->args[i], certain && !chooses);
}

/* C does not say in which order a statement computes its parts, so it may have one place. */
static bool walks(const struct c_writer *w, const struct loop_stmt *let)
{
        struct walk_finding f = { .w = w, .pointer = let->variable, .good = true };
        for (const struct loop_stmt *s = let->next; s && f.good; s = s->next) {
                const struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                f.here = 0;
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                find_places(&f, exprs[i], true);
                f.good &= f.here <= 1 && !s->body && !s->other;
        }
        return f.good && f.furthest > f.reach;
}

const char *c_pointer_walk(struct c_writer *w, const struct loop_expr *e, int64_t *step)
{
        int64_t number;
        const struct loop_expr *load = e->args[0];
        const struct loop_variable *v =
                load->op == LOOP_LOAD ? pointer_of(load->args[0], &number) : NULL;
        struct walk *walk = v ? map_get(w->walks, (const char *)&v, sizeof v) : NULL;
        if (!walk)
                return NULL;
        *step = number - walk->at;
        walk->at = number;
        return c_use(w, v);
}

/* ---- */

void c_find_pointers(struct c_writer *w, const struct loop_function *f)
{
        w->written = map_new(w->arena);
        w->walks = map_new(w->arena);
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
        const bool moves = walks(w, s);
        if (moves)
                map_set(w->walks, (const char *)&v, sizeof v, ARENA_NEW(w->arena, struct walk));
        c_put(w,
              "%s%s *%s%s = ", map_get(w->written, (const char *)&v, sizeof v) ? "" : "const ",
              root->space == SPACE_STACK ? element_info[e].c_type : c_memory_type(w, e),
              moves ? "" : "const ",
              c_name(w, v)->text);
        c_vector_address(w, v->base, s->a);
        c_put(w, ";");
        c_end(w);
        return true;
}
