/* SPDX-License-Identifier: MIT */
/* Probes of a machine for fit_cost.py, in cycles of one core:
 *
 *      fit_cost VECTOR_BYTES L2_BYTES         "name value spread" of what a core, its memory and a second core do
 *      fit_cost STEPS RUNS                    (compiled with -DKERNEL, and a model called `layer` in front) of one step of its kernel, which
 *                                             has so many, in so many runs at a time
 *
 * Time is processor time of the thread; a cycle is a link of a chain of exclusive ors, which take one each, measured beside every
 * probe. The value is of the least time that any repeat took, for what interferes only adds to it; the spread is what the median
 * repeat took longer, as a part of it. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "test/bench/probe.h"
#ifdef KERNEL
#include "layer.h"
#else
#include "runtime/dnncc_runtime.h"
#endif

enum { REPEATS = 60, LINKS = 1 << 18, HUGE_PAGE = 1 << 21 };

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double chain(void)
{
        uint64_t x = 1, y = 0x5bd1e995;
        double start = now();
        for (int i = 0; i < LINKS / 16; i++) {
                __asm__ volatile("" : "+r"(y));
#define LINK(i) x ^= y; __asm__ volatile("" : "+r"(x));
                PROBE_16(LINK)
        }
        return (now() - start) / LINKS;
}

static int compare(const void *a, const void *b)
{
        const double *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

struct measured { double least, median; };

/* cycles of a run */
static struct measured measure(void (*run)(void *), void *context)
{
        static double times[REPEATS];
        double cycle = 1;
        run(context);
        for (int i = 0; i < REPEATS; i++) {
                double start = now();
                run(context);
                times[i] = now() - start;
                double link = chain();
                cycle = link < cycle ? link : cycle;
        }
        qsort(times, REPEATS, sizeof *times, compare);
        return (struct measured){ times[0] / cycle, times[REPEATS / 2] / cycle };
}

/* amount by cycles, or cycles by amount */
static void print_rate(const char *name, double amount, struct measured m)
{
        printf("%s %.5g %.3f\n", name, amount / m.least, m.median / m.least - 1);
}
static void print_cost(const char *name, struct measured m, double amount)
{
        printf("%s %.5g %.3f\n", name, m.least / amount, m.median / m.least - 1);
}

#ifdef KERNEL

static const struct dnncc_model_1 *model;
static void *regions[8], *inputs[8], *outputs[8];

static void run_kernel(void *context)
{
        for (int i = *(int *)context; i > 0; i--)
                if (model->run(regions, (const void *const *)inputs, outputs, NULL))
                        exit(3);
}

int main(int argc, char **argv)
{
        model = layer_describe();
        for (unsigned i = 0; i < model->region_count && i < 8; i++)
                regions[i] = calloc(1, (size_t)model->regions[i].size + 64);
        for (unsigned i = 0; i < model->input_count && i < 8; i++)
                inputs[i] = calloc(1, (size_t)model->inputs[i].bytes);
        for (unsigned i = 0; i < model->output_count && i < 8; i++)
                outputs[i] = calloc(1, (size_t)model->outputs[i].bytes);
        int runs = argc > 2 ? atoi(argv[2]) : 1;
        print_cost("step", measure(run_kernel, &runs), (argc > 1 ? atof(argv[1]) : 1) * runs);
        return 0;
}

#else

/* ---- memory ---- */

enum { FAR_BYTES = 96 << 20, LAYER_BYTES = 4 << 20 };
struct span { int lanes; const char *at; size_t bytes; int times; };

static void *memory(size_t bytes)
{
        char *p = NULL;
        if (posix_memalign((void **)&p, HUGE_PAGE, bytes))
                exit(2);
        madvise(p, bytes, MADV_HUGEPAGE);
        memset(p, 1, bytes);
        return p;
}

static void read_span(void *context)
{
        const struct span *s = context;
        for (int i = 0; i < s->times; i++) {
                uint64_t sum = probe_sum(s->lanes, s->at, s->bytes);
                __asm__ volatile("" : : "r"(sum) : "memory");
        }
}

/* as much of it at a time as a network's layer has weights, so that repeats do not find it in a cache */
static void read_next(void *context)
{
        struct span *s = context;
        static size_t offset;
        offset = offset + 2 * s->bytes <= FAR_BYTES ? offset + s->bytes : 0;
        uint64_t sum = probe_sum(s->lanes, s->at + offset, s->bytes);
        __asm__ volatile("" : : "r"(sum) : "memory");
}

static void measure_memory(int lanes, size_t l2)
{
        char *data = memory(FAR_BYTES);
        struct span near = { lanes, data, l2 / 2 / 256 * 256, 4 };
        print_rate("l2", (double)near.bytes * near.times, measure(read_span, &near));
        struct span far = { lanes, data, LAYER_BYTES, 1 };
        print_rate("memory", (double)far.bytes, measure(read_next, &far));
        free(data);
}

/* ---- a second core ---- */

enum { FEW_BYTES = 16 << 10, MANY_BYTES = 144 << 10, TRIES = 50 };
struct handed { char *data; size_t bytes; int lanes; };
static _Thread_local int is_caller;
static atomic_int was_elsewhere;

/* the second of two parts writes, where it runs on the other core; the first waits for nothing */
static void write_theirs(void *context, int index, int count)
{
        const struct handed *h = context;
        (void)count;
        if (!index || is_caller)
                return;
        memset(h->data, index, h->bytes);
        atomic_store(&was_elsewhere, 1);
}

/* Hands a part to the other core, and, where there are bytes, reads what it wrote: cycles of the one or of the other. Repeats in which
 * this core did both parts do not count. */
static struct measured measure_handed(struct handed *h)
{
        static double times[REPEATS];
        double cycle = 1;
        int count = 0;
        for (int i = 0; i < TRIES * REPEATS && count < REPEATS; i++) {
                atomic_store(&was_elsewhere, 0);
                double start = now();
                dnncc_parallel(write_theirs, h, 2);
                if (!atomic_load(&was_elsewhere))
                        continue;
                if (h->bytes) {
                        start = now();
                        uint64_t sum = probe_sum(h->lanes, h->data, h->bytes);
                        __asm__ volatile("" : : "r"(sum) : "memory");
                }
                times[count++] = now() - start;
                double link = chain();
                cycle = link < cycle ? link : cycle;
        }
        qsort(times, (size_t)count, sizeof *times, compare);
        return count < REPEATS / 2 ? (struct measured){ 0, 0 } : (struct measured){ times[0] / cycle, times[count / 2] / cycle };
}

static void measure_threads(int lanes)
{
        struct handed nothing = { NULL, 0, lanes }, few = { memory(HUGE_PAGE), FEW_BYTES, lanes }, many = few;
        many.bytes = MANY_BYTES;
        is_caller = 1;
        struct measured hand_off = measure_handed(&nothing), first = measure_handed(&few), last = measure_handed(&many);
        if (hand_off.least > 0)
                print_cost("hand_off", hand_off, 1);
        if (first.least > 0 && last.least > first.least) {
                struct measured more = { last.least - first.least, last.median - first.median };
                print_rate("foreign", MANY_BYTES - FEW_BYTES, more);
        }
        free(few.data);
}

int main(int argc, char **argv)
{
        int bytes = argc > 1 ? atoi(argv[1]) : 0, lanes = bytes >= 64 ? 16 : bytes >= 16 ? 4 : 1;
        measure_memory(lanes, argc > 2 ? (size_t)atol(argv[2]) : 1 << 18);
        measure_threads(lanes);
        return 0;
}

#endif
