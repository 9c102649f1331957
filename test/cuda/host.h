/* SPDX-License-Identifier: MIT */
/* What host.cpp knows of a generated model; a file that test/support/cuda.py writes has a table of these. */
#ifndef EXECUTOR_HOST_H
#define EXECUTOR_HOST_H
#ifndef __CUDACC__
#include "executor.h"
#endif
#include "../descriptor.h"

struct executor_model {
        const char *name;
        int kept;                       /* so many extents are state */
        const struct dnncc_model_1 *(*describe)(void);
        int (*prepare)(void);
        int (*load)(void *weights, cudaStream_t stream);        /* NULL: there are none */
        int (*run)(void *const *pointers, int64_t *extents, cudaStream_t stream); /* regions, inputs, outputs; extents: those that are state, then those of a run */
        int (*status)(void *workspace, cudaStream_t stream);
};
extern const struct executor_model executor_models[];
extern const int executor_model_count;
#endif
