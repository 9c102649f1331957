/* SPDX-License-Identifier: MIT */
/* libdnncc_jit compiles models while a program runs, through LLVM, and runs them in it: no C
 * compiler is called, and no file is written.
 *
 *     struct dnncc_error error;
 *     struct dnncc_model *model = dnncc_load("model.onnx", NULL, &error);
 *     if (!model)
 *             fprintf(stderr, "%s\n", error.text);
 *     ...
 *     code = dnncc_run(model, inputs, outputs, NULL);
 *     dnncc_free(model);
 *
 * Link with libdnncc_jit and libdnncc_runtime (pkg-config dnncc-jit, CMake's dnncc::jit). LLVM's
 * shared library is loaded by the first dnncc_load, and stays. Nothing here ends the process,
 * writes to its streams or changes its signals.
 *
 * All functions may be called by several threads at a time. Models are loaded one after the other;
 * several models run at the same time, and runs of one model wait for each other. */
#ifndef DNNCC_JIT_H
#define DNNCC_JIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What models are described by is what generated code has, too (docs/interface.md). */
#ifndef DNNCC_ABI_1
#define DNNCC_ABI_1
struct dnncc_tensor_1 {
        const char *name;               /* in the model */
        int32_t type;                   /* ONNX TensorProto.DataType */
        int32_t rank;
        const int64_t *shape;           /* bounds where dynamic; NULL if rank is 0 */
        const char *const *symbols;     /* NULL if static */
        uint64_t bytes;
};
struct dnncc_region_1 {
        const char *name;
        uint64_t size, align;
        int32_t kind;                   /* 0 scratch, 1 state, 2 weights, 3 device */
};
struct dnncc_model_1 {
        uint32_t abi, struct_size;
        const char *name;
        uint32_t region_count, input_count, output_count, extent_count;
        const struct dnncc_region_1 *regions;
        const struct dnncc_tensor_1 *inputs, *outputs;
        int (*run)(void *const *regions, const void *const *inputs, void *const *outputs,
                int64_t *extents);
};
#endif

struct dnncc_model;

#ifndef DNNCC_ERROR
#define DNNCC_ERROR
/* Says why a model was refused. code is what dnncc would exit with: 1 for options that are wrong, 2
 * for a file that cannot be read, 3 for an invalid model, 4 for what is not supported, 5 for limits
 * and memory, 70 for a bug of dnncc's. */
struct dnncc_error { int code; char text[1000]; };
#endif

/* Loads an ONNX model, or a text of dnncc's own (.dnn, .loops), from a file or from memory, which
 * need not stay. options are those of the command line that shape code, up to a NULL:
 * "--target=x86-64-v3" (it is native unless said), "--threads=2", "--dim=N=1", "--jit=fast"; NULL
 * stands for none. They return NULL after an error; error may be NULL. */
struct dnncc_model *dnncc_load(const char *path, const char *const *options,
                               struct dnncc_error *error);
struct dnncc_model *dnncc_load_memory(const void *bytes, size_t length, const char *const *options,
                                      struct dnncc_error *error);

/* Describes the model's inputs and outputs, and says how many extents a run has. There are no
 * regions, since the model has memory of its own, and run is NULL. It is valid until dnncc_free. */
const struct dnncc_model_1 *dnncc_describe(const struct dnncc_model *model);

/* Runs the model on dense arrays of row-major order, aligned as their elements are: outputs have
 * room for `bytes` of their descriptions. extents has the values of the model's extents, and gets
 * those that the run counts; NULL is allowed where there are none. Returns 0, or a code below 0,
 * which dnncc_error_text (dnncc_runtime.h) has words for. */
int dnncc_run(struct dnncc_model *model, const void *const *inputs, void *const *outputs,
              int64_t *extents);

void dnncc_free(struct dnncc_model *model);     /* No run may be going on; NULL is allowed. */

#ifdef __cplusplus
}
#endif

#endif
