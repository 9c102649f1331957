/* SPDX-License-Identifier: MIT */
/* Puts the generated files together: head, guards, types, helpers, mathematics, constants, kernels,
 * run, descriptor. */
#include "codegen/c_writer.h"

#include <string.h>

#include "base/sha256.h"
#include "codegen/c_machine.h"

/* ---- checks ---- */

static bool can_be_quoted(const char *name) { return *name && !strpbrk(name, "\"\\\n\r?"); }

static bool check_options(struct c_writer *w)
{
        const char *header = w->options->header_name, *weights = w->options->weights_name;
        if (!text_is_identifier(w->options->prefix))
                c_fail(w, EXIT_USAGE,
                       "prefix '%s' is no C identifier of at most 31 letters, digits and _",
                       text_argument(w->arena, w->options->prefix));
        else if (header && !can_be_quoted(header))
                c_fail(w, EXIT_USAGE, "header name '%s' cannot stand in an #include",
                       text_argument(w->arena, header));
        else if (weights && !can_be_quoted(weights))
                c_fail(w, EXIT_USAGE, "file name '%s' cannot stand in an .incbin",
                       text_argument(w->arena, weights));
        for (int i = 0; i < w->level_count && !w->failed; i++)
                if (!w->levels[i].p->planned)
                        c_fail(w, EXIT_INTERNAL, "the program is not planned");
        return !w->failed;
}

static bool check_buffer(struct c_writer *w, const struct loop_buffer *b)
{
        if (!element_is_stored(b->element)) {
                c_fail(w, EXIT_INTERNAL, "buffer %s of type %s has no storage", b->name,
                       element_info[b->element].text);
                return false;
        }
        if (b->is_text && w->dialect->is_device) {
                c_fail(w, EXIT_UNSUPPORTED, "%s '%s' is of texts, which code for devices has not",
                       b->space == SPACE_INPUT ? "input" : "output",
                       text_safe(w->arena, b->port, strlen(b->port)));
                return false;
        }
        return true;
}

static bool collect_buffers(struct c_writer *w, struct c_level *l)
{
        l->input_count = l->output_count = w->state_count = 0;
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next) {
                if (!check_buffer(w, b))
                        return false;
                if (b->space == SPACE_INPUT) {
                        ARENA_GROW(w->arena, l->inputs, l->input_count);
                        l->inputs[l->input_count++] = b;
                } else if (b->space == SPACE_OUTPUT) {
                        ARENA_GROW(w->arena, l->outputs, l->output_count);
                        l->outputs[l->output_count++] = b;
                } else if (b->space == SPACE_STATE) {
                        ARENA_GROW(w->arena, l->states, w->state_count);
                        l->states[w->state_count++] = b;
                }
        }
        return true;
}

/* ---- the frame ---- */

static void put_head(struct c_writer *w, struct text *out, bool is_header)
{
        const char *model = w->p->name ? w->p->name : "";
        struct text text = { 0 };
        text_add(&text, "%s %s, compiled by dnncc %s",
                 is_header ? "Interface of the model" : "The model",
                 text_safe(w->arena, model, strlen(model)), w->options->version);
        if (w->options->command && *w->options->command)
                text_add(&text, " with%s%s", *w->options->command == ' ' ? "" : " ",
                         w->options->command);
        if (*w->p->source)
                text_add(&text, "\nsource: SHA-256 %s", w->p->source);
        text_add(&text, "\nlicence: yours; that of dnncc puts no condition on this file");
        c_comment(out, 0, text.data);
        text_free(&text);
}

/* Returns a digest that stands in both files: of everything that determines them except the data of
 * constants, for which the source's digest stands. */
static const char *build_macro(struct c_writer *w, const struct text *const *texts, int count)
{
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        sha256_update(&sha, w->options->version, strlen(w->options->version) + 1);
        if (w->options->command)
                sha256_update(&sha, w->options->command, strlen(w->options->command) + 1);
        sha256_update(&sha, w->p->source, strlen(w->p->source) + 1);
        for (int i = 0; i < count; i++)
                if (texts[i]->length)
                        sha256_update(&sha, texts[i]->data, texts[i]->length);
        sha256_hex(&sha, hex);
        hex[16] = 0;
        return c_macro(w, arena_printf(w->arena, "BUILD_%s", hex));
}

static void put_header(struct c_writer *w, struct text *out, const struct text *interface,
                       const char *build)
{
        put_head(w, out, true);
        text_add(out, "#ifndef %s_ABI_1\n#define %s_ABI_1\n", c_macro(w, "H"), c_macro(w, "H"));
        text_add(out, "#define %s\n\n", build);
        text_add_bytes(out, interface->data, interface->length);
        text_add(out, "\n#endif\n");
}

static const char float_guards[] =
        "\n"
        "/* Every operation is rounded as written: nothing is contracted, reordered, or kept in "
        "wider\n"
        " * registers. */\n"
        "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)\n"
        "#error \"-ffast-math changes results: compile this file without it\"\n"
        "#endif\n"
        "#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != "
        "16\n"
        "#error \"excess precision changes results: compile this file with -msse2 -mfpmath=sse (x86) "
        "or -fexcess-precision=fast (s390x)\"\n"
        "#endif\n"
        "#if defined(__clang__)\n"
        "#pragma STDC FP_CONTRACT OFF\n"
        "#elif defined(__GNUC__)\n"
        "#pragma GCC optimize (\"fp-contract=off\")\n"
        "#elif defined(_MSC_VER)\n"
        "#pragma fp_contract (off)\n"
        "#endif\n";

/* Register tiles must stay as they are written; predictive commoning is on at -O2 since gcc 12. */
static void put_tile_guard(const struct c_writer *w, struct text *out)
{
        const char *more = target_gcc_optimize(w->options->target);
        text_add(out,
                 "\n"
                 "/* Register tiles stay as they are written: values that the compiler keeps from "
                 "one iteration of a loop for the\n"
                 " * next%s would take their registers. */\n"
                 "#if defined(__GNUC__) && !defined(__clang__)\n"
                 "#pragma GCC optimize (\"no-predictive-commoning%s%s%s\")\n"
                 "#endif\n",
                 more ? ", or loads earlier than they are written," : "", more ? "," : "",
                 more ? more : "", w->gcc_optimize ? w->gcc_optimize : "");
}

/* Induction variables of gcc 12 may be addresses relative to 0. It then takes the access for one of
 * a null pointer, behind which nothing happens, and leaves out calls of the kernel. */
static const char address_guard[] =
        "\n"
        "/* No access is taken for one of a null pointer, however its address is computed: gcc "
        "would leave out calls\n"
        " * of such kernels. */\n"
        "#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)\n"
        "#pragma GCC optimize (\"no-delete-null-pointer-checks\")\n"
        "#endif\n";

/* Functions called once are inlined at any level of optimization. */
static void put_kernel_guard(struct c_writer *w, struct text *out)
{
        const char *section = c_macro(w, "KERNEL");
        text_add(out,
                 "\n"
                 "/* Kernels stay functions: inside of one that holds them all, their loops run out "
                 "of registers.\n"
                 " * %s may name a section for them: "
                 "-D'%s=__attribute__((section(\".itcm\")))'. */\n"
                 "#ifndef %s\n#define %s\n#endif\n"
                 "#if defined(__GNUC__)\n"
                 "#define KERNEL __attribute__((noinline)) %s\n"
                 "#else\n"
                 "#define KERNEL %s\n"
                 "#endif\n",
                 section, section, section, section, section, section);
}

static const char alias_guard[] =
        "\n"
        "/* These are the types of tensor memory. The workspace holds objects of "
        "different types at different times, so\n"
        " * compilers that deduce from types what cannot overlap are "
        "told not to; RESTRICT says what\n"
        " * cannot. */\n"
        "#if defined(__GNUC__)\n"
        "#define MAY_ALIAS __attribute__((may_alias))\n"
        "#else\n"
        "#define MAY_ALIAS\n"
        "#endif\n";
static const char restrict_guard[] =
        "\n"
        "/* What `restrict` says in C99, in the word that C compilers have for it in any language. */\n"
        "#if defined(__GNUC__) || defined(__TINYC__) || defined(_MSC_VER) || defined(__CC_ARM) || "
        "\\\n"
        "        defined(__ICCARM__) || defined(__TI_COMPILER_VERSION__)\n"
        "#define RESTRICT __restrict\n"
        "#else\n"
        "#define RESTRICT\n"
        "#endif\n";
static const char align_comment[] =
        "\n/* offsetof(struct align_T, value) is the alignment of T. */\n";

static void put_types(struct c_writer *w, struct text *out)
{
        const char *lead = alias_guard;
        for (int e = 0; e < ELEMENT_COUNT; e++) {
                if (!w->memory_used[e])
                        continue;
                text_add(out, "%stypedef %s MAY_ALIAS %s;\n", lead, element_info[e].c_type,
                         c_memory_name((enum element)e));
                lead = "";
        }
        lead = align_comment;
        for (int e = 0; e < ELEMENT_COUNT; e++) {
                if (!w->align_used[e])
                        continue;
                text_add(out, "%sstruct align_%s { char byte; %s value; };\n", lead,
                         c_memory_name((enum element)e), element_info[e].c_type);
                lead = "";
        }
}

static const char roll_guard[] =
        "\n"
        "/* A loop over a row of sums becomes vectors, but stays a loop: unrolled, its sums would "
        "take more registers than\n"
        " * there are. */\n"
        "#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)\n"
        "#define ROLLED _Pragma(\"GCC unroll 1\")\n"
        "#else\n"
        "#define ROLLED\n"
        "#endif\n";

/* Prints the top of the C file after the header's text. */
static void put_rest_of_top(struct c_writer *w, struct text *out)
{
        if (w->computes_floats)
                text_add(out, "%s", float_guards);
        if (c_levels_vectors(w) < w->level_count)
                put_tile_guard(w, out);
        text_add(out, "%s", address_guard);
        put_kernel_guard(w, out);
        text_add(out, "%s", restrict_guard);
        if (w->rolls)
                text_add(out, "%s", roll_guard);
        put_types(w, out);
        c_vectors_top(w, out);
        c_keep_top(w, out);
        w->out = out;
        c_flush_top(w, out);
        c_helpers_print(w);
        c_length_top(w, out);
        c_text_top(w, out);
        c_vectors_print(w, out);
        c_tiles_top(w, out);
        c_parallel_top(w, out);
}

static void put_top(struct c_writer *w, struct text *out, const struct text *interface,
                    const char *build)
{
        const char *header = w->options->header_name;
        put_head(w, out, false);
        if (header)
                text_add(out, "#include \"%s\"\n\n", header);
        else
                put_header(w, out, interface, build);
        text_add(out, "#include <stddef.h>\n");
        if (w->copies_memory)
                text_add(out, "#include <string.h>\n");
        if (w->uses_libm)
                text_add(out, "#include <math.h>\n");
        c_levels_top(w, out);
        if (header)
                text_add(out,
                         "\n#ifndef %s\n#error \"%s is of another build than this file\"\n#endif\n",
                         build, header);
        (w->dialect->top ? w->dialect->top : put_rest_of_top)(w, out);
        c_step_top(w, build, out);
}

static void write_text(FILE *file, struct text *text)
{
        if (text->length)
                fwrite(text->data, 1, text->length, file);
        text_free(text);
}

/* Prints kernels, and the functions that call them: into `run` where that is the public
 * function. */
static void print_code(struct c_writer *w, struct text *code, struct text *run)
{
        c_hooks_top(w, code);
        c_step_helpers(w, run);
        for (int level = 0; level < w->level_count; level++) {
                struct text inner = { 0 };
                c_level(w, level);
                /* The dialect's run names what the kernels became. */
                for (int e = 0; e < w->p->entry_count && !w->dialect->run; e++) {
                        c_entry(w, e);
                        if (c_run_is_split(w))
                                c_run_inner(w, &inner,
                                            arena_printf(w->arena, "static %sint %s(",
                                                         c_flush_attribute(w),
                                                         w->levels[level].runs[e]));
                        else
                                (c_step_any(w) ? c_step : c_run)(w, run);
                }
                c_entry(w, 0);
                if (level)
                        text_add(code, "\n");
                c_level_open(w, code, level);
                c_kernels(w, code);
                c_machine_kernels(w, code);
                if (w->dialect->run && !w->failed)
                        w->dialect->run(w, run);
                if (inner.length)
                        text_add_bytes(code, inner.data, inner.length);
                c_level_close(w, code, level);
                text_free(&inner);
        }
        c_levels_choice(w, run);
        c_machine_prepare(w, run);
        for (int e = 0; e < w->p->entry_count && c_run_is_split(w) && !w->dialect->run; e++) {
                c_entry(w, e);
                c_run(w, run);
        }
        c_entry(w, 0);
        c_state_functions(w, run);
}

/* Says what the C would be called by, to code in its place. */
static void describe(struct c_writer *w, const char *build)
{
        c_weights_describe(w, build, w->interface_arena, w->interface);
        w->interface->state_mark =
                c_state_any(w) ? loop_state_mark(w->p, w->options->version) : 0;
}

/* c is NULL where the code is printed in another language. */
static void print_all(struct c_writer *w, FILE *c, FILE *h)
{
        struct text top = { 0 }, interface = { 0 }, header = { 0 }, library = { 0 },
                    code = { 0 }, run = { 0 }, descriptor = { 0 };
        c_names_begin(w);
        print_code(w, &code, &run);
        c_library(w, &library);
        c_weights_place(w);
        (w->dialect->header ? w->dialect->header : c_header)(w, &interface);
        if (w->options->descriptor)
                c_descriptor(w, &descriptor);
        c_selftest(w, &descriptor);
        if (!w->dialect->is_device)
                c_trace(w, &descriptor);
        const struct text *const hashed[] = { &interface, &library, &code, &run, &descriptor };
        const char *build = build_macro(w, hashed, 5);
        if (w->interface)
                describe(w, build);
        put_top(w, &top, &interface, build);
        if (!w->failed && !c)
                c_weights_print(w, build, NULL);
        if (!w->failed && c) {
                write_text(c, &top);
                write_text(c, &library);
                c_weights_print(w, build, c);
                c_constants(w, c);
                write_text(c, &code);
                write_text(c, &run);
                write_text(c, &descriptor);
        }
        if (!w->failed && w->options->header_name) {
                put_header(w, &header, &interface, build);
                write_text(h, &header);
        }
        struct text *const all[] = { &top,  &interface, &header,     &library,
                                     &code, &run,       &descriptor, &w->line };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                text_free(all[i]);
}

static bool print_files(struct c_writer *w, FILE *c, FILE *h)
{
        c_levels_begin(w);
        bool done = check_options(w) && c_machine_begin(w);
        if (done && w->dialect->check) {
                w->dialect->check(w);
                done = !w->failed;
        }
        for (int i = 0; i < w->level_count && done; i++)
                done = collect_buffers(w, &w->levels[i]);
        if (done) {
                c_level(w, 0);
                print_all(w, c, h);
                done = !w->failed;
        }
        return done;
}

static struct c_writer *writer_new(const struct loop_program *p,
                                   const struct print_options *options,
                                   const struct c_dialect *dialect, struct diag *diag)
{
        struct arena *arena = arena_new();
        struct c_writer *w = ARENA_NEW(arena, struct c_writer);
        w->arena = arena;
        w->p = p;
        w->options = options;
        w->diag = diag;
        w->dialect = dialect;
        return w;
}

bool c_print(FILE *c, FILE *h, const struct loop_program *p, const struct print_options *options,
             const struct c_dialect *dialect, struct diag *diag)
{
        struct c_writer *w = writer_new(p, options, dialect, diag);
        const bool done = print_files(w, c, h);
        arena_free(w->arena);
        return done;
}

static const struct c_dialect c99 = { .inlined = "static inline ", .restricted = "RESTRICT " };

bool c_interface_print(FILE *header, const struct loop_program *p,
                       const struct print_options *options, struct arena *arena,
                       struct c_interface *interface, struct diag *diag)
{
        struct c_writer *w = writer_new(p, options, &c99, diag);
        w->interface = interface;
        w->interface_arena = arena;
        const bool done = print_files(w, NULL, header);
        arena_free(w->arena);
        return done;
}

static bool print(FILE *c, FILE *h, const struct loop_program *p,
                  const struct print_options *options, struct diag *diag)
{
        return c_print(c, h, p, options, &c99, diag);
}

const struct printer c_printer = { .language = "C", .suffix = ".c", .print = print };
