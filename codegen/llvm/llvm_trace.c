/* SPDX-License-Identifier: MIT */
/* Traces of runs of code in this process, by the runtime (runtime/trace.c). */
#include <stdlib.h>

#include "codegen/llvm/llvm_printer.h"
#include "runtime/dnncc_runtime.h"

static struct dnncc_kernel_1 *table;    /* The trace that is open has it. */

struct dnncc_trace *llvm_trace_open(const char *path, const struct print_kernel *kernels, int count,
                                    int threads)
{
        table = memory_alloc(((size_t)count + 1) * sizeof *table);
        for (int i = 0; i < count; i++)
                table[i] = (struct dnncc_kernel_1){
                        .name = kernels[i].name,
                        .nodes = kernels[i].nodes ? kernels[i].nodes : "",
                        .flops = kernels[i].flops,
                        .bytes = (uint64_t)kernels[i].bytes,
                        .workspace = (uint64_t)kernels[i].workspace,
                };
        struct dnncc_trace *trace = dnncc_trace_open(path, table, count);
        if (trace && threads > 1)
                dnncc_threads_observe(dnncc_trace_share);
        if (!trace)
                free(table);
        return trace;
}

void llvm_trace_kernel(struct dnncc_trace *trace, int kernel) { dnncc_trace_kernel(trace, kernel); }

bool llvm_trace_close(struct dnncc_trace *trace)
{
        dnncc_threads_observe(NULL);
        const bool fine = dnncc_trace_close(trace);
        free(table);
        return fine;
}
