/* SPDX-License-Identifier: MIT */
/* What host.cpp knows of a generated model; a file that test/support/cuda.py writes has a table of these. */
#ifndef EXECUTOR_HOST_H
#define EXECUTOR_HOST_H
#ifndef __CUDACC__
#include "executor.h"
#endif
#include <stdint.h>

#ifndef DNNCC_ABI_1
#define DNNCC_ABI_1
struct dnncc_tensor_1 {
        const char *name;
        int32_t type, rank;
        const int64_t *shape;
        const char *const *symbols;
        uint64_t bytes;
};
struct dnncc_region_1 {
        const char *name;
        uint64_t size, align;
        int32_t kind;
};
struct dnncc_model_1 {
        uint32_t abi, struct_size;
        const char *name;
        uint32_t region_count, input_count, output_count, extent_count;
        const struct dnncc_region_1 *regions;
        const struct dnncc_tensor_1 *inputs, *outputs;
        int (*run)(void *const *regions, const void *const *inputs, void *const *outputs, int64_t *extents);
};
#endif

struct executor_model {
        const char *name;
        const struct dnncc_model_1 *(*describe)(void);
        int (*prepare)(void);
        int (*load)(void *weights, cudaStream_t stream);        /* NULL: there are none */
        int (*run)(void *const *pointers, cudaStream_t stream); /* regions, inputs, outputs */
        int (*status)(void *workspace, cudaStream_t stream);
};
extern const struct executor_model executor_models[];
extern const int executor_model_count;
#endif
