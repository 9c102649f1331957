/* SPDX-License-Identifier: MIT */
/* Prints the descriptor of the generated code, for callers that know none of its names. */
#include "codegen/c_machine.h"

#include <string.h>

/* Returns the model's name of a port as a C expression. C99 guarantees string literals of 4095
 * bytes only: a longer name becomes an array of its bytes. */
static const char *put_port_name(struct c_writer *w, const struct loop_buffer *b)
{
        enum { LITERAL_BYTES = 4095 };
        const char *name = c_port_name(b);
        size_t length = strlen(name);
        if (length <= LITERAL_BYTES)
                return arena_printf(w->arena, "\"%s\"", text_literal(w->arena, name, length));
        const char *array = c_global(w, arena_printf(w->arena, "%s_name", c_name(w, b)->text));
        struct text bytes = { 0 };
        for (size_t i = 0; i <= length; i++)
                text_add(&bytes, "%s%s'\\%03o'", i ? "," : "", i % 12 ? "" : "\n        ",
                         (unsigned char)name[i]);
        text_add(w->out, "static const char %s[%zu] = {%s\n};\n", array, length + 1, bytes.data);
        text_free(&bytes);
        return array;
}

const char *c_symbols(struct c_writer *w, const struct loop_buffer *b)
{
        if (!b->extents)
                return "NULL";
        const char *name =
                c_global(w, arena_printf(w->arena, "%s_symbols", c_name(w, b)->text));
        c_put(w, "static const char *const %s[%d] = {", name, c_port_rank(b));
        for (int d = 0; d < c_port_rank(b); d++) {
                bool number = b->extents[d]->op == LOOP_LITERAL;
                c_put(w, number ? "%s NULL" : "%s \"%s\"", d ? "," : "", c_extent_text(w, b, d));
        }
        c_line(w, " };");
        return name;
}

/* Prints an array of tensors; returns its name, or NULL where there are no tensors. */
static const char *put_tensors(struct c_writer *w, struct loop_buffer **buffers, int count,
                               const char *stem)
{
        const char **shapes = arena_array(w->arena, (size_t)count + 1, sizeof *shapes);
        const char **names = arena_array(w->arena, (size_t)count + 1, sizeof *names);
        const char **symbols = arena_array(w->arena, (size_t)count + 1, sizeof *symbols);
        for (int i = 0; i < count; i++) {
                symbols[i] = c_symbols(w, buffers[i]);
                names[i] = put_port_name(w, buffers[i]);
                if (!c_port_rank(buffers[i]))
                        continue;
                shapes[i] = c_global(
                        w, arena_printf(w->arena, "%s_shape", c_name(w, buffers[i])->text));
                c_put(w, "static const int64_t %s[%d] = {", shapes[i], c_port_rank(buffers[i]));
                for (int d = 0; d < c_port_rank(buffers[i]); d++)
                        c_put(w, "%s %lld", d ? "," : "", (long long)c_port_extent(buffers[i], d));
                c_line(w, " };");
        }
        if (!count)
                return "NULL";
        const char *name = c_global(w, stem);
        c_line(w, "static const struct dnncc_tensor_1 %s[%d] = {", name, count);
        for (int i = 0; i < count; i++) {
                const struct loop_buffer *b = buffers[i];
                const struct element_info *e = &element_info[loop_buffer_element(b)];
                c_line(w, "        { %s, %d, %d, %s, %s, %llu },", names[i],
                       b->is_text ? element_info[E_STRING].onnx : e->onnx, c_port_rank(b),
                       shapes[i] ? shapes[i] : "NULL", symbols[i],
                       (unsigned long long)b->extent * (unsigned long long)e->bytes);
        }
        c_line(w, "};");
        return name;
}

static bool has_weights_region(const struct c_writer *w)
{
        return w->dialect->is_device || c_weights_parameter(w);
}

/* Counts the workspace, the program's regions, the weights, the state and, for a machine, its
 * program and its device. */
static int region_count(const struct c_writer *w)
{
        return 1 + w->p->region_count + has_weights_region(w) + (w->machine ? 2 : 0) +
               c_state_any(w);
}

/* Returns a cast, which C++ needs for void pointers. */
static const char *device_cast(struct c_writer *w, const char *constant,
                               const struct loop_buffer *b)
{
        return w->dialect->is_device ? arena_printf(w->arena, "(%s%s *)", constant,
                                                    element_info[b->element].c_type)
                                     : "";
}

/* Counts the extents that are parameters or results of the entry. */
static int extent_count(const struct c_writer *w)
{
        int count = 0;
        for (int i = 0; i < w->p->extent_count; i++)
                count += c_takes_extent(w, i) || c_tells_extent(w, i) || c_passes_extent(w, i);
        return count;
}

static void put_run_call(struct c_writer *w, const char *lead)
{
        /* A machine's device has this number. */
        const int device = region_count(w) - 1;
        c_put(w, "%s %s_run(regions[0]", lead, w->prefix);
        int number = 0;
        for (int i = 1; i < region_count(w) - !!w->machine; i++)
                c_put(w, "," C_SOFT "%sregions[%d]",
                      w->dialect->is_device && c_state_any(w) && i == region_count(w) - 1
                              ? arena_printf(w->arena, "(struct %s_state *)", w->options->prefix)
                              : "",
                      i);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_passes_extent(w, i))
                        c_put(w, "," C_SOFT "&extents[%d]", number++);
        for (int i = 0; i < w->input_count; i++)
                c_put(w, "," C_SOFT "%sinputs[%d]", device_cast(w, "const ", w->inputs[i]), i);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_takes_extent(w, i))
                        c_put(w, "," C_SOFT "extents[%d]", number++);
        for (int i = 0; i < w->output_count; i++)
                c_put(w, "," C_SOFT "%soutputs[%d]", device_cast(w, "", w->outputs[i]), i);
        for (int i = 0; i < w->p->extent_count; i++)
                if (c_tells_extent(w, i))
                        c_put(w, "," C_SOFT "&extents[%d]", number++);
        if (w->dialect->is_device)
                c_put(w, "," C_SOFT "NULL);" );
        else if (w->machine)
                c_put(w, "," C_SOFT "regions[%d]);", device);
        else
                c_put(w, ");");
        c_end(w);
}

/* Prints calls for a caller that does not know prepare: prepare is then called by the first run. */
static void put_prepared_run(struct c_writer *w)
{
        c_line(w, "if (status != %s)", c_macro(w, "ERROR_PREPARE"));
        w->indent++;
        c_line(w, "return status;");
        w->indent--;
        c_put(w, "status = %s_prepare(regions[0]", w->options->prefix);
        for (int i = 1; i < region_count(w); i++)
                c_put(w, "," C_SOFT "regions[%d]", i);
        c_line(w, ");");
        c_line(w, "if (status)");
        w->indent++;
        c_line(w, "return status;");
        w->indent--;
        put_run_call(w, "return");
}

static void put_run_wrapper(struct c_writer *w, const char *name)
{
        c_line(w, "static int %s(void *const *regions, const void *const *inputs," C_SOFT
                  "void *const *outputs," C_SOFT "int64_t *extents)", name);
        c_line(w, "{");
        w->indent = 1;
        if (!extent_count(w))
                c_line(w, "(void)extents;");
        if (!w->input_count)
                c_line(w, "(void)inputs;");
        if (!w->output_count)
                c_line(w, "(void)outputs;");
        put_run_call(w, w->dialect->is_device ? "const int status ="
                        : w->machine          ? "int status ="
                                              : "return");
        if (w->dialect->is_device)
                c_line(w, "return status ? status : %s_status(regions[0], NULL);",
                       w->options->prefix);
        if (w->machine)
                put_prepared_run(w);
        w->indent = 0;
        c_line(w, "}");
}

/* Prints the table of regions; returns its name. */
static const char *put_regions(struct c_writer *w)
{
        const char *regions = c_global(w, "described_regions");
        c_put(w, "static const struct dnncc_region_1 %s[%d] = {", regions, region_count(w));
        c_put(w, " { \"workspace\", %s, %s, 0 }", c_macro(w, "WORKSPACE_SIZE"),
              c_macro(w, "WORKSPACE_ALIGN"));
        for (int i = 0; i < w->p->region_count; i++)
                c_put(w, "," C_SOFT "{ \"%s\", %s, %s, 0 }", w->areas[i].name,
                      c_macro(w, arena_printf(w->arena, "%s_SIZE", w->regions[i])),
                      c_macro(w, arena_printf(w->arena, "%s_ALIGN", w->regions[i])));
        if (has_weights_region(w))
                c_put(w, "," C_SOFT "{ \"weights\", %s, %s, 2 }", c_macro(w, "WEIGHTS_SIZE"),
                      c_macro(w, "WEIGHTS_ALIGN"));
        if (w->machine)
                c_put(w, "," C_SOFT "{ \"program\", %s, %s, 1 }," C_SOFT "{ \"device\", 0, 1, 3 }",
                      c_macro(w, "PROGRAM_SIZE"), c_macro(w, "PROGRAM_ALIGN"));
        if (c_state_any(w))
                c_put(w, "," C_SOFT "{ \"state\", %s, %s, 1 }", c_macro(w, "STATE_SIZE"),
                      c_macro(w, "STATE_ALIGN"));
        c_line(w, " };");
        return regions;
}

/* Prints what describes an entry. */
static void put_description(struct c_writer *w, const char **regions)
{
        struct text *out = w->out;
        const char *model = w->p->name ? w->p->name : "";
        const char *inputs = put_tensors(w, w->inputs, w->input_count, "described_inputs");
        const char *outputs = put_tensors(w, w->outputs, w->output_count, "described_outputs");
        *regions = *regions ? *regions : put_regions(w);
        const char *run = c_global(w, "described_run");
        text_add(out, "\n");
        put_run_wrapper(w, run);
        const char *states = c_state_any(w) ? c_state_describe(w) : NULL;
        const char *name = c_global(w, "described_model");
        text_add(out, "\nstatic const struct dnncc_model_%d %s = {\n", states ? 2 : 1, name);
        text_add(out, "        %s%d, sizeof(struct dnncc_model_%d), \"%s\", %d, %d, %d, %d,\n",
                 states ? "{ " : "", states ? 2 : 1, states ? 2 : 1,
                 text_literal(w->arena, model, strlen(model)), region_count(w), w->input_count,
                 w->output_count, extent_count(w));
        text_add(out, "        %s, %s, %s, %s%s\n", *regions, inputs, outputs, run,
                 states ? " }," : "");
        if (states)
                text_add(out, "        %d, %s\n",
                         w->state_count + (w->dialect->is_device
                                           ? 0
                                           : w->p->extent_count - loop_first_kept(w->p)),
                         states);
        text_add(out,
                 "};\n\nconst struct dnncc_model_1 *%s_describe(void)\n{\n        return "
                 "&%s%s;\n}\n",
                 w->prefix, name, states ? ".model" : "");
}

void c_descriptor(struct c_writer *w, struct text *out)
{
        const char *regions = NULL;
        w->out = out;
        w->indent = 0;
        text_add(out, "\n/* the descriptor */\n");
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                put_description(w, &regions);
        }
        c_entry(w, 0);
}
