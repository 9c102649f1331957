/* SPDX-License-Identifier: MIT */
/* Generated code for a machine with a unified buffer can be tried here (--target=unified): the
 * machine is simulated, and so is memory that both it and the processor see.
 *
 *     struct dnncc_unified *device = dnncc_unified_new(1 << 24);
 *     void *workspace = dnncc_unified_memory(device, MODEL_WORKSPACE_SIZE),
 *          *program = dnncc_unified_memory(device, MODEL_PROGRAM_SIZE);
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

/* Makes a machine with so many bytes of memory, up to 4 GiB. Returns NULL where there is none. */
struct dnncc_unified *dnncc_unified_new(size_t bytes);
void dnncc_unified_free(struct dnncc_unified *device);          /* NULL is allowed. */
/* Returns more of its memory, zeros at a multiple of 4096, or NULL where there is too little
 * left. */
void *dnncc_unified_memory(struct dnncc_unified *device, size_t bytes);
/* Returns what the last launch ended with, in words, or "" when it was well. */
const char *dnncc_unified_message(const struct dnncc_unified *device);
/* Returns the cycles of all launches, as code says that they take. */
unsigned long long dnncc_unified_cycles(const struct dnncc_unified *device);

#ifdef __cplusplus
}
#endif

#endif
