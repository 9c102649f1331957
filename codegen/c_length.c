/* SPDX-License-Identifier: MIT */
/* Prints code for vector registers whose length the processor determines (SVE). The code is for a
 * fixed number of lanes, and correct where these are not longer than a register: run compares with
 * the length before it computes anything.
 *
 *     static AARCH64_SVE256 uint64_t vector_bytes(void)
 *     {
 *             return svcntb();
 *     }
 *     ...
 *             if (vector_bytes() < 32)
 *                     return DIGITS_ERROR_PROCESSOR; */
#include "codegen/c_writer.h"

static const char *length_of(const struct c_writer *w, int level)
{
        return target_length(w->levels[level].target);
}

void c_length_reserve(struct c_writer *w)
{
        if (length_of(w, w->level))
                c_reserve(w, "vector_bytes");
}

void c_length_top(struct c_writer *w, struct text *out)
{
        int level = 0;
        while (level < w->level_count && !length_of(w, level))
                level++;
        if (level == w->level_count)
                return;
        c_level(w, level);
        text_add(out, "\n");
        c_level_open(w, out, level);
        text_add(out,
                 "/* Returns the bytes of the processor's vector registers. */\n"
                 "static %suint64_t vector_bytes(void)\n"
                 "{\n"
                 "        return %s;\n"
                 "}\n",
                 c_attribute(w), length_of(w, level));
        c_level_close(w, out, level);
}

void c_length_check(struct c_writer *w)
{
        if (!length_of(w, w->level))
                return;
        c_attribute(w);                 /* This marks the attribute as used. */
        c_line(w, "if (vector_bytes() < %d)", target_vector_bytes(w->target));
        w->indent++;
        c_line(w, "return %s;", c_macro(w, "ERROR_PROCESSOR"));
        w->indent--;
}

void c_length_condition(struct c_writer *w, int level)
{
        if (length_of(w, level))
                c_put(w, " &&" C_SOFT "vector_bytes() >= %d",
                      target_vector_bytes(w->levels[level].target));
}
