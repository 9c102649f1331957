/* SPDX-License-Identifier: MIT */
/* What targets for NVIDIA's GPUs share. Kernels run in grid form; the host is any processor. */
#ifndef CODEGEN_TARGETS_CUDA_H
#define CODEGEN_TARGETS_CUDA_H

#include "codegen/cuda_printer.h"

enum { CUDA_ALIGN = 128 };              /* of memory: a transaction */
#define CUDA_MACHINE "defined(__CUDACC__)"

/* mma.sync.m16n8k16: words of 8 channels, 16 bytes in shared memory; 32 fragments of sums are half of a lane's registers */
#define CUDA_MMA(called, e) \
        { .name = called, .positions = 16, .outputs = 8, .depth = 2, .group = 8, \
          .x = { .memory = E_##e, .word = E_F32, .place = PLACE_WARP }, \
          .w = { .memory = E_##e, .word = E_F32, .place = PLACE_WARP }, \
          .sum = E_F32, .body = "add_product", .order = ORDER_APART, .instructions = 1, .registers = 32 }

#endif
