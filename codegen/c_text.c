/* SPDX-License-Identifier: MIT */
/* Prints what ports of texts take. The caller has pointers to texts, or rows of chars; kernels have
 * bytes with zeros behind each text to the end of its room. Run copies the inputs before anything
 * else, and outputs are the caller's memory under another type:
 *
 *     int model_run(void *workspace, const char *const *words, char *found)
 *     {
 *             ...
 *             uint8_t *const words_bytes = (uint8_t *)workspace + 768;
 *             uint8_t *const found_bytes = (uint8_t *)found;
 *             ...
 *             status = copy_texts(words_bytes, words, 3, 64);
 *             if (status)
 *                     return status; */
#include "codegen/c_writer.h"

static struct loop_buffer *port(const struct c_writer *w, int i)
{
        return i < w->input_count ? w->inputs[i] : w->outputs[i - w->input_count];
}

static bool any_copied(struct loop_buffer *const *inputs, int count)
{
        for (int i = 0; i < count; i++)
                if (inputs[i]->is_text && inputs[i]->extent)
                        return true;
        return false;
}

bool c_text_inputs(const struct c_writer *w)
{
        return any_copied(w->levels[w->level].inputs, w->levels[w->level].input_count);
}

bool c_text_copied(const struct c_writer *w) { return any_copied(w->inputs, w->input_count); }

bool c_text_any(const struct c_writer *w)
{
        for (const struct loop_buffer *b = w->p->buffers; b; b = b->next)
                if (b->is_text)
                        return true;
        return false;
}

int64_t c_text_room(const struct loop_buffer *b)
{
        return type_extent(b->type, b->type->rank - 1);
}

void c_text_reserve(struct c_writer *w)
{
        if (c_text_inputs(w))
                c_reserve(w, "copy_texts");
}

void c_text_top(struct c_writer *w, struct text *out)
{
        if (!c_text_inputs(w))
                return;
        text_add(out,
                 "\n"
                 "/* Copies texts, each to `room` bytes, with zeros behind it. */\n"
                 "static int copy_texts(uint8_t *to, const char *const *texts, size_t count, "
                 "size_t room)\n"
                 "{\n"
                 "        for (size_t i = 0; i < count; i++) {\n"
                 "                size_t n = 0;\n"
                 "                if (!texts[i])\n"
                 "                        return %s;\n"
                 "                for (; texts[i][n]; n++) {\n"
                 "                        if (n + 1 == room)\n"
                 "                                return %s;\n"
                 "                        to[n] = (uint8_t)texts[i][n];\n"
                 "                }\n"
                 "                for (; n < room; n++)\n"
                 "                        to[n] = 0;\n"
                 "                to += room;\n"
                 "        }\n"
                 "        return 0;\n"
                 "}\n",
                 c_macro(w, "ERROR_NULL"), c_macro(w, "ERROR_TEXT"));
}

void c_text_names(struct c_writer *w)
{
        const int count = w->input_count + w->output_count;
        struct c_level *l = &w->levels[w->level];
        l->text_bytes = arena_array(w->arena, (size_t)count + 1, sizeof *l->text_bytes);
        for (int i = 0; i < count; i++)
                if (port(w, i)->is_text) {
                        const char *name = c_name(w, port(w, i))->text;
                        l->text_bytes[i] = ARENA_NEW(w->arena, struct c_name);
                        l->text_bytes[i]->text =
                                c_local(w, arena_printf(w->arena, "%s_bytes", name));
                }
}

void c_text_swap(struct c_writer *w)
{
        struct c_name **other = w->levels[w->level].text_bytes;
        for (int i = 0; i < w->input_count + w->output_count; i++)
                if (other && other[i]) {
                        struct c_name *name = c_name(w, port(w, i)), kept = *name;
                        *name = *other[i];
                        *other[i] = kept;
                }
}

void c_text_pointers(struct c_writer *w)
{
        struct c_name **inside = w->levels[w->level].text_bytes;
        for (int i = 0; i < w->input_count + w->output_count; i++) {
                const struct loop_buffer *b = port(w, i);
                if (!b->is_text)
                        continue;
                const char *type = c_memory_type(w, E_U8);
                c_put(w, "%s *const %s = ", type, inside[i]->text);
                if (b->space == SPACE_OUTPUT)
                        c_line(w, "(%s *)%s;", type, c_use(w, b));
                else if (b->offset)
                        c_line(w, "(%s *)workspace + %lld;", type, (long long)b->offset);
                else
                        c_line(w, "(%s *)workspace;", type);
        }
}

void c_text_copies(struct c_writer *w)
{
        struct c_name **outside = w->levels[w->level].text_bytes;
        for (int i = 0; i < w->input_count; i++) {
                const struct loop_buffer *b = w->inputs[i];
                if (!b->is_text)
                        continue;
                if (!b->extent) {
                        c_line(w, "(void)%s;", outside[i]->text);
                        continue;
                }
                c_put(w, "status = copy_texts(%s," C_SOFT "%s," C_SOFT "%lld," C_SOFT "%lld);",
                      c_use(w, b), outside[i]->text, (long long)(b->extent / c_text_room(b)),
                      (long long)c_text_room(b));
                c_end(w);
                c_line(w, "if (status != 0) {");
                w->indent++;
                c_line(w, "return status;");
                w->indent--;
                c_line(w, "}");
                w->uses_status = true;
        }
}
