/* SPDX-License-Identifier: MIT */
/* x86 with AVX-VNNI, as Alder Lake (2021), Zen 5 (2024) and later have it. */
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v3, target_x86_64_v3_vnni;

static const struct multiply multiplies[] = { X86_VNNI(8), { 0 } };

static const struct c_spelling spellings[] = {
        X86_DOT_IN_PLACE("dot_u8_i8", I32, "dot_u8_i8_x8", "__m256i", "__m256i", "%{vex%} vpdpbusd"),
        X86_DOT_OF("dot_i8_u8", I32, "dot_i8_u8_x8", "__m256i", "__m256i", "%{vex%} vpdpbusd", "%1, %2"),
        { .op = CAN_END }
};

const struct target target_x86_64_v3_vnni = {
        .name = "x86-64-v3-vnni",
        .doc = "what x86-64-v3 has, and products of bytes (AVX-VNNI)",
        .base = &target_x86_64_v3,
        .attribute = "avxvnni,avx2,fma,bmi,bmi2,f16c",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
