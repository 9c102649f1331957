/* SPDX-License-Identifier: MIT */
/* Generated code for VTA can be tried here: the machine is simulated, and so is memory that both it
 * and the processor see.
 *
 *     struct dnncc_vta *device = dnncc_vta_new(NULL, 1 << 20);
 *     void *workspace = dnncc_vta_memory(device, MODEL_WORKSPACE_SIZE),
 *          *program = dnncc_vta_memory(device, MODEL_PROGRAM_SIZE);
 *     error = model_prepare(workspace, program, device);
 *
 * The library, libdnncc_vta.a, has the five functions that the header of such code declares. */
#ifndef DNNCC_VTA_H
#define DNNCC_VTA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dnncc_vta;

/* Makes a machine. sizes is "inp=16K,acc=64K", where the machine is not the default
 * (docs/accelerators.md), or NULL; bytes is the size of its memory, up to 4 GiB. Returns NULL where
 * there is no such machine, or no memory. */
struct dnncc_vta *dnncc_vta_new(const char *sizes, size_t bytes);
void dnncc_vta_free(struct dnncc_vta *device);          /* NULL is allowed. */
/* Returns more of its memory, zeros at a multiple of 4096, or NULL where there is too little
 * left. */
void *dnncc_vta_memory(struct dnncc_vta *device, size_t bytes);
/* Returns what the last launch ended with, in words, or "" when it was well. */
const char *dnncc_vta_message(const struct dnncc_vta *device);
/* Returns the cycles of all launches, as code says that they take. */
unsigned long long dnncc_vta_cycles(const struct dnncc_vta *device);

#ifdef __cplusplus
}
#endif

#endif
