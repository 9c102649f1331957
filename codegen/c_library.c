/* SPDX-License-Identifier: MIT */
/* Prints mathematics: functions of our library as they are used, or calls of those of the C library
 * (--fast-libm). */
#include "codegen/c_writer.h"

#include <string.h>

/* ---- functions of the C library ---- */

/* Returns the C library's name for one of our functions: of the one on double, with an f appended
 * on float. Its results are near ours, or equal. */
static const char *libm_name(struct arena *arena, const struct loop_function *f)
{
        static const struct { const char *ours, *name; } names[] = {
                { "abs", "fabs" }, { "round", "nearbyint" }, { "rem", "fmod" }, { "fma_f32", "fma" }, { "fma_f64", "fma" },
                { "copysign", NULL }, { "trunc", NULL }, { "floor", NULL }, { "ceil", NULL }, { "sqrt", NULL }, { "exp", NULL },
                { "expm1", NULL }, { "log", NULL }, { "log1p", NULL }, { "tanh", NULL }, { "erf", NULL }, { "pow", NULL },
                { "sin", NULL }, { "cos", NULL }, { "tan", NULL }, { "asin", NULL }, { "acos", NULL }, { "atan", NULL },
                { "sinh", NULL }, { "cosh", NULL }, { "asinh", NULL }, { "acosh", NULL }, { "atanh", NULL },
        };
        if (f->result.lanes != 1 || (f->result.element != E_F32 && f->result.element != E_F64))
                return NULL;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (!strcmp(names[i].ours, f->name))
                        return arena_printf(arena, "%s%s",
                                            names[i].name ? names[i].name : names[i].ours,
                                            f->result.element == E_F32 ? "f" : "");
        return NULL;
}

const char *c_function(struct c_writer *w, struct loop_function *f)
{
        const char *name = w->options->fast_libm ? libm_name(w->arena, f) : NULL;
        w->uses_libm |= name != NULL;
        return name ? name : c_use(w, f);
}

/* ---- functions of our library ---- */

static void put_library_function(struct c_writer *w, struct loop_function *f, const char *name,
                                 struct text *out)
{
        const char *own = w->dialect->library ? w->dialect->library(w, f, name) : NULL;
        w->out = out;
        if (own)
                text_add(out, "%s#else\n", own);
        c_names_function(w, f);
        if (f->error)
                c_comment(w->out, 0, arena_printf(w->arena, "error bound: %s", f->error));
        c_put(w, "%s%s%s %s(", w->dialect->inlined, w->in_kernel ? c_attribute(w) : "",
              c_value_type(w, f->result), name);
        for (int i = 0; i < f->scalar_count; i++)
                c_put(w, "%s%s %s", i ? "," C_SOFT : "", c_value_type(w, f->scalars[i]->type),
                      c_name(w, f->scalars[i])->text);
        c_put(w, f->scalar_count ? ")" : "void)");
        c_end(w);
        c_body(w, f, NULL);
        if (own)
                text_add(out, "#endif\n");
}

/* Prints functions until no more are found to be used. The lower levels come first: functions that
 * they call belong to them. */
static void print_library(struct c_writer *w, struct loop_function *first, int level)
{
        w->in_kernel = w->has_vectors;
        for (struct c_vectored *v = w->vectored; v && !w->failed; v = v->next)
                if (v->level == level)
                        put_library_function(w, v->vector, v->name, &v->definition);
        w->in_kernel = false;
        for (bool again = true; again && !w->failed;) {
                again = false;
                for (struct loop_function *f = first; f; f = f->next) {
                        struct c_name *name = c_name(w, f);
                        if (!name->used || name->level != level || name->definition.length)
                                continue;
                        put_library_function(w, f, name->text, &name->definition);
                        again = true;
                }
        }
}

struct section { struct text *out; const char *lead; int level; bool any; };

static void add_definition(struct c_writer *w, struct section *s, struct text *definition)
{
        if (!definition->length)
                return;
        text_add(s->out, "\n");
        if (!s->any)
                c_level_open(w, s->out, s->level);
        text_add(s->out, "%s", s->any ? "" : s->lead);
        text_add_bytes(s->out, definition->data, definition->length);
        text_free(definition);
        s->any = true;
}

/* Prints the library. A function calls only functions that stand before it, so the library's order
 * is the order of printing. */
void c_library(struct c_writer *w, struct text *out)
{
        struct loop_function *first = w->p->library ? loop_library_first(w->p->library) : NULL;
        for (int level = 0; level < w->level_count; level++) {
                struct section s = {
                        .out = out,
                        .lead = "/* These functions give the same bits everywhere. */\n",
                        .level = level
                };
                c_level(w, level);
                print_library(w, first, level);
                for (struct loop_function *f = first; f; f = f->next) {
                        if (c_name(w, f)->level == level)
                                add_definition(w, &s, &c_name(w, f)->definition);
                        for (struct c_vectored *v = w->vectored; v; v = v->next)
                                if (v->scalar == f && v->level == level)
                                        add_definition(w, &s, &v->definition);
                }
                if (s.any)
                        c_level_close(w, out, level);
        }
}
