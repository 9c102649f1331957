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

/* What models are described by is what generated code has, too (docs/interface.md). Where runs give
 * extents, symbols has [rank] names or expressions of them, and NULL where a dimension is fixed. */
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

/* Of a model with state abi is 2, and what describes it is the first member of a dnncc_model_2, to
 * which its address may be cast: states are the arrays and extents that last from one run to the
 * next, and say where in the region of kind 1 they lie. */
#ifndef DNNCC_ABI_2
#define DNNCC_ABI_2
struct dnncc_state_2 {
        const char *name, *next;        /* the model's input, and the output that is its next
                                         * value; an extent that tensors are made of, and NULL */
        int32_t type;                   /* ONNX TensorProto.DataType */
        int32_t rank;
        const int64_t *shape;           /* of its memory; NULL if rank is 0 */
        const char *const *symbols;     /* how far it is in use; NULL: wholly */
        uint64_t offset, bytes;
};
struct dnncc_model_2 {
        struct dnncc_model_1 model;
        uint32_t state_count;
        const struct dnncc_state_2 *states;
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

/* Describes the model's inputs and outputs, without those that are state, and says how many extents
 * a run has. All memory is the model's own: the one region that there may be is the state, and run
 * is NULL. The description is valid until dnncc_free. */
const struct dnncc_model_1 *dnncc_describe(const struct dnncc_model *model);

/* Returns the entry of this name of a model that was loaded with --entry=NAME:DIM=N..; NULL: there
 * is none. dnncc_load returns the first one; any of them may be asked. Entries are models of their
 * own that share constants and state: one of them runs at a time. dnncc_free of the first one frees
 * all, and of others does nothing. */
struct dnncc_model *dnncc_entry(struct dnncc_model *model, const char *name);

/* Returns the state of a model that was loaded with --state: regions[0].size bytes of the model's,
 * at a multiple of 64, that its description says the members of; NULL: it has none. A run goes on
 * from what is there and leaves its own. Zero bytes, which are there at first, begin a sequence. A
 * copy of all bytes goes on by itself, in any load of the model with the same options and in code
 * that the same dnncc generated of it. The bytes are the caller's while no run is going on. After a
 * run that failed within the model what the arrays hold is not known. */
void *dnncc_state(struct dnncc_model *model);

/* Runs the model on dense arrays of row-major order, aligned as their elements are: inputs are in
 * the order of their descriptions and stay as they are, outputs have room for `bytes` of theirs.
 * Texts (type 8) end with a NUL: an input is an array of pointers to them, which may have less than
 * `bytes` / count chars each; an output has `bytes` / count chars for each text, one after the
 * other. extents has the values of the model's extents, and gets those that the run counts; NULL is
 * allowed where there are none. Returns 0, or a code below 0, which dnncc_error_text
 * (dnncc_runtime.h) has words for. */
int dnncc_run(struct dnncc_model *model, const void *const *inputs, void *const *outputs,
              int64_t *extents);

void dnncc_free(struct dnncc_model *model);     /* No run may be going on; NULL is allowed. */

#ifdef __cplusplus
}
#endif

#endif
