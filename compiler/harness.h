/* SPDX-License-Identifier: MIT */
/* Generated code that is compiled and timed, in a folder of its own that goes with everything in
 * it: what --tune and --bench have in common. harness/main.c is the program that is compiled
 * beside it. */
#ifndef COMPILER_HARNESS_H
#define COMPILER_HARNESS_H

#include "compiler/driver.h"

struct harness {
        struct run *run;
        struct arena *arena;
        const char *option;             /* that asks for it, for messages: "--bench" */
        const char *folder;
        int temporaries;
};

struct harness_times {
        double runs, low, median, high; /* how often it ran; seconds of a run: 5 %, 50 % and 95 % */
        double peak;                    /* floating operations a second; 0: not asked for */
        double *calls;                  /* seconds of each kernel call */
};

/* Floats that a multiply-add takes at once at its best: a vector's, of targets without any that
 * of most processors, which C compilers use where they can. */
static inline int harness_lanes(const struct target *t)
{
        return target_engine(t)->vectors ? target_lanes(t, E_F32) : 4;
}

/* May such code run here, or by --runner? An error where not. */
bool harness_runs(struct run *run, const char *option);

/* The folder is made; harness_end removes it. */
bool harness_begin(struct harness *h, struct run *run, const char *option);
void harness_end(struct harness *h);
/* a file in the folder, NAME and the ending ".schedule" */
const char *harness_path(const struct harness *h, const char *name, const char *ending);
/* it will be there: a program of this name, what it is compiled of, and a report and schedules
 * of it */
void harness_expect(const struct harness *h, const char *name);

/* what the program reads: bytes of input k. NULL: `count` elements drawn by chance
 * (ir/tensor/drawn.h) */
bool harness_input(const struct harness *h, int k, enum element e, int64_t count, const void *data);
/* Compiles NAME.c, whose symbols begin with the prefix, to the program NAME. `profiled`: it was
 * printed for --profile, and has so many calls; -1: it was not. by_thread: one thread's own time
 * is what counts, not what else the machine does. */
bool harness_compile(const struct harness *h, const char *name, const char *prefix, int profiled,
                     bool by_thread);
/* Runs the program so long, and at least so often. */
bool harness_run(const struct harness *h, const char *name, double seconds, int least, bool peak,
                 int call_count, struct harness_times *times);

/* Files of the runtime, in the folder (runtime_files.c): all may be there; the header and the one
 * of this name are. False after an error. */
#define RUNTIME_TRACE "trace_file.c"
#define RUNTIME_THREADS "threads.c"
void runtime_expect(const struct harness *h);
bool runtime_write(const struct harness *h, const char *name);

/* EXIT_INTERNAL, or where it is about files EXIT_IO, unless somebody asked to stop: what runs
 * then fails for that. False. */
bool harness_fail(const struct harness *h, enum exit_code code, const char *why);
bool harness_cannot_write(const struct harness *h);

#endif
