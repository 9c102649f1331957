/* Every 64-bit x86: SSE2. */
#include "ir/target.h"

extern const struct target target_generic, target_x86_64;

const struct target target_x86_64 = {
        .name = "x86-64",
        .doc = "any 64-bit x86: SSE2",
        .base = &target_generic,
        .vector_bytes = 16,
        .vector_registers = 16,
        .include = "<immintrin.h>",
        .attribute = "sse2",
};
