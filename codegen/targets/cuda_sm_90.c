/* SPDX-License-Identifier: MIT */
/* Hopper, as the H100 is (its data sheet). Rates of the second cache and of products, and what a launch in a graph takes, were measured on an
 * H200 (cost/warps.c). What a cluster reads is from Luo et al., "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and
 * Multiple Level Analysis" (2025), for clusters of four. */
#include "codegen/targets/cuda.h"
#include "ir/rates.h"

extern const struct target target_cuda_sm_80, target_cuda_sm_90;

static const struct grid_machine machine = {
        .multiprocessors = 132,
        .clock = 1.755e9,
        .warps = 64,
        .registers = 65536,
        .shared_bytes = 232448,
        .l2_bytes = 52428800,
        .l2_rate = 7.5e12,
        .memory_rate = 3.35e12,
        .cluster = 8,
        .neighbours = 16,
        .cluster_rate = 2.65e12,
        .launch = 1.0e-6,
        .barrier = 1.5e-6,
        .capability = 90,
        .runs = true,
        .early = true,
};

static const struct rates rates = { .multiplies = (const struct multiply_rate[]){ { "mma_f16", 2.3 }, { "mma_bf16", 2.3 }, { "mma_s8", 2.3 }, { "mma_u8", 2.3 }, { "mma_tf32", 2.3 }, { "mma_f32", 6.9 }, { 0 } } };

const struct target target_cuda_sm_90 = {
        .name = "cuda-sm_90",
        .doc = "CUDA C for GPUs from Hopper on (H100, H200)",
        .base = &target_cuda_sm_80,
        .machine = CUDA_MACHINE,
        .grid = &machine,
        .rates = &rates,
};
