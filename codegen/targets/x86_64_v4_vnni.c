/* SPDX-License-Identifier: MIT */
/* x86 with AVX-512 VNNI, as Cascade Lake (2019), Zen 4 (2022) and later have it. */
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v4, target_x86_64_v4_vnni;

static const struct multiply multiplies[] = { X86_VNNI(16), { 0 } };

static const struct c_spelling spellings[] = {
        X86_DOT_IN_PLACE("dot_u8_i8", I32, "dot_u8_i8_x16", "__m512i", "__m512i", "vpdpbusd"),
        X86_DOT_OF("dot_i8_u8", I32, "dot_i8_u8_x16", "__m512i", "__m512i", "vpdpbusd", "%1, %2"),
        { .op = CAN_END }
};

const struct target target_x86_64_v4_vnni = {
        .name = "x86-64-v4-vnni",
        .doc = "what x86-64-v4 has, and products of bytes (AVX-512 VNNI)",
        .base = &target_x86_64_v4,
        .attribute = "avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
