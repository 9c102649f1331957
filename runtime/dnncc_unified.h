/* SPDX-License-Identifier: MIT */
/* A machine with a unified buffer to try generated code on (--target=unified): the machine is
 * simulated, and so is memory that both it and the processor see.
 *
 *     struct dnncc_unified *device = dnncc_unified_new(1 << 24);
 *     void *workspace = dnncc_unified_memory(device, MODEL_WORKSPACE_SIZE), *program = dnncc_unified_memory(device, MODEL_PROGRAM_SIZE);
 *     error = model_prepare(workspace, program, device);
 *
 * The library, libdnncc_unified.a, has the five functions that the header of such code declares. */
#ifndef DNNCC_UNIFIED_H
#define DNNCC_UNIFIED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dnncc_unified;

/* bytes: of memory, up to 4 GiB. NULL: there is none. */
struct dnncc_unified *dnncc_unified_new(size_t bytes);
void dnncc_unified_free(struct dnncc_unified *device);          /* NULL is fine */
/* More of its memory, zeros at a multiple of 4096; NULL: there is too little left. */
void *dnncc_unified_memory(struct dnncc_unified *device, size_t bytes);
/* What the last launch ended with, in words; "" when it was well. */
const char *dnncc_unified_message(const struct dnncc_unified *device);
/* Cycles of all launches, as code says that they take. */
unsigned long long dnncc_unified_cycles(const struct dnncc_unified *device);

#ifdef __cplusplus
}
#endif

#endif
