/* SPDX-License-Identifier: MIT */
/* Prints state: what the caller keeps from one run to the next (--state).
 *
 *     struct gru_state {
 *             uint64_t build;                  0 until the first run, then what it was made by
 *             unsigned char before_h[56];
 *             float h[64];                     at a multiple of 64 bytes, as every member
 *     };
 *
 * Zero bytes begin a sequence of runs, so a static struct is ready, and a copy of the struct is a
 * fork. Offsets do not depend on the C compiler: padding is written out.
 *
 * A device's state has no words in front, because the host would wait to read them: extents that
 * are state are variables of the caller's, which run reads and sets. */
#include "codegen/c_writer.h"

#include <string.h>

#include "base/size.h"

bool c_state_any(const struct c_writer *w) { return w->state_count > 0; }

static int kept_count(const struct c_writer *w)
{
        return w->p->extent_count - loop_first_kept(w->p);
}

static const char *struct_name(struct c_writer *w)
{
        return arena_printf(w->arena, "%s_state", w->options->prefix);
}

void c_state_reserve(struct c_writer *w)
{
        static const char *const macros[] = { "STATE_SIZE", "STATE_ALIGN", "STATE_DEFINE" };
        if (!c_state_any(w))
                return;
        for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
                c_reserve(w, c_macro(w, macros[i]));
        c_reserve(w, struct_name(w));
        c_reserve(w, arena_printf(w->arena, "%s_reset", struct_name(w)));
        names_reserve(w->globals, "state");
        names_reserve(w->globals, "build");
        for (int i = loop_first_kept(w->p); i < w->p->extent_count; i++)
                names_reserve(w->globals, w->p->extents[i].variable->name);
}

const char *c_state_parameter(struct c_writer *w)
{
        return arena_printf(w->arena, "struct %s *state", struct_name(w));
}

/* ---- the header ---- */

/* Returns the shape that the member holds in a run; its memory has each extent at its bound. */
static const char *run_shape_text(struct c_writer *w, const struct loop_buffer *b)
{
        return b->extents ? c_shape_text(w, b) : loop_shape_text(w->arena, b);
}

static void put_padding(struct c_writer *w, const char *stem, const char *name, int64_t bytes)
{
        if (bytes)
                c_line(w, "unsigned char %s_%s[%lld];", stem, name, (long long)bytes);
}

static void put_struct(struct c_writer *w)
{
        c_line(w, "struct %s {", struct_name(w));
        w->indent++;
        if (!w->dialect->is_device)
                c_line(w, "uint64_t build;");
        for (int i = loop_first_kept(w->p); i < w->p->extent_count && !w->dialect->is_device; i++)
                c_line(w, "int64_t %s;         /* %lld to %lld: \"%s\" */",
                       w->p->extents[i].variable->name, (long long)w->p->extents[i].variable->low,
                       (long long)w->p->extents[i].variable->high,
                       text_safe(w->arena, w->p->extents[i].name, strlen(w->p->extents[i].name)));
        for (int i = 0; i < w->state_count; i++) {
                const struct loop_buffer *b = w->states[i];
                const char *name = c_name(w, b)->text;
                if (!i)
                        put_padding(w, "before", name,
                                    loop_state_head(w->p) -
                                            (w->dialect->is_device
                                                     ? 0
                                                     : STATE_WORD * (1 + kept_count(w))));
                c_line(w, "%s %s[%lld];         /* %s: \"%s\", the next time from \"%s\" */",
                       element_info[b->element].c_type, name, (long long)b->extent,
                       loop_shape_text(w->arena, b), text_safe(w->arena, b->port, strlen(b->port)),
                       text_safe(w->arena, b->next_port, strlen(b->next_port)));
                put_padding(w, "after", name,
                            round_up(loop_buffer_bytes(b), STATE_ALIGN) - loop_buffer_bytes(b));
        }
        w->indent--;
        c_line(w, "};");
}

static void put_define(struct c_writer *w, const char *condition, const char *before,
                       const char *behind)
{
        text_add(w->out, "%s\n#define %s(name) %sstruct %s %sname\n", condition,
                 c_macro(w, "STATE_DEFINE"), before, struct_name(w), behind);
}

void c_state_header(struct c_writer *w)
{
        if (!c_state_any(w))
                return;
        if (w->dialect->is_device) {
                text_add(w->out, "\n/* The caller keeps this from one call to the next, in the "
                                 "device's memory, so aligned. Zero bytes\n"
                                 " * begin a sequence of calls, and 0 as each extent that is "
                                 "state. A copy of all goes on by itself. */\n");
                put_struct(w);
                c_line(w, "#define %s %lldu", c_macro(w, "STATE_SIZE"),
                       (long long)loop_state_size(w->p));
                c_line(w, "#define %s %du", c_macro(w, "STATE_ALIGN"), STATE_ALIGN);
                return;
        }
        text_add(w->out,
                 "\n/* The caller keeps this from one call to the next, so aligned; the macro "
                 "declares a static one. Zero\n"
                 " * bytes begin a sequence of calls, and so does %s_reset. Members may be set and "
                 "read\n"
                 " * between calls; a copy goes on by itself. */\n",
                 struct_name(w));
        put_struct(w);
        c_line(w, "#define %s %lldu", c_macro(w, "STATE_SIZE"),
               (long long)loop_state_size(w->p));
        c_line(w, "#define %s %du", c_macro(w, "STATE_ALIGN"), STATE_ALIGN);
        put_define(w, "#if defined(__GNUC__) || defined(__TINYC__)", "static ",
                   arena_printf(w->arena, "__attribute__((aligned(%d))) ", STATE_ALIGN));
        put_define(w, "#elif defined(_MSC_VER)",
                   arena_printf(w->arena, "static __declspec(align(%d)) ", STATE_ALIGN), "");
        put_define(w, "#elif defined(__cplusplus)",
                   arena_printf(w->arena, "alignas(%d) static ", STATE_ALIGN), "");
        put_define(w, "#else", arena_printf(w->arena, "static _Alignas(%d) ", STATE_ALIGN), "");
        text_add(w->out, "#endif\n");
        c_line(w, "void %s_reset(%s);", struct_name(w), c_state_parameter(w));
}

void c_state_usage(struct c_writer *w)
{
        if (c_state_any(w))
                c_line(w, " *     %s(state);", c_macro(w, "STATE_DEFINE"));
}

void c_state_table(struct c_writer *w)
{
        for (int i = 0; i < w->state_count; i++) {
                const struct loop_buffer *b = w->states[i];
                c_line(w, " * %-24s %-14s %-24s %s, then %s",
                       arena_printf(w->arena, "state->%s", c_name(w, b)->text),
                       element_info[b->element].c_type, run_shape_text(w, b),
                       text_safe(w->arena, b->port, strlen(b->port)),
                       text_safe(w->arena, b->next_port, strlen(b->next_port)));
        }
}

/* ---- run ---- */

static const char *mark_of(struct c_writer *w)
{
        const uint64_t mark = loop_state_mark(w->p, w->options->version);
        return arena_printf(w->arena, "UINT64_C(0x%016llx)", (unsigned long long)mark);
}

void c_state_check(struct c_writer *w)
{
        if (!c_state_any(w))
                return;
        for (int i = loop_first_kept(w->p);
             i < w->p->extent_count && w->dialect->is_device && !w->options->unchecked; i++) {
                const struct loop_variable *v = w->p->extents[i].variable;
                c_line(w, "if (!%s)", v->name);
                c_return_error(w, "NULL");
                c_line(w, "if (*%s < 0 || *%s > %lld)", v->name, v->name, (long long)v->high);
                c_return_error(w, "FULL");
        }
        if (w->dialect->is_device)
                return;
        if (!w->options->unchecked) {
                c_put(w, "if (state->build != 0 &&" C_SOFT "state->build != %s)", mark_of(w));
                c_end(w);
                c_return_error(w, "STATE");
                for (int i = loop_first_kept(w->p); i < w->p->extent_count; i++) {
                        const struct loop_variable *v = w->p->extents[i].variable;
                        c_put(w, "if (state->%s < 0 ||" C_SOFT "state->%s > %lld)", v->name,
                              v->name, (long long)v->high);
                        c_end(w);
                        c_return_error(w, "FULL");
                }
        }
        c_line(w, "state->build = %s;", mark_of(w));
}

void c_state_pointers(struct c_writer *w)
{
        bool any = false;
        for (struct loop_buffer *b = w->p->buffers; b; b = b->next) {
                if (b->space != SPACE_STATE || !c_name(w, b)->used)
                        continue;
                const char *type = c_memory_type(w, b->element), *name = c_name(w, b)->text;
                c_line(w, "%s *const %s = (%s *)(void *)state->%s;", type, name, type, name);
                any = true;
        }
        if (!any && c_state_any(w) &&
            (c_run_is_split(w) || (w->dialect->is_device && w->options->unchecked)))
                c_line(w, "(void)state;");
}

static void use_extent(struct loop_expr *e, void *context)
{
        if (e->op == LOOP_VARIABLE)
                c_use(context, e->variable);
}

void c_state_uses(struct c_writer *w)
{
        for (int i = loop_first_kept(w->p); i < w->p->extent_count; i++) {
                struct loop_expr *next = loop_next_extent(&w->p->entries[w->entry], i);
                if (next)
                        loop_expr_walk(next, use_extent, w);
        }
}

/* Subscripts of the next values are of this run's, which variables hold. */
void c_state_end(struct c_writer *w)
{
        for (int i = loop_first_kept(w->p); i < w->p->extent_count; i++) {
                const struct loop_expr *next = loop_next_extent(&w->p->entries[w->entry], i);
                if (!next)
                        continue;
                c_put(w, "%s%s = (int64_t)(", w->dialect->is_device ? "*" : "state->",
                      w->p->extents[i].variable->name);
                c_expression(w, next);
                c_put(w, ");");
                c_end(w);
        }
}

void c_state_functions(struct c_writer *w, struct text *out)
{
        if (!c_state_any(w) || w->dialect->is_device)
                return;
        w->out = out;
        c_function_open(w, arena_printf(w->arena, "void %s_reset(%s)", struct_name(w),
                                        c_state_parameter(w)));
        c_line(w, "unsigned char *bytes = (unsigned char *)(void *)state;");
        c_line(w, "for (size_t i = 0; i < sizeof *state; i++)");
        c_line(w, "        bytes[i] = 0;");
        c_function_close(w);
}

/* ---- the descriptor ---- */

const char *c_state_describe(struct c_writer *w)
{
        if (w->described_states)        /* All entries have the same. */
                return w->described_states;
        const char **shapes = arena_array(w->arena, (size_t)w->state_count + 1, sizeof *shapes);
        for (int i = 0; i < w->state_count; i++) {
                const struct loop_buffer *b = w->states[i];
                if (!b->type || !b->type->rank)
                        continue;
                shapes[i] = c_global(w, arena_printf(w->arena, "%s_shape", c_name(w, b)->text));
                c_put(w, "static const int64_t %s[%d] = {", shapes[i], b->type->rank);
                for (int d = 0; d < b->type->rank; d++)
                        c_put(w, "%s %lld", d ? "," : "", (long long)type_extent(b->type, d));
                c_line(w, " };");
        }
        const char **symbols = arena_array(w->arena, (size_t)w->state_count + 1, sizeof *symbols);
        for (int i = 0; i < w->state_count; i++)
                symbols[i] = c_symbols(w, w->states[i]);
        const char *name = w->described_states = c_global(w, "described_states");
        c_line(w, "static const struct dnncc_state_2 %s[%d] = {", name,
               w->state_count + (w->dialect->is_device ? 0 : kept_count(w)));
        for (int i = 0; i < w->state_count; i++) {
                const struct loop_buffer *b = w->states[i];
                c_line(w, "        { \"%s\", \"%s\", %d, %d, %s, %s, %lldu, %lldu },",
                       text_literal(w->arena, b->port, strlen(b->port)),
                       text_literal(w->arena, b->next_port, strlen(b->next_port)),
                       element_info[loop_buffer_element(b)].onnx, b->type ? b->type->rank : 0,
                       shapes[i] ? shapes[i] : "NULL", symbols[i],
                       (long long)loop_state_offset(w->p, b),
                       (long long)loop_buffer_bytes(b));
        }
        for (int i = loop_first_kept(w->p), word = 1;
             i < w->p->extent_count && !w->dialect->is_device; i++, word++)
                c_line(w, "        { \"%s\", NULL, %d, 0, NULL, NULL, %du, %du },",
                       w->p->extents[i].variable->name, element_info[E_I64].onnx, word * STATE_WORD,
                       STATE_WORD);
        c_line(w, "};");
        return name;
}
