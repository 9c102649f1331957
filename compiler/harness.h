/* SPDX-License-Identifier: MIT */
/* Generated code is compiled and timed in a folder of its own, which goes with everything in it;
 * --tune and --bench have this in common. harness/main.c is the program that is compiled beside
 * it. */
#ifndef COMPILER_HARNESS_H
#define COMPILER_HARNESS_H

#include "compiler/driver.h"

struct harness {
        struct run *run;
        struct arena *arena;
        const char *option;             /* It is the option that asks for it, for messages, as
                                         * "--bench". */
        const char *folder;
        int temporaries;
        struct jit_programs *jit;       /* With --jit: in place of programs in the folder
                                         * (jit_time.c); or NULL. */
};

struct harness_times {
        double runs, low, median, high; /* They are how often it ran, and the seconds of a run: 5 %,
                                         * 50 % and 95 %. */
        double peak;                    /* It is floating operations a second, or 0 where it is not
                                         * asked for. */
        double *calls;                  /* They are the seconds of each kernel call. */
};

/* Returns how many floats a multiply-add takes at once at its best: as many as a vector has or, for
 * targets without vectors, as those of most processors have, which C compilers use where they
 * can. */
static inline int harness_lanes(const struct target *t)
{
        return target_engine(t)->vectors ? target_lanes(t, E_F32) : 4;
}

/* Returns whether such code may run here, or by --runner; it is an error where not. */
bool harness_runs(struct run *run, const char *option);
/* Says that the option does something for processors alone, where the target is for a device. */
bool harness_is_of_processor(struct run *run, const char *option, const char *does);

/* Takes LLVM where neither --cc nor --jit says what compiles, and there is no C compiler. */
void harness_choose(struct run *run);
bool harness_has_compiler(void);        /* Returns whether there is a C compiler. */

/* harness_begin makes the folder; harness_end removes it. */
bool harness_begin(struct harness *h, struct run *run, const char *option);
void harness_end(struct harness *h);
/* Returns the path of a file in the folder, NAME and the ending, as ".schedule". */
const char *harness_path(const struct harness *h, const char *name, const char *ending);
/* Says that there will be a program of this name, what it is compiled of, and a report and
 * schedules of it. */
void harness_expect(const struct harness *h, const char *name);

/* Returns numbers by chance for the k-th input, in the run's arena. A .loops text does not say what
 * its inputs choose from. */
void *harness_drawn(struct run *run, int k, const struct loop_buffer *b);
/* Writes what the program reads: the bytes of input k, b, or, where data is NULL, elements drawn by
 * chance (ir/tensor/drawn.h). */
bool harness_input(const struct harness *h, int file, int k, const struct loop_buffer *b,
                   const void *data);
/* Compiles NAME.c, whose symbols begin with the prefix, to a program of the entry at
 * run->state.program->at, which harness_run runs while that is the same. `profiled` is the
 * number of calls where it was printed for --profile, or -1 where it was not. With by_thread, one
 * thread's own time is what counts, not what else the machine does. */
bool harness_compile(const struct harness *h, const char *name, const char *prefix, int profiled,
                     bool by_thread);
/* Makes code of a run's program in this process instead, with --jit (jit_program_compile). */
bool harness_compile_here(const struct harness *h, const char *name, struct run *of, int profiled,
                          bool by_thread);
/* Runs the program of NAME.c for so many seconds, and at least so often. */
bool harness_run(const struct harness *h, const char *name, double seconds, int least, bool peak,
                 int call_count, struct harness_times *times);

/* These files of the runtime lie in the folder (runtime_files.c): all may be there; the header and
 * the one of this name are. runtime_write returns false after an error. */
#define RUNTIME_TRACE "trace_file.c"
#define RUNTIME_THREADS "threads.c"
void runtime_expect(const struct harness *h);
bool runtime_write(const struct harness *h, const char *name);

/* These report EXIT_INTERNAL, or EXIT_IO where it is about files, unless a signal has asked to
 * stop: what runs then fails for that. They return false. */
bool harness_fail(const struct harness *h, enum exit_code code, const char *why);
bool harness_cannot_write(const struct harness *h);

#endif
