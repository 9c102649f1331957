/* SPDX-License-Identifier: MIT */
/* Times code that LLVM made in this process, as the harness's program (harness/main.c) times what a
 * C compiler made: the same runs, on inputs and outputs on huge pages, and the same numbers of
 * them. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "compiler/jit.h"
#include "compiler/process.h"
#include "compiler/trace.h"
#include "ir/loop/fail_codes.h"

enum { INPUTS_MAX = 256, UNSEEN = 2, ROWS_MAX = 200000, SAMPLES_MAX = 1 << 25 };
#define BATCH_SECONDS 50e-6             /* Shorter runs are timed many at once: asking the clock
                                         * would count. */

struct program {
        struct arena *arena;
        const char *name;
        struct run *of;
        int entry, calls;               /* calls: -1 where kernels are not timed. */
        struct llvm_jit *jit;
        double (*now)(void);
        int in, out;
        const struct loop_buffer **inputs, **outputs;
        const void **given;
        void **got;
        int64_t *extents, *now_extents;
        double at, *row;                /* [calls + 1] of a run; the last one is the run's own. */
        double *samples;
        size_t rows, room;
        struct dnncc_trace *trace;
        struct program *next;
};

struct jit_programs {
        struct run *run;
        struct program *first;
        void *inputs[INPUTS_MAX];
        size_t bytes[INPUTS_MAX];
        struct llvm_peak *peak;
};

/* ---- programs ---- */

struct jit_programs *jit_programs_new(struct run *run)
{
        struct jit_programs *all = ARENA_NEW(run->arena, struct jit_programs);
        *all = (struct jit_programs){ .run = run };
        return all;
}

static void free_program(struct program *g)
{
        for (int k = 0; k < g->out; k++)
                free(g->got[k]);
        if (g->jit)
                llvm_jit_free(g->jit);
        free(g->samples);
        arena_free(g->arena);
}

void jit_programs_free(struct jit_programs *all)
{
        for (struct program *g = all->first, *next; g; g = next) {
                next = g->next;
                free_program(g);
        }
        for (int k = 0; k < INPUTS_MAX; k++)
                free(all->inputs[k]);
        if (all->peak)
                llvm_peak_free(all->peak);
}

static size_t columns_of(const struct program *g)
{
        return (size_t)(g->calls > 0 ? g->calls : 0) + 1;
}

static struct program *find(const struct jit_programs *all, const char *name)
{
        struct program *g = all->first;
        while (g && strcmp(g->name, name) != 0)
                g = g->next;
        return g;
}

static void forget(struct jit_programs *all, const char *name)
{
        for (struct program **g = &all->first; *g; g = &(*g)->next)
                if (!strcmp((*g)->name, name)) {
                        struct program *old = *g;
                        *g = old->next;
                        free_program(old);
                        return;
                }
}

static bool no_memory(struct run *run)
{
        diag_error(&run->diag, EXIT_BUDGET, "--jit: no memory for the ports of a run");
        return false;
}

bool jit_programs_input(struct jit_programs *all, int file, const void *data, size_t bytes)
{
        free(all->inputs[file]);
        all->inputs[file] = llvm_memory(bytes);
        all->bytes[file] = bytes;
        if (!all->inputs[file])
                return no_memory(all->run);
        memcpy(all->inputs[file], data, bytes);
        return true;
}

/* ---- what kernels take ---- */

static void note(void *context, int kernel)
{
        struct program *g = context;
        if (g->trace) {
                llvm_trace_kernel(g->trace, kernel);
                return;
        }
        const double t = g->now();
        if (kernel >= 0 && kernel < g->calls)
                g->row[kernel] += t - g->at;
        g->at = g->now();               /* The time that this function takes counts for no
                                         * kernel. */
}

/* ---- compiling ---- */

/* Extents are at their bounds, and so is state that grows. */
static void place_extents(struct program *g)
{
        const struct loop_program *p = g->of->state.program;
        const size_t count = (size_t)p->extent_count + 1;
        g->extents = arena_array(g->arena, count, sizeof *g->extents);
        g->now_extents = arena_array(g->arena, count, sizeof *g->extents);
        for (int i = 0; i < p->extent_count; i++)
                g->extents[i] = p->extents[i].variable->high;
}

static bool place_ports(struct program *g)
{
        g->inputs = run_ports(g->of, g->arena, false, &g->in);
        g->outputs = run_ports(g->of, g->arena, true, &g->out);
        g->given = arena_array(g->arena, (size_t)g->in + 1, sizeof *g->given);
        g->got = arena_array(g->arena, (size_t)g->out + 1, sizeof *g->got);
        for (int k = 0; k < g->out; k++) {
                g->got[k] = llvm_memory((size_t)loop_buffer_bytes(g->outputs[k]) + 1);
                if (!g->got[k])
                        return no_memory(g->of);
        }
        return true;
}

bool jit_program_compile(struct jit_programs *all, const char *name, struct run *of, int profiled,
                         bool by_thread)
{
        struct arena *arena = arena_new();
        struct program *g = ARENA_NEW(arena, struct program);
        *g = (struct program){ .arena = arena,
                               .name = arena_string(arena, name),
                               .of = of,
                               .entry = of->state.program->at,
                               .calls = profiled,
                               .now = by_thread ? clock_thread : clock_wall };
        g->row = arena_array(arena, columns_of(g), sizeof *g->row);
        forget(all, name);
        g->next = all->first;
        all->first = g;
        place_extents(g);
        if (!place_ports(g))
                return false;
        const struct llvm_watch watch = { profiled >= 0 ? note : NULL, g };
        g->jit = jit_watched(of, of->state.program, of->context.target, &watch);
        return g->jit != NULL;
}

/* ---- runs ---- */

/* Inputs are those of the files, in their order; state is where it was. */
static void give_inputs(const struct jit_programs *all, struct program *g)
{
        int file = 0;
        for (int k = 0; k < g->in; k++) {
                g->given[k] = NULL;
                for (int o = 0; o < g->out; o++)
                        if (g->outputs[o] == g->inputs[k])
                                g->given[k] = g->got[o];
                if (!g->given[k])
                        g->given[k] = all->inputs[file++];
        }
}

static int run_once(struct program *g)
{
        const struct loop_program *p = g->of->state.program;
        if (p->extent_count)
                memcpy(g->now_extents, g->extents, (size_t)p->extent_count * sizeof *g->extents);
        return llvm_jit_run(g->jit, g->now_extents, g->given, g->got);
}

static bool add_row(struct program *g)
{
        const size_t columns = columns_of(g);
        if (g->rows == g->room) {
                g->room = g->room ? 2 * g->room : 64;
                g->samples = memory_resize(g->samples, g->room * columns * sizeof *g->samples);
        }
        memcpy(g->samples + g->rows++ * columns, g->row, columns * sizeof *g->row);
        return g->rows < ROWS_MAX && g->rows * columns < SAMPLES_MAX;
}

/* Returns how many runs are timed at once; *code is what one ended with. */
static int batch_size(struct program *g, int *code)
{
        const double start = g->now();
        int count = 0;
        do
                *code = run_once(g);
        while (!*code && ++count < 1000 && g->now() - start < BATCH_SECONDS);
        return g->calls > 0 || !count ? 1 : count;
}

/* Returns what a run ended with that ended the others. */
static int time_runs(struct program *g, double seconds, int least, double *runs)
{
        int batch = 1, code = 0;
        bool more = true;
        g->rows = 0;
        *runs = 0;
        for (int i = 0; i < UNSEEN && !code; i++)
                batch = batch_size(g, &code);
        for (double start = g->now(), end = start + seconds;
             !code && more && !process_stopped() && (*runs < least || start < end);
             start = g->now()) {
                memset(g->row, 0, columns_of(g) * sizeof *g->row);
                for (int i = 0; i < batch && !code; i++)
                        code = run_once(g);
                g->row[columns_of(g) - 1] = (g->now() - start) / batch;
                more = add_row(g);
                *runs += batch;
        }
        return code;
}

/* ---- times ---- */

static int by_size(const void *x, const void *y)
{
        const double a = *(const double *)x, b = *(const double *)y;
        return (a > b) - (a < b);
}

static void sort_column(const struct program *g, size_t column, double *sorted)
{
        for (size_t i = 0; i < g->rows; i++)
                sorted[i] = g->samples[i * columns_of(g) + column];
        qsort(sorted, g->rows, sizeof *sorted, by_size);
}

static double quantile(const struct program *g, const double *sorted, size_t percent)
{
        return g->rows ? sorted[(g->rows - 1) * percent / 100] : 0;
}

static void take_times(const struct program *g, struct arena *arena, struct harness_times *times)
{
        double *sorted = memory_alloc((g->rows + 1) * sizeof *sorted);
        sort_column(g, columns_of(g) - 1, sorted);
        times->low = quantile(g, sorted, 5);
        times->median = quantile(g, sorted, 50);
        times->high = quantile(g, sorted, 95);
        times->calls = arena_array(arena, columns_of(g), sizeof *times->calls);
        for (int k = 0; k < g->calls; k++) {
                sort_column(g, (size_t)k, sorted);
                times->calls[k] = quantile(g, sorted, 50);
        }
        free(sorted);
}

/* Returns operations a second that multiply-adds do here; 0: after an error. */
static double peak_of(struct jit_programs *all, const struct program *g)
{
        const struct target *t = g->of->context.target;
        if (!all->peak)
                all->peak = llvm_peak_new(t, harness_lanes(t), g->of->context.threads,
                                          &all->run->diag);
        return all->peak ? llvm_peak_time(all->peak) : 0;
}

/* Writes some runs to the harness's file. Returns what the last one ended with. */
static int trace_runs(const struct harness *h, struct program *g, bool *written)
{
        enum { TRACED_RUNS = 10 };
        static const double seconds = 1;
        struct print_options table = { 0 };
        int code = 0;
        g->of->state.program->at = 0;
        trace_table(g->of, &table);
        g->of->state.program->at = g->entry;
        g->trace = llvm_trace_open(harness_path(h, TRACE_WRITTEN, ""), table.kernels,
                                   table.kernel_count, g->of->context.threads);
        if (!g->trace)
                return *written = false;
        const double end = clock_wall() + seconds;
        for (int i = 0; i < TRACED_RUNS && !code && clock_wall() < end; i++)
                code = run_once(g);
        *written = llvm_trace_close(g->trace);
        g->trace = NULL;
        return code;
}

bool jit_program_time(const struct harness *h, const char *name, double seconds, int least,
                      bool peak, struct harness_times *times)
{
        struct program *g = find(h->jit, name);
        bool written = true;
        *times = (struct harness_times){ 0 };
        give_inputs(h->jit, g);
        const double before = peak ? peak_of(h->jit, g) : 0;
        int code = time_runs(g, seconds, least, &times->runs);
        if (!code && g->calls >= 0 && trace_wanted(&h->run->options))
                code = trace_runs(h, g, &written);
        if (process_stopped())
                return false;
        if (code) {
                diag_error(&h->run->diag, EXIT_INTERNAL, "%s: the run ended with code %d: %s",
                           h->option, code, fail_text(code));
                return false;
        }
        const double after = peak ? peak_of(h->jit, g) : 0;
        times->peak = before > after ? before : after;
        take_times(g, h->arena, times);
        return (!peak || h->jit->peak) && (written || harness_cannot_write(h));
}
