/* SPDX-License-Identifier: MIT */
/* This is x86 with AVX-512 FP16: Sapphire Rapids (2023). vfmadd231ph adds twice as many products as
 * the instruction on floats, and rounds each sum to 11 bits: so at most 72 of them are added up in
 * this way, two channels of an output side by side, and then added to a sum in f32
 * (docs/quantization.md says how much precision is lost). */
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v4_bf16, target_x86_64_v4_fp16;

static const struct multiply multiplies[] = {
        X86_GROUPS("fp16_partial", 16, 2, F16, F16, F32, .body = "add_pair", .order = ORDER_PARTIAL, .instructions = 1,
                   .join = "join_pair", .partial = 72),
        { 0 }
};

static const struct c_spelling spellings[] = {
        X86_DOT_IN_PLACE("add_pair", U32, "add_pair_x16", "__m512i", "__m512i", "vfmadd231ph"),
        X86_DOT("join_pair", F32, "join_pair_x16($0, $1)",
                .definition =
                        "__m512 join_pair_x16(__m512 sum, __m512i run)\n"
                        "{\n"
                        "        const __m512i turned = _mm512_rol_epi32(run, 16);\n"
                        "        __asm__ (\"vaddph\\t%1, %0, %0\" : \"+v\"(run) : \"v\"(turned));\n"
                        "        return _mm512_add_ps(sum, "
                        "_mm512_cvtph_ps(_mm512_cvtepi32_epi16(run)));\n"
                        "}"),
        { .op = CAN_END }
};

const struct target target_x86_64_v4_fp16 = {
        .name = "x86-64-v4-fp16",
        .doc = "what x86-64-v4-bf16 has, and products of f16, short runs of which are added up in "
               "f16 (AVX-512 FP16)",
        .base = &target_x86_64_v4_bf16,
        .attribute = "avx512fp16,avx512bf16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,"
                     "bmi,bmi2,f16c",
        /* Before release 12, gcc's assembler (binutils 2.38) knows the instructions, and nothing
         * else must. */
        .gcc_attribute =
                "avx512bf16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
