/* x86 since Haswell (2013) and Excavator (2015): AVX2 and FMA. */
#include "ir/target.h"

extern const struct target target_x86_64, target_x86_64_v3;

const struct target target_x86_64_v3 = {
        .name = "x86-64-v3",
        .doc = "x86 of the last ten years: AVX2, FMA",
        .base = &target_x86_64,
        .vector_bytes = 32,
        .has_fma = true,
        .attribute = "avx2,fma,bmi,bmi2,lzcnt,f16c",
};
