/* SPDX-License-Identifier: MIT */
/* Prints the header of the generated code, which says how it is called. */
#include "codegen/c_machine.h"
#include "codegen/extent_text.h"
#include "codegen/footprint.h"

#include <string.h>

static int port_count(const struct c_writer *w) { return w->input_count + w->output_count; }
static struct loop_buffer *port(const struct c_writer *w, int i)
{
        return i < w->input_count ? w->inputs[i] : w->outputs[i - w->input_count];
}

static int64_t count_of(const struct loop_buffer *b)
{
        return b->is_text ? b->extent / c_text_room(b) : b->extent;
}

/* ---- the comment ---- */

const char *c_extent_of_port(struct arena *arena, const struct loop_buffer *port, int dim)
{
        return port->extents ? extent_text(arena, port->extents[dim])
                             : arena_printf(arena, "%lld", (long long)c_port_extent(port, dim));
}

const char *c_extent_text(struct c_writer *w, const struct loop_buffer *b, int i)
{
        return c_extent_of_port(w->arena, b, i);
}

const char *c_shape_text(struct c_writer *w, const struct loop_buffer *b)
{
        char *text = "one element";
        for (int i = 0; i < c_port_rank(b); i++)
                text = arena_printf(w->arena, "%s%s%s", i ? text : "", i ? " x " : "",
                                    c_extent_text(w, b, i));
        return text;
}

static bool has_element(const struct c_writer *w, enum element a, enum element b)
{
        for (int i = 0; i < port_count(w); i++)
                if (port(w, i)->element == a || port(w, i)->element == b)
                        return true;
        return false;
}

const char *c_weights_parameter(const struct c_writer *w)
{
        const char *name = w->options->weights_name;
        return w->options->weights == PRINT_WEIGHTS_FILE ? text_safe(w->arena, name, strlen(name))
                                                     : NULL;
}

/* Returns a name for a variable of the example that no port has. */
static const char *example_name(struct c_writer *w, const char *wanted)
{
        const char *name = wanted;
        for (int i = 0; i < port_count(w); i++)
                if (!strcmp(c_name(w, port(w, i))->text, name)) {
                        name = arena_printf(w->arena, "%s_", name);
                        i = -1;
                }
        return name;
}

/* Adds an argument, on this line of the comment or on the next one, after a margin. */
static void add_argument(struct text *call, size_t *line, size_t margin, const char *name)
{
        bool first = call->length == *line + margin;
        if (!first && call->length - *line + strlen(", ") + strlen(name) + strlen(");") > C_WIDTH) {
                text_add(call, ",\n");
                *line = call->length;
                text_add(call, " *%*s%s", (int)margin - 2, "", name);
        } else {
                text_add(call, "%s%s", first ? "" : ", ", name);
        }
}

static void put_example_call(struct c_writer *w, const char *weights)
{
        struct text call = { 0 };
        size_t line = 0;
        text_add(&call, " *     int %s = %s_run(", example_name(w, "error"), w->prefix);
        const size_t margin = call.length;
        add_argument(&call, &line, margin, w->workspace_size > 0 ? "workspace" : "NULL");
        for (int i = 0; i < w->p->region_count; i++)
                add_argument(&call, &line, margin, w->areas[i].size ? w->regions[i] : "NULL");
        if (weights)
                add_argument(&call, &line, margin, "weights");
        if (w->machine)
                add_argument(&call, &line, margin, "program");
        if (c_state_any(w))
                add_argument(&call, &line, margin, "&state");
        for (int i = 0; i < port_count(w); i++) {
                for (int k = 0; k < w->p->extent_count && i == w->input_count; k++)
                        if (c_takes_extent(w, k))
                                add_argument(&call, &line, margin, w->p->extents[k].variable->name);
                add_argument(&call, &line, margin, c_name(w, port(w, i))->text);
        }
        for (int k = 0; k < w->p->extent_count; k++)
                if (c_tells_extent(w, k))
                        add_argument(
                                &call, &line, margin,
                                arena_printf(w->arena, "&%s", w->p->extents[k].variable->name));
        if (w->machine)
                add_argument(&call, &line, margin, "device");
        text_add(w->out, "%s);\n", call.data);
        text_free(&call);
}

static void put_usage(struct c_writer *w)
{
        const char *weights = c_weights_parameter(w);
        w->indent = 0;
        if (w->workspace_size > 0)
                c_line(w, " *     %s(workspace);", c_macro(w, "WORKSPACE_DEFINE"));
        for (int i = 0; i < w->p->region_count; i++)
                if (w->areas[i].size)
                        c_line(w, " *     %s(%s);",
                               c_macro(w, arena_printf(w->arena, "%s_DEFINE", w->regions[i])),
                               w->regions[i]);
        for (int i = 0; i < port_count(w); i++) {
                const char *name = c_name(w, port(w, i))->text;
                const struct loop_buffer *b = port(w, i);
                c_put(w, " *     static %s%s %s[%s]",
                      b->is_text && i < w->input_count ? "const " : "", c_port_type(b), name,
                      c_port_macro(w, name, "ELEMS"));
                if (b->is_text && i >= w->input_count)
                        c_put(w, "[%s]", c_port_macro(w, name, "BYTES"));
                c_put(w, ";");
                c_end(w);
        }
        for (int i = 0; i < w->p->extent_count; i++)
                if (w->p->extents[i].counted && loop_extent_is_told(w->p, i))
                        c_line(w, " *     int64_t %s;", w->p->extents[i].variable->name);
        if (weights) {
                const char *bytes = example_name(w, "bytes");
                c_line(w, " *     size_t %s;", bytes);
                c_line(w, " *     const void *weights = dnncc_weights_map(\"%s\", &%s);", weights,
                       bytes);
        }
        c_state_usage(w);
        c_machine_usage(w, weights ? "weights" : NULL);
        put_example_call(w, weights);
}

static const char rules[] = " *\n"
                            " * Tensors are dense, the last extent varies fastest, and aligned as "
                            "their type asks for. None\n"
                            " * may overlap the workspace, and no result another tensor; one "
                            "without elements may be NULL.\n"
                            " * The workspace holds nothing between calls; calls with different "
                            "workspaces and results may\n"
                            " * run at the same time.\n";

static void put_weights_rules(struct c_writer *w)
{
        const char *name = c_weights_parameter(w);
        if (name)
                text_add(w->out,
                         " *\n"
                         " * Weights are the bytes of %s, at a multiple of %s: dnncc_weights_map\n"
                         " * of libdnncc_runtime (dnncc_runtime.h) has them so, other ways will "
                         "do. They are only read.\n",
                         name, c_macro(w, "WEIGHTS_ALIGN"));
        else if (w->options->weights == PRINT_WEIGHTS_INCBIN)
                text_add(w->out,
                         " *\n"
                         " * The assembler takes the large constants from %s: compile with -I and "
                         "its folder.\n",
                         text_safe(w->arena, w->options->weights_name,
                                   strlen(w->options->weights_name)));
}

void c_port_table(struct c_writer *w)
{
        text_add(w->out, " *\n * %-24s %-14s %-24s %s\n", "parameter", "type", "extents",
                 "name in the model");
        for (int i = 0; i < port_count(w); i++) {
                const struct loop_buffer *b = port(w, i);
                char *type = arena_printf(w->arena, "%s%s", i < w->input_count ? "const " : "",
                                          c_port_type(b));
                c_line(w, " * %-24s %-14s %-24s %s", c_name(w, b)->text, type, c_shape_text(w, b),
                       text_safe(w->arena, c_port_name(b), strlen(c_port_name(b))));
        }
        c_state_table(w);
        for (int i = 0; i < w->p->extent_count; i++) {
                const struct loop_extent *e = &w->p->extents[i];
                if (!c_takes_extent(w, i) && !c_tells_extent(w, i) && !c_passes_extent(w, i))
                        continue;
                const char *range = arena_printf(w->arena, "%lld to %lld",
                                                 (long long)e->variable->low,
                                                 (long long)e->variable->high);
                c_line(w, " * %-24s %-14s %-24s %s", e->variable->name,
                       e->counted || e->kept ? "int64_t *" : "int64_t", range,
                       text_safe(w->arena, e->name, strlen(e->name)));
        }
}

void c_port_rules(struct c_writer *w)
{
        if (has_element(w, E_BOOL, E_BOOL))
                text_add(w->out, " * Truth values are bytes, 0 or 1.\n");
        if (has_element(w, E_F16, E_BF16))
                text_add(w->out,
                         " * uint16_t holds the bits of a half-precision or bfloat16 number.\n");
        if (c_text_inputs(w))
                text_add(w->out, " * Texts are UTF-8 and end in NUL; *_BYTES, the NUL included, is "
                                 "what each may take.\n");
        else if (c_text_any(w))
                text_add(w->out, " * Texts are UTF-8 and end in NUL, each in *_BYTES chars.\n");
}

static void put_header_comment(struct c_writer *w)
{
        text_add(w->out, "/*\n");
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                text_add(w->out, "%s", e ? " *\n" : "");
                put_usage(w);
                c_port_table(w);
        }
        c_entry(w, 0);
        text_add(w->out, "%s", rules);
        c_port_rules(w);
        put_weights_rules(w);
        bool counted = false;
        for (int i = 0; i < w->p->extent_count; i++)
                counted |= w->p->extents[i].counted && loop_extent_is_told(w->p, i);
        if (loop_given_extents(w->p))
                text_add(w->out,
                         " *\n"
                         " * Extents that are names are those of the call: a tensor has so many "
                         "elements, dense. ELEMS and\n"
                         " * SHAPE have each extent at its bound, for which a buffer of that size "
                         "always has room.\n");
        if (counted)
                text_add(w->out,
                         " *\n"
                         " * Extents behind the results are found by the call, which stores them "
                         "where it returns 0: results\n"
                         " * of such extents are dense at the beginning of their arrays, which "
                         "have room for the bound.\n");
        c_machine_rules(w);
        c_levels_rules(w);
        c_flush_rules(w);
        if (w->has_tasks && w->options->threads > 1)
                text_add(w->out,
                         " *\n"
                         " * Runs on up to %d threads by way of dnncc_parallel: link "
                         "libdnncc_runtime and -lpthread, or\n"
                         " * provide it (dnncc_runtime.h says how; a serial loop will do). The "
                         "bits are the same.\n",
                         w->options->threads);
        text_add(w->out, " */\n");
}

/* ---- the header ---- */

/* Prints one compiler's way to declare memory: "NAME_DEFINE(name)", between what comes before and
 * behind the declaration. */
static void put_memory_define(struct c_writer *w, const char *stem, const struct loop_region *r,
                              const char *condition, const char *before, const char *form,
                              const char *behind)
{
        char *definition = arena_printf(w->arena, form, (long long)(r->align > 0 ? r->align : 1));
        text_add(w->out, "%s\n#define %s(name) %s%s[%lld]%s\n", condition,
                 c_macro(w, arena_printf(w->arena, "%s_DEFINE", stem)), before, definition,
                 (long long)(r->size ? r->size : 1), behind);
}

static const char gnu_memory[] = "static unsigned char __attribute__((aligned(%lld))) (name)";

/* Prints how GNU compilers declare memory in a section, which takes no space in the image whatever
 * its name is. gcc gives a section that is no .bss a type of its own, which a comment in the
 * assembler's text takes away; clang has a pragma. */
static void put_section_defines(struct c_writer *w, const char *stem, const struct loop_region *r)
{
        const char *plain = arena_printf(w->arena, "__attribute__((section(\"%s\"))) ", r->section);
        const bool is_bss = !strncmp(r->section, ".bss", strlen(".bss"));
        static const char pragma[] = "_Pragma(\"clang section bss=\\\"%s\\\"\") ";
        if (!is_bss)
                put_memory_define(w, stem, r, "#if defined(__clang__) && defined(__ELF__)",
                                  arena_printf(w->arena, pragma, r->section), gnu_memory,
                                  arena_printf(w->arena, "; %sstruct name##_placed",
                                               arena_printf(w->arena, pragma, "")));
        if (!is_bss)
                put_memory_define(w, stem, r, "#elif defined(__GNUC__) && defined(__ELF__)",
                                  arena_printf(w->arena,
                                               "__attribute__((section(\"%s,\\\"aw\\\",%%nobits"
                                               "\\n#\"))) ",
                                               r->section),
                                  gnu_memory, "");
        put_memory_define(w, stem, r,
                          is_bss ? "#if defined(__GNUC__) || defined(__TINYC__)"
                                 : "#elif defined(__GNUC__) || defined(__TINYC__)",
                          plain, gnu_memory, "");
}

/* Prints STEM_SIZE, STEM_ALIGN and STEM_DEFINE(name). */
static void put_memory(struct c_writer *w, const char *stem, const struct loop_region *r)
{
        c_line(w, "#define %s %lldu", c_macro(w, arena_printf(w->arena, "%s_SIZE", stem)),
               (long long)r->size);
        c_line(w, "#define %s %lldu", c_macro(w, arena_printf(w->arena, "%s_ALIGN", stem)),
               (long long)(r->align > 0 ? r->align : 1));
        if (*r->section)
                put_section_defines(w, stem, r);
        else
                put_memory_define(w, stem, r, "#if defined(__GNUC__) || defined(__TINYC__)", "",
                                  gnu_memory, "");
        put_memory_define(w, stem, r, "#elif defined(_MSC_VER)", "",
                          "static __declspec(align(%lld)) unsigned char (name)", "");
        put_memory_define(w, stem, r, "#elif defined(__cplusplus)", "",
                          "alignas(%lld) static unsigned char (name)", "");
        put_memory_define(w, stem, r, "#else", "",
                          "static _Alignas(%lld) unsigned char (name)", "");
        text_add(w->out, "#endif\n");
}

static void put_workspace(struct c_writer *w)
{
        const struct loop_region workspace = { "workspace", "", 0, w->workspace_align,
                                               w->workspace_size };
        text_add(w->out,
                 "\n/* The caller provides that many bytes of scratch memory%s, so aligned; the\n"
                 " * macro declares a static one: %s(name); */\n",
                 workspace.size ? "" : " (none: may be NULL)", c_macro(w, "WORKSPACE_DEFINE"));
        put_memory(w, "WORKSPACE", &workspace);
        for (int i = 0; i < w->p->region_count; i++) {
                text_add(w->out, "\n/* The same holds for this region, of up to %lld bytes%s. */\n",
                         (long long)w->areas[i].limit,
                         w->areas[i].size ? "" : " (none: may be NULL)");
                put_memory(w, w->regions[i], &w->areas[i]);
        }
}

/* What else a device must have room for: it is known of code in registers that all small
 * processors have. */
static void put_footprint(struct c_writer *w)
{
        if (w->machine || w->level_count > 1 || target_has_wide_registers(w->target))
                return;
        const struct footprint f = footprint_program(
                &(struct footprint_of){ w->p, w->target,
                                        w->options->weights == PRINT_WEIGHTS_FILE
                                                ? NULL
                                                : inside_new(w->arena, w->p) });
        int64_t constants = 0;
        for (size_t i = 0; i < w->constant_count; i++)
                constants += loop_buffer_bytes(w->constants[i].buffer);
        text_add(w->out,
                 "\n/* Also bytes: constants; code, as gcc -O2 makes it for %s (an estimate); and "
                 "the stack\n"
                 " * below the caller of run, at most, by gcc and clang at -O2. */\n",
                 target_vector_bytes(w->target) ? w->target->name : "Cortex-M");
        c_line(w, "#define %s %lldu", c_macro(w, "CONSTANTS_SIZE"), (long long)constants);
        c_line(w, "#define %s %lldu", c_macro(w, "CODE_ESTIMATE"), (long long)f.code);
        c_line(w, "#define %s (%lldu + %lldu * sizeof(void *))", c_macro(w, "STACK_SIZE"),
               (long long)f.stack_bytes, (long long)f.stack_words);
}

static void put_program(struct c_writer *w)
{
        if (!w->machine)
                return;
        const struct loop_region program = { "program", "", 0, w->machine->align,
                                             w->machine->program_size };
        text_add(w->out, "\n/* The machine reads its program from that many bytes of memory, so "
                         "aligned; the macro declares them. */\n");
        put_memory(w, "PROGRAM", &program);
}

static void put_weights(struct c_writer *w)
{
        if (!c_weights_parameter(w))
                return;
        text_add(w->out, "\n/* The weights have that many bytes, so aligned. */\n");
        c_line(w, "#define %s %zuu", c_macro(w, "WEIGHTS_SIZE"), w->weight_bytes);
        c_line(w, "#define %s %du", c_macro(w, "WEIGHTS_ALIGN"), C_WEIGHTS_ALIGN);
}

static void put_extent_macros(struct c_writer *w)
{
        text_add(w->out, "\n/* Each tensor has a number of elements, a number of extents, and its "
                         "extents as\n"
                         " * an initializer ({0} where there are none). */\n");
        for (int i = 0; i < port_count(w); i++) {
                const struct loop_buffer *b = port(w, i);
                const char *name = c_name(w, b)->text;
                c_line(w, "#define %s %lldu", c_port_macro(w, name, "ELEMS"),
                       (long long)count_of(b));
                if (b->is_text)
                        c_line(w, "#define %s %lldu",
                               c_port_macro(w, name, "BYTES"),
                               (long long)c_text_room(b));
                c_line(w, "#define %s %d", c_port_macro(w, name, "RANK"),
                       c_port_rank(b));
                c_put(w, "#define %s {", c_port_macro(w, name, "SHAPE"));
                for (int d = 0; d < c_port_rank(b); d++)
                        c_put(w, "%s%lld", d ? ", " : "", (long long)c_port_extent(b, d));
                c_put(w, c_port_rank(b) ? "}" : "0}");
                c_end(w);
        }
}

static void put_step_macros(struct c_writer *w)
{
        bool said = false;
        for (int i = 0; i < port_count(w) * w->options->step_count; i++) {
                const struct loop_buffer *b = port(w, i / w->options->step_count);
                const struct print_steps *s = &w->options->steps[i % w->options->step_count];
                if (!b->port || strcmp(b->port, s->port) || (b->space == SPACE_OUTPUT) != s->output)
                        continue;
                if (!said)
                        text_add(w->out,
                                 "\n/* A stored q stands for the number (q - ZERO) * SCALE. */\n");
                said = true;
                const char *name = c_name(w, b)->text;
                const char *scale = arena_printf(w->arena, "%.9g", (double)s->scale);
                c_line(w, "#define %s %s%sf", c_port_macro(w, name, "SCALE"),
                       scale, strpbrk(scale, ".e") ? "" : ".0");
                c_line(w, "#define %s %d", c_port_macro(w, name, "ZERO"),
                       s->zero);
        }
}

void c_port_macros(struct c_writer *w)
{
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                put_extent_macros(w);
                put_step_macros(w);
        }
        c_entry(w, 0);
}

/* Can run return the error? Some codes are only for some kinds of targets. */
static bool is_returned(const struct c_writer *w, const char *error)
{
        static const char *const of_devices[] = { "PREPARE", "CAPTURE", "DEVICE",
                                                  "MEMORY",  "SHARED",  "LAUNCH" };
        static const char *const of_machines[] = { "ADDRESS", "TIMEOUT", "LOST" };
        for (size_t i = 0; i < sizeof of_machines / sizeof *of_machines; i++)
                if (!strcmp(error, of_machines[i]))
                        return w->machine;
        for (size_t i = 0; i < sizeof of_devices / sizeof *of_devices; i++)
                if (!strcmp(error, of_devices[i]))
                        return w->dialect->is_device || (w->machine && (!strcmp(error, "PREPARE") ||
                                                                        !strcmp(error, "LAUNCH")));
        if (!strcmp(error, "PROCESSOR") && w->dialect->is_device)
                return true;
        if (!strcmp(error, "WEIGHTS"))
                return w->options->weights != PRINT_WEIGHTS_INLINE;
        if (!strcmp(error, "STATE"))
                return (c_state_any(w) && !w->dialect->is_device) || c_step_any(w);
        if (!strcmp(error, "FULL"))
                return loop_first_kept(w->p) < w->p->extent_count;
        if (!strcmp(error, "IMAGE"))
                return c_image_any(w);
        if (!strcmp(error, "EXTERNAL"))
                return c_external_fails(w, false);
        if (!strcmp(error, "LIBRARY"))
                return c_external_fails(w, true);
        if (!strcmp(error, "CONSTANTS") || !strcmp(error, "SELFTEST"))
                return w->options->selftest != NULL;
        if (!strcmp(error, "TEXT"))
                return c_text_inputs(w);
        if (!strcmp(error, "TILES"))
                return c_tiles_level(w) < w->level_count;
        return strcmp(error, "PROCESSOR") || w->level_count > 1 || target_length(w->target);
}

void c_error_macros(struct c_writer *w)
{
        text_add(w->out,
                 w->dialect->is_device ? "\n/* Functions return 0, or one of these errors. */\n"
                 : w->machine ? "\n/* %s_run and prepare return 0, or one of these errors. */\n"
                              : "\n/* %s_run returns 0, or one of these errors. */\n",
                 w->options->prefix);
#define FAIL(name, value, doc)                                                                     \
        if (is_returned(w, #name))                                                                 \
                text_add(w->out, "#define %-32s (%d)    /* %s */\n", c_macro(w, "ERROR_" #name),   \
                         value, doc);
#include "ir/loop/fail_codes.def"
}

static const char descriptor_types[] =
        "\n/* For callers that do not know the model, this has types, shapes, memory, and a "
        "uniform way to run it. */\n"
        "#ifndef DNNCC_ABI_1\n"
        "#define DNNCC_ABI_1\n"
        "struct dnncc_tensor_1 {\n"
        "        const char *name;               /* in the model */\n"
        "        int32_t type;                   /* ONNX TensorProto.DataType */\n"
        "        int32_t rank;\n"
        "        const int64_t *shape;           /* bounds where dynamic; NULL if rank is 0 */\n"
        "        const char *const *symbols;     /* NULL if static */\n"
        "        uint64_t bytes;\n"
        "};\n"
        "struct dnncc_region_1 {\n"
        "        const char *name;\n"
        "        uint64_t size, align;\n"
        "        int32_t kind;                   /* 0 scratch, 1 state, 2 weights, 3 device */\n"
        "};\n"
        "struct dnncc_model_1 {\n"
        "        uint32_t abi, struct_size;\n"
        "        const char *name;\n"
        "        uint32_t region_count, input_count, output_count, extent_count;\n"
        "        const struct dnncc_region_1 *regions;\n"
        "        const struct dnncc_tensor_1 *inputs, *outputs;\n"
        "        int (*run)(void *const *regions, const void *const *inputs, void *const "
        "*outputs,\n"
        "                int64_t *extents);\n"
        "};\n"
        "#endif\n";

static const char state_types[] =
        "\n/* Where abi is 2, the model is a struct dnncc_model_2: its members that last from one "
        "call to the next, in\n"
        " * the region of kind 1, which is zero bytes at first. */\n"
        "#ifndef DNNCC_ABI_2\n"
        "#define DNNCC_ABI_2\n"
        "struct dnncc_state_2 {\n"
        "        const char *name, *next;        /* the model's input, and the output that is its "
        "next\n"
        "                                         * value; an extent that tensors are made of, and "
        "NULL */\n"
        "        int32_t type;                   /* ONNX TensorProto.DataType */\n"
        "        int32_t rank;\n"
        "        const int64_t *shape;           /* of its memory; NULL if rank is 0 */\n"
        "        const char *const *symbols;     /* how far it is in use; NULL: wholly */\n"
        "        uint64_t offset, bytes;\n"
        "};\n"
        "struct dnncc_model_2 {\n"
        "        struct dnncc_model_1 model;\n"
        "        uint32_t state_count;\n"
        "        const struct dnncc_state_2 *states;\n"
        "};\n"
        "#endif\n";

void c_descriptor_header(struct c_writer *w)
{
        if (w->options->descriptor)
                text_add(w->out, "%s%s", descriptor_types, c_state_any(w) ? state_types : "");
        for (int e = 0; e < w->p->entry_count && w->options->descriptor; e++) {
                c_entry(w, e);
                text_add(w->out, "const struct dnncc_model_1 *%s_describe(void);\n", w->prefix);
        }
        c_entry(w, 0);
}

void c_header(struct c_writer *w, struct text *out)
{
        w->out = out;
        put_header_comment(w);
        text_add(out, w->machine || c_image_any(w) || c_external_any(w)
                              ? "#include <stddef.h>\n#include <stdint.h>\n"
                              : "#include <stdint.h>\n");
        text_add(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        put_workspace(w);
        put_footprint(w);
        put_program(w);
        put_weights(w);
        c_state_header(w);
        c_port_macros(w);
        c_error_macros(w);
        text_add(out, "\n");
        c_run_prototypes(w);
        c_step_header(w);
        c_machine_functions(w);
        c_levels_header(w);
        c_descriptor_header(w);
        c_selftest_header(w);
        c_hooks_header(w);
        c_trace_header(w);
        c_image_header(w);
        c_external_header(w);
        text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n");
}
