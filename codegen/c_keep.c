/* SPDX-License-Identifier: MIT */
/* Prints values that stay in their registers (engines/vector/keep.c):
 *
 *     acc_0_1 = _mm512_fmadd_ps(a, w_1, acc_0_1);              ptrdiff_t vector = panel * 2;
 *     KEEP(a);                                                 PIN(vector);
 *
 * Both are empty assembly statements: KEEP reads the vector, so that it has its register until
 * then; PIN may change the index, so that nothing is computed from it before. */
#include "codegen/c_writer.h"

void c_keep(struct c_writer *w, const struct loop_stmt *s)
{
        bool index = s->variable->type.lanes == 1;
        *(index ? &w->pins : &w->keeps) = true;
        c_line(w, "%s(%s);", index ? "PIN" : "KEEP", c_use(w, s->variable));
}

void c_keep_top(struct c_writer *w, struct text *out)
{
        if (w->pins)
                text_add(out, "\n/* The compiler keeps what is computed from the subscript behind "
                              "this point. */\n"
                              "#if defined(__GNUC__)\n"
                              "#define PIN(index) __asm__ volatile (\"\" : \"+r\" (index))\n"
                              "#else\n"
                              "#define PIN(index) ((void)0)\n"
                              "#endif\n");
        if (!w->keeps)
                return;
        text_add(out,
                 "\n/* The vector stays in its register until here, so that gcc adds products to "
                 "sums in place. */\n"
                 "#if defined(__GNUC__) && !defined(__clang__)\n"
                 "#define KEEP(vector) __asm__ volatile (\"\" : : \"%s\" (vector))\n"
                 "#else\n"
                 "#define KEEP(vector) ((void)0)\n"
                 "#endif\n",
                 target_keep(w->options->target));
}
