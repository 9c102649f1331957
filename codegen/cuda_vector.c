/* SPDX-License-Identifier: MIT */
/* Prints vector accesses of a lane, as the pass vector_access has made them: 2, 4, 8 or 16 elements
 * that are loaded or stored by one instruction.
 *
 *     let %word : f32x4 = %x<4>[%i * 4]            const struct words_f32_4 word =
 *     let %a : f32 = lane(%word, 0) + ..                   load_f32_4(x + (i * 4));
 *     store %y[%i * 4] = %a vector 4        ->     const float a = word.at[0] + ..;
 *                                                  store_f32_4(y + (i * 4), a, b, c, d);
 *
 * Inputs and outputs of the model that are accessed in this way must be aligned to as many bytes;
 * `run` checks that. */
#include "codegen/cuda_writer.h"

#include <string.h>

/* ---- alignment of ports ---- */

struct calls { struct c_writer *w; const struct loop_buffer *parameter; int bytes; };

static void add_port(struct c_writer *w, const struct loop_buffer *port, int bytes)
{
        struct cuda_port added = { port, bytes };
        for (int i = 0; i < w->cuda->port_count; i++)
                if (w->cuda->ports[i].buffer == port) {
                        w->cuda->ports[i].multiple = bytes > w->cuda->ports[i].multiple
                                                             ? bytes
                                                             : w->cuda->ports[i].multiple;
                        return;
                }
        ARENA_GROW(w->arena, w->cuda->ports, w->cuda->port_count);
        w->cuda->ports[w->cuda->port_count++] = added;
}

static void look_at_call(struct loop_stmt *s, void *context)
{
        const struct calls *c = context;
        if (s->kind != STMT_CALL || s->function != c->w->kernel)
                return;
        for (int i = 0; i < s->function->buffer_count; i++) {
                const struct loop_buffer *root = loop_buffer_root(s->buffers[i], NULL);
                if (s->function->buffers[i] == c->parameter &&
                    (root->space == SPACE_INPUT || root->space == SPACE_OUTPUT))
                        add_port(c->w, root, c->bytes);
        }
}

void cuda_needs(struct c_writer *w, const struct loop_buffer *b, int bytes)
{
        struct calls calls = { w, b, bytes };
        if (b->space == SPACE_PARAMETER)
                loop_walk_mains(w->p, look_at_call, NULL, &calls);
}

int cuda_port_multiple(const struct c_writer *w, const struct loop_buffer *port)
{
        for (int i = 0; i < w->cuda->port_count; i++)
                if (w->cuda->ports[i].buffer == port)
                        return w->cuda->ports[i].multiple;
        return element_info[port->element].bytes;
}

/* ---- statements ---- */

/* Returns the name of a type or a function, "load_f32_4" for instance, and notes that its
 * definition must be printed at the top of the file. */
static const char *name_of(struct c_writer *w, const char *stem, enum element e, int count)
{
        struct cuda_vector_names *names = w->cuda->vector_names[e];
        const char *name = arena_printf(w->arena, "%s_%s_%d", stem, element_info[e].text, count);
        for (; count > 2; count /= 2)
                names++;
        const char **known = !strcmp(stem, "load")    ? &names->load
                             : !strcmp(stem, "store") ? &names->store
                                                      : &names->type;
        if (!*known)
                *known = c_global(w, name);
        return *known;
}

static void need_vector(struct c_writer *w, const struct loop_buffer *b, int count)
{
        cuda_needs(w, b, count * element_info[b->element].bytes);
}

void cuda_vector_load(struct c_writer *w, const struct loop_stmt *s)
{
        struct loop_buffer *b = s->a->buffer;
        const int count = s->variable->type.lanes;
        if (s->a->op != LOOP_LOAD || !w->cuda->lane || count > COPY_BYTES) {
                c_fail(w, EXIT_UNSUPPORTED, "target %s has no vectors but those that a lane loads",
                       w->target->name);
                return;
        }
        need_vector(w, b, count);
        c_name_set(w, s->variable, c_local(w, "word"));   /* Names begin anew in each phase, which
                                                           * is a function. */
        c_put(w, "const struct %s %s = %s(", name_of(w, "words", b->element, count),
              c_name(w, s->variable)->text, name_of(w, "load", b->element, count));
        cuda_place(w, b, s->a->args[0]);
        c_put(w, ");");
        c_end(w);
}

void cuda_vector_store(struct c_writer *w, const struct loop_stmt *s)
{
        const enum element e = s->buffer->element;
        need_vector(w, s->buffer, s->vector);
        name_of(w, "words", e, s->vector);
        c_put(w, "%s(", name_of(w, "store", e, s->vector));
        cuda_place(w, s->buffer, s->a);
        for (int i = s->vector; i > 0; i--, s = s->next) {
                c_put(w, "," C_SOFT);
                c_expression(w, s->b);
        }
        c_put(w, ");");
        c_end(w);
}

/* ---- functions ---- */

static void put_store_function(struct text *out, const struct cuda_vector_names *names,
                               const char *type, int count)
{
        text_add(out, "static __device__ __forceinline__ void %s(%s *to", names->store, type);
        for (int i = 0; i < count; i++)
                text_add(out, ", %s x%d", type, i);
        text_add(out, ")\n{\n        const struct %s word = { {", names->type);
        for (int i = 0; i < count; i++)
                text_add(out, "%s x%d", i ? "," : "", i);
        text_add(out, " } };\n        move_words(struct %s, to, &word);\n}\n", names->type);
}

static void put_load_function(struct text *out, const struct cuda_vector_names *names,
                              const char *type)
{
        text_add(out,
                 "static __device__ __forceinline__ struct %s %s(const %s *from)\n{\n        "
                 "struct %s word;\n",
                 names->type, names->load, type, names->type);
        text_add(out, "        move_words(struct %s, &word, from);\n        return word;\n}\n",
                 names->type);
}

static const char head[] =
        "\n"
        "/* Moves neighbouring elements, which a lane loads or stores by one instruction. */\n"
        "#ifndef CUDA_CPU\n"
        "#define move_words(type, to, from) (*(type *)(to) = *(const type *)(from))\n"
        "#endif\n";

void cuda_vector_top(struct c_writer *w, struct text *out)
{
        bool any = false;
        for (int e = 0; e < ELEMENT_COUNT; e++)
                for (int i = 0; i < CUDA_VECTORS; i++) {
                        const struct cuda_vector_names *names = &w->cuda->vector_names[e][i];
                        const char *type = element_info[e].c_type;
                        const int count = 2 << i;
                        if (!names->type)
                                continue;
                        text_add(out, "%sstruct __align__(%d) %s { %s at[%d]; };\n",
                                 any ? "" : head, count * element_info[e].bytes, names->type, type,
                                 count);
                        if (names->load)
                                put_load_function(out, names, type);
                        if (names->store)
                                put_store_function(out, names, type, count);
                        any = true;
                }
}
