/* SPDX-License-Identifier: MIT */
/* Prints hooks around calls of kernels: macros of the model's prefix, which whoever compiles the
 * file may define. With --profile the one behind a call is dnncc_profile. */
#include "codegen/c_writer.h"

bool c_hooks_any(const struct c_writer *w)
{
        return (w->options->hook || w->options->profile) && !w->dialect->is_device;
}

void c_hook(struct c_writer *w, const char *place, int kernel)
{
        c_line(w, "%s(%d);", c_macro(w, arena_printf(w->arena, "HOOK_%s", place)), kernel);
}

static const char profile_declaration[] =
        "\n/* The program that links this defines it. It is called with -1 before the first kernel, "
        "then with K after\n"
        " * the K-th call of a kernel in run, counted from 0. */\n"
        "void dnncc_profile(int kernel);\n";

static void put_macro(struct c_writer *w, struct text *out, const char *place, const char *does)
{
        const char *name = c_macro(w, arena_printf(w->arena, "HOOK_%s", place));
        text_add(out, "#ifndef %s\n#define %s(kernel) %s\n#endif\n", name, name, does);
}

void c_hooks_top(struct c_writer *w, struct text *out)
{
        if (!c_hooks_any(w))
                return;
        if (w->options->profile)
                text_add(out, "%s", profile_declaration);
        text_add(out, "\n/* Hooks: BEFORE and AFTER the K-th call of a kernel in run, counted from "
                      "0, and AFTER(-1) as a run begins.\n"
                      " * -D%s=NAME, with -include of what declares NAME, gives them something to "
                      "do. */\n",
                 c_macro(w, "HOOK_AFTER"));
        put_macro(w, out, "BEFORE", "((void)0)");
        put_macro(w, out, "AFTER", w->options->profile ? "dnncc_profile(kernel)" : "((void)0)");
}

void c_hooks_header(struct c_writer *w)
{
        if (c_hooks_any(w) && !w->options->trace)
                text_add(w->out, "\n/* That many calls of kernels have hooks. */\n#define %s %d\n",
                         c_macro(w, "KERNEL_COUNT"), c_call_number(w, NULL));
}
