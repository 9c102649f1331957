/* SPDX-License-Identifier: MIT */
/* Prints --selftest's function: it compares a CRC-32 of all constants with that of the data they
 * were printed from, then runs the model on an input that is one of them and compares the results,
 * bit by bit, with others.
 *
 *      memory:  | workspace | outputs, each at a multiple of SELFTEST_ALIGN |
 */
#include "codegen/c_writer.h"

#include <string.h>
#include <zlib.h>

enum { SELFTEST_ALIGN = 8 };

static int64_t place_of_output(const struct c_writer *w, int output)
{
        int64_t at = round_up(w->workspace_size, SELFTEST_ALIGN);
        for (int i = 0; i < output; i++)
                at += round_up(loop_buffer_bytes(w->outputs[i]), SELFTEST_ALIGN);
        return at;
}

/* Prints the parameters: the memory, and the regions of run. */
static void put_prototype(struct c_writer *w, const char *end)
{
        c_put(w, "int %s_selftest(void *workspace", w->options->prefix);
        for (int i = 0; i < w->p->region_count; i++)
                c_put(w, "," C_SOFT "void *%s", w->regions[i]);
        c_put(w, ")%s", end);
        c_end(w);
}

void c_selftest_header(struct c_writer *w)
{
        if (!w->options->selftest)
                return;
        text_add(w->out,
                 "\n/* Looks whether all constants are as they were, whether a run on an input of "
                 "the file's own gives the\n"
                 " * results that it must, and returns 0, or the error. The workspace is one of "
                 "that many bytes here. */\n");
        c_line(w, "#define %s %lldu", c_macro(w, "SELFTEST_SIZE"),
               (long long)place_of_output(w, w->output_count));
        put_prototype(w, ";");
}

/* ---- the check of constants ---- */

/* Fills in what the printed function, which takes four bits at a time, needs of the CRC-32 of
 * IEEE 802.3, as zlib has it. */
static void fill_table(uint32_t table[16])
{
        for (uint32_t i = 0; i < 16; i++) {
                table[i] = i;
                for (int bit = 0; bit < 4; bit++)
                        table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
        }
}

static uint32_t crc_of_constants(const struct c_writer *w)
{
        uLong crc = crc32(0, NULL, 0);
        for (size_t i = 0; i < w->constant_count; i++) {
                const struct loop_buffer *b = w->constants[i].buffer;
                const size_t size = (size_t)element_info[b->element].bytes,
                             count = b->splat ? (size_t)b->extent : 1;
                for (size_t k = 0; k < count && b->data; k++)
                        crc = crc32_z(crc, b->data,
                                      b->splat ? size : (size_t)loop_buffer_bytes(b));
        }
        return (uint32_t)crc;
}

/* Prints the helpers: their names are in names[2]. */
static void put_helpers(struct c_writer *w, const char *const names[2])
{
        uint32_t table[16];
        fill_table(table);
        text_add(w->out,
                 "\n/* CRC-32, of numbers as a little-endian machine has them; memory is read each "
                 "time. */\n");
        c_put(w, "static uint32_t %s(uint32_t crc, const void *data, size_t count, size_t size)",
              names[0]);
        c_end(w);
        c_line(w, "{");
        w->indent = 1;
        c_put(w, "static const uint32_t table[16] = {");
        for (int i = 0; i < 16; i++)
                c_put(w, "%s" C_SOFT "0x%08xu", i ? "," : "", (unsigned)table[i]);
        c_put(w, C_SOFT "};");
        c_end(w);
        w->indent = 0;
        text_add(w->out,
                 "        const uint16_t one = 1;\n"
                 "        const unsigned char first = *(const unsigned char *)&one;\n"
                 "        const volatile unsigned char *p = (const volatile unsigned char *)data;\n"
                 "        uint32_t sum = crc;\n"
                 "        for (size_t i = 0; i < count; i++) {\n"
                 "                for (size_t k = 0; k < size; k++) {\n"
                 "                        const size_t at = first == 1u ? k : size - 1u - k;\n"
                 "                        const uint32_t byte = p[i * size + at];\n"
                 "                        sum = (sum >> 4) ^ table[(sum ^ byte) & 15u];\n"
                 "                        sum = (sum >> 4) ^ table[(sum ^ (byte >> 4)) & 15u];\n"
                 "                }\n"
                 "        }\n"
                 "        return sum;\n"
                 "}\n");
        text_add(w->out,
                 "\nstatic int %s(const void *got, const void *wanted, size_t size)\n"
                 "{\n"
                 "        const unsigned char *a = (const unsigned char *)got;\n"
                 "        const unsigned char *b = (const unsigned char *)wanted;\n"
                 "        int differ = 0;\n"
                 "        for (size_t i = 0; i < size; i++) {\n"
                 "                if (a[i] != b[i]) {\n"
                 "                        differ = 1;\n"
                 "                }\n"
                 "        }\n"
                 "        return differ;\n"
                 "}\n",
                 names[1]);
}

/* ---- the function ---- */

static const char *name_of(const struct c_constant *c) { return c->name->text; }

static void put_condition(struct c_writer *w, const char *condition, const char *error)
{
        c_line(w, "if (%s) {", condition);
        c_line(w, "        return %s;", error);
        c_line(w, "}");
}

static void put_run(struct c_writer *w)
{
        c_put(w, "const int status = %s_run(workspace", w->options->prefix);
        for (int i = 0; i < w->p->region_count; i++)
                c_put(w, "," C_SOFT "%s", w->regions[i]);
        for (int i = 0; i < w->input_count; i++)
                c_put(w, "," C_SOFT "%s", c_use(w, w->options->selftest->inputs[i]));
        for (int i = 0; i < w->output_count; i++)
                c_put(w, "," C_SOFT "(%s *)(void *)&memory[%lld]",
                      element_info[w->outputs[i]->element].c_type,
                      (long long)place_of_output(w, i));
        c_put(w, ");");
        c_end(w);
}

void c_selftest(struct c_writer *w, struct text *out)
{
        if (!w->options->selftest)
                return;
        w->out = out;
        const char *names[2];
        names[0] = c_global(w, "selftest_crc");
        names[1] = c_global(w, "selftest_differs");
        put_helpers(w, names);
        text_add(out, "\n");
        put_prototype(w, "");
        c_line(w, "{");
        w->indent = 1;
        c_line(w, "unsigned char *const memory = (unsigned char *)workspace;");
        c_line(w, "uint32_t crc = 0xffffffffu;");
        put_condition(w, "memory == NULL", c_macro(w, "ERROR_NULL"));
        for (size_t i = 0; i < w->constant_count; i++) {
                const struct loop_buffer *b = w->constants[i].buffer;
                c_line(w, "crc = %s(crc, %s, %lld, %d);", names[0], name_of(&w->constants[i]),
                       (long long)b->extent, element_info[b->element].bytes);
        }
        put_condition(w, arena_printf(w->arena, "(crc ^ 0xffffffffu) != 0x%08xu",
                                      (unsigned)crc_of_constants(w)),
                      c_macro(w, "ERROR_CONSTANTS"));
        put_run(w);
        put_condition(w, "status != 0", "status");
        for (int i = 0; i < w->output_count; i++) {
                c_put(w, "if (%s(&memory[%lld]," C_SOFT "%s," C_SOFT "%zu) != 0) {", names[1],
                      (long long)place_of_output(w, i), c_use(w, w->options->selftest->outputs[i]),
                      (size_t)loop_buffer_bytes(w->outputs[i]));
                c_end(w);
                c_line(w, "        return %s;", c_macro(w, "ERROR_SELFTEST"));
                c_line(w, "}");
        }
        c_line(w, "return 0;");
        w->indent = 0;
        c_line(w, "}");
}
