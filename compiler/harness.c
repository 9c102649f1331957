/* SPDX-License-Identifier: MIT */
#include "compiler/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/random.h"
#include "codegen/targets.h"
#include "compiler/process.h"
#include "compiler/trace.h"
#include "ir/tensor/drawn.h"
#include "ir/loop/fail_codes.h"

static const char *const main_text[] = {
#include "harness_main.inc"
};
enum { MAIN_LINES = sizeof main_text / sizeof *main_text, PORTS_MAX = 256, FAILED = 16 };

bool harness_fail(const struct harness *h, enum exit_code code, const char *why)
{
        if (!process_stopped())
                diag_error(&h->run->diag, code, "%s: %s", h->option, why);
        return false;
}

bool harness_cannot_write(const struct harness *h)
{
        return harness_fail(h, EXIT_IO, arena_printf(h->arena, "cannot write in %s: %s", h->folder,
                                                     strerror(errno)));
}

bool harness_is_of_processor(struct run *run, const char *option, const char *does)
{
        const struct target *t = run->context.target;
        if (!target_engine(t)->launches && (!target_accelerator(t) || run->options.exact))
                return true;
        diag_error(&run->diag, EXIT_USAGE, "%s %s, and target %s is for a device", option, does,
                   t->name);
        return false;
}

bool harness_runs(struct run *run, const char *option)
{
        const struct target *t = run->context.target;
        if (!harness_is_of_processor(run, option,
                                     run->options.jit ? "runs code" : "compiles and runs C"))
                return false;
        if (run->options.runner || target_runs_here(t) || !target_machine(t))
                return true;
        diag_error(&run->diag, EXIT_USAGE,
                   "%s runs the code, and this processor has no %s: --runner=CMD names what runs a "
                   "program for it, as in "
                   "--cc='CROSS-cc -O2 -static' --runner=qemu-CPU",
                   option, t->name);
        return false;
}

bool harness_has_compiler(void) { return !command_run("command -v cc >/dev/null 2>&1"); }

void harness_choose(struct run *run)
{
        struct options *o = &run->options;
        if (!o->cc && !o->jit && !o->runner && target_runs_here(run->context.target) &&
            !harness_has_compiler() && llvm_is_here())
                o->jit = JIT_BEST;
}

/* ---- the folder ---- */

bool harness_begin(struct harness *h, struct run *run, const char *option)
{
        *h = (struct harness){ .run = run, .arena = run->arena, .option = option,
                               .temporaries = temporaries_count() };
        if (!(h->folder = temporary_workshop(h->arena, "time", &run->diag)))
                return false;
        for (int k = 0; k < PORTS_MAX; k++)
                temporary_expect(harness_path(h, arena_printf(h->arena, "in%d", k), ""));
        runtime_expect(h);
        if (run->options.jit)
                h->jit = jit_programs_new(run);
        return true;
}

void harness_end(struct harness *h)
{
        if (h->jit)
                jit_programs_free(h->jit);
        temporaries_remove(h->temporaries);
}

const char *harness_path(const struct harness *h, const char *name, const char *ending)
{
        return arena_printf(h->arena, "%s/%s%s", h->folder, name, ending);
}

/* Returns the name of the program that runs the entry at `at` of what is compiled as `name`. */
static const char *program_name(const struct harness *h, const char *name, int at)
{
        const struct loop_program *p = h->run->state.program;
        return p && p->entry_count > 1 ? arena_printf(h->arena, "%s-%d", name, at) : name;
}

static const char *program_now(const struct harness *h, const char *name)
{
        return program_name(h, name, h->run->state.program ? h->run->state.program->at : 0);
}

void harness_expect(const struct harness *h, const char *name)
{
        static const char *const endings[] = { "", "_main.c", ".json", ".schedule", ".times" };
        const struct loop_program *p = h->run->state.program;
        emit_expect(h->run, h->folder, name);
        for (int at = -1; at < (p && p->entry_count > 1 ? p->entry_count : 0); at++)
                for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
                        temporary_expect(harness_path(
                                h, at < 0 ? name : program_name(h, name, at), endings[i]));
}

/* ---- inputs ---- */

void *harness_drawn(struct run *run, int k, const struct loop_buffer *b)
{
        struct function *f = run_function(run);
        int64_t *extents = arena_array(run->arena, (size_t)(f ? f->body.argument_count : 0) + 1,
                                       sizeof *extents);
        void *data = arena_array(run->arena, (size_t)b->extent + 1,
                                 (size_t)element_info[b->element].bytes);
        if (b->is_text) {
                drawn_texts(data, b->extent, type_extent(b->type, b->type->rank - 1),
                            RANDOM_START + (uint64_t)k);
                return data;
        }
        if (f)
                drawn_extents(f, extents);
        drawn_fill(b->element, data, b->extent, f && k < f->body.argument_count ? extents[k] : 0,
                   RANDOM_START + (uint64_t)k);
        return data;
}

bool harness_input(const struct harness *h, int file, int k, const struct loop_buffer *b,
                   const void *data)
{
        if (file >= PORTS_MAX)
                return harness_fail(h, EXIT_USAGE, "at most 256 inputs");
        size_t bytes = (size_t)b->extent * (size_t)element_info[b->element].bytes;
        const void *all = data ? data : harness_drawn(h->run, k, b);
        if (h->jit)
                return jit_programs_input(h->jit, file, all, bytes);
        FILE *out = fopen(harness_path(h, arena_printf(h->arena, "in%d", file), ""), "wb");
        bool fine = out && fwrite(all, 1, bytes, out) == bytes;
        return ((!out || !fclose(out)) && fine) || harness_cannot_write(h);
}

/* ---- the program ---- */

static bool write_main(const struct harness *h, const char *name, const char *prefix, int profiled,
                       bool by_thread)
{
        const struct target *t = h->run->context.target;
        const char *symbol = entry_symbol(h->run, prefix);
        FILE *out = fopen(harness_path(h, program_now(h, name), "_main.c"), "w");
        if (!out)
                return harness_cannot_write(h);
        fprintf(out,
                "#define HEADER \"%s.h\"\n#define WEIGHTS_NAME \"%s.weights\"\n#define DESCRIBE "
                "%s_describe\n#define CALLS %d\n#define TIME %s\n",
                name, name, symbol, profiled < 0 ? 0 : profiled,
                by_thread ? "CLOCK_THREAD_CPUTIME_ID" : "CLOCK_MONOTONIC");
        if (profiled >= 0 && trace_wanted(&h->run->options))
                fprintf(out, "#define TRACE \"" TRACE_WRITTEN "\"\n#define KERNELS %s_kernels\n",
                        prefix);
        const struct loop_program *p = h->run->state.program;
        int own[EXTENTS_MAX];
        const int count = p ? loop_entry_extents(p, own) : 0;
        fprintf(out, "#define EXTENTS {");
        for (int i = 0; i < count; i++) /* Times are those of the bounds. */
                fprintf(out, " %" PRId64 ",", p->extents[own[i]].variable->high);
        if (p && loop_first_kept(p) < p->extent_count) {
                fprintf(out, " 0 }\n#define LENGTHS {");
                for (int i = loop_first_kept(p); i < p->extent_count; i++)
                        fprintf(out, " %" PRId64 ",", p->extents[i].variable->high);
        }
        fprintf(out, " 0 }\n#define LANES %d\n#define THREADS %d\n", harness_lanes(t),
                h->run->context.threads);
        if (target_attribute(t))
                fprintf(out,
                        "#if defined(__clang__)\n#define ATTRIBUTE \"%s\"\n#else\n#define "
                        "ATTRIBUTE \"%s\"\n#endif\n",
                        target_attribute(t), target_gcc_attribute(t));
        for (int i = 0; i < MAIN_LINES; i++)
                fputs(main_text[i], out);
        return !fclose(out) || harness_cannot_write(h);
}

bool harness_compile(const struct harness *h, const char *name, const char *prefix, int profiled,
                     bool by_thread)
{
        const struct options *o = &h->run->options;
        const char *cc = o->cc ? o->cc : CC_PRESET;
        if (!write_main(h, name, prefix, profiled, by_thread) ||
            (o->threads > 1 && !runtime_write(h, RUNTIME_THREADS)))
                return false;
        const char *program = program_now(h, name);
        const char *command = arena_printf(
                h->arena, "cd %s && %s -I. -o %s %s_main.c %s%s%s%s%s",
                text_shell_word(h->arena, h->folder), cc, program, program, name,
                target_printer(h->run->context.target)->suffix,
                profiled >= 0 && trace_wanted(o) ? " " RUNTIME_TRACE : "",
                o->threads > 1 ? " " RUNTIME_THREADS " -lpthread" : "", o->fast_libm ? " -lm" : "");
        return !command_run(command) ||
               harness_fail(h, EXIT_IO,
                            arena_printf(h->arena,
                                         "'%s' (--cc) failed to compile the generated code", cc));
}

bool harness_compile_here(const struct harness *h, const char *name, struct run *of, int profiled,
                          bool by_thread)
{
        return jit_program_compile(h->jit, program_now(h, name), of, profiled, by_thread);
}

bool program_ran(struct run *run, const char *option, int status)
{
        const char *by = run->options.runner ? run->options.runner : "the compiled program";
        struct diag *diag = &run->diag;
        if (process_stopped())
                return false;
        if (status == COMMAND_LATE)
                diag_error(diag, EXIT_INTERNAL,
                           "%s: '%s' (--runner) took more than %" PRId64
                           " s and was ended; " DIAG_HINT("--limit run_seconds=N allows more"),
                           option, by, run->context.limits.run_seconds);
        else if (WIFEXITED(status) && WEXITSTATUS(status) > FAILED &&
                 WEXITSTATUS(status) < 2 * FAILED)
                diag_error(diag, EXIT_INTERNAL, "%s: the run ended with code %d: %s", option,
                           FAILED - WEXITSTATUS(status), fail_text(FAILED - WEXITSTATUS(status)));
        else if (status && run->options.runner)
                diag_error(diag, EXIT_INTERNAL, "%s: '%s' (--runner) failed, %s %d", option, by,
                           WIFEXITED(status) ? "exit code" : "signal",
                           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        else if (status)
                diag_error(diag, EXIT_INTERNAL, "%s: the compiled program failed (%s %d)", option,
                           WIFEXITED(status) ? "exit code" : "signal",
                           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        return !status;
}

int program_run(const struct run *run, struct arena *arena, const char *folder, const char *command)
{
        const char *by = run->options.runner;
        return command_run_within(arena_printf(arena, "cd %s && %s%s./%s",
                                               text_shell_word(arena, folder), by ? by : "",
                                               by ? " " : "", command),
                                  by ? (double)run->context.limits.run_seconds : 0);
}

static bool read_times(const struct harness *h, const char *name, int call_count,
                       struct harness_times *t)
{
        FILE *in = fopen(harness_path(h, name, ".times"), "r");
        double *const heads[] = { &t->runs, &t->low, &t->median, &t->high, &t->peak };
        bool good = in;
        t->calls = arena_array(h->arena, (size_t)call_count + 1, sizeof *t->calls);
        for (size_t i = 0; i < sizeof heads / sizeof *heads && good; i++)
                good = fscanf(in, "%lf", heads[i]) == 1;
        for (int i = 0; i < call_count && good; i++)
                good = fscanf(in, "%lf", &t->calls[i]) == 1;
        if (in)
                fclose(in);
        return good ||
               harness_fail(
                       h, EXIT_INTERNAL,
                       h->run->options.runner
                               ? arena_printf(
                                         h->arena,
                                         "'%s' (--runner) ended well, but gave no times: what the "
                                         "program writes to standard output must come from it",
                                         h->run->options.runner)
                               : "the compiled program gave no times");
}

bool harness_run(const struct harness *h, const char *name, double seconds, int least, bool peak,
                 int call_count, struct harness_times *times)
{
        name = program_now(h, name);
        if (h->jit)
                return jit_program_time(h, name, seconds, least, peak, times);
        const char *command = arena_printf(h->arena, "%s %.3f %d %d > %s.times", name, seconds,
                                           least, peak, name);
        return program_ran(h->run, h->option, program_run(h->run, h->arena, h->folder, command)) &&
               read_times(h, name, call_count, times);
}
