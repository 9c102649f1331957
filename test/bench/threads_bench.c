/* SPDX-License-Identifier: MIT */
/* What the pool costs: hand-offs to spinning and to sleeping threads, and the barrier of a team.
 *
 *     threads_bench [MEMBERS]        2 members unless told otherwise. Microseconds: the best tenth (a quiet machine), the median */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/dnncc_runtime.h"

enum { ROUNDS = 2000, REPEATS = 100 };
static int members = 2;
static _Thread_local int is_caller;
static atomic_int by_others;

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void work(double microseconds)
{
        for (double end = now() + microseconds; now() < end;)
                ;
}

static void empty(void *arg, int index, int count) { (void)arg, (void)index, (void)count; }

static void part(void *arg, int index, int count)
{
        (void)index, (void)count;
        if (!is_caller)
                atomic_fetch_add(&by_others, 1);
        work(*(double *)arg);
}

static void meet(void *arg, int index, int count)
{
        for (int i = 0; i < *(int *)arg; i++)
                dnncc_team_barrier(index, count);
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return x < y ? -1 : x > y;
}

static void show(const char *what, double *times, int count, const char *end)
{
        qsort(times, (size_t)count, sizeof *times, compare);
        printf("%-44s %8.3f %8.3f%s", what, times[count / 10], times[count / 2], end);
}

static void idle(double microseconds)
{
        struct timespec t = { 0, (long)(1e3 * microseconds) };
        nanosleep(&t, NULL);
}

/* parts of some length: what a call takes longer than one part, and how many parts others did */
static void measure_parts(const char *what, double length, double pause)
{
        static double times[ROUNDS];
        int rounds = pause > 0 ? ROUNDS / 10 : ROUNDS;
        atomic_store(&by_others, 0);
        for (int i = 0; i < rounds; i++) {
                if (pause > 0)
                        idle(pause);
                double start = now();
                dnncc_parallel(part, &length, members);
                times[i] = now() - start - length;
        }
        show(what, times, rounds, "");
        printf("   (%.0f %% of the other parts elsewhere)\n", 100.0 * atomic_load(&by_others) / rounds / (members - 1));
}

static void measure_team(const char *what, double pause, int barriers)
{
        static double times[ROUNDS];
        int rounds = pause > 0 ? ROUNDS / 10 : ROUNDS, inner = pause > 0 || barriers ? 1 : REPEATS;
        for (int i = 0; i < rounds; i++) {
                if (pause > 0)
                        idle(pause);
                double start = now();
                for (int k = 0; k < inner; k++)
                        if (!dnncc_team(barriers ? meet : empty, &barriers, members)) {
                                printf("%-44s refused\n", what);
                                return;
                        }
                times[i] = (now() - start) / inner / (barriers ? barriers : 1);
        }
        show(what, times, rounds, "\n");
}

static void measure_empty(void)
{
        static double times[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
                double start = now();
                for (int k = 0; k < REPEATS; k++)
                        dnncc_parallel(empty, NULL, members);
                times[i] = (now() - start) / REPEATS;
        }
        show("dnncc_parallel, nothing to do", times, ROUNDS, "\n");
}

int main(int argc, char **argv)
{
        if (argc > 1)
                members = atoi(argv[1]);
        is_caller = 1;
        printf("%d members, microseconds %28s %8s\n", members, "best 10%", "median");
        measure_empty();
        measure_parts("dnncc_parallel, parts of 5, beyond that", 5, 0);
        measure_parts("dnncc_parallel, parts of 50, beyond that", 50, 0);
        measure_parts("the same after 1000 of idling", 50, 1000);
        measure_parts("parts of 500 after 1000 of idling", 500, 1000);
        measure_team("dnncc_team, nothing to do", 0, 0);
        measure_team("the same after 1000 of idling", 1000, 0);
        measure_team("dnncc_team_barrier", 0, 1000);
        dnncc_threads_shutdown();
        return 0;
}
