/* SPDX-License-Identifier: MIT */
/* This is Hopper with the instructions that only it has: products of four warps that read shared
 * memory themselves, and bulk copies. */
#include "codegen/targets/cuda.h"
#include "ir/target/rates.h"

extern const struct target target_cuda_sm_90, target_cuda_sm_90a;

/* wgmma.m64n8, four of them: a line of 128 bytes for each of 64 positions, and of 8 outputs; an
 * instruction has up to 256 outputs, whose sums take half of a lane's registers. The cycles are 0.8
 * of the data sheet's rate, as test/bench/cuda/groups_product.cu measured on an H200. */
#define CUDA_WGMMA(called, x_, w_, sum_, channels_) \
        { .name = called, .positions = 64, .outputs = 8, .depth = 1, .channels = channels_, \
          .x = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_WARP_GROUP }, \
          .w = { .memory = E_##w_, .word = E_##sum_, .source = SOURCE_WARP_GROUP }, \
          .sum = E_##sum_, .body = "add_product", .order = ORDER_APART, .instructions = 1, .registers = 32 }

static const struct rates rates = { .multiplies =
                                            (const struct multiply_rate[]){ { "wgmma_f16", 20 },
                                                                            { "wgmma_bf16", 20 },
                                                                            { "wgmma_s8", 20 },
                                                                            { "wgmma_u8", 20 },
                                                                            { 0 } } };
static const struct multiply multiplies[] = { CUDA_WGMMA("wgmma_f16", F16, F16, F32, 64),
                                              CUDA_WGMMA("wgmma_bf16", BF16, BF16, F32, 64),
                                              CUDA_WGMMA("wgmma_s8", I8, I8, I32, 128),
                                              CUDA_WGMMA("wgmma_u8", U8, I8, I32, 128),
                                              { 0 } };

const struct target target_cuda_sm_90a = {
        .name = "cuda-sm_90a",
        .doc = "CUDA C for GPUs of Hopper alone (H100, H200)",
        .base = &target_cuda_sm_90,
        .machine = CUDA_MACHINE,
        .rates = &rates,
        .multiplies = multiplies,
};
