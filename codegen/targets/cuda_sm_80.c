/* SPDX-License-Identifier: MIT */
/* This is Ampere, as the A100 has it (the numbers are its data sheet's; others published the rates
 * of the second-level cache and the times). */
#include "codegen/targets/cuda.h"
#include "ir/target/rates.h"

extern const struct target target_cuda_sm_75, target_cuda_sm_80;

static const struct gpu gpu = {
        .multiprocessors = 108,
        .clock = 1.41e9,
        .warps = 64,
        .registers = 65536,
        .shared_bytes = 166912,
        .l2_bytes = 41943040,
        .l2_rate = 4.0e12,
        .memory_rate = 1.555e12,
        .launch = 1.3e-6,
        .capability = 80,
};

static const struct rates rates = { .multiplies = (const struct multiply_rate[]){ { "mma_f16", 2 },
                                                                                  { "mma_bf16", 2 },
                                                                                  { "mma_s8", 2 },
                                                                                  { "mma_u8", 2 },
                                                                                  { "mma_tf32", 2 },
                                                                                  { "mma_f32", 6 },
                                                                                  { 0 } } };
static const struct multiply multiplies[] = {
        CUDA_MMA("mma_bf16", BF16, BF16, F32, 8, "add_product", 1), CUDA_MMA("mma_s8", I8, I8, I32, 16, "add_product", 1),
        CUDA_MMA("mma_u8", U8, I8, I32, 16, "add_product", 1),      CUDA_MMA("mma_tf32", TF32, TF32, F32, 4, "add_product", 1),
        CUDA_MMA("mma_f32", F32, F32, F32, 4, "add_parts", 3),      CUDA_ROW("row_bf16", BF16, F32, 8),
        CUDA_ROW("row_f32", F32, F32, 4), { 0 }
};

const struct target target_cuda_sm_80 = {
        .name = "cuda-sm_80",
        .doc = "CUDA C for GPUs from Ampere on (A100)",
        .base = &target_cuda_sm_75,
        .machine = CUDA_MACHINE,
        .gpu = &gpu,
        .rates = &rates,
        .multiplies = multiplies,
};
