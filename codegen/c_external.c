/* SPDX-License-Identifier: MIT */
/* Prints calls of C functions that the program which the code is linked into has (--define
 * NAME=c:SYMBOL): a kernel with such a function calls it, and nothing is printed of its body, which
 * is the function's meaning for everything else. With print_options.meanings the meanings are
 * printed, too, as weak definitions, so that a program links that has no such functions. */
#include "codegen/c_writer.h"

#include <string.h>

/* Returns the first kernel behind f, or of the program, that calls a C function. */
static struct loop_function *next_external(const struct loop_program *p,
                                           const struct loop_function *f)
{
        struct loop_function *next = f ? f->next : p->kernels;
        while (next && !next->external)
                next = next->next;
        return next;
}

bool c_external_any(const struct c_writer *w) { return next_external(w->p, NULL); }

bool c_external_fails(const struct c_writer *w, bool of_library)
{
        const struct loop_function *f = next_external(w->p, NULL);
        while (f && loop_is_of_library(f) != of_library)
                f = next_external(w->p, f);
        return f;
}

static const char *error_macro(struct c_writer *w, const struct loop_function *f)
{
        return c_macro(w, loop_is_of_library(f) ? "ERROR_LIBRARY" : "ERROR_EXTERNAL");
}

/* Is no kernel in front of f of the same C function? */
static bool is_first(const struct c_writer *w, const struct loop_function *f)
{
        const struct loop_function *g = next_external(w->p, NULL);
        while (strcmp(g->external, f->external))
                g = next_external(w->p, g);
        return g == f;
}

static bool same_prototype(const struct loop_function *f, const struct loop_function *g)
{
        bool same = f->buffer_count == g->buffer_count && f->external_count == g->external_count;
        for (int i = 0; same && i < f->buffer_count; i++)
                same = f->buffers[i]->element == g->buffers[i]->element &&
                       f->buffers[i]->access == g->buffers[i]->access;
        return same;
}

void c_external_reserve(struct c_writer *w)
{
        for (const struct loop_function *f = NULL; (f = next_external(w->p, f));) {
                if (!is_first(w, f))
                        continue;
                if (map_get(w->file_scope, f->external, strlen(f->external)))
                        c_fail(w, EXIT_USAGE, "c:%s is a name of the generated code: choose "
                                              "another one, or another --name", f->external);
                for (const struct loop_function *g = f; (g = next_external(w->p, g));)
                        if (!strcmp(f->external, g->external) && !same_prototype(f, g))
                                c_fail(w, EXIT_USAGE, "c:%s would have two prototypes: operators "
                                                      "of other types, or numbers, of inputs and "
                                                      "outputs are other functions", f->external);
                c_reserve(w, f->external);
        }
}

/* Prints the function's head, with parameters n0, n1, .. and p0, p1, .. */
static void put_prototype(struct c_writer *w, const struct loop_function *f)
{
        c_put(w, "int %s(", f->external);
        for (int i = 0; i < f->external_count; i++)
                c_put(w, "%ssize_t n%d", i ? "," C_SOFT : "", i);
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                c_put(w, "%s%s%s *p%d", i || f->external_count ? "," C_SOFT : "",
                      b->access == ACCESS_IN ? "const " : "", element_info[b->element].c_type, i);
        }
        c_put(w, ")");
}

void c_external_header(struct c_writer *w)
{
        if (!c_external_any(w))
                return;
        text_add(w->out,
                 "\n/* The program, or a library, has these functions: run calls them with extents, "
                 "then dense inputs, then dense\n"
                 " * outputs, which overlap nothing. Where one does not return 0, run returns "
                 "%s%s%s. */\n",
                 c_external_fails(w, false) ? c_macro(w, "ERROR_EXTERNAL") : "",
                 c_external_fails(w, false) && c_external_fails(w, true) ? " or " : "",
                 c_external_fails(w, true) ? c_macro(w, "ERROR_LIBRARY") : "");
        for (const struct loop_function *f = NULL; (f = next_external(w->p, f));)
                if (is_first(w, f)) {
                        put_prototype(w, f);
                        c_put(w, ";");
                        c_end(w);
                }
}

void c_external(struct c_writer *w, const struct loop_function *f)
{
        c_line(w, "{");
        w->indent = 1;
        c_put(w, "return %s(", f->external);
        for (int i = 0; i < f->external_count; i++)
                c_put(w, "%s%lld", i ? "," C_SOFT : "", (long long)f->external_extents[i]);
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                c_put(w, "%s(%s%s *)%s", i || f->external_count ? "," C_SOFT : "",
                      b->access == ACCESS_IN ? "const " : "", element_info[b->element].c_type,
                      c_use(w, b));
        }
        c_put(w, ") ?" C_SOFT "%s : 0;", error_macro(w, f));
        c_end(w);
        w->indent = 0;
        c_line(w, "}");
}

/* ---- meanings, for programs that are to link without the functions ---- */

static const char *meaning_name(struct c_writer *w, const struct loop_function *f)
{
        return arena_printf(w->arena, "meaning_of_%s", c_name(w, f)->text);
}

void c_external_meaning(struct c_writer *w, struct loop_function *f)
{
        if (!w->options->meanings)
                return;
        c_put(w, "static KERNEL %sint %s(", c_attribute(w), meaning_name(w, f));
        c_parameters(w, f);
        c_put(w, ")");
        c_end(w);
        c_body(w, f, "return 0;");
        c_put(w, "\n");
}

static void put_choice(struct c_writer *w, const struct loop_function *f)
{
        c_put(w, "if (1");
        for (int i = 0; i < f->external_count; i++)
                c_put(w, " &&" C_SOFT "n%d == %lld", i, (long long)f->external_extents[i]);
        c_put(w, ") {");
        c_end(w);
        w->indent++;
        c_put(w, "return %s(", meaning_name(w, f));
        for (int i = 0; i < f->buffer_count; i++) {
                const struct loop_buffer *b = f->buffers[i];
                c_put(w, "%s(%s%s *)p%d", i ? "," C_SOFT : "",
                      b->access == ACCESS_IN ? "const " : "", c_memory_type(w, b->element), i);
        }
        c_put(w, ");");
        c_end(w);
        w->indent--;
        c_line(w, "}");
}

void c_external_definitions(struct c_writer *w, struct text *out)
{
        w->out = out;
        for (const struct loop_function *f = NULL;
             w->options->meanings && (f = next_external(w->p, f));) {
                if (!is_first(w, f))
                        continue;
                text_add(out, "\n#ifdef __GNUC__\n__attribute__((weak))\n#endif\n");
                put_prototype(w, f);
                c_end(w);
                c_line(w, "{");
                w->indent = 1;
                for (const struct loop_function *g = f; g; g = next_external(w->p, g))
                        if (!strcmp(f->external, g->external))
                                put_choice(w, g);
                c_line(w, "return 1;");
                w->indent = 0;
                c_line(w, "}");
        }
}
