/* SPDX-License-Identifier: MIT */
/* This is x86 since Haswell (2013) and Excavator (2015), which have AVX2 and FMA. */
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_x86_64, target_x86_64_v3;

#define COMPARE(op, predicate) \
        OP(op, F32, "_mm256_castps_si256(_mm256_cmp_ps($0, $1, _CMP_" predicate "))")
#define EXTREME(operation, name, instruction) \
        OP(operation, F32, name "_f32x8($0, $1)", \
           "__m256 " name "_f32x8(__m256 a, __m256 b)\n" \
           "{\n" \
           "        return _mm256_blendv_ps(" instruction "(b, a), b, _mm256_cmp_ps(b, b, _CMP_UNORD_Q));\n" \
           "}")
#define EXTREME_LANE(operation, name, narrow, single) \
        OP(operation, F32, name "_lanes_f32x8($0)", \
           "float " name "_lanes_f32x8(__m256 a)\n" \
           "{\n" \
           "        const __m128 b = " narrow "(_mm256_extractf128_ps(a, 1), _mm256_castps256_ps128(a));\n" \
           "        const __m128 c = " narrow "(_mm_movehl_ps(b, b), b);\n" \
           "        const __m128 d = " single "(_mm_shuffle_ps(c, c, 1), c);\n" \
           "        const int nan = _mm256_movemask_ps(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));\n" \
           "        return _mm_cvtss_f32(nan ? _mm_castsi128_ps(_mm_set1_epi32(0x7fc00000)) : d);\n" \
           "}")
#define INTERLEAVE(operation, name, half) \
        OP(operation, F32, name "_f32x8($0, $1)", \
           "__m256 " name "_f32x8(__m256 a, __m256 b)\n" \
           "{\n" \
           "        return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), " half ");\n" \
           "}")
#define ROUND(name, mode) MATH(name, F32, "_mm256_round_ps($0, " mode " | _MM_FROUND_NO_EXC)")
#define WORDS(e) \
        OP(MUL, e, "_mm256_mullo_epi32($0, $1)"), \
        OP(SHL, e, "_mm256_sllv_epi32($0, $1)"), \
        OP(SELECT, e, "_mm256_blendv_epi8($2, $1, $0)"), \
        ROW(CAN_LOAD_MASKED, e, "_mm256_maskload_epi32((const void *)$0, $1)"), \
        ROW(CAN_STORE_MASKED, e, "_mm256_maskstore_epi32((void *)$0, $2, $1)"), \
        ROW(CAN_GATHER, e, "_mm256_i32gather_epi32((const void *)$0, $1, 4)"), \
        ROW(CAN_GATHER_MASKED, e, \
            "_mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const void *)$0, $1, $2, 4)")
/* Eight bytes fill the lower half of a register, eight half words all of it. */
#define NARROW(e, splat, load, store) \
        ROW(CAN_TYPE, e, "__m128i"), \
        ROW(CAN_ZERO, e, "_mm_setzero_si128()"), \
        OP(SPLAT, e, splat), \
        OP(LOAD, e, load "((const void *)$0)"), \
        ROW(CAN_STORE, e, store "((void *)$0, $1)")
#define BYTE "_mm_set1_epi8((char)($0))"
#define HALF "_mm_set1_epi16((short)($0))"
#define WIDEN(from, name) \
        CONVERT(CAST, from, I32, "_mm256_cvt" name "_epi32($0)"), \
        CONVERT(CAST, from, U32, "_mm256_cvt" name "_epi32($0)")
#define TO_BYTES(from, result) \
        CONVERT(CAST, from, result, "bytes_x8($0)", \
                "__m128i bytes_x8(__m256i a)\n" \
                "{\n" \
                "        const __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(255));\n" \
                "        const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low),\n" \
                "                                                _mm256_extracti128_si256(low, 1));\n" \
                "        return _mm_packus_epi16(halves, halves);\n" \
                "}")
#define TO_HALVES(from, result) \
        CONVERT(CAST, from, result, "halves_x8($0)", \
                "__m128i halves_x8(__m256i a)\n" \
                "{\n" \
                "        const __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(65535));\n" \
                "        return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));\n" \
                "}")

static const struct c_spelling spellings[] = {
        X86_COMMON("_mm256_", "__m256", "__m256i", "si256"),
        X86_WORD_MASKS("_mm256_", "__m256i", "si256"),
        WORDS(I32),
        WORDS(U32),
        INTERLEAVE(INTERLEAVE_LOW, "interleave_low", "0x20"),
        INTERLEAVE(INTERLEAVE_HIGH, "interleave_high", "0x31"),
        OP(FMA, F32, "_mm256_fmadd_ps($0, $1, $2)"),
        ROW(CAN_FMA_LESS, F32, "_mm256_fmsub_ps($0, $1, $2)"),
        ROW(CAN_FMA_FROM, F32, "_mm256_fnmadd_ps($0, $1, $2)"),
        { .op = LOOP_FMA, .element = E_F32, .lanes = 1, .text = "__builtin_fmaf($0, $1, $2)" },
        { .op = LOOP_FMA, .element = E_F64, .lanes = 1, .text = "__builtin_fma($0, $1, $2)" },
        ROUND("floor", "_MM_FROUND_TO_NEG_INF"),
        ROUND("ceil", "_MM_FROUND_TO_POS_INF"),
        ROUND("trunc", "_MM_FROUND_TO_ZERO"),
        ROUND("round", "_MM_FROUND_TO_NEAREST_INT"),
        COMPARE(LT, "LT_OQ"),
        COMPARE(LE, "LE_OQ"),
        COMPARE(GT, "GT_OQ"),
        COMPARE(GE, "GE_OQ"),
        COMPARE(EQ, "EQ_OQ"),
        COMPARE(NE, "NEQ_UQ"),
        OP(SELECT, F32, "_mm256_blendv_ps($2, $1, _mm256_castsi256_ps($0))"),
        OP(SELECT, BOOL, "_mm256_blendv_epi8($2, $1, $0)"),
        ROW(CAN_LOAD_MASKED, F32, "_mm256_maskload_ps($0, $1)"),
        ROW(CAN_STORE_MASKED, F32, "_mm256_maskstore_ps($0, $2, $1)"),
        ROW(CAN_GATHER, F32, "_mm256_i32gather_ps($0, $1, 4)"),
        ROW(CAN_GATHER_MASKED, F32,
            "_mm256_mask_i32gather_ps(_mm256_setzero_ps(), $0, $1, _mm256_castsi256_ps($2), 4)"),
        EXTREME(MIN, "min", "_mm256_min_ps"),
        EXTREME(MAX, "max", "_mm256_max_ps"),
        OP(MIN, I32, "_mm256_min_epi32($0, $1)"),
        OP(MAX, I32, "_mm256_max_epi32($0, $1)"),
        OP(MIN, U32, "_mm256_min_epu32($0, $1)"),
        OP(MAX, U32, "_mm256_max_epu32($0, $1)"),
        OP(SHR, U32, "_mm256_srlv_epi32($0, $1)"),
        CONVERT(CAST, F32, I32, "i32_from_f32x8($0)",
                "__m256i i32_from_f32x8(__m256 a)\n"
                "{\n"
                "        const __m256 large = _mm256_cmp_ps(a, _mm256_set1_ps(2147483648.0f), "
                "_CMP_GE_OQ);\n"
                "        const __m256 number = _mm256_cmp_ps(a, a, _CMP_ORD_Q);\n"
                "        const __m256i b = _mm256_xor_si256(_mm256_cvttps_epi32(a), "
                "_mm256_castps_si256(large));\n"
                "        return _mm256_and_si256(b, _mm256_castps_si256(number));\n"
                "}"),
        CONVERT(CAST, F32, U8, "u8_from_f32x8($0)",
                "__m128i u8_from_f32x8(__m256 a)\n"
                "{\n"
                "        const __m256 b = _mm256_max_ps(a, _mm256_setzero_ps());\n"
                "        const __m256i c = _mm256_cvttps_epi32(_mm256_min_ps(b, "
                "_mm256_set1_ps(255.0f)));\n"
                "        const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(c),\n"
                "                                                _mm256_extracti128_si256(c, 1));\n"
                "        return _mm_packus_epi16(halves, halves);\n"
                "}"),
        CONVERT(CAST, F32, I8, "i8_from_f32x8($0)",
                "__m128i i8_from_f32x8(__m256 a)\n"
                "{\n"
                "        const __m256 number = _mm256_and_ps(a, _mm256_cmp_ps(a, a, _CMP_ORD_Q));\n"
                "        const __m256 b = _mm256_max_ps(number, _mm256_set1_ps(-128.0f));\n"
                "        const __m256i c = _mm256_cvttps_epi32(_mm256_min_ps(b, "
                "_mm256_set1_ps(127.0f)));\n"
                "        const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(c),\n"
                "                                               _mm256_extracti128_si256(c, 1));\n"
                "        return _mm_packs_epi16(halves, halves);\n"
                "}"),
        ROUNDED(F32, U8, "u8_rounded_f32x8($0)",
                "__m128i u8_rounded_f32x8(__m256 a)\n"
                "{\n"
                "        const __m256i b = "
                "_mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(255.0f), a));\n"
                "        const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(b),\n"
                "                                               _mm256_extracti128_si256(b, 1));\n"
                "        return _mm_packus_epi16(halves, halves);\n"
                "}"),
        ROUNDED(F32, I8, "i8_rounded_f32x8($0)",
                "__m128i i8_rounded_f32x8(__m256 a)\n"
                "{\n"
                "        const __m256 number = _mm256_and_ps(a, _mm256_cmp_ps(a, a, _CMP_ORD_Q));\n"
                "        const __m256i b = _mm256_cvtps_epi32(_mm256_min_ps(number, "
                "_mm256_set1_ps(127.0f)));\n"
                "        const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(b),\n"
                "                                               _mm256_extracti128_si256(b, 1));\n"
                "        return _mm_packs_epi16(halves, halves);\n"
                "}"),
        CONVERT(CAST, F32, U32, "u32_from_f32x8($0)",
                "__m256i u32_from_f32x8(__m256 a)\n"
                "{\n"
                "        const __m256 high = _mm256_set1_ps(2147483648.0f);\n"
                "        const __m256 b = _mm256_max_ps(a, _mm256_setzero_ps());\n"
                "        const __m256 upper = _mm256_cmp_ps(b, high, _CMP_GE_OQ);\n"
                "        const __m256 large = _mm256_cmp_ps(b, _mm256_set1_ps(4294967296.0f), "
                "_CMP_GE_OQ);\n"
                "        const __m256 rest = _mm256_sub_ps(b, _mm256_and_ps(upper, high));\n"
                "        const __m256i bit = _mm256_slli_epi32(_mm256_castps_si256(upper), 31);\n"
                "        const __m256i whole = _mm256_xor_si256(_mm256_cvttps_epi32(rest), bit);\n"
                "        return _mm256_or_si256(whole, _mm256_castps_si256(large));\n"
                "}"),
        CONVERT(CAST, U32, F32, "f32_from_u32x8($0)",
                "__m256 f32_from_u32x8(__m256i a)\n"
                "{\n"
                "        const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(a, 16));\n"
                "        const __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(65535));\n"
                "        return _mm256_add_ps(_mm256_mul_ps(high, _mm256_set1_ps(65536.0f)),\n"
                "                             _mm256_cvtepi32_ps(low));\n"
                "}"),
        OP(SUM_LANES, F32, "sum_lanes_f32x8($0)",
           "float sum_lanes_f32x8(__m256 a)\n"
           "{\n"
           "        const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), "
           "_mm256_extractf128_ps(a, 1));\n"
           "        const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));\n"
           "        return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));\n"
           "}"),
        EXTREME_LANE(MIN_LANES, "min", "_mm_min_ps", "_mm_min_ss"),
        EXTREME_LANE(MAX_LANES, "max", "_mm_max_ps", "_mm_max_ss"),
        OP(LOAD, BOOL, "load_bool_x8($0)",
           "__m256i load_bool_x8(const void *x)\n"
           "{\n"
           "        return _mm256_cmpgt_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(x)), "
           "_mm256_setzero_si256());\n"
           "}"),
        ROW(CAN_STORE, BOOL, "store_bool_x8($0, $1)",
            "void store_bool_x8(void *x, __m256i a)\n"
            "{\n"
            "        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), "
            "_mm256_extracti128_si256(a, 1));\n"
            "        const __m128i bytes = _mm_packs_epi16(words, words);\n"
            "        _mm_storel_epi64(x, _mm_and_si128(bytes, _mm_set1_epi8(1)));\n"
            "}"),
        NARROW(I8, BYTE, "_mm_loadl_epi64", "_mm_storel_epi64"),
        NARROW(U8, BYTE, "_mm_loadl_epi64", "_mm_storel_epi64"),
        NARROW(I16, HALF, "_mm_loadu_si128", "_mm_storeu_si128"),
        NARROW(U16, HALF, "_mm_loadu_si128", "_mm_storeu_si128"),
        NARROW(F16, HALF, "_mm_loadu_si128", "_mm_storeu_si128"),
        NARROW(BF16, HALF, "_mm_loadu_si128", "_mm_storeu_si128"),
        WIDEN(I8, "epi8"),
        WIDEN(U8, "epu8"),
        WIDEN(I16, "epi16"),
        WIDEN(U16, "epu16"),
        TO_BYTES(I32, I8),
        TO_BYTES(I32, U8),
        TO_BYTES(U32, I8),
        TO_BYTES(U32, U8),
        TO_HALVES(I32, I16),
        TO_HALVES(I32, U16),
        TO_HALVES(U32, I16),
        TO_HALVES(U32, U16),
        LOAD_WORDS(I8, 4, "_mm256_loadu_si256((const void *)$0)"),
        LOAD_WORDS(U8, 4, "_mm256_loadu_si256((const void *)$0)"),
        LOAD_WORDS(I8, 2, "_mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)$0))"),
        LOAD_WORDS(U8, 2, "_mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)$0))"),
        X86_DOT_I16("_mm256_", "__m256i", "x8"),
        X86_DOT_SHORT("_mm256_", "__m256i", "x8"),
        CONVERT(CAST, F16, F32, "_mm256_cvtph_ps($0)"),
        CONVERT(CAST, BF16, F32,
                "_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32($0), 16))"),
        CONVERT(CAST, F32, F16, "_mm256_cvtps_ph($0, _MM_FROUND_TO_NEAREST_INT)"),
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        X86_FLOATS(8), X86_MADDUBS(8),
        X86_MADDWDS(8), { 0 }
};

const struct target target_x86_64_v3 = {
        .name = "x86-64-v3",
        .doc = "x86 of the last ten years: AVX2, FMA",
        .base = &target_x86_64,
        .vector_bytes = 32,
        .has_fma = true,
        .cpu = "x86-64-v3",
        .attribute = "avx2,fma,bmi,bmi2,f16c",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
