/* SPDX-License-Identifier: MIT */
/* x86 with AVX-512 BF16, as Cooper Lake (2020), Zen 4 (2022) and Sapphire Rapids (2023) have it. */
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v4_vnni, target_x86_64_v4_bf16;

static const struct multiply multiplies[] = {
        X86_GROUPS("bf16_dot", 16, 2, BF16, BF16, F32, .body = "dot_bf16", .order = ORDER_SEQUENCE, .instructions = 1,
                   .flushes = true),
        { 0 }
};

static const struct c_spelling spellings[] = {
        X86_DOT_IN_PLACE("dot_bf16", F32, "dot_bf16_x16", "__m512", "__m512i", "vdpbf16ps"),
        /* The instruction treats subnormal numbers as zero, so those lanes are rounded as integers.
         * This is done without a test whether there are any: with branches, one for each of a
         * tile's sums, gcc keeps the sums in memory. */
        CONVERT(CAST, F32, BF16, "near_bf16_from_f32x16($0)",
                "__m256i near_bf16_from_f32x16(__m512 a)\n"
                "{\n"
                "        const __m512i bits = _mm512_castps_si512(a), below = "
                "_mm512_add_epi32(bits, _mm512_set1_epi32(32767));\n"
                "        const __mmask16 small = _mm512_fpclass_ps_mask(a, 0x20), odd = "
                "_mm512_test_epi32_mask(bits, _mm512_set1_epi32(65536));\n"
                "        const __m512i up = _mm512_mask_sub_epi32(below, odd, below, "
                "_mm512_set1_epi32(-1));\n"
                "        return _mm512_mask_cvtepi32_epi16((__m256i)_mm512_cvtneps_pbh(a), small, "
                "_mm512_srli_epi32(up, 16));\n"
                "}"),
        { .op = CAN_END }
};

const struct target target_x86_64_v4_bf16 = {
        .name = "x86-64-v4-bf16",
        .doc = "what x86-64-v4-vnni has, and products of bf16 (AVX-512 BF16)",
        .base = &target_x86_64_v4_vnni,
        .attribute =
                "avx512bf16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
