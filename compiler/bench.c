/* SPDX-License-Identifier: MIT */
/* --bench says how fast the generated code is. It is compiled with --cc and run in a process of its
 * own, or with --jit in this one, on random inputs or those of --test DIR (harness.h), by wall
 * time:
 *
 *      bench: net.onnx for x86-64-v4, 1 thread: 412 runs in 2 s
 *      median     4.853 ms    p5 4.801 ms, p95 5.012 ms
 *      rate       61.2 GFLOP/s, 0.297 GFLOP a run; 43 % of the 142.1 that multiply-adds do here
 *      workspace  802816 bytes
 *
 * --bench=kernels compiles it a second time with --profile, and lists the kernel calls, the longest
 * first. With --report the times become members of the report; with --profile=FILE some runs are
 * written there as a trace. Nothing else is written. Of several entries each is measured in its
 * turn, or the one that the option names alone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "compiler/jit.h"
#include "compiler/progress.h"
#include "compiler/report.h"
#include "compiler/trace.h"

#define SECONDS 2.0
#define SECONDS_MAX 86400
enum { RUNS_LEAST = 5, SUMMARY_WIDTH = 48 };

struct benching {
        struct harness harness;
        struct calls calls;
        double seconds;
        bool kernels;
        int entry;                      /* This entry alone is measured; -1: all are. */
        FILE *trace;                    /* The trace of --profile=FILE goes there; or it is NULL. */
        struct harness_times whole, each;
};

/* Reads "kernels", "5", "step", an entry, and several of these in any order. */
static bool parse(struct benching *b, struct run *run)
{
        b->seconds = SECONDS;
        for (const char *p = run->options.bench; *p;) {
                size_t length = strcspn(p, ",");
                int64_t seconds;
                int e;
                char *word = arena_printf(run->arena, "%.*s", (int)length, p);
                if (!strcmp(word, "kernels")) {
                        b->kernels = true;
                } else if ((e = entry_called(run->state.program, word, strlen(word))) >= 0) {
                        b->entry = e;
                } else if (int_parse(word, &seconds) && seconds > 0 && seconds <= SECONDS_MAX) {
                        b->seconds = (double)seconds;
                } else {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--bench wants seconds from 1 to %d, kernels, or both%s, as in "
                                   "--bench=kernels,5, not '%s'",
                                   SECONDS_MAX,
                                   run->state.program && run->state.program->entry_count > 1
                                           ? ", or an entry"
                                           : "",
                                   text_argument(run->arena, run->options.bench));
                        return false;
                }
                p += length + (p[length] == ',');
        }
        return true;
}

static bool is_possible(struct run *run)
{
        const struct options *o = &run->options;
        const struct loop_program *p = run->state.program;
        const char *obstacle = !run->state.program || !run->state.program->planned
                                       ? "--bench wants a compiled model: --passes must end in plan"
                               : o->tests.count > p->entry_count
                                       ? "--bench takes the inputs of one --test DIR"
                                       : NULL;
        if (obstacle)
                diag_error(&run->diag, EXIT_USAGE, "%s", obstacle);
        return !obstacle && harness_runs(run, "--bench");
}

/* ---- measuring ---- */

static bool write_inputs(const struct benching *b)
{
        struct run *run = b->harness.run;
        int count;
        const struct loop_buffer **inputs = run_ports(run, run->arena, false, &count);
        struct module *m = module_new("bench");         /* It holds the tensors read. */
        const char *test = test_of_entry(run);
        const void **given = test ? test_inputs(run, run->arena, m, test) : NULL;
        bool fine = !run->diag.errors && (given || !test);
        for (int k = 0, file = 0; k < count && fine; k++)
                if (inputs[k]->space == SPACE_INPUT)    /* State begins as zeros. */
                        fine = harness_input(&b->harness, file++, k, inputs[k],
                                             given ? given[k] : NULL);
        module_free(m);
        return fine;
}

static bool build(const struct benching *b, const char *name, bool profiled)
{
        const struct harness *h = &b->harness;
        if (h->jit)
                return harness_compile_here(h, name, h->run, profiled ? b->calls.count : -1,
                                            false);
        struct run run = *h->run;
        run.prefix = "timed";
        run.options.weights = WEIGHTS_FILE;
        run.options.profile = !profiled                        ? NULL
                              : trace_wanted(&h->run->options) ? TRACE_WRITTEN
                                                               : "";
        bool printed = emit_into(&run, h->folder, name);
        h->run->diag = run.diag;
        return printed && harness_compile(h, name, "timed", profiled ? b->calls.count : -1, false);
}

static bool measure(struct benching *b)
{
        int count = b->calls.count, steps = b->kernels ? 4 : 2;
        if (!write_inputs(b))
                return false;
        progress_step(0, 0, "compiling the code, then %g s", b->seconds);
        if (!build(b, "timed", false))
                return false;
        progress_step(1, steps, "running for %g s", b->seconds);
        progress_left(b->seconds * (b->kernels ? 2 : 1));
        if (!harness_run(&b->harness, "timed", b->seconds, RUNS_LEAST, true, 0, &b->whole))
                return false;
        if (b->trace && !b->harness.jit && !trace_write_sources(&b->harness))
                return false;
        if (!b->kernels)
                return true;
        progress_step(2, steps, "compiling the code with its kernels timed, then %g s", b->seconds);
        if (!build(b, "kernels", true))
                return false;
        progress_step(3, steps, "running for %g s with %d kernel calls timed", b->seconds, count);
        progress_left(b->seconds);
        return harness_run(&b->harness, "kernels", b->seconds, RUNS_LEAST, true, count, &b->each) &&
               (!b->trace || trace_copy(&b->harness, b->trace));
}

/* ---- results ---- */

/* Returns "4.853 ms", or "2.973 us". */
static const char *time_text(struct arena *arena, double seconds)
{
        return seconds < 1e-3 ? arena_printf(arena, "%.3f us", 1e6 * seconds)
                              : arena_printf(arena, "%.3f ms", 1e3 * seconds);
}

/* Returns whether the call multiplies f32, whose peak was measured. A processor does more at a time
 * of bytes and of 16-bit floats. */
static bool is_in_f32(const struct loop_stmt *call)
{
        const struct loop_function *f = call->function;
        for (int i = 0; i < f->buffer_count; i++)
                if (element_info[f->buffers[i]->element].bytes < 4 &&
                    f->buffers[i]->element != E_BOOL)
                        return false;
        return true;
}

/* Returns "  87%", or "-" where the peak is that of other numbers. */
static const char *peak_text(struct arena *arena, bool in_f32, double rate, double peak)
{
        return in_f32 && peak > 0 ? arena_printf(arena, "%.0f%%", 100 * rate / peak) : "-";
}

static void put_whole(const struct benching *b)
{
        struct run *run = b->harness.run;
        const struct loop_program *p = run->state.program;
        const struct harness_times *t = &b->whole;
        int threads = run->context.threads;
        const struct calls own = report_entry_calls(run, p->at);
        double rate = t->median > 0 ? own.flops / t->median : 0;
        const bool several = p->entry_count > 1;
        printf("bench: %s%s%s for %s, %d thread%s: %.0f runs in %g s\n", run->diag.subject,
               several ? ", entry " : "", several ? loop_entry_at(p)->name : "",
               run->context.target->name, threads, threads > 1 ? "s" : "", t->runs, b->seconds);
        printf("median     %s    p5 %s, p95 %s\n", time_text(run->arena, t->median),
               time_text(run->arena, t->low), time_text(run->arena, t->high));
        bool in_f32 = true;
        for (int i = 0; i < own.count; i++)
                in_f32 &= is_in_f32(own.items[i]);
        printf("rate       %.2f GFLOP/s, %.4g GFLOP a run", 1e-9 * rate, 1e-9 * own.flops);
        if (in_f32 && t->peak > 0)
                printf("; %.0f %% of the %.1f that multiply-adds do here\n", 100 * rate / t->peak,
                       1e-9 * t->peak);
        else if (t->peak > 0)
                printf("; multiply-adds of f32 do %.1f here\n", 1e-9 * t->peak);
        else
                puts("");
        const int64_t state = loop_state_size(run->state.program);
        printf("workspace  %" PRId64 " bytes\n", report_ram(run->state.program) - state);
        if (state)
                printf("state      %" PRId64 " bytes\n", state);
}

/* Sorts numbers of calls by their time, the longest first. */
static const double *sorted_times;
static int longest_first(const void *x, const void *y)
{
        int i = *(const int *)x, j = *(const int *)y;
        double a = sorted_times[i], b = sorted_times[j];
        return a < b ? 1 : a > b ? -1 : i - j;
}

static void put_kernels(const struct benching *b)
{
        struct run *run = b->harness.run;
        const struct calls own = report_entry_calls(run, run->state.program->at);
        int count = own.count, *at = arena_array(run->arena, (size_t)count + 1, sizeof *at);
        const double *times = b->each.calls + own.first;
        double sum = 0, cycles = 0;
        for (int i = 0; i < count; i++) {
                at[i] = i;
                sum += times[i];
                cycles += own.times[i] * report_call_cycles(run, own.items[i]);
        }
        sorted_times = times;
        qsort(at, (size_t)count, sizeof *at, longest_first);
        printf("\n%7s %10s %10s %9s %11s %6s  %s\n", "share", "us", "predicted", "GFLOP/s", "bytes",
               "peak", "kernel");
        for (int i = 0; i < count; i++) {
                const struct loop_stmt *call = own.items[at[i]];
                const char *location = loop_call_location(call);
                const double calls = own.times[at[i]];
                double t = times[at[i]], flops = calls * call->function->flops;
                /* Predictions are those of a core without a clock: their sum is the time of all
                 * kernels. */
                printf("%6.1f%% %10.2f %10.2f %9.2f %11.0f %6s  %s%s%.*s\n",
                       sum > 0 ? 100 * t / sum : 0, 1e6 * t,
                       cycles > 0 ? 1e6 * sum * calls * report_call_cycles(run, call) / cycles : 0,
                       t > 0 ? 1e-9 * flops / t : 0, calls * (double)report_call_bytes(call),
                       peak_text(run->arena, is_in_f32(call), t > 0 ? flops / t : 0, b->each.peak),
                       call->function->name, location ? "  " : "", SUMMARY_WIDTH,
                       location ? location : "");
        }
        printf("%6.1f%% %10.2f us in %d kernel calls; a run with all of them timed took %.2f us\n",
               100.0, 1e6 * sum, count, 1e6 * b->each.median);
}

static void put(struct benching *b, struct report_bench *measured)
{
        const int at = b->harness.run->state.program->at;
        if (at && b->entry < 0)
                puts("");
        put_whole(b);
        if (b->kernels)
                put_kernels(b);
        measured[at] = (struct report_bench){ b->seconds, b->whole, b->each, true };
}

/* Measures an entry after the other. */
static bool measure_all(struct benching *b)
{
        struct run *run = b->harness.run;
        struct loop_program *p = run->state.program;
        struct report_bench *measured =
                arena_array(run->arena, (size_t)p->entry_count, sizeof *measured);
        bool fine = true;
        for (p->at = 0; p->at < p->entry_count && fine; p->at++)
                if (b->entry < 0 || b->entry == p->at) {
                        progress_begin("bench", &run->diag);
                        fine = measure(b);
                        progress_end();
                        if (fine)
                                put(b, measured);
                }
        p->at = 0;
        run->bench = run->options.report ? measured : NULL;
        return fine;
}

bool bench(struct run *run)
{
        struct benching b = { .entry = -1 };
        harness_choose(run);
        if (!parse(&b, run) || !is_possible(run))
                return false;
        if (trace_wanted(&run->options) &&
            !(b.trace = outputs_open(run->outputs, run->options.profile, &run->diag)))
                return false;
        if (!harness_begin(&b.harness, run, "--bench"))
                return false;
        b.calls = report_calls(run);
        b.kernels |= run->options.report || b.trace;
        if (b.trace)
                trace_expect(&b.harness);
        harness_expect(&b.harness, "timed");
        harness_expect(&b.harness, "kernels");
        bool fine = measure_all(&b);
        harness_end(&b.harness);
        return fine && emit_report(run) &&
               ((!run->options.report && !b.trace) || outputs_commit(run->outputs, &run->diag));
}
