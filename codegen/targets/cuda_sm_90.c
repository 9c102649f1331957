/* SPDX-License-Identifier: MIT */
/* This is Hopper, with the numbers of the H100 (its data sheet). Rates of the second-level cache
 * and of products were measured on an H200 (engines/grid/warp_cost.c); the times of dependent
 * launches, and of reads between blocks of a cluster of four or eight, on an H100
 * (test/bench/cuda/machine.cu). Where each block takes a whole multiprocessor, 66 clusters of two,
 * thirty of four or fifteen of eight are resident at a time (cudaOccupancyMaxActiveClusters). */
#include "codegen/targets/cuda.h"
#include "ir/target/rates.h"

extern const struct target target_cuda_sm_80, target_cuda_sm_90;

static const struct gpu gpu = {
        .multiprocessors = 132,
        .clock = 1.755e9,
        .warps = 64,
        .registers = 65536,
        .shared_bytes = 232448,
        .l2_bytes = 52428800,
        .l2_rate = 7.5e12,
        .memory_rate = 3.35e12,
        .cluster = 8,
        .clustered = 120,
        .cluster_rate = 3.33e12,
        .launch = 0.9e-6,
        .capability = 90,
        .bulk_copies = true,
        .dependent_launch = true,
};

static const struct rates rates = { .multiplies =
                                            (const struct multiply_rate[]){ { "mma_f16", 2.3 },
                                                                            { "mma_bf16", 2.3 },
                                                                            { "mma_s8", 2.3 },
                                                                            { "mma_u8", 2.3 },
                                                                            { "mma_tf32", 2.3 },
                                                                            { "mma_f32", 6.9 },
                                                                            { 0 } } };

const struct target target_cuda_sm_90 = {
        .name = "cuda-sm_90",
        .doc = "CUDA C for GPUs from Hopper on (H100, H200)",
        .base = &target_cuda_sm_80,
        .machine = CUDA_MACHINE,
        .gpu = &gpu,
        .rates = &rates,
};
