/* SPDX-License-Identifier: MIT */
/* --calibrate looks into this program. The module gives all values asked for as outputs, and goes
 * on through the passes of -O2: in a target of this processor or, under --exact, for generic, so
 * that each number is the same on every machine. Compiled by a C compiler, it is a process beside
 * this one, which reads inputs from a pipe and writes outputs to another; with --jit, or without
 * such a compiler, LLVM makes code in this process, and where it is missing, too, the interpreter
 * runs the program.
 *
 *      dnncc  --- a byte 1, extents, inputs of a sample --->  program
 *             <------------------ extents ------------------
 *             ------- bytes wanted of each output --------->
 *             <------------------ outputs ------------------ */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "codegen/targets.h"
#include "compiler/calibrate.h"
#include "compiler/jit.h"
#include "ir/interp/interp.h"

#define PREFIX "calibrated"
enum { FAILED = 16, PIECE = 64 * RANGE_BLOCK };           /* PIECE counts elements that are read at
                                                           * once. */

static const char main_text[] =
        "#include <stdio.h>\n#include <stdlib.h>\n#include \"" PREFIX ".h\"\n"
        "static int load(void *data, size_t bytes, FILE *f)\n{\n"
        "        return data && f && fread(data, 1, bytes, f) == bytes;\n}\n"
        INPUT_OF
        "int main(void)\n{\n"
        "        const struct dnncc_model_1 *m = " PREFIX "_describe();\n"
        "        static void *region[8], *in[%d], *out[%d];\n"
        "        static const void *given[sizeof in / sizeof *in];\n"
        "        for (unsigned r = 0; r < m->region_count && r < 8; r++)\n"
        "                if (posix_memalign(&region[r], 4096, (size_t)m->regions[r].size + 1) ||\n"
        "                    (m->regions[r].kind == 2 &&\n"
        "                     !load(region[r], (size_t)m->regions[r].size, fopen(\"" PREFIX
        ".weights\", \"rb\"))))\n"
        "                        return 1;\n"
        "        for (unsigned k = 0; k < m->input_count; k++)\n"
        "                given[k] = input_of(&m->inputs[k],\n"
        "                                    in[k] = calloc(1, (size_t)m->inputs[k].bytes + 1));\n"
        "        for (unsigned k = 0; k < m->output_count; k++)\n"
        "                if (!(out[k] = calloc(1, (size_t)m->outputs[k].bytes + 1)))\n"
        "                        return 1;\n"
        "        static uint64_t bytes[sizeof in / sizeof *in + sizeof out / sizeof *out];\n"
        "        static int64_t extents[%d];\n"
        "        while (getchar() == 1) {\n"
        "                if (!load(extents, m->extent_count * sizeof *extents, stdin) ||\n"
        "                    !load(bytes, m->input_count * sizeof *bytes, stdin))\n"
        "                        return 1;\n"
        "                for (unsigned k = 0; k < m->input_count; k++)\n"
        "                        if (!load(in[k], (size_t)bytes[k], stdin))\n"
        "                                return 1;\n"
        "                int code = m->run(region, given, out, extents);\n"
        "                if (code)\n"
        "                        return %d - code;\n"
        "                fwrite(extents, sizeof *extents, m->extent_count, stdout);\n"
        "                fflush(stdout);\n"
        "                if (!load(bytes, m->output_count * sizeof *bytes, stdin))\n"
        "                        return 1;\n"
        "                for (unsigned k = 0; k < m->output_count; k++)\n"
        "                        if (fwrite(out[k], 1, (size_t)bytes[k], stdout) != bytes[k])\n"
        "                                return 1;\n"
        "                fflush(stdout);\n"
        "        }\n"
        "        return 0;\n}\n";

static char *path_in(const struct observed *o, const char *ending)
{
        return arena_printf(o->arena, "%s/" PREFIX "%s", o->folder, ending);
}

/* ---- the module ---- */

/* Makes the module's results flags, then the values, and nothing else. */
static bool expose(struct observed *o, struct module *m, struct value *const *values, int count)
{
        struct function *f = module_entry(m);
        struct diag *diag = &o->run.diag;
        if (!expose_values(&o->exposed, o->arena, m, values, count,
                           o->run.context.limits.observed_steps, diag))
                return false;
        const int flags = o->exposed.flag_count;
        struct builder b = { .m = m, .region = &f->body, .diag = diag };
        struct value **results = arena_array(o->arena, (size_t)(flags + count), sizeof *results);
        op_erase(f->body.last);
        f->output_ports = arena_array(m->arena, (size_t)(flags + count), sizeof *f->output_ports);
        o->flags = arena_array(o->arena, (size_t)flags + 1, sizeof *o->flags);
        o->count = count;
        for (int i = 0; i < f->body.argument_count; i++)
                f->input_ports[i].next = NULL;  /* Samples tell it. */
        for (int i = 0; i < flags + count; i++) {
                results[i] =
                        i < flags ? o->exposed.flags[i].value : o->exposed.values[i - flags].value;
                f->output_ports[i].name = arena_printf(m->arena, "value_%d", i);
        }
        for (int i = 0; i < flags; i++)
                o->flags[i] = arena_array(o->arena, (size_t)o->exposed.flags[i].times, 1);
        return build_yield(&b, results, flags + count) != NULL;
}

/* Resets the options that are about other code than the program that is observed. */
static void choose(struct observed *o)
{
        struct run *run = &o->run;
        struct options *options = &run->options;
        struct pass_context *context = &run->context;
        options->weights = WEIGHTS_FILE;
        options->no_descriptor = 0;
        options->profile = NULL;
        options->fast_libm = options->flush_denormals = 0;
        options->threads = 1;
        run->prefix = PREFIX;
        run->cache = NULL;
        options->perf_map = 0;
        run->target_count = 1;
        run->lesser = NULL;
        context->target = context->least = options->exact    ? target_find("generic")
                                           : options->runner ? context->target
                                                             : target_find("native");
        context->precision = E_F32;
        context->memory = context->direct = context->unblocked = false;
        context->strip_percent = 0;
        context->max_ram = -1;
        context->regions = NULL;
        context->region_count = 0;
        context->threads = 1;
        context->book = NULL;
        context->lower = (struct lower_options){ .views = true, .threads = 1,
                                                 .target = context->target,
                                                 .scheduler = context->lower.scheduler };
}

static size_t element_bytes(const struct loop_buffer *b)
{
        return (size_t)element_info[b->element].bytes;
}

static size_t port_bytes(const struct loop_buffer *b)
{
        return (size_t)b->extent * element_bytes(b);
}

/* Returns how many bytes the port has in this run. */
static uint64_t bytes_now(const struct observed *o, const struct loop_buffer *b)
{
        return (uint64_t)loop_port_elements(o->run.state.program, b, o->extents) *
               element_bytes(b);
}

void observed_shape(const struct observed *o, int k, int64_t dims[RANK_MAX])
{
        const struct loop_buffer *b = o->outputs[o->exposed.flag_count + k];
        for (int d = 0; d < b->type->rank; d++)
                dims[d] = loop_port_extent(o->run.state.program, b, d, o->extents);
}

int64_t observed_elements(const struct observed *o, int k)
{
        const struct exposed *e = &o->exposed.values[k];
        return e->elements >= 0 ? e->elements
                                : loop_port_elements(o->run.state.program,
                                                     o->outputs[o->exposed.flag_count + k],
                                                     o->extents);
}

/* Takes extents of the sample's inputs, each of whose dimensions is one, or follows from them. */
static bool take_extents(struct observed *o, const char *sample, const struct samples *s)
{
        const struct loop_program *p = o->run.state.program;
        for (int i = 0; i < p->extent_count; i++)
                o->extents[i] = -1;
        /* Dimensions that are extents come first, then terms, which follow from them or tell what
         * none says alone. */
        for (int k = 0; k < 2 * o->input_count; k++) {
                const int input = k % o->input_count;
                const struct loop_buffer *b = o->inputs[input];
                for (int d = 0; b->extents && d < b->type->rank; d++) {
                        int64_t told;
                        const bool plain = b->extents[d]->op == LOOP_VARIABLE;
                        const int i = plain == (k < o->input_count)
                                              ? loop_port_tells(p, b, d, samples_shape(s, input)[d],
                                                                o->extents, &told)
                                              : -1;
                        if (i >= 0)
                                o->extents[i] = told;
                }
        }
        for (int i = 0; i < p->extent_count; i++)
                if (o->extents[i] < 0)  /* No input tells it. */
                        o->extents[i] = p->extents[i].variable->high;
        for (int k = 0; k < o->input_count; k++)
                for (int d = 0; o->inputs[k]->extents && d < o->inputs[k]->type->rank; d++)
                        if (loop_port_extent(p, o->inputs[k], d, o->extents) !=
                            samples_shape(s, k)[d]) {
                                diag_error(&o->run.diag, EXIT_INVALID,
                                           "sample %s: input '%s': dimension %d is %" PRId64
                                           ", and by other inputs %" PRId64,
                                           sample, o->inputs[k]->name, d, samples_shape(s, k)[d],
                                           loop_port_extent(p, o->inputs[k], d, o->extents));
                                return false;
                        }
        return true;
}

/* ---- compiled ---- */

static bool cannot_write(struct observed *o)
{
        if (!o->run.diag.errors)
                diag_error(&o->run.diag, EXIT_IO, "cannot write to %s: %s", o->folder,
                           strerror(errno));
        return false;
}

static bool write_sources(struct observed *o)
{
        FILE *out =
                emit_into(&o->run, o->folder, PREFIX) ? fopen(path_in(o, "_main.c"), "w") : NULL;
        if (out)
                fprintf(out, main_text, o->input_count + 1, o->output_count + 1, EXTENTS_MAX + 1,
                        FAILED);
        return (out && !fclose(out)) || cannot_write(o);
}

static bool compile(struct observed *o)
{
        struct diag *diag = &o->run.diag;
        if (!(o->folder = temporary_workshop(o->arena, "calibrate", diag)))
                return false;
        const char *folder = text_shell_word(o->arena, o->folder);
        emit_expect(&o->run, o->folder, PREFIX);
        temporary_expect(path_in(o, "_main.c"));
        temporary_expect(path_in(o, ""));
        if (!write_sources(o))
                return false;
        if (command_run(arena_printf(o->arena,
                                     "cd %s && %s -o " PREFIX " " PREFIX "_main.c " PREFIX ".c",
                                     folder, o->cc))) {
                diag_error(diag, EXIT_IO, "%s failed to compile the generated code", o->cc);
                return false;
        }
        return true;
}

/* Starts the program, which runs one sample after the other. */
static bool open_program(struct observed *o)
{
        const char *folder = text_shell_word(o->arena, o->folder);
        if (command_open(arena_printf(o->arena, "cd %s && exec %s ./" PREFIX, folder,
                                      o->run.options.runner ? o->run.options.runner : ""),
                         &o->program))
                return true;
        diag_error(&o->run.diag, EXIT_IO, "cannot run the compiled program: %s", strerror(errno));
        return false;
}

static bool ended(struct observed *o, const char *sample)
{
        int status = command_close(&o->program);
        bool failed = WIFEXITED(status) && WEXITSTATUS(status) > FAILED &&
                      WEXITSTATUS(status) < 2 * FAILED;
        o->program.in = NULL;
        if (failed)
                diag_error(&o->run.diag, EXIT_INVALID, "sample %s: the run ended with code %d",
                           sample, FAILED - WEXITSTATUS(status));
        else
                diag_error(&o->run.diag, EXIT_INTERNAL,
                           "sample %s: the compiled program failed (status %d)", sample, status);
        return false;
}

static bool put(struct command *p, const void *data, uint64_t bytes)
{
        return fwrite(data, 1, (size_t)bytes, p->in) == bytes;
}

static bool start_compiled(struct observed *o, const char *sample, const void *const *inputs)
{
        struct command *p = &o->program;
        if (!p->in && !open_program(o))
                return false;
        bool fine = fputc(1, p->in) == 1;
        int own[EXTENTS_MAX];
        const int count = loop_entry_extents(o->run.state.program, own);
        for (int i = 0; i < count && fine; i++)
                fine = put(p, &o->extents[own[i]], sizeof *o->extents);
        for (int k = 0; k < o->input_count && fine; k++) {
                const uint64_t bytes = bytes_now(o, o->inputs[k]);
                fine = put(p, &bytes, sizeof bytes);
        }
        for (int k = 0; k < o->input_count && fine; k++)
                fine = put(p, inputs[k], bytes_now(o, o->inputs[k]));
        fine = fine && !fflush(p->in);
        for (int i = 0; i < count && fine; i++)
                fine = fread(&o->extents[own[i]], sizeof *o->extents, 1, p->out) == 1;
        for (int k = 0; k < o->output_count && fine; k++) {
                const uint64_t bytes = bytes_now(o, o->outputs[k]);
                fine = put(p, &bytes, sizeof bytes);
        }
        return (fine && !fflush(p->in)) || ended(o, sample);
}

/* ---- in this process ---- */

static void take_memory(struct observed *o)
{
        o->memory = arena_array(o->arena, (size_t)o->output_count, sizeof *o->memory);
        for (int k = 0; k < o->output_count; k++)
                o->memory[k] = arena_alloc(o->arena, port_bytes(o->outputs[k]));
}

/* Lets LLVM make code; false: it cannot, which is an error with --jit alone. */
static bool compile_here(struct observed *o)
{
        const struct diag said = o->run.diag;
        o->run.diag.silent = !o->run.options.jit;
        o->jit = jit_new(&o->run, o->run.state.program, o->run.context.target);
        if (!o->run.options.jit)
                o->run.diag = said;
        return o->jit;
}

static bool interpret(struct observed *o)
{
        uint64_t most = (uint64_t)o->run.context.limits.total_bytes;
        diag_warning(&o->run.diag,
                     "there is no cc: the interpreter runs the samples, which takes long");
        o->interp = interp_new(o->run.state.program, false, most, &o->run.diag);
        return o->interp;
}

static int run_interpreter(struct observed *o, const void *const *inputs)
{
        interp_set_extents(o->interp, o->extents);
        const int code = interp_run(o->interp, inputs, o->memory, 0, NULL);
        interp_get_extents(o->interp, o->extents);
        return code;
}

static bool start_here(struct observed *o, const char *sample, const void *const *inputs)
{
        const int code = o->jit ? llvm_jit_run(o->jit, o->extents, inputs, o->memory)
                                : run_interpreter(o, inputs);
        if (code == INTERP_OK)
                return true;
        diag_error(&o->run.diag, code < 0 ? EXIT_INVALID : EXIT_INTERNAL,
                   "sample %s: the run ended with code %d", sample, code);
        return false;
}

/* ---- either ---- */

bool observed_begin(struct observed *o, struct run *run, struct module *m,
                    struct value *const *values, int count)
{
        struct pipeline_options pipeline = { .level = 2, .verify = !run->options.no_verify };
        *o = (struct observed){ .user = run, .run = *run, .arena = arena_new() };
        o->cc = run->options.cc                               ? run->options.cc
                : run->options.jit || !harness_has_compiler() ? NULL
                                                              : CC_PRESET;
        o->piece = arena_alloc(o->arena, PIECE * sizeof(double));
        o->run.context.diag = &o->run.diag;
        o->run.state = (struct pipeline_state){ .module = m };
        choose(o);
        if (!expose(o, m, values, count) ||
            !pipeline_run(&o->run.state, &pipeline, &o->run.context))
                return false;
        o->inputs = run_ports(&o->run, o->arena, false, &o->input_count);
        o->outputs = run_ports(&o->run, o->arena, true, &o->output_count);
        o->extents = arena_array(o->arena, EXTENTS_MAX, sizeof *o->extents);
        if (o->cc)
                return compile(o);
        take_memory(o);
        return compile_here(o) || (!run->options.jit && interpret(o));
}

/* Returns the next elements of an output, from number `from` on, or NULL after an error. */
static const void *next_elements(struct observed *o, const char *sample, int output, int64_t from,
                                 int64_t count)
{
        size_t size = element_bytes(o->outputs[output]), bytes = (size_t)count * size;
        if (!o->cc)
                return (const char *)o->memory[output] + (size_t)from * size;
        return fread(o->piece, 1, bytes, o->program.out) == bytes || ended(o, sample) ? o->piece
                                                                                      : NULL;
}

static bool read_flags(struct observed *o, const char *sample)
{
        for (int k = 0; k < o->exposed.flag_count; k++) {
                const struct exposed_flags *f = &o->exposed.flags[k];
                for (int64_t i = 0; i < f->times; i += PIECE) {
                        int64_t count = f->times - i < PIECE ? f->times - i : PIECE;
                        const void *flags = next_elements(o, sample, k, i, count);
                        if (!flags)
                                return false;
                        memcpy(o->flags[k] + i, flags, (size_t)count);
                }
                if (!f->overrun || !memchr(o->flags[k], 1, (size_t)f->times))
                        continue;
                diag_error(&o->run.diag, EXIT_INVALID,
                           "sample %s: loop %s runs more than %" PRId64
                           " iterations; --limit observed_steps=N looks into more",
                           sample, f->overrun, o->run.context.limits.observed_steps);
                return false;
        }
        return true;
}

/* Hands on a value, as often as it was computed. */
static bool hand_on(struct observed *o, const char *sample, int k, observed_take take,
                    void *context)
{
        const struct exposed *e = &o->exposed.values[k];
        const unsigned char *ran = e->flags >= 0 ? o->flags[e->flags] : NULL;
        const int64_t elements = observed_elements(o, k);
        for (int64_t t = 0; t < e->times; t++)
                for (int64_t i = 0; i < elements; i += PIECE) {
                        int64_t count = elements - i < PIECE ? elements - i : PIECE;
                        const void *data = next_elements(o, sample, o->exposed.flag_count + k,
                                                         t * elements + i, count);
                        if (!data || ((!ran || ran[t]) && !take(context, k, i, data, count)))
                                return false;
                }
        return true;
}

bool observed_run(struct observed *o, const char *sample, const struct samples *s,
                  const void *const *inputs, observed_take take, void *context)
{
        bool fine = take_extents(o, sample, s) &&
                    (o->cc ? start_compiled : start_here)(o, sample, inputs) &&
                    read_flags(o, sample);
        for (int k = 0; k < o->count && fine; k++)
                fine = hand_on(o, sample, k, take, context);
        return fine;
}

bool observed_end(struct observed *o)
{
        bool fine = true;
        if (o->program.in)
                fine = command_close(&o->program) == 0;
        if (o->jit)
                llvm_jit_free(o->jit);
        if (o->interp)
                interp_free(o->interp);
        if (o->run.diag.errors)
                o->user->diag = o->run.diag;
        arena_free(o->arena);
        return fine;
}
