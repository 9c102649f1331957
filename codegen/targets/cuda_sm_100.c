/* SPDX-License-Identifier: MIT */
/* Blackwell, with the numbers of the B200 (its data sheet; rates of the second-level cache and
 * times are those of Hopper). */
#include "codegen/targets/cuda.h"

extern const struct target target_cuda_sm_90, target_cuda_sm_100;

static const struct gpu gpu = {
        .multiprocessors = 148,
        .clock = 1.85e9,
        .warps = 64,
        .registers = 65536,
        .shared_bytes = 232448,
        .l2_bytes = 132120576,
        .l2_rate = 5.5e12,
        .memory_rate = 7.7e12,
        .cluster = 8,
        .clustered = 120,
        .cluster_rate = 2.65e12,
        .launch = 1.3e-6,
        .capability = 100,
        .bulk_copies = true,
        .dependent_launch = true,
};

const struct target target_cuda_sm_100 = {
        .name = "cuda-sm_100",
        .doc = "CUDA C for GPUs from Blackwell on (B200)",
        .base = &target_cuda_sm_90,
        .machine = CUDA_MACHINE,
        .gpu = &gpu,
};
