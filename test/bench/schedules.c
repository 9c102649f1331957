/* SPDX-License-Identifier: MIT */
/* Times the kernels of a model that schedules.py wrote: all compute the same from the same operands, each by another schedule.
 *
 *      schedules SECONDS
 *
 * runs them in turn for that long, two rounds of a kind at least, and prints a line for each kernel: the median of its time in rounds
 *
 *      hot     operands lie where the kernel before left them
 *      chain   as in a network: the first operand has just been made, all else has left the second cache since it was last used
 *
 * each kind twice, of even and of odd rounds: what is best in one half is judged by the other. Processor time of the thread. Compiled with
 * the model (--profile --name=layer) in front. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "layer.h"

enum { KERNELS = 256, ROUNDS = 64, KINDS = 4, HUGE_PAGE = 1 << 21, EVICT = 6 << 20 };
enum kind { HOT, CHAIN };

static const struct dnncc_model_1 *model;
static void *regions[8], *inputs[8], *outputs[KERNELS];
static double times[KINDS][KERNELS][ROUNDS], started;
static char *others;                    /* memory that fills the cache */
static int round_number;
static enum kind kind;
static volatile long sink;

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void touch(const char *memory, size_t bytes)
{
        long sum = 0;
        for (size_t i = 0; i < bytes; i += 64)
                sum += memory[i];
        sink = sum;
}

void dnncc_profile(int kernel);
void dnncc_profile(int kernel)
{
        double t = now();
        if (kernel >= 0 && kernel < KERNELS)
                times[2 * (round_number % 2) + (int)kind][kernel][round_number / 2] = t - started;
        if (kind == CHAIN) {
                touch(others, EVICT);
                touch(inputs[0], model->inputs[0].bytes);
        }
        started = now();
}

/* on huge pages, each at another offset, so that no two are equal in the lowest bits of their addresses */
static void *memory(size_t bytes)
{
        static size_t offset;
        char *p = NULL;
        offset = (offset + 1088) % 4096;
        if (posix_memalign((void **)&p, HUGE_PAGE, bytes + 4096))
                exit(2);
        madvise(p, bytes + 4096, MADV_HUGEPAGE);
        return p + offset;
}

static void *random_floats(size_t bytes)
{
        static unsigned state = 1;
        float *x = memory(bytes);
        for (size_t i = 0; i < bytes / sizeof *x; i++) {
                state = state * 1664525 + 1013904223;
                x[i] = (float)(state >> 8) * (1.0f / (1 << 24)) - 0.5f;
        }
        return x;
}

static void run(void)
{
        if (model->run(regions, (const void *const *)inputs, outputs, NULL))
                exit(3);
}

static int by_value(const void *a, const void *b)
{
        const double *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
        double seconds = argc > 1 ? atof(argv[1]) : 1;
        model = layer_describe();
        for (unsigned r = 0; r < model->region_count && r < 8; r++)
                regions[r] = memory((size_t)model->regions[r].size + 64);
        for (unsigned i = 0; i < model->input_count && i < 8; i++)
                inputs[i] = random_floats((size_t)model->inputs[i].bytes);
        void *result = random_floats((size_t)model->outputs[0].bytes);
        for (unsigned i = 0; i < model->output_count && i < KERNELS; i++)
                outputs[i] = result;
        others = random_floats(EVICT);
        run();
        double begin = now();
        for (round_number = 0; round_number < 2 * ROUNDS && (round_number < 6 || now() - begin < seconds); round_number++)
                for (int k = HOT; k <= CHAIN; k++) {
                        kind = (enum kind)k;
                        run();
                }
        int rounds = round_number / 2;
        for (unsigned i = 0; i < model->output_count && i < KERNELS; i++)
                for (int k = 0; k < KINDS; k++) {
                        qsort(times[k][i], (size_t)rounds, sizeof(double), by_value);
                        printf("%.9f%s", times[k][i][rounds / 2], k == KINDS - 1 ? "\n" : " ");
                }
        return 0;
}
