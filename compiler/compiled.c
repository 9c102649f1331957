/* SPDX-License-Identifier: MIT */
/* Generated C is compiled and run at once, for --test and --check: `CMD -o PROGRAM FILES` in a
 * folder of its own. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/driver.h"
#include "compiler/process.h"
#include "ir/loop/fail_codes.h"

enum { FAILED = 16 };                   /* The program exits with this, plus one for each code below
                                         * zero that a run failed with. */

static const char main_text[] =
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"%s.h\"\n"
        "void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int "
        "count);\n"
        "#ifdef __GNUC__\n__attribute__((weak))        /* --cc may bring one */\n#endif\n"
        "void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int "
        "count)\n{\n"
        "        for (int i = 0; i < count; i++)\n"
        "                task(arg, i, count);\n}\n"
        "static int load(const char *name, void *data, size_t bytes)\n{\n"
        "        FILE *f = fopen(name, \"rb\");\n"
        "        return f && fread(data, 1, bytes, f) == bytes && !fclose(f);\n}\n"
        INPUT_OF
        "int main(void)\n{\n"
        "        const struct dnncc_model_1 *m = %s_describe();\n"
        "        void *region[8] = { 0 }, *data[2][256] = { { 0 } };\n"
        "        for (unsigned r = 0; r < m->region_count && r < 8; r++)\n"
        "                if (posix_memalign(&region[r], 4096, (size_t)m->regions[r].size + 1) ||\n"
        "                    (m->regions[r].kind == 2 && !load(\"%s.weights\", region[r], "
        "(size_t)m->regions[r].size)))\n"
        "                        return 1;\n"
        "        for (int o = 0; o < 2; o++)\n"
        "                for (unsigned k = 0; k < (o ? m->output_count : m->input_count) && k < "
        "256; k++) {\n"
        "                        size_t bytes = (size_t)(o ? m->outputs : m->inputs)[k].bytes;\n"
        "                        char name[32];\n"
        "                        data[o][k] = calloc(1, bytes + 1);\n"
        "                        sprintf(name, \"in%%u\", k);\n"
        "                        if (!o && !load(name, data[o][k], bytes))\n"
        "                                return 1;\n"
        "                }\n"
        "%s"
        "        const void *given[256];\n"
        "        for (unsigned k = 0; k < m->input_count && k < 256; k++)\n"
        "                given[k] = input_of(&m->inputs[k], data[0][k]);\n"
        "        int64_t extents[] = { %s0 };\n"
        "        int code = m->run(region, given, data[1], extents);\n"
        "        if (code)\n"
        "                return %d - code;\n"
        "        FILE *told = m->extent_count ? fopen(\"extents\", \"wb\") : NULL;\n"
        "        if (m->extent_count && (!told || fwrite(extents, sizeof *extents, m->extent_count, "
        "told) != m->extent_count || fclose(told)))\n"
        "                return 1;\n"
        "        for (unsigned k = 0; k < m->output_count && k < 256; k++) {\n"
        "                char name[32];\n"
        "                sprintf(name, \"out%%u\", k);\n"
        "                FILE *f = fopen(name, \"wb\");\n"
        "                if (!f || fwrite(data[1][k], 1, (size_t)m->outputs[k].bytes, f) != "
        "m->outputs[k].bytes || fclose(f))\n"
        "                        return 1;\n"
        "        }\n"
        "%s"
        "        return 0;\n}\n";

/* Members of state are loaded in front of the run, which begins a sequence, and stored behind
 * it. */
static const char load_state[] =
        "        const struct dnncc_model_2 *s = (const struct dnncc_model_2 *)(const void *)m;\n"
        "        char *state = region[m->region_count - 1];\n"
        "        memset(state, 0, (size_t)m->regions[m->region_count - 1].size);\n"
        "        const int64_t lengths[] = { %s0 }, *length = lengths;\n"
        "        for (unsigned k = 0; k < s->state_count; k++) {\n"
        "                char name[32];\n"
        "                if (!s->states[k].next) {\n"
        "                        memcpy(state + s->states[k].offset, length++, sizeof *length);\n"
        "                        continue;\n"
        "                }\n"
        "                sprintf(name, \"state%%u\", k);\n"
        "                if (!load(name, state + s->states[k].offset, "
        "(size_t)s->states[k].bytes))\n"
        "                        return 1;\n"
        "        }\n";
static const char store_state[] =
        "        for (unsigned k = 0; k < s->state_count && s->states[k].next; k++) {\n"
        "                char name[32];\n"
        "                sprintf(name, \"next%u\", k);\n"
        "                FILE *f = fopen(name, \"wb\");\n"
        "                size_t bytes = (size_t)s->states[k].bytes;\n"
        "                if (!f || fwrite(state + s->states[k].offset, 1, bytes, f) != bytes || "
        "fclose(f))\n"
        "                        return 1;\n"
        "        }\n";

struct compiled {
        struct run run;                 /* It is a copy: what is compiled is not what the user asked
                                         * for. */
        struct arena *arena;
        const char *folder, *cc;
        int input_count, output_count;
        const struct loop_buffer **inputs, **outputs;
        int64_t *extents;               /* The program's extents have these values; a run tells
                                         * those that it counts. */
};

static char *path_in(struct compiled *c, const char *name, const char *tail)
{
        return arena_printf(c->arena, "%s/%s%s", c->folder, name, tail);
}

/* Returns the file of port k: "in2", "out0", or of state "state0" and "next0". Ports and members of
 * state count by themselves. */
static char *port_path(struct compiled *c, bool output, int k)
{
        const struct loop_buffer *const *ports = output ? c->outputs : c->inputs;
        const bool is_state = ports[k]->space == SPACE_STATE;
        int number = 0;
        for (int i = 0; i < k; i++)
                number += (ports[i]->space == SPACE_STATE) == is_state;
        return arena_printf(c->arena, "%s/%s%d", c->folder,
                            is_state ? (output ? "next" : "state") : (output ? "out" : "in"),
                            number);
}

static bool has_state(const struct compiled *c)
{
        bool any = false;
        for (int k = 0; k < c->input_count; k++)
                any |= c->inputs[k]->space == SPACE_STATE;
        return any;
}

static size_t port_bytes(const struct loop_buffer *b)
{
        return (size_t)b->extent * (size_t)element_info[b->element].bytes;
}

static bool write_file(const char *path, const void *data, size_t bytes)
{
        FILE *file = fopen(path, "wb");
        bool fine = file && fwrite(data, 1, bytes, file) == bytes;
        return (!file || !fclose(file)) && fine;
}

static bool read_file(const char *path, void *data, size_t bytes)
{
        FILE *file = fopen(path, "rb");
        bool fine = file && fread(data, 1, bytes, file) == bytes;
        if (file)
                fclose(file);
        return fine;
}

/* Returns the values of extents, of those that are state or of those that run has, as the beginning
 * of an initializer. */
static const char *extents_text(struct compiled *c, bool state)
{
        const struct loop_program *p = c->run.state.program;
        const char *text = "";
        int own[EXTENTS_MAX];
        const int count = loop_entry_extents(p, own);
        for (int i = state ? loop_first_kept(p) : 0; i < (state ? p->extent_count : count); i++)
                text = arena_printf(c->arena, "%s%" PRId64 ", ", text,
                                    c->extents[state ? i : own[i]]);
        return text;
}

/* Reads what the run has told of its extents. */
static bool read_extents(struct compiled *c)
{
        int own[EXTENTS_MAX];
        const int count = loop_entry_extents(c->run.state.program, own);
        int64_t *told = arena_array(c->arena, (size_t)count + 1, sizeof *told);
        if (count && !read_file(path_in(c, "extents", ""), told, (size_t)count * sizeof *told))
                return false;
        for (int i = 0; i < count; i++)
                c->extents[own[i]] = told[i];
        return true;
}

static bool write_sources(struct compiled *c, const void *const *inputs)
{
        const char *prefix = c->run.prefix;
        bool fine = emit_into(&c->run, c->folder, prefix);
        const char *text = arena_printf(c->arena, main_text, prefix,
                                        entry_symbol(&c->run, prefix), prefix,
                                        has_state(c) ? arena_printf(c->arena, load_state,
                                                                    extents_text(c, true))
                                                     : "",
                                        extents_text(c, false), FAILED,
                                        has_state(c) ? store_state : "");
        fine = fine && write_file(path_in(c, "run_test", ".c"), text, strlen(text));
        for (int k = 0; k < c->input_count && fine; k++)
                fine = write_file(port_path(c, false, k), inputs[k], port_bytes(c->inputs[k]));
        if (!fine && !c->run.diag.errors)
                diag_error(&c->run.diag, EXIT_IO, "cannot write to %s: %s", c->folder,
                           strerror(errno));
        return fine;
}

static bool run_in_folder(struct compiled *c, const void *const *inputs, void *const *outputs,
                          int *code)
{
        if (!write_sources(c, inputs))
                return false;
        int status =
                command_run(arena_printf(c->arena, "cd %s && %s -o run_test run_test.c %s%s%s",
                                         text_shell_word(c->arena, c->folder), c->cc, c->run.prefix,
                                         target_printer(c->run.context.target)->suffix,
                                         c->run.options.fast_libm ? " -lm" : ""));
        if (status) {
                diag_error(&c->run.diag, EXIT_IO, "%s failed to compile the generated code", c->cc);
                return false;
        }
        status = program_run(&c->run, c->arena, c->folder, "run_test");
        bool coded = WIFEXITED(status) && WEXITSTATUS(status) > FAILED &&
                     WEXITSTATUS(status) < 3 * FAILED;
        *code = coded ? FAILED - WEXITSTATUS(status) : status != 0;
        if (*code == 1)
                return program_ran(&c->run, "--cc", status);
        bool fine = *code != 0 || read_extents(c);
        for (int k = 0; *code == 0 && k < c->output_count && fine; k++)
                fine = read_file(port_path(c, true, k), outputs[k], port_bytes(c->outputs[k]));
        if (!fine)
                diag_error(&c->run.diag, EXIT_INTERNAL,
                           "the compiled program ended well, but wrote no outputs%s",
                           c->run.options.runner
                                   ? ": --runner must run it in the folder that it is called in"
                                   : "");
        return fine;
}

static void expect_files(struct compiled *c)
{
        temporary_expect(path_in(c, "run_test", ""));
        temporary_expect(path_in(c, "run_test", ".c"));
        temporary_expect(path_in(c, "extents", ""));
        for (int k = 0; k < c->input_count; k++)
                temporary_expect(port_path(c, false, k));
        for (int k = 0; k < c->output_count; k++)
                temporary_expect(port_path(c, true, k));
        emit_expect(&c->run, c->folder, c->run.prefix);
}

bool compiled_run(struct run *run, struct loop_program *p, const char *cc, int64_t *extents,
                  const void *const *inputs, void *const *outputs, int *code)
{
        struct compiled c = { .run = *run, .arena = arena_new(), .cc = cc, .extents = extents };
        struct diag *diag = &c.run.diag;
        bool fine = false;
        int temporaries = temporaries_count();
        c.run.state.program = p;
        if (c.run.options.weights == WEIGHTS_AUTO)      /* Text is what takes compilers long. */
                c.run.options.weights = WEIGHTS_FILE;
        c.inputs = run_ports(&c.run, c.arena, false, &c.input_count);
        c.outputs = run_ports(&c.run, c.arena, true, &c.output_count);
        if (c.input_count > 256 || c.output_count > 256 || run->options.no_descriptor) {
                diag_error(diag, EXIT_USAGE,
                           "--cc needs the descriptor, and at most 256 inputs and outputs");
        } else if ((c.folder = temporary_workshop(c.arena, "test", diag))) {
                expect_files(&c);
                fine = run_in_folder(&c, inputs, outputs, code);
        }
        temporaries_remove(temporaries);
        arena_free(c.arena);
        run->diag = c.run.diag;
        return fine;
}

const char *compiled_check(void *runner, struct loop_program *p, const struct target *t,
                           int64_t *extents, const void *const *inputs,
                           void *const *outputs, int *code)
{
        struct run run = *(const struct run *)runner;
        run.diag = (struct diag){ .silent = true };
        run.context.target = t;
        run.context.threads = 1;        /* p goes on to other passes, with its loops as they are. */
        run.target_count = 1;
        run.lesser = NULL;
        run.options.weights = WEIGHTS_FILE;
        run.options.no_descriptor = 0;
        run.options.profile = NULL;
        if (!compiled_run(&run, p, run.options.cc ? run.options.cc : CC_PRESET, extents, inputs,
                          outputs, code))
                return "the interpreter takes too long, and its C could not be compiled or run "
                       "here";
        return *code == FAIL_TILES ? "the system does not let it use the processor's tiles" : NULL;
}
