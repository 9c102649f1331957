/* SPDX-License-Identifier: MIT */
/* What llvm_printer.h promises, of a dnncc that was built without LLVM's headers: the Makefile
 * takes this file in place of the others. */
#include "codegen/llvm/llvm_printer.h"

#include <errno.h>
#include <stdlib.h>

static void *report(struct diag *diag)
{
        diag_error(diag, EXIT_UNSUPPORTED,
                   "this dnncc was built without LLVM: install llvm-dev, as Debian calls it, and "
                   "build it again");
        return NULL;
}

const char *llvm_text(struct arena *arena, const struct loop_program *p, const struct target *t,
                      struct diag *diag)
{
        (void)arena;
        (void)p;
        (void)t;
        return report(diag);
}

struct llvm_jit *llvm_jit_new(const struct loop_program *p, const struct target *t,
                              const struct llvm_options *options, struct diag *diag)
{
        (void)p;
        (void)t;
        (void)options;
        return report(diag);
}

void llvm_jit_free(struct llvm_jit *jit) { (void)jit; }

bool llvm_is_here(void) { return false; }

void *llvm_memory(size_t bytes) { return calloc(1, bytes + 1); }

struct llvm_peak *llvm_peak_new(const struct target *t, int lanes, int threads, struct diag *diag)
{
        (void)t;
        (void)lanes;
        (void)threads;
        return report(diag);
}

double llvm_peak_time(struct llvm_peak *peak)
{
        (void)peak;
        return 0;
}

void llvm_peak_free(struct llvm_peak *peak) { (void)peak; }

struct dnncc_trace *llvm_trace_open(const char *path, const struct print_kernel *kernels, int count,
                                    int threads)
{
        (void)path;
        (void)kernels;
        (void)count;
        (void)threads;
        errno = ENOSYS;
        return NULL;
}

void llvm_trace_kernel(struct dnncc_trace *trace, int kernel)
{
        (void)trace;
        (void)kernel;
}

bool llvm_trace_close(struct dnncc_trace *trace) { return !trace; }

int llvm_jit_run(struct llvm_jit *jit, int64_t *extents, const void *const *inputs,
                 void *const *outputs)
{
        (void)jit;
        (void)extents;
        (void)inputs;
        (void)outputs;
        return EXIT_INTERNAL;
}

bool llvm_emit(enum llvm_format format, FILE *out, FILE *header, const struct loop_program *p,
               const struct print_options *options, const char *triple, struct diag *diag)
{
        (void)format;
        (void)out;
        (void)header;
        (void)p;
        (void)options;
        (void)triple;
        return report(diag) != NULL;
}
