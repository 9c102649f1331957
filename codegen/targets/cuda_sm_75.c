/* SPDX-License-Identifier: MIT */
/* Turing, as the Tesla T4 is (its data sheet; rates of the second cache and times are those that others measured). */
#include "codegen/targets/cuda.h"

extern const struct target target_generic, target_cuda_sm_75;

static const struct grid_machine machine = {
        .multiprocessors = 40,
        .warps = 32,
        .registers = 65536,
        .shared_bytes = 65536,
        .l2_bytes = 4194304,
        .l2_rate = 1.3e12,
        .memory_rate = 3.2e11,
        .launch = 1.3e-6,
        .barrier = 1.5e-6,
        .capability = 75,
};

const struct target target_cuda_sm_75 = {
        .name = "cuda-sm_75",
        .doc = "CUDA C for GPUs from Turing on (RTX 20, T4)",
        .base = &target_generic,
        .machine = CUDA_MACHINE,
        .grid = &machine,
        .printer = &cuda_printer,
        .workspace_align = CUDA_ALIGN,
};
