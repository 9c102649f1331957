/* SPDX-License-Identifier: MIT */
/* The descriptor of a generated model (docs/interface.md), for programs of the tests that run any: what headers of models
 * declare, behind the same guard, in C and C++. */
#ifndef DNNCC_ABI_1
#define DNNCC_ABI_1
#include <stdint.h>

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
