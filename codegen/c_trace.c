/* SPDX-License-Identifier: MIT */
/* --profile=FILE: what a trace says of each call of a kernel, in a table that dnncc_trace_open
 * (runtime/dnncc_runtime.h) takes. */
#include "codegen/c_writer.h"

#include <string.h>

static const char kernel_type[] =
        "\n/* These are the calls of kernels in run, in the order of the numbers that "
        "dnncc_profile is told. dnncc_trace_open\n"
        " * (dnncc_runtime.h) takes them and writes a trace as chrome://tracing and Perfetto read "
        "it. */\n"
        "#ifndef DNNCC_KERNEL_1\n"
        "#define DNNCC_KERNEL_1\n"
        "struct dnncc_kernel_1 {\n"
        "        const char *name, *nodes;       /* of the function; the nodes of the model that "
        "it computes */\n"
        "        double flops;                   /* operations on floats in a call */\n"
        "        uint64_t bytes;                 /* read and written by a call */\n"
        "        uint64_t workspace;             /* of the workspace (and regions) in use "
        "meanwhile */\n"
        "};\n"
        "#endif\n";

void c_trace_header(struct c_writer *w)
{
        const struct print_options *o = w->options;
        if (!o->trace)
                return;
        text_add(w->out, "%s#define %s \"%s\"\n#define %s %d\n", kernel_type, c_macro(w, "TRACE"),
                 text_literal(w->arena, o->trace, strlen(o->trace)), c_macro(w, "KERNEL_COUNT"),
                 o->kernel_count);
        text_add(w->out, "extern const struct dnncc_kernel_1 %s_kernels[];\n", o->prefix);
}

/* Returns a string literal. C99 guarantees 4095 bytes, so long lists of nodes are truncated. */
static const char *literal(struct c_writer *w, const char *text)
{
        enum { LITERAL_BYTES = 1000 };
        size_t length = text ? strlen(text) : 0;
        bool is_cut = length > LITERAL_BYTES;
        if (is_cut)
                length = LITERAL_BYTES;
        /* The text is not truncated within a character. */
        while (is_cut && length && ((unsigned char)text[length] & 0xc0) == 0x80)
                length--;
        return arena_printf(w->arena, "%s%s", length ? text_literal(w->arena, text, length) : "",
                            is_cut ? " .." : "");
}

void c_trace(struct c_writer *w, struct text *out)
{
        const struct print_options *o = w->options;
        if (!o->trace)
                return;
        text_add(out, "\nconst struct dnncc_kernel_1 %s_kernels[] = {\n", o->prefix);
        for (int i = 0; i < o->kernel_count; i++) {
                const struct print_kernel *k = &o->kernels[i];
                text_add(out, "        { \"%s\", \"%s\", %.0f, %lld, %lld },\n",
                         literal(w, k->name), literal(w, k->nodes), k->flops, (long long)k->bytes,
                         (long long)k->workspace);
        }
        text_add(out, "%s};\n", o->kernel_count ? "" : "        { \"\", \"\", 0, 0, 0 }\n");
}
