/* SPDX-License-Identifier: MIT */
/* What targets for NVIDIA's GPUs share. Kernels run in grid form; the host is any processor. */
#ifndef CODEGEN_TARGETS_CUDA_H
#define CODEGEN_TARGETS_CUDA_H

#include "codegen/cuda_printer.h"

enum { CUDA_ALIGN = 128 };              /* of memory: a transaction */
#define CUDA_MACHINE "defined(__CUDACC__)"

/* mma.sync.m16n8: two words of 16 bytes in shared memory, for each of 16 positions and 8 outputs; 32 fragments of sums are half of
 * a lane's registers */
#define CUDA_MMA(called, x_, w_, sum_, channels, function, count) \
        { .name = called, .positions = 16, .outputs = 8, .depth = 2, .group = channels, \
          .x = { .memory = E_##x_, .word = E_##sum_, .place = PLACE_WARP }, \
          .w = { .memory = E_##w_, .word = E_##sum_, .place = PLACE_WARP }, \
          .sum = E_##sum_, .body = function, .order = ORDER_APART, .instructions = count, .registers = 32 }

#endif
