/* SPDX-License-Identifier: MIT */
/* This is Turing, as the Tesla T4 has it (the numbers are its data sheet's; others published the
 * rates of the second-level cache and the times). */
#include "codegen/targets/cuda.h"
#include "ir/target/rates.h"

extern const struct target target_generic, target_cuda_sm_75;

static const struct gpu gpu = {
        .multiprocessors = 40,
        .clock = 1.59e9,
        .warps = 32,
        .registers = 65536,
        .shared_bytes = 65536,
        .l2_bytes = 4194304,
        .l2_rate = 1.3e12,
        .memory_rate = 3.2e11,
        .launch = 1.3e-6,
        .capability = 75,
};

static const struct rates rates = { .multiplies = (const struct multiply_rate[]){ { "mma_f16", 4 },
                                                                                  { 0 } } };
static const struct multiply multiplies[] = { CUDA_MMA("mma_f16", F16, F16, F32, 8, "add_product",
                                                       1),
                                              CUDA_ROW("row_f16", F16, F32, 8),
                                              { 0 } };

const struct target target_cuda_sm_75 = {
        .name = "cuda-sm_75",
        .doc = "CUDA C for GPUs from Turing on (RTX 20, T4)",
        .base = &target_generic,
        .engine = &engine_grid,
        .machine = CUDA_MACHINE,
        .gpu = &gpu,
        .rates = &rates,
        .multiplies = multiplies,
        .printer = &cuda_printer,
        .workspace_align = CUDA_ALIGN,
};
