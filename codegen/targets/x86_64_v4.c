/* x86 with 512-bit vectors: Skylake-SP (2017), Zen 4 (2022) and later. */
#include "ir/target.h"

extern const struct target target_x86_64_v3, target_x86_64_v4;

const struct target target_x86_64_v4 = {
        .name = "x86-64-v4",
        .doc = "x86 servers, Zen 4: AVX-512 F, BW, DQ, VL",
        .base = &target_x86_64_v3,
        .vector_bytes = 64,
        .vector_registers = 32,
        .has_masks = true,
        .l2_bytes = 1048576,
        .attribute = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,lzcnt,f16c",
};
