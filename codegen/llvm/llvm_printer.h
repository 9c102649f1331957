/* SPDX-License-Identifier: MIT */
/* The printer of Loop IR through LLVM's C interface, and what runs its code in this process.
 * docs/jit.md says what it is for. The shared library of LLVM is loaded when one of these functions
 * is called first. Where there is none, or dnncc was built without LLVM's headers, they report
 * EXIT_UNSUPPORTED, and name the package. */
#ifndef CODEGEN_LLVM_LLVM_PRINTER_H
#define CODEGEN_LLVM_LLVM_PRINTER_H

#include "codegen/printer.h"

/* How much LLVM works on code. */
enum llvm_level {
        LLVM_LEVEL_FAST,                /* No passes are run, and instructions are selected one by
                                         * one. */
        LLVM_LEVEL_BEST,                /* The passes of llvm_module.c are run. */
        LLVM_LEVEL_OBJECT               /* More are, for a file. */
};

/* What keeps objects from one process to the next. The identity is a text of all but the program
 * that they depend on. find fills in at most LLVM_OBJECTS_MAX, which stay where they are while code
 * is loaded, and returns how many: 0 where there are none. */
enum { LLVM_OBJECTS_MAX = 16 };
struct llvm_bytes { const void *bytes; size_t length; };
struct llvm_store {
        int (*find)(void *context, const char *identity, struct llvm_bytes *objects);
        void (*keep)(void *context, const char *identity, const struct llvm_bytes *objects,
                     int count);
        void *context;
};

/* What times code. `after` is called as dnncc_profile is (docs/interface.md): with -1 as a run
 * begins, then with K after the K-th call of a kernel, counted over the text of all entries; NULL:
 * runs alone are timed. All memory of a run, constants too, lies on huge pages: which ones get them
 * by themselves is luck. */
struct llvm_watch { void (*after)(void *context, int kernel); void *context; };

struct llvm_options {
        enum llvm_level level;
        int threads;                    /* Parallel loops run on so many, by dnncc_parallel
                                         * (runtime/dnncc_runtime.h); 1 or less: they are plain
                                         * loops. */
        /* In this process, so many threads make code, one for so many statements and expressions of
         * kernels; 0: as many as there are processors, and for as many as are worth a thread. */
        int compilers;
        int64_t module_nodes;
        const struct llvm_store *store; /* Objects are looked for there; or NULL. */
        const struct llvm_watch *watch; /* Or NULL. With `after` no object is looked for or kept. */
        bool perf_map;                  /* perf is told where functions are. */
};

bool llvm_is_here(void);                /* Returns whether LLVM can be loaded; says nothing. */

/* Returns the text of the program's kernels and main of the entry at p->at, as LLVM prints it, in
 * the arena, verified; NULL after one error. */
const char *llvm_text(struct arena *arena, const struct loop_program *p, const struct target *t,
                      struct diag *diag);

/* Writes the program with the contract of the C file, all entries, and the header and the weights
 * that the C would have beside it; header may be NULL. The triple is that of the file, or NULL: the
 * target's own. Returns false after one error. */
enum llvm_format { LLVM_FORMAT_TEXT, LLVM_FORMAT_BITCODE, LLVM_FORMAT_OBJECT, LLVM_FORMAT_ASM };
bool llvm_emit(enum llvm_format format, FILE *out, FILE *header, const struct loop_program *p,
               const struct print_options *options, const char *triple, struct diag *diag);

struct llvm_jit;                        /* A program that was compiled in this process. */
/* Compiles the entry at p->at for this processor, which can run code for the target. Constants stay
 * where they are: p must live as long. NULL after one error. */
struct llvm_jit *llvm_jit_new(const struct loop_program *p, const struct target *t,
                              const struct llvm_options *options, struct diag *diag);
void llvm_jit_free(struct llvm_jit *jit);
/* Runs it as interp_run does (ir/interp/interp.h): inputs[] and outputs[] are the entry's, in the
 * program's buffer order, state in both. extents[] has the values of the program's extents, and
 * gets those that the run counts. One run at a time: its memory is the program's own. Returns 0, or
 * the code of a FAIL. */
int llvm_jit_run(struct llvm_jit *jit, int64_t *extents, const void *const *inputs,
                 void *const *outputs);

/* Returns memory on huge pages, of zeros, for free(); NULL: there is none. */
void *llvm_memory(size_t bytes);

/* What the machine does at best: code of multiply-adds of floats for a target, in this process.
 * llvm_peak_time runs it on so many threads, and returns operations a second. */
struct llvm_peak;
struct llvm_peak *llvm_peak_new(const struct target *t, int lanes, int threads, struct diag *diag);
double llvm_peak_time(struct llvm_peak *peak);
void llvm_peak_free(struct llvm_peak *peak);

/* Writes a trace of runs to a file, between these two (runtime/dnncc_runtime.h): llvm_trace_kernel
 * notes what a watch is told. llvm_trace_open returns NULL and sets errno where it cannot. */
struct dnncc_trace;
struct dnncc_trace *llvm_trace_open(const char *path, const struct print_kernel *kernels, int count,
                                    int threads);
void llvm_trace_kernel(struct dnncc_trace *trace, int kernel);
bool llvm_trace_close(struct dnncc_trace *trace);

#endif
