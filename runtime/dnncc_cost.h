/* SPDX-License-Identifier: MIT */
/* libdnncc_cost predicts what models cost on a target, in the process of a program that looks for
 * one: no code is made, and no file is written.
 *
 *     struct dnncc_error error;
 *     struct dnncc_cost *cost = dnncc_cost("model.onnx", options, &error);
 *     if (cost)
 *             printf("%.0f cycles\n", cost->cycles);
 *     dnncc_cost_free(cost);
 *
 * It says what `dnncc --cost=json` says. Link with libdnncc_cost (pkg-config dnncc-cost). Functions
 * may be called by several threads, which wait for each other. Nothing here ends the process,
 * writes to its streams or changes its signals. */
#ifndef DNNCC_COST_H
#define DNNCC_COST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DNNCC_ERROR
#define DNNCC_ERROR
/* Says why a model was refused. code is what dnncc would exit with: 1 for options that are wrong, 2
 * for a file that cannot be read, 3 for an invalid model, 4 for what is not supported, 5 for limits
 * and memory, 70 for a bug of dnncc's. */
struct dnncc_error { int code; char text[1000]; };
#endif

/* A kernel of a run: what it computes with its extents, and how often it is called. The others are
 * of one call; cycles are those of a core, bytes are those of its parameters, in which constants
 * are counted, too. */
struct dnncc_kernel_cost {
        const char *computes;
        double times, cycles, operations;
        int64_t read, constants, written;
};

/* A run of a model, all entries of which count; bytes of constants, and of the workspace. */
struct dnncc_cost {
        double cycles, operations;
        int64_t constants, workspace;
        size_t kernel_count;
        const struct dnncc_kernel_cost *kernels;          /* In the order of their calls. */
};

/* Predicts what a model costs: an ONNX model or a text of Tensor IR (.dnn), from a file or from
 * memory. options are those of the command line that shape code, up to a NULL: "--target=cortex-m4"
 * (it is generic unless said), "--threads=2", "--dim=N=1"; NULL stands for none. They return what
 * dnncc_cost_free frees, or NULL after an error; error may be NULL. */
struct dnncc_cost *dnncc_cost(const char *path, const char *const *options,
                              struct dnncc_error *error);
struct dnncc_cost *dnncc_cost_memory(const void *bytes, size_t length, const char *const *options,
                                     struct dnncc_error *error);
void dnncc_cost_free(struct dnncc_cost *cost);  /* NULL is allowed. */

#ifdef __cplusplus
}
#endif

#endif
