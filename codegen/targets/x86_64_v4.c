/* SPDX-License-Identifier: MIT */
/* This is x86 with 512-bit vectors: Skylake-SP (2017), Zen 4 (2022) and later. Truth values are
 * mask registers. */
#include "ir/target/rates.h"
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64_v3, target_x86_64_v4;

#define COMPARE(op, predicate, name) \
        OP(op, F32, "_mm512_cmp_ps_mask($0, $1, _CMP_" predicate ")"), \
        OP(op, I32, "_mm512_cmp" name "_epi32_mask($0, $1)"), \
        OP(op, U32, "_mm512_cmp" name "_epu32_mask($0, $1)")
#define EXTREME(operation, name, instruction) \
        OP(operation, F32, name "_f32x16($0, $1)", \
           "__m512 " name "_f32x16(__m512 a, __m512 b)\n" \
           "{\n" \
           "        const __mmask16 nan = _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q);\n" \
           "        return _mm512_mask_mov_ps(" instruction "(b, a), nan, b);\n" \
           "}")
#define EXTREME_LANE(operation, name, wide, narrow, single) \
        OP(operation, F32, name "_lanes_f32x16($0)", \
           "float " name "_lanes_f32x16(__m512 a)\n" \
           "{\n" \
           "        const __m256 b = " wide "(_mm512_extractf32x8_ps(a, 1), _mm512_castps512_ps256(a));\n" \
           "        const __m128 c = " narrow "(_mm256_extractf128_ps(b, 1), _mm256_castps256_ps128(b));\n" \
           "        const __m128 d = " narrow "(_mm_movehl_ps(c, c), c);\n" \
           "        const __m128 e = " single "(_mm_shuffle_ps(d, d, 1), d);\n" \
           "        const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);\n" \
           "        return _mm_cvtss_f32(nan ? _mm_castsi128_ps(_mm_set1_epi32(0x7fc00000)) : e);\n" \
           "}")
#define ROUND(name, mode) MATH(name, F32, "_mm512_roundscale_ps($0, " mode " | _MM_FROUND_NO_EXC)")
#define WORDS(e, result) \
        OP(MUL, e, "_mm512_mullo_epi32($0, $1)"), \
        OP(SHL, e, "_mm512_sllv_epi32($0, $1)"), \
        OP(SELECT, e, "_mm512_mask_blend_epi32($0, $2, $1)"), \
        OP(SUM_LANES, e, result "_mm512_reduce_add_epi32($0)"), \
        ROW(CAN_LOAD_MASKED, e, "_mm512_maskz_loadu_epi32($1, $0)"), \
        ROW(CAN_STORE_MASKED, e, "_mm512_mask_storeu_epi32($0, $2, $1)"), \
        ROW(CAN_GATHER, e, "_mm512_i32gather_epi32($1, $0, 4)"), \
        ROW(CAN_GATHER_MASKED, e, \
            "_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), $2, $1, $0, 4)"), \
        ROW(CAN_SCATTER, e, "_mm512_i32scatter_epi32($0, $1, $2, 4)"), \
        ROW(CAN_SCATTER_MASKED, e, "_mm512_mask_i32scatter_epi32($0, $3, $1, $2, 4)"), \
        CONVERT(CAST, BOOL, e, "_mm512_maskz_set1_epi32($0, 1)")
/* Sixteen bytes fill a 128-bit register, sixteen half words one of 256 bits. */
#define BYTES(e) \
        ROW(CAN_TYPE, e, "__m128i"), \
        ROW(CAN_ZERO, e, "_mm_setzero_si128()"), \
        OP(SPLAT, e, "_mm_set1_epi8((char)($0))"), \
        OP(LOAD, e, "_mm_loadu_si128((const void *)$0)"), \
        ROW(CAN_STORE, e, "_mm_storeu_si128((void *)$0, $1)"), \
        ROW(CAN_LOAD_MASKED, e, "_mm_maskz_loadu_epi8($1, $0)"), \
        ROW(CAN_STORE_MASKED, e, "_mm_mask_storeu_epi8($0, $2, $1)"), \
        CONVERT(CAST, I32, e, "_mm512_cvtepi32_epi8($0)"), \
        CONVERT(CAST, U32, e, "_mm512_cvtepi32_epi8($0)")
#define HALVES(e) \
        ROW(CAN_TYPE, e, "__m256i"), \
        ROW(CAN_ZERO, e, "_mm256_setzero_si256()"), \
        OP(SPLAT, e, "_mm256_set1_epi16((short)($0))"), \
        OP(LOAD, e, "_mm256_loadu_si256((const void *)$0)"), \
        ROW(CAN_STORE, e, "_mm256_storeu_si256((void *)$0, $1)"), \
        ROW(CAN_LOAD_MASKED, e, "_mm256_maskz_loadu_epi16($1, $0)"), \
        ROW(CAN_STORE_MASKED, e, "_mm256_mask_storeu_epi16($0, $2, $1)")
#define WEAVE_HALF_WORDS(e) \
        OP(INTERLEAVE_LOW, e, \
           "_mm256_permutex2var_epi16($0, _mm256_setr_epi16(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), $1)"), \
        OP(INTERLEAVE_HIGH, e, \
           "_mm256_permutex2var_epi16($0, _mm256_setr_epi16(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), $1)")
#define HALF_WORDS(e) \
        HALVES(e), \
        CONVERT(CAST, I32, e, "_mm512_cvtepi32_epi16($0)"), \
        CONVERT(CAST, U32, e, "_mm512_cvtepi32_epi16($0)")
#define WIDEN(from, name) \
        CONVERT(CAST, from, I32, "_mm512_cvt" name "_epi32($0)"), \
        CONVERT(CAST, from, U32, "_mm512_cvt" name "_epi32($0)")

static const struct c_spelling spellings[] = {
        X86_COMMON("_mm512_", "__m512", "__m512i", "si512"),
        WORDS(I32, ""),
        WORDS(U32, "(uint32_t)"),
        OP(INTERLEAVE_LOW, F32,
           "_mm512_permutex2var_ps($0, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, "
           "6, 22, 7, 23), $1)"),
        OP(INTERLEAVE_HIGH, F32,
           "_mm512_permutex2var_ps($0, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, "
           "29, 14, 30, 15, 31), $1)"),
        OP(FMA, F32, "_mm512_fmadd_ps($0, $1, $2)"),
        ROW(CAN_FMA_LESS, F32, "_mm512_fmsub_ps($0, $1, $2)"),
        ROW(CAN_FMA_FROM, F32, "_mm512_fnmadd_ps($0, $1, $2)"),
        MATH("scale", F32, "_mm512_scalef_ps($0, $1)"),
        ROUND("floor", "_MM_FROUND_TO_NEG_INF"),
        ROUND("ceil", "_MM_FROUND_TO_POS_INF"),
        ROUND("trunc", "_MM_FROUND_TO_ZERO"),
        ROUND("round", "_MM_FROUND_TO_NEAREST_INT"),
        OP(SELECT, F32, "_mm512_mask_blend_ps($0, $2, $1)"),
        ROW(CAN_LOAD_MASKED, F32, "_mm512_maskz_loadu_ps($1, $0)"),
        ROW(CAN_STORE_MASKED, F32, "_mm512_mask_storeu_ps($0, $2, $1)"),
        ROW(CAN_GATHER, F32, "_mm512_i32gather_ps($1, $0, 4)"),
        ROW(CAN_GATHER_MASKED, F32, "_mm512_mask_i32gather_ps(_mm512_setzero_ps(), $2, $1, $0, 4)"),
        ROW(CAN_SCATTER, F32, "_mm512_i32scatter_ps($0, $1, $2, 4)"),
        ROW(CAN_SCATTER_MASKED, F32, "_mm512_mask_i32scatter_ps($0, $3, $1, $2, 4)"),
        EXTREME(MIN, "min", "_mm512_min_ps"),
        EXTREME(MAX, "max", "_mm512_max_ps"),
        OP(MIN, I32, "_mm512_min_epi32($0, $1)"),
        OP(MAX, I32, "_mm512_max_epi32($0, $1)"),
        OP(MIN, U32, "_mm512_min_epu32($0, $1)"),
        OP(MAX, U32, "_mm512_max_epu32($0, $1)"),
        OP(SHR, I32, "shr_i32x16($0, $1)",
           "__m512i shr_i32x16(__m512i a, __m512i b)\n"
           "{\n"
           "        return _mm512_maskz_srav_epi32(_mm512_cmplt_epu32_mask(b, "
           "_mm512_set1_epi32(32)), a, b);\n"
           "}"),
        OP(SHR, U32, "_mm512_srlv_epi32($0, $1)"),
        CONVERT(CAST, F32, I32, "i32_from_f32x16($0)",
                "__m512i i32_from_f32x16(__m512 a)\n"
                "{\n"
                "        const __mmask16 number = _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);\n"
                "        const __mmask16 large = _mm512_cmp_ps_mask(a, "
                "_mm512_set1_ps(2147483648.0f), _CMP_GE_OQ);\n"
                "        const __m512i b = _mm512_maskz_cvttps_epi32(number, a);\n"
                "        return _mm512_mask_mov_epi32(b, large, _mm512_set1_epi32(INT32_MAX));\n"
                "}"),
        CONVERT(CAST, F32, U32, "u32_from_f32x16($0)",
                "__m512i u32_from_f32x16(__m512 a)\n"
                "{\n"
                "        return _mm512_cvttps_epu32(_mm512_max_ps(a, _mm512_setzero_ps()));\n"
                "}"),
        CONVERT(CAST, F32, U8, "u8_from_f32x16($0)",
                "__m128i u8_from_f32x16(__m512 a)\n"
                "{\n"
                "        const __m512 b = _mm512_max_ps(a, _mm512_setzero_ps());\n"
                "        return _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(_mm512_min_ps(b, "
                "_mm512_set1_ps(255.0f))));\n"
                "}"),
        CONVERT(CAST, F32, I8, "i8_from_f32x16($0)",
                "__m128i i8_from_f32x16(__m512 a)\n"
                "{\n"
                "        const __mmask16 number = _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);\n"
                "        const __m512 b = _mm512_min_ps(_mm512_max_ps(a, _mm512_set1_ps(-128.0f)), "
                "_mm512_set1_ps(127.0f));\n"
                "        return _mm512_cvtepi32_epi8(_mm512_maskz_cvttps_epi32(number, b));\n"
                "}"),
        ROUNDED(F32, U8, "u8_rounded_f32x16($0)",
                "__m128i u8_rounded_f32x16(__m512 a)\n"
                "{\n"
                "        const __m512i b = "
                "_mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(255.0f), a));\n"
                "        return _mm512_cvtepi32_epi8(_mm512_max_epi32(b, "
                "_mm512_setzero_si512()));\n"
                "}"),
        ROUNDED(F32, I8, "i8_rounded_f32x16($0)",
                "__m128i i8_rounded_f32x16(__m512 a)\n"
                "{\n"
                "        const __mmask16 number = _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);\n"
                "        const __m512 b = _mm512_min_ps(a, _mm512_set1_ps(127.0f));\n"
                "        return _mm512_cvtsepi32_epi8(_mm512_maskz_cvtps_epi32(number, b));\n"
                "}"),
        CONVERT(CAST, U32, F32, "_mm512_cvtepu32_ps($0)"),
        OP(SUM_LANES, F32, "sum_lanes_f32x16($0)",
           "float sum_lanes_f32x16(__m512 a)\n"
           "{\n"
           "        const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), "
           "_mm512_extractf32x8_ps(a, 1));\n"
           "        const __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), "
           "_mm256_extractf128_ps(b, 1));\n"
           "        const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));\n"
           "        return _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps(d, d, 1)));\n"
           "}"),
        EXTREME_LANE(MIN_LANES, "min", "_mm256_min_ps", "_mm_min_ps", "_mm_min_ss"),
        EXTREME_LANE(MAX_LANES, "max", "_mm256_max_ps", "_mm_max_ps", "_mm_max_ss"),
        OP(MIN_LANES, I32, "_mm512_reduce_min_epi32($0)"),
        OP(MAX_LANES, I32, "_mm512_reduce_max_epi32($0)"),
        OP(MIN_LANES, U32, "_mm512_reduce_min_epu32($0)"),
        OP(MAX_LANES, U32, "_mm512_reduce_max_epu32($0)"),

        ROW(CAN_TYPE, BOOL, "__mmask16"),
        ROW(CAN_ZERO, BOOL, "0"),
        ROW(CAN_TRUTHS, BOOL, "(__mmask16)$0"),
        OP(SPLAT, BOOL, "(__mmask16)-($0)"),
        OP(LOAD, BOOL, "load_bool_x16($0)",
           "__mmask16 load_bool_x16(const void *x)\n"
           "{\n"
           "        const __m128i bytes = _mm_loadu_si128(x);\n"
           "        return _mm_test_epi8_mask(bytes, bytes);\n"
           "}"),
        ROW(CAN_STORE, BOOL, "_mm_storeu_si128((void *)$0, _mm_maskz_set1_epi8($1, 1))"),
        COMPARE(LT, "LT_OQ", "lt"),
        COMPARE(LE, "LE_OQ", "le"),
        COMPARE(GT, "GT_OQ", "gt"),
        COMPARE(GE, "GE_OQ", "ge"),
        COMPARE(EQ, "EQ_OQ", "eq"),
        COMPARE(NE, "NEQ_UQ", "neq"),
        OP(AND, BOOL, "_kand_mask16($0, $1)"),
        OP(OR, BOOL, "_kor_mask16($0, $1)"),
        OP(XOR, BOOL, "_kxor_mask16($0, $1)"),
        OP(NOT, BOOL, "_knot_mask16($0)"),
        OP(MAX_LANES, BOOL, "($0 != 0)"),
        OP(NE, BOOL, "_kxor_mask16($0, $1)"),
        OP(EQ, BOOL, "_kxnor_mask16($0, $1)"),
        OP(SELECT, BOOL, "select_bool_x16($0, $1, $2)",
           "__mmask16 select_bool_x16(__mmask16 mask, __mmask16 a, __mmask16 b)\n"
           "{\n"
           "        return _kor_mask16(_kand_mask16(mask, a), _kandn_mask16(mask, b));\n"
           "}"),
        CONVERT(CAST, BOOL, F32, "_mm512_maskz_mov_ps($0, _mm512_set1_ps(1.0f))"),

        BYTES(I8),
        BYTES(U8),
        HALF_WORDS(I16),
        HALF_WORDS(U16),
        HALVES(F16),
        HALVES(BF16),
        WEAVE_HALF_WORDS(F16),
        WEAVE_HALF_WORDS(BF16),
        WIDEN(I8, "epi8"),
        WIDEN(U8, "epu8"),
        WIDEN(I16, "epi16"),
        WIDEN(U16, "epu16"),
        LOAD_WORDS(I8, 4, "_mm512_loadu_si512($0)"),
        LOAD_WORDS(U8, 4, "_mm512_loadu_si512($0)"),
        LOAD_WORDS(BF16, 2, "_mm512_loadu_si512($0)"),
        LOAD_WORDS(F16, 2, "_mm512_loadu_si512($0)"),
        LOAD_WORDS(I8, 2, "_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)$0))"),
        LOAD_WORDS(U8, 2, "_mm512_cvtepu8_epi16(_mm256_loadu_si256((const void *)$0))"),
        X86_DOT_I16("_mm512_", "__m512i", "x16"),
        X86_DOT_SHORT("_mm512_", "__m512i", "x16"),
        CONVERT(CAST, F16, F32, "_mm512_cvtph_ps($0)"),
        CONVERT(CAST, F32, F16,
                "_mm512_cvtps_ph($0, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"),
        CONVERT(CAST, BF16, F32,
                "_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32($0), 16))"),
        CONVERT(CAST, F32, BF16, "bf16_from_f32x16($0)",
                "__m256i bf16_from_f32x16(__m512 a)\n"
                "{\n"
                "        const __m512i bits = _mm512_castps_si512(a), high = "
                "_mm512_srli_epi32(bits, 16);\n"
                "        const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));\n"
                "        const __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(32767));\n"
                "        const __m512i near = _mm512_srli_epi32(_mm512_add_epi32(bits, half), "
                "16);\n"
                "        const __mmask16 nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);\n"
                "        return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(near, nan, high, "
                "_mm512_set1_epi32(64)));\n"
                "}"),
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        X86_FLOATS(16), X86_MADDUBS(16),
        X86_MADDWDS(16), { 0 }
};

const struct target target_x86_64_v4 = {
        .name = "x86-64-v4",
        .doc = "x86 servers, Zen 4: AVX-512 F, BW, DQ, VL",
        .base = &target_x86_64_v3,
        .vector_bytes = 64,
        .vector_registers = 32,
        .has_masks = true,
        .l2_bytes = 1048576,
        .rates = &(const struct rates){ .l2 = 48 },
        .cpu = "x86-64-v4",
        .attribute = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
