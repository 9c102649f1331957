/* SPDX-License-Identifier: MIT */
/* Targets for NVIDIA's GPUs share this. Kernels run in grid form; the host may be any processor. */
#ifndef CODEGEN_TARGETS_CUDA_H
#define CODEGEN_TARGETS_CUDA_H

#include "codegen/cuda_printer.h"

enum { CUDA_ALIGN = 128 };              /* Memory is aligned to a transaction. */
#define CUDA_MACHINE "defined(__CUDACC__)"

/* mma.sync.m16n8 multiplies two words of 16 bytes in shared memory, for each of 16 positions and 8
 * outputs; 32 fragments of sums take half of a lane's registers. */
#define CUDA_MMA(called, x_, w_, sum_, channels_, function, count) \
        { .name = called, .positions = 16, .outputs = 8, .depth = 2, .channels = channels_, \
          .x = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_WARP }, \
          .w = { .memory = E_##w_, .word = E_##sum_, .source = SOURCE_WARP }, \
          .sum = E_##sum_, .body = function, .order = ORDER_APART, .instructions = count, .registers = 32 }

/* This multiply uses no tensor core: a lane multiplies a word of 16 bytes of w, in memory, by one
 * of x, in shared memory. A warp has four words and 8 outputs, and its lanes add up their sums when
 * these leave registers. It is for few positions, and stands after the rows of tensor cores. */
#define CUDA_ROW(called, x_, sum_, channels_) \
        { .name = called, .positions = 1, .outputs = 8, .depth = 4, .channels = channels_, \
          .x = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_WARP }, \
          .w = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_WARP }, \
          .sum = E_##sum_, .body = "add_product", .order = ORDER_APART, .instructions = channels_, .registers = 32 }

#endif
