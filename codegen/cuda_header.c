/* SPDX-License-Identifier: MIT */
/* Prints the header of CUDA code, which C and C++ can include without the headers of CUDA. */
#include "codegen/cuda_writer.h"

#include <string.h>

const char *cuda_load_prototype(struct c_writer *w)
{
        return arena_printf(w->arena, "int %s_load(void *weights, %svoid *stream)",
                            w->options->prefix,
                            w->options->weights == PRINT_WEIGHTS_FILE ? "const void *file, " : "");
}

static const char rules[] = " *\n"
                            " * All pointers of run are to the device's memory, which is the "
                            "caller's: cudaMalloc's is aligned\n"
                            " * well, elsewhere tensors are aligned as their type asks for, or to "
                            "8 or 16 bytes where kernels move\n"
                            " * so many at once, as run checks. Tensors are dense, and the last "
                            "extent varies fastest. None\n"
                            " * may overlap the workspace or the weights, and no result another "
                            "tensor; one without elements may\n"
                            " * be NULL.\n"
                            " *\n"
                            " * prepare is called once for a device, and not while a stream is "
                            "captured. load copies the weights,\n"
                            " * for any number of runs and streams. run only launches kernels on "
                            "the stream (a cudaStream_t; NULL\n"
                            " * is the default stream), so that a stream may be captured; runs on "
                            "several streams at the same time\n"
                            " * have workspaces of their own. status waits for the stream, and "
                            "says what a kernel failed with.\n";

static void put_run_usage(struct c_writer *w)
{
        c_put(w, " *     error = %s_run(%s," C_SOFT "%s," C_SOFT, w->prefix,
              w->workspace_size ? "workspace" : "NULL", w->weight_bytes ? "weights" : "NULL");
        if (c_state_any(w))
                c_put(w, "state," C_SOFT);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_passes_extent(w, i))
                        c_put(w, "&%s," C_SOFT, w->p->extents[i].variable->name);
        for (int i = 0; i < w->input_count; i++)
                c_put(w, "%s, ", c_name(w, w->inputs[i])->text);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_takes_extent(w, i))
                        c_put(w, "%s, ", w->p->extents[i].variable->name);
        for (int i = 0; i < w->output_count; i++)
                c_put(w, "%s, ", c_name(w, w->outputs[i])->text);
        for (size_t i = 0; i < w->line.length; i++)     /* The call is printed into a comment, as
                                                         * one line. */
                if (w->line.data[i] == *C_SOFT)
                        w->line.data[i] = ' ';
        c_line(w, "stream);");
}

static void put_usage(struct c_writer *w)
{
        const char *prefix = w->options->prefix;
        bool file = w->options->weights == PRINT_WEIGHTS_FILE;
        text_add(w->out, "/*\n *     int error = %s_prepare();\n", prefix);
        if (w->workspace_size)
                text_add(w->out, " *     cudaMalloc(&workspace, %s);\n",
                         c_macro(w, "WORKSPACE_SIZE"));
        if (w->weight_bytes)
                text_add(w->out,
                         " *     cudaMalloc(&weights, %s);\n *     error = %s_load(weights, "
                         "%sstream);\n",
                         c_macro(w, "WEIGHTS_SIZE"), prefix, file ? "file, " : "");
        if (c_state_any(w))
                text_add(w->out,
                         " *     cudaMalloc(&state, %s);\n"
                         " *     cudaMemset(state, 0, %s);\n",
                         c_macro(w, "STATE_SIZE"), c_macro(w, "STATE_SIZE"));
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_passes_extent(w, i))
                        text_add(w->out, " *     int64_t %s = 0;\n",
                                 w->p->extents[i].variable->name);
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                put_run_usage(w);
        }
        c_entry(w, 0);
        text_add(w->out, " *     error = %s_status(%s, stream);\n", prefix,
                 w->workspace_size ? "workspace" : "NULL");
}

static void put_size(struct c_writer *w, const char *stem, long long size, long long align,
                     const char *doc)
{
        text_add(
                w->out,
                "\n/* These are the bytes of %s, in the device's memory, and their alignment. */\n",
                doc);
        c_line(w, "#define %s %lldu", c_macro(w, arena_printf(w->arena, "%s_SIZE", stem)), size);
        c_line(w, "#define %s %lldu", c_macro(w, arena_printf(w->arena, "%s_ALIGN", stem)), align);
}

void cuda_header(struct c_writer *w, struct text *out)
{
        const char *prefix = w->options->prefix, *name = w->options->weights_name;
        w->out = out;
        w->indent = 0;
        put_usage(w);
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_port_table(w);
        }
        c_entry(w, 0);
        text_add(out, "%s", rules);
        c_port_rules(w);
        if (loop_given_extents(w->p))
                text_add(out,
                         " *\n"
                         " * Extents that are names are those of the call: a tensor has so many "
                         "elements, dense. A graph that is\n"
                         " * captured is for the extents it was captured with.\n");
        if (loop_first_kept(w->p) < w->p->extent_count)
                text_add(out,
                         " *\n"
                         " * run reads extents that are state, and sets them as soon as it has "
                         "launched its kernels.\n");
        if (w->options->weights == PRINT_WEIGHTS_FILE)
                text_add(out,
                         " *\n * file is the bytes of %s, in the host's memory at a multiple of "
                         "8.\n",
                         text_safe(w->arena, name, strlen(name)));
        text_add(out, " */\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        put_size(w, "WORKSPACE", w->workspace_size, w->workspace_align > 0 ? w->workspace_align : 1,
                 "scratch memory");
        put_size(w, "WEIGHTS", (long long)w->weight_bytes,
                 w->workspace_align > 0 ? w->workspace_align : 1, "the weights");
        c_state_header(w);
        c_port_macros(w);
        c_error_macros(w);
        text_add(out, "\nint %s_prepare(void);\n", prefix);
        c_line(w, "%s;", cuda_load_prototype(w));
        c_run_prototypes(w);
        text_add(out, "int %s_status(const void *workspace, void *stream);\n", prefix);
        cuda_profile_header(w);
        c_descriptor_header(w);
        text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n");
}
