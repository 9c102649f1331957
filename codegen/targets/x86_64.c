/* SPDX-License-Identifier: MIT */
/* Every 64-bit x86 has SSE2. It has no masked loads, no gathers, no fma and no rounding
 * instructions; legalize and the library's formulas replace these. */
#include "ir/target/rates.h"
#include "ir/loop/capability.h"

#include "codegen/targets/x86.h"

extern const struct target target_generic, target_x86_64;

#define COMPARE(op, name) OP(op, F32, "_mm_castps_si128(_mm_" name "_ps($0, $1))")
#define CHOOSE(e) \
        OP(SELECT, e, "select_x4($0, $1, $2)", \
           "__m128i select_x4(__m128i mask, __m128i a, __m128i b)\n" \
           "{\n" \
           "        return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));\n" \
           "}")
#define LARGER(operation, name, e, type, compare) \
        OP(operation, e, name "_" type "x4($0, $1)", \
           "__m128i " name "_" type "x4(__m128i a, __m128i b)\n" \
           "{\n" \
           "        const __m128i first = " compare ";\n" \
           "        return _mm_or_si128(_mm_and_si128(first, a), _mm_andnot_si128(first, b));\n" \
           "}")
#define PRODUCT(e) \
        OP(MUL, e, "mul_epi32($0, $1)", \
           "__m128i mul_epi32(__m128i a, __m128i b)\n" \
           "{\n" \
           "        const __m128i even = _mm_mul_epu32(a, b);\n" \
           "        const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));\n" \
           "        return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 8), _mm_shuffle_epi32(odd, 8));\n" \
           "}")
#define EXTREME(operation, name, instruction) \
        OP(operation, F32, name "_f32x4($0, $1)", \
           "__m128 " name "_f32x4(__m128 a, __m128 b)\n" \
           "{\n" \
           "        const __m128 nan = _mm_cmpunord_ps(b, b);\n" \
           "        return _mm_or_ps(_mm_and_ps(nan, b), _mm_andnot_ps(nan, " instruction "(b, a)));\n" \
           "}")
#define EXTREME_LANE(operation, name, instruction) \
        OP(operation, F32, name "_lanes_f32x4($0)", \
           "float " name "_lanes_f32x4(__m128 a)\n" \
           "{\n" \
           "        const __m128 b = " instruction "(_mm_movehl_ps(a, a), a);\n" \
           "        const __m128 c = " instruction "(_mm_shuffle_ps(b, b, 1), b);\n" \
           "        const __m128 nan = _mm_cmpunord_ps(a, a);\n" \
           "        return _mm_movemask_ps(nan) ? _mm_cvtss_f32(_mm_castsi128_ps(_mm_set1_epi32(0x7fc00000)))\n" \
           "                                    : _mm_cvtss_f32(c);\n" \
           "}")

/* Four bytes lie in the lowest 32 bits of a register. */
#define BYTES(e, type, widened) \
        ROW(CAN_TYPE, e, "__m128i"), \
        ROW(CAN_ZERO, e, "_mm_setzero_si128()"), \
        OP(SPLAT, e, "_mm_set1_epi8((char)($0))"), \
        OP(LOAD, e, "load_bytes_x4($0)", \
           "__m128i load_bytes_x4(const void *x)\n" \
           "{\n" \
           "        int bits;\n" \
           "        __builtin_memcpy(&bits, x, sizeof bits);\n" \
           "        return _mm_cvtsi32_si128(bits);\n" \
           "}"), \
        ROW(CAN_STORE, e, "store_bytes_x4($0, $1)", \
            "void store_bytes_x4(void *x, __m128i a)\n" \
            "{\n" \
            "        const int bits = _mm_cvtsi128_si32(a);\n" \
            "        __builtin_memcpy(x, &bits, sizeof bits);\n" \
            "}"), \
        NARROW(I32, e), NARROW(U32, e), \
        WIDEN(e, I32, type, widened), WIDEN(e, U32, type, widened)
#define WIDEN(e, to, type, widened) \
        CONVERT(CAST, e, to, "i32_from_" type "x4($0)", \
                "__m128i i32_from_" type "x4(__m128i a)\n" \
                "{\n" \
                widened \
                "}")
#define NARROW(from, e) \
        CONVERT(CAST, from, e, "bytes_from_i32x4($0)", \
                "__m128i bytes_from_i32x4(__m128i a)\n" \
                "{\n" \
                "        const __m128i low = _mm_and_si128(a, _mm_set1_epi32(255));\n" \
                "        const __m128i words = _mm_packs_epi32(low, low);\n" \
                "        return _mm_packus_epi16(words, words);\n" \
                "}")
/* Half words fill the lower half of a register. */
#define HALF_FROM(from) \
        CONVERT(CAST, from, I16, "halves_from_i32x4($0)", \
                "__m128i halves_from_i32x4(__m128i a)\n" \
                "{\n" \
                "        const __m128i low = _mm_srai_epi32(_mm_slli_epi32(a, 16), 16);\n" \
                "        return _mm_packs_epi32(low, low);\n" \
                "}")
#define HALF_WORDS \
        ROW(CAN_TYPE, I16, "__m128i"), \
        ROW(CAN_ZERO, I16, "_mm_setzero_si128()"), \
        OP(SPLAT, I16, "_mm_set1_epi16((short)($0))"), \
        OP(LOAD, I16, "_mm_loadl_epi64((const void *)$0)"), \
        ROW(CAN_STORE, I16, "_mm_storel_epi64((void *)$0, $1)"), \
        HALF_FROM(I32), HALF_FROM(U32), \
        CONVERT(CAST, I16, I32, "i32_from_i16x4($0)", \
                "__m128i i32_from_i16x4(__m128i a)\n" \
                "{\n" \
                "        return _mm_srai_epi32(_mm_unpacklo_epi16(a, a), 16);\n" \
                "}")
/* Loads pairs of bytes as 16 bits each, one pair a lane. */
#define PAIRS(e, type, widened) \
        LOAD_WORDS(e, 2, "pairs_" type "x4($0)", \
                   "__m128i pairs_" type "x4(const void *x)\n" \
                   "{\n" \
                   "        const __m128i a = _mm_loadl_epi64(x);\n" \
                   "        return " widened ";\n" \
                   "}")

static const struct c_spelling spellings[] = {
        X86_COMMON("_mm_", "__m128", "__m128i", "si128"),
        X86_WORD_MASKS("_mm_", "__m128i", "si128"),
        COMPARE(LT, "cmplt"),
        COMPARE(LE, "cmple"),
        COMPARE(GT, "cmpgt"),
        COMPARE(GE, "cmpge"),
        COMPARE(EQ, "cmpeq"),
        COMPARE(NE, "cmpneq"),
        CHOOSE(I32),
        CHOOSE(U32),
        CHOOSE(BOOL),
        OP(SELECT, F32, "select_f32x4($0, $1, $2)",
           "__m128 select_f32x4(__m128i mask, __m128 a, __m128 b)\n"
           "{\n"
           "        const __m128 m = _mm_castsi128_ps(mask);\n"
           "        return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b));\n"
           "}"),
        OP(INTERLEAVE_LOW, F32, "_mm_unpacklo_ps($0, $1)"),
        OP(INTERLEAVE_HIGH, F32, "_mm_unpackhi_ps($0, $1)"),
        EXTREME(MIN, "min", "_mm_min_ps"),
        EXTREME(MAX, "max", "_mm_max_ps"),
        LARGER(MIN, "min", I32, "i32", "_mm_cmplt_epi32(a, b)"),
        LARGER(MAX, "max", I32, "i32", "_mm_cmpgt_epi32(a, b)"),
        LARGER(MIN, "min", U32, "u32",
               "_mm_cmplt_epi32(" X86_BIASED(
                       "_mm_", "si128", "a") ",\n                    " X86_BIASED("_mm_", "si128",
                                                                                  "b") ")"),
        LARGER(MAX, "max", U32, "u32",
               "_mm_cmpgt_epi32(" X86_BIASED(
                       "_mm_", "si128", "a") ",\n                    " X86_BIASED("_mm_", "si128",
                                                                                  "b") ")"),
        PRODUCT(I32),
        PRODUCT(U32),
        CONVERT(CAST, F32, I32, "i32_from_f32x4($0)",
                "__m128i i32_from_f32x4(__m128 a)\n"
                "{\n"
                "        const __m128i large = _mm_castps_si128(_mm_cmpge_ps(a, "
                "_mm_set1_ps(2147483648.0f)));\n"
                "        const __m128i number = _mm_castps_si128(_mm_cmpord_ps(a, a));\n"
                "        return _mm_and_si128(_mm_xor_si128(_mm_cvttps_epi32(a), large), number);\n"
                "}"),
        CONVERT(CAST, F32, U8, "u8_from_f32x4($0)",
                "__m128i u8_from_f32x4(__m128 a)\n"
                "{\n"
                "        const __m128 b = _mm_max_ps(a, _mm_setzero_ps());\n"
                "        const __m128i c = _mm_cvttps_epi32(_mm_min_ps(b, _mm_set1_ps(255.0f)));\n"
                "        const __m128i words = _mm_packs_epi32(c, c);\n"
                "        return _mm_packus_epi16(words, words);\n"
                "}"),
        CONVERT(CAST, F32, I8, "i8_from_f32x4($0)",
                "__m128i i8_from_f32x4(__m128 a)\n"
                "{\n"
                "        const __m128 number = _mm_and_ps(a, _mm_cmpord_ps(a, a));\n"
                "        const __m128 b = _mm_max_ps(number, _mm_set1_ps(-128.0f));\n"
                "        const __m128i c = _mm_cvttps_epi32(_mm_min_ps(b, _mm_set1_ps(127.0f)));\n"
                "        const __m128i words = _mm_packs_epi32(c, c);\n"
                "        return _mm_packs_epi16(words, words);\n"
                "}"),
        ROUNDED(F32, U8, "u8_rounded_f32x4($0)",
                "__m128i u8_rounded_f32x4(__m128 a)\n"
                "{\n"
                "        const __m128i b = _mm_cvtps_epi32(_mm_min_ps(_mm_set1_ps(255.0f), a));\n"
                "        const __m128i words = _mm_packs_epi32(b, b);\n"
                "        return _mm_packus_epi16(words, words);\n"
                "}"),
        ROUNDED(F32, I8, "i8_rounded_f32x4($0)",
                "__m128i i8_rounded_f32x4(__m128 a)\n"
                "{\n"
                "        const __m128 number = _mm_and_ps(a, _mm_cmpord_ps(a, a));\n"
                "        const __m128i b = _mm_cvtps_epi32(_mm_min_ps(number, "
                "_mm_set1_ps(127.0f)));\n"
                "        const __m128i words = _mm_packs_epi32(b, b);\n"
                "        return _mm_packs_epi16(words, words);\n"
                "}"),
        CONVERT(CAST, F32, U32, "u32_from_f32x4($0)",
                "__m128i u32_from_f32x4(__m128 a)\n"
                "{\n"
                "        const __m128 high = _mm_set1_ps(2147483648.0f);\n"
                "        const __m128 b = _mm_max_ps(a, _mm_setzero_ps());\n"
                "        const __m128i upper = _mm_castps_si128(_mm_cmpge_ps(b, high));\n"
                "        const __m128i large = _mm_castps_si128(_mm_cmpge_ps(b, "
                "_mm_set1_ps(4294967296.0f)));\n"
                "        const __m128 rest = _mm_sub_ps(b, _mm_and_ps(_mm_castsi128_ps(upper), "
                "high));\n"
                "        const __m128i bit = _mm_slli_epi32(upper, 31);\n"
                "        return _mm_or_si128(_mm_xor_si128(_mm_cvttps_epi32(rest), bit), large);\n"
                "}"),
        CONVERT(CAST, U32, F32, "f32_from_u32x4($0)",
                "__m128 f32_from_u32x4(__m128i a)\n"
                "{\n"
                "        const __m128 high = _mm_cvtepi32_ps(_mm_srli_epi32(a, 16));\n"
                "        const __m128 low = _mm_cvtepi32_ps(_mm_and_si128(a, "
                "_mm_set1_epi32(65535)));\n"
                "        return _mm_add_ps(_mm_mul_ps(high, _mm_set1_ps(65536.0f)), low);\n"
                "}"),
        OP(SUM_LANES, F32, "sum_lanes_f32x4($0)",
           "float sum_lanes_f32x4(__m128 a)\n"
           "{\n"
           "        const __m128 b = _mm_add_ps(a, _mm_movehl_ps(a, a));\n"
           "        return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));\n"
           "}"),
        EXTREME_LANE(MIN_LANES, "min", "_mm_min_ps"),
        EXTREME_LANE(MAX_LANES, "max", "_mm_max_ps"),
        OP(LOAD, BOOL, "load_bool_x4($0)",
           "__m128i load_bool_x4(const void *x)\n"
           "{\n"
           "        int bits;\n"
           "        __builtin_memcpy(&bits, x, sizeof bits);\n"
           "        const __m128i zero = _mm_setzero_si128();\n"
           "        const __m128i words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bits), zero);\n"
           "        return _mm_cmpgt_epi32(_mm_unpacklo_epi16(words, zero), zero);\n"
           "}"),
        ROW(CAN_STORE, BOOL, "store_bool_x4($0, $1)",
            "void store_bool_x4(void *x, __m128i a)\n"
            "{\n"
            "        const __m128i words = _mm_packs_epi32(a, a);\n"
            "        const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), "
            "_mm_set1_epi8(1));\n"
            "        const int bits = _mm_cvtsi128_si32(bytes);\n"
            "        __builtin_memcpy(x, &bits, sizeof bits);\n"
            "}"),
        PREFETCH(0, "prefetch_l1", "_MM_HINT_T0"),
        PREFETCH(1, "prefetch_l2", "_MM_HINT_T1"),
        PREFETCH(2, "prefetch_once", "_MM_HINT_NTA"),
        BYTES(U8, "u8",
              "        const __m128i zero = _mm_setzero_si128();\n"
              "        return _mm_unpacklo_epi16(_mm_unpacklo_epi8(a, zero), zero);\n"),
        BYTES(I8, "i8",
              "        const __m128i words = _mm_unpacklo_epi8(a, a);\n"
              "        return _mm_srai_epi32(_mm_unpacklo_epi16(words, words), 24);\n"),
        HALF_WORDS,
        PAIRS(U8, "u8", "_mm_unpacklo_epi8(a, _mm_setzero_si128())"),
        PAIRS(I8, "i8", "_mm_srai_epi16(_mm_unpacklo_epi8(a, a), 8)"),
        X86_DOT_I16("_mm_", "__m128i", "x4"),
        X86_WORD(I8, 4),
        X86_WORD(U8, 4),
        X86_WORD(BF16, 2),
        X86_WORD(F16, 2),
        X86_WORD(I16, 2),
        X86_PAIR(I8, "i8", "int8_t"),
        X86_PAIR(U8, "u8", "uint8_t"),
        { .op = LOOP_CALL,
          .element = E_F32,
          .function = "sqrt",
          .lanes = 1,
          .text = "_mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss($0)))" },
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        X86_MADDWDS(4), { 0 }
};

const struct target target_x86_64 = {
        .name = "x86-64",
        .doc = "any 64-bit x86: SSE2",
        .base = &target_generic,
        .triple = "x86_64-unknown-linux-gnu",
        .engine = &engine_vector,
        .vector_bytes = 16,
        .vector_registers = 16,
        .l1_way_bytes = 4096, /* A page: its index is known before the address is translated. */
        .rates = &(const struct rates){ .issue = 2, .l2 = 32, .memory = 6 },
        .machine = "defined(__x86_64__) && defined(__GNUC__)",
        .compilers = "gcc or clang for 64-bit x86",
        .include = "<immintrin.h>",
        .control = &(const struct float_control){ "FTZ and DAZ of the caller's MXCSR", "0x8040u",
                                                  "unsigned", "control = _mm_getcsr();",
                                                  "_mm_setcsr(control);" },
        .keep = "v",
        .cpu = "x86-64",
        .attribute = "sse2",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
