/* SPDX-License-Identifier: MIT */
/* Prints the interface of the generated code: the header, and the descriptor for generic
 * callers. */
#include "codegen/c_machine.h"

#include <string.h>

static int port_count(const struct c_writer *w) { return w->input_count + w->output_count; }
static struct loop_buffer *port(const struct c_writer *w, int i)
{
        return i < w->input_count ? w->inputs[i] : w->outputs[i - w->input_count];
}

/* The caller sees no extent of the bytes of texts. */
static int rank_of(const struct loop_buffer *b)
{
        return b->type ? b->type->rank - b->is_text : 1;
}
static int64_t count_of(const struct loop_buffer *b)
{
        return b->is_text ? b->extent / c_text_room(b) : b->extent;
}
static int64_t extent_at(const struct loop_buffer *b, int i)
{
        return b->type ? type_extent(b->type, i) : b->extent;
}
static const char *port_name(const struct loop_buffer *b) { return b->port ? b->port : b->name; }

/* ---- the comment ---- */

/* Prints an extent as text: a number, or a term over run's parameters. */
static void add_extent(struct text *out, const struct loop_expr *e, bool nested)
{
        static const char *const infix[] = { [LOOP_ADD] = " + ", [LOOP_SUB] = " - ",
                                             [LOOP_MUL] = " * ", [LOOP_DIV] = " / " };
        bool call = e->op == LOOP_MIN || e->op == LOOP_MAX;
        if (e->op == LOOP_LITERAL)
                text_add(out, "%lld", (long long)e->literal.i);
        if (e->op == LOOP_VARIABLE)
                text_add(out, "%s", e->variable->name);
        if (e->arity != 2)
                return;
        text_add(out, "%s", call ? loop_op_info[e->op].text : "");
        text_add(out, "%s", call || nested ? "(" : "");
        add_extent(out, e->args[0], !call);
        text_add(out, "%s", call ? ", " : infix[e->op]);
        add_extent(out, e->args[1], !call);
        text_add(out, "%s", call || nested ? ")" : "");
}

/* Returns dimension i of a port as text. */
static const char *extent_text(struct c_writer *w, const struct loop_buffer *b, int i)
{
        struct text text = { 0 };
        if (!b->extents)
                return arena_printf(w->arena, "%lld", (long long)extent_at(b, i));
        add_extent(&text, b->extents[i], false);
        char *copy = arena_string(w->arena, text.data);
        text_free(&text);
        return copy;
}

const char *c_shape_text(struct c_writer *w, const struct loop_buffer *b)
{
        char *text = "one element";
        for (int i = 0; i < rank_of(b); i++)
                text = arena_printf(w->arena, "%s%s%s", i ? text : "", i ? " x " : "",
                                    extent_text(w, b, i));
        return text;
}

static bool has_element(const struct c_writer *w, enum element a, enum element b)
{
        for (int i = 0; i < port_count(w); i++)
                if (port(w, i)->element == a || port(w, i)->element == b)
                        return true;
        return false;
}

/* Returns the name of the file that run is given, as text; NULL where run has no such parameter. */
static const char *weights_parameter(const struct c_writer *w)
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
        const char *weights = weights_parameter(w);
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
        const char *name = weights_parameter(w);
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
                       text_safe(w->arena, port_name(b), strlen(port_name(b))));
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

/* Prints one compiler's way to declare memory: "NAME_DEFINE(name)". section: NULL, or an attribute
 * that only GNU compilers know. */
static void put_memory_define(struct c_writer *w, const char *stem, const struct loop_region *r,
                              const char *condition, const char *form, const char *section)
{
        char *definition = arena_printf(w->arena, form, (long long)(r->align > 0 ? r->align : 1));
        if (section)
                definition = arena_printf(w->arena, "__attribute__((section(\"%s\"))) %s", section,
                                          definition);
        text_add(w->out, "%s\n#define %s(name) %s[%lld]\n", condition,
                 c_macro(w, arena_printf(w->arena, "%s_DEFINE", stem)), definition,
                 (long long)(r->size ? r->size : 1));
}

/* Prints STEM_SIZE, STEM_ALIGN and STEM_DEFINE(name). */
static void put_memory(struct c_writer *w, const char *stem, const struct loop_region *r)
{
        c_line(w, "#define %s %lldu", c_macro(w, arena_printf(w->arena, "%s_SIZE", stem)),
               (long long)r->size);
        c_line(w, "#define %s %lldu", c_macro(w, arena_printf(w->arena, "%s_ALIGN", stem)),
               (long long)(r->align > 0 ? r->align : 1));
        put_memory_define(w, stem, r, "#if defined(__GNUC__) || defined(__TINYC__)",
                          "static unsigned char __attribute__((aligned(%lld))) name",
                          *r->section ? r->section : NULL);
        put_memory_define(w, stem, r, "#elif defined(_MSC_VER)",
                          "static __declspec(align(%lld)) unsigned char name", NULL);
        put_memory_define(w, stem, r, "#elif defined(__cplusplus)",
                          "alignas(%lld) static unsigned char name", NULL);
        put_memory_define(w, stem, r, "#else", "static _Alignas(%lld) unsigned char name", NULL);
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
        if (!weights_parameter(w))
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
                       rank_of(b));
                c_put(w, "#define %s {", c_port_macro(w, name, "SHAPE"));
                for (int d = 0; d < rank_of(b); d++)
                        c_put(w, "%s%lld", d ? ", " : "", (long long)extent_at(b, d));
                c_put(w, rank_of(b) ? "}" : "0}");
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
                return c_state_any(w) && !w->dialect->is_device;
        if (!strcmp(error, "FULL"))
                return loop_first_kept(w->p) < w->p->extent_count;
        if (!strcmp(error, "IMAGE"))
                return c_image_any(w);
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
        "next value; an\n"
        "                                         * extent that tensors are made of, and NULL */\n"
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
        text_add(out, w->machine || c_image_any(w) ? "#include <stddef.h>\n#include <stdint.h>\n"
                                                   : "#include <stdint.h>\n");
        text_add(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        put_workspace(w);
        put_program(w);
        put_weights(w);
        c_state_header(w);
        c_port_macros(w);
        c_error_macros(w);
        text_add(out, "\n");
        for (int e = 0; e < w->p->entry_count; e++) {
                c_entry(w, e);
                c_run_prototype(w, arena_printf(w->arena, "int %s_run(", w->prefix));
                c_put(w, ";");
                c_end(w);
        }
        c_entry(w, 0);
        c_machine_functions(w);
        c_levels_header(w);
        c_descriptor_header(w);
        c_trace_header(w);
        c_image_header(w);
        text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n");
}

/* ---- the descriptor ---- */

/* Returns the model's name of a port as a C expression. C99 guarantees string literals of 4095
 * bytes only: a longer name becomes an array of its bytes. */
static const char *put_port_name(struct c_writer *w, const struct loop_buffer *b)
{
        enum { LITERAL_BYTES = 4095 };
        const char *name = port_name(b);
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
        c_put(w, "static const char *const %s[%d] = {", name, rank_of(b));
        for (int d = 0; d < rank_of(b); d++) {
                bool number = b->extents[d]->op == LOOP_LITERAL;
                c_put(w, number ? "%s NULL" : "%s \"%s\"", d ? "," : "", extent_text(w, b, d));
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
                if (!rank_of(buffers[i]))
                        continue;
                shapes[i] = c_global(
                        w, arena_printf(w->arena, "%s_shape", c_name(w, buffers[i])->text));
                c_put(w, "static const int64_t %s[%d] = {", shapes[i], rank_of(buffers[i]));
                for (int d = 0; d < rank_of(buffers[i]); d++)
                        c_put(w, "%s %lld", d ? "," : "", (long long)extent_at(buffers[i], d));
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
                       b->is_text ? element_info[E_STRING].onnx : e->onnx, rank_of(b),
                       shapes[i] ? shapes[i] : "NULL", symbols[i],
                       (unsigned long long)b->extent * (unsigned long long)e->bytes);
        }
        c_line(w, "};");
        return name;
}

static bool has_weights_region(const struct c_writer *w)
{
        return w->dialect->is_device || weights_parameter(w);
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
