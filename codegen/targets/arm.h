/* SPDX-License-Identifier: MIT */
/* These are rows of NEON, 128 bits, for 64-bit and 32-bit ARM alike: elements of 32 bits, and
 * narrower ones four at a time in a register of 64 bits. s is the suffix of their intrinsics. */
#ifndef CODEGEN_TARGETS_ARM_H
#define CODEGEN_TARGETS_ARM_H

#include "codegen/targets/rows.h"

/* The locality of a prefetch is 3 for the first-level cache, 2 and 1 for the next ones, and 0 for
 * data that is soon not needed. */
#define PREFETCH(n, name, locality) PREFETCH_BY(n, name, "__builtin_prefetch", "0, " locality)

#define ARM_COMMON(e, type, s) \
        ROW(CAN_TYPE, e, type), OP(SPLAT, e, "vdupq_n_" s "($0)"), OP(RAMP, e, "(" type "){ $0 }"), \
        OP(LOAD, e, "vld1q_" s "($0)"), ROW(CAN_STORE, e, "vst1q_" s "($0, $1)"), \
        OP(LANE, e, "vgetq_lane_" s "($0, $1)"), \
        OP(ADD, e, "vaddq_" s "($0, $1)"), OP(SUB, e, "vsubq_" s "($0, $1)"), OP(MUL, e, "vmulq_" s "($0, $1)"), \
        OP(LT, e, "vcltq_" s "($0, $1)"), OP(LE, e, "vcleq_" s "($0, $1)"), OP(GT, e, "vcgtq_" s "($0, $1)"), \
        OP(GE, e, "vcgeq_" s "($0, $1)"), OP(EQ, e, "vceqq_" s "($0, $1)"), \
        OP(NE, e, "vmvnq_u32(vceqq_" s "($0, $1))"), OP(SELECT, e, "vbslq_" s "($0, $1, $2)")

#define ARM_FLOATS \
        ARM_COMMON(F32, "float32x4_t", "f32"), OP(NEG, F32, "vnegq_f32($0)"), \
        OP(FMA, F32, "vfmaq_f32($2, $0, $1)"), ROW(CAN_FMA_FROM, F32, "vfmsq_f32($2, $0, $1)"), \
        OP(MAX_ORDERED, F32, "max_ordered_f32x4($0, $1)", \
           "float32x4_t max_ordered_f32x4(float32x4_t a, float32x4_t b)\n" \
           "{\n" \
           "        return vbslq_f32(vcgtq_f32(a, b), a, b);\n" \
           "}"), \
        OP(MIN_ORDERED, F32, "min_ordered_f32x4($0, $1)", \
           "float32x4_t min_ordered_f32x4(float32x4_t a, float32x4_t b)\n" \
           "{\n" \
           "        return vbslq_f32(vcltq_f32(a, b), a, b);\n" \
           "}"), \
        MATH("abs", F32, "vabsq_f32($0)"), \
        MATH("copysign", F32, "vbslq_f32(vdupq_n_u32(0x80000000), $1, $0)"), \
        CONVERT(CAST, F32, U8, "vqmovn_u16(vcombine_u16(vqmovn_u32(vcvtq_u32_f32($0)), vdup_n_u16(0)))"), \
        CONVERT(CAST, F32, I8, "vqmovn_s16(vcombine_s16(vqmovn_s32(vcvtq_s32_f32($0)), vdup_n_s16(0)))"), \
        CONVERT(CAST, F32, U16, "vqmovn_u32(vcvtq_u32_f32($0))"), CONVERT(CAST, F32, I16, "vqmovn_s32(vcvtq_s32_f32($0))")

/* Floats become integers by rounding towards zero, saturated, with 0 for NaN. */
#define ARM_INTEGERS(e, type, s) \
        ARM_COMMON(e, type, s), OP(MIN, e, "vminq_" s "($0, $1)"), OP(MAX, e, "vmaxq_" s "($0, $1)"), \
        OP(AND, e, "vandq_" s "($0, $1)"), OP(OR, e, "vorrq_" s "($0, $1)"), OP(XOR, e, "veorq_" s "($0, $1)"), \
        OP(NOT, e, "vmvnq_" s "($0)"), OP(NEG, e, "vsubq_" s "(vdupq_n_" s "(0), $0)"), \
        ROW(CAN_SHL_LITERAL, e, "vshlq_" s "($0, vdupq_n_s32($1))"), \
        ROW(CAN_SHR_LITERAL, e, "vshlq_" s "($0, vdupq_n_s32(-($1)))"), \
        CONVERT(CAST, F32, e, "vcvtq_" s "_f32($0)"), CONVERT(CAST, e, F32, "vcvtq_f32_" s "($0)"), \
        CONVERT(BITCAST, F32, e, "vreinterpretq_" s "_f32($0)"), CONVERT(BITCAST, e, F32, "vreinterpretq_f32_" s "($0)")
#define ARM_SAME(from, s, to, t) \
        CONVERT(CAST, from, to, "vreinterpretq_" t "_" s "($0)"), CONVERT(BITCAST, from, to, "vreinterpretq_" t "_" s "($0)")

/* Truth values are all ones or zeros. */
#define ARM_TRUTHS \
        ROW(CAN_TYPE, BOOL, "uint32x4_t"), OP(SPLAT, BOOL, "vdupq_n_u32(-(uint32_t)($0))"), \
        OP(AND, BOOL, "vandq_u32($0, $1)"), OP(OR, BOOL, "vorrq_u32($0, $1)"), OP(XOR, BOOL, "veorq_u32($0, $1)"), \
        OP(NE, BOOL, "veorq_u32($0, $1)"), OP(EQ, BOOL, "vceqq_u32($0, $1)"), OP(NOT, BOOL, "vmvnq_u32($0)"), \
        OP(SELECT, BOOL, "vbslq_u32($0, $1, $2)"), \
        CONVERT(CAST, BOOL, I32, "vreinterpretq_s32_u32(vshrq_n_u32($0, 31))"), CONVERT(CAST, BOOL, U32, "vshrq_n_u32($0, 31)"), \
        CONVERT(CAST, BOOL, F32, "vcvtq_f32_u32(vshrq_n_u32($0, 31))"), \
        OP(LOAD, BOOL, "load_bool_x4($0)", \
           "uint32x4_t load_bool_x4(const void *x)\n" \
           "{\n" \
           "        uint32_t word;\n" \
           "        __builtin_memcpy(&word, x, sizeof word);\n" \
           "        const uint16x8_t halves = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word)));\n" \
           "        return vtstq_u32(vmovl_u16(vget_low_u16(halves)), vdupq_n_u32(1));\n" \
           "}"), \
        ROW(CAN_STORE, BOOL, "store_bool_x4($0, $1)", \
            "void store_bool_x4(void *x, uint32x4_t a)\n" \
            "{\n" \
            "        const uint16x4_t half = vmovn_u32(vshrq_n_u32(a, 31));\n" \
            "        const uint32_t word = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(half, half))), 0);\n" \
            "        __builtin_memcpy(x, &word, sizeof word);\n" \
            "}")

/* Four bytes lie in the lower half of a register of 64 bits; s is "s" with a sign, "u" without
 * one. */
#define ARM_WORD_OF \
        "uint32_t word_of(const void *x)\n" \
        "{\n" \
        "        uint32_t word;\n" \
        "        __builtin_memcpy(&word, x, sizeof word);\n" \
        "        return word;\n" \
        "}"
#define ARM_BYTES(e, type, s) \
        ROW(CAN_TYPE, e, type), OP(SPLAT, e, "vdup_n_" s "8($0)"), \
        OP(LOAD, e, "vreinterpret_" s "8_u32(vset_lane_u32(word_of($0), vdup_n_u32(0), 0))", ARM_WORD_OF), \
        ROW(CAN_STORE, e, "store_word(vreinterpret_u32_" s "8($1), $0)", \
            "void store_word(uint32x2_t a, void *x)\n" \
            "{\n" \
            "        const uint32_t word = vget_lane_u32(a, 0);\n" \
            "        __builtin_memcpy(x, &word, sizeof word);\n" \
            "}")
#define ARM_ALL_BYTES \
        ARM_BYTES(I8, "int8x8_t", "s"), ARM_BYTES(U8, "uint8x8_t", "u"), \
        CONVERT(CAST, I8, I32, ARM_WIDEN_BYTES("s")), CONVERT(CAST, I8, U32, "vreinterpretq_u32_s32(" ARM_WIDEN_BYTES("s") ")"), \
        CONVERT(CAST, U8, U32, ARM_WIDEN_BYTES("u")), CONVERT(CAST, U8, I32, "vreinterpretq_s32_u32(" ARM_WIDEN_BYTES("u") ")"), \
        CONVERT(CAST, I32, I8, "vreinterpret_s8_u8(" ARM_NARROW_BYTES("vreinterpretq_u32_s32($0)") ), \
        CONVERT(CAST, U32, I8, "vreinterpret_s8_u8(" ARM_NARROW_BYTES("$0") ), \
        CONVERT(CAST, I32, U8, "(" ARM_NARROW_BYTES("vreinterpretq_u32_s32($0)") ), \
        CONVERT(CAST, U32, U8, "(" ARM_NARROW_BYTES("$0") )
#define ARM_WIDEN_BYTES(s) "vmovl_" s "16(vget_low_" s "16(vmovl_" s "8($0)))"
/* The text includes the closing parenthesis, and the function. */
#define ARM_NARROW_BYTES(a) \
        "bytes_from_u32x4(" a "))", \
        "uint8x8_t bytes_from_u32x4(uint32x4_t a)\n" \
        "{\n" \
        "        const uint16x4_t half = vmovn_u32(a);\n" \
        "        return vmovn_u16(vcombine_u16(half, half));\n" \
        "}"

/* Four half words fill a register of 64 bits. */
#define ARM_STORED(e, type, s) \
        ROW(CAN_TYPE, e, type), OP(SPLAT, e, "vdup_n_" s "($0)"), \
        OP(LANE, e, "vget_lane_" s "($0, $1)"), \
        OP(LOAD, e, "vld1_" s "((const void *)$0)"), ROW(CAN_STORE, e, "vst1_" s "((void *)$0, $1)")
#define ARM_HALVES \
        ARM_STORED(I16, "int16x4_t", "s16"), ARM_STORED(U16, "uint16x4_t", "u16"), \
        CONVERT(CAST, I32, I16, "vmovn_s32($0)"), CONVERT(CAST, U32, U16, "vmovn_u32($0)"), \
        CONVERT(CAST, I32, U16, "vreinterpret_u16_s16(vmovn_s32($0))"), \
        CONVERT(CAST, U32, I16, "vreinterpret_s16_u16(vmovn_u32($0))"), \
        CONVERT(CAST, I16, I32, "vmovl_s16($0)"), CONVERT(CAST, U16, U32, "vmovl_u16($0)"), \
        CONVERT(CAST, I16, U32, "vreinterpretq_u32_s32(vmovl_s16($0))"), \
        CONVERT(CAST, U16, I32, "vreinterpretq_s32_u32(vmovl_u16($0))")
/* Floats of 16 bits are handled as bits. */
#define ARM_STORAGE ARM_STORED(F16, "uint16x4_t", "u16"), ARM_STORED(BF16, "uint16x4_t", "u16"), \
        CONVERT(CAST, F16, F32, "vcvt_f32_f16(vreinterpret_f16_u16($0))"), \
        CONVERT(CAST, F32, F16, "vreinterpret_u16_f16(vcvt_f16_f32($0))"), \
        CONVERT(CAST, BF16, F32, "vreinterpretq_f32_u32(vshll_n_u16($0, 16))")

/* ---- multiplies (ir/target/multiply.h): x in a lane of a vector ---- */

#define ARM_FLOATS_BY_LANE(lanes) \
        ARM_FLOATS_OF(lanes, F32, NULL, 0), ARM_FLOATS_OF(lanes, BF16, NULL, 0), ARM_FLOATS_OF(lanes, F16, NULL, 0), \
        ARM_FLOATS_OF(lanes, I8, NULL, 0), ARM_FLOATS_OF(lanes, U8, NULL, 0), \
        ARM_FLOATS_OF(lanes, F8E4M3, "finite_f8e4m3fn", 0), ARM_FLOATS_OF(lanes, F8E5M2, "finite_f8e5m2", 0)
#define ARM_FLOATS_OF(lanes, w_, function, registers) \
        { .name = "fma", .positions = 1, .outputs = lanes, .depth = 1, .channels = 1, \
          .x = { .memory = E_F32, .word = E_F32, .source = SOURCE_LANE }, \
          .w = { .memory = E_##w_, .word = E_F32, .source = SOURCE_VECTOR, .decode = function }, \
          .sum = E_F32, .order = ORDER_SEQUENCE, .instructions = 1, .spare = registers }
/* Both operands are f16 in memory. */
#define ARM_HALVES_BY_LANE(called, lanes, word_, ...) \
        { .name = called, .positions = 1, .outputs = lanes, .depth = 1, .channels = 1, \
          .x = { .memory = E_F16, .word = E_##word_, .source = SOURCE_LANE }, \
          .w = { .memory = E_F16, .word = E_##word_, .source = SOURCE_VECTOR }, \
          .sum = E_F32, .order = ORDER_SEQUENCE, .instructions = __VA_ARGS__ }
/* Words are four bytes. */
#define ARM_BYTES_BY_LANE(called, x_, w_, function, ...) \
        { .name = called, .positions = 1, .outputs = 4, .depth = 1, .channels = 4, \
          .x = { .memory = E_##x_, .word = E_U32, .source = SOURCE_LANE }, \
          .w = { .memory = E_##w_, .word = E_U32, .source = SOURCE_VECTOR }, \
          .sum = E_I32, .body = function, .order = ORDER_EXACT, .instructions = __VA_ARGS__ }
#define ARM_WORDS(e, s) \
        LOAD_WORDS(e, 4, "vreinterpretq_u32_" s "(vld1q_" s "($0))"), LOAD_WORDS(e, 4, "word_of($0)", ARM_WORD_OF, .lanes = 1)

/* Tiles of two rows of eight bytes, in vector registers: two positions of a word, or two outputs; a
 * tile of sums is two positions by two outputs. */
#define ARM_MATRICES_OF(called, channels_, x_, w_, sum_, ...) \
        { .name = called, .positions = 2, .outputs = 2, .depth = 1, .channels = channels_, \
          .x = { .memory = E_##x_, .word = E_##sum_, .source = SOURCE_TILE }, \
          .w = { .memory = E_##w_, .word = E_##sum_, .source = SOURCE_TILE }, .sum = E_##sum_, \
          .body = "add_product", .instructions = 1, .registers = 32, __VA_ARGS__ }
#define ARM_TILES \
        ROW(CAN_TILES, F32, "int32x4_t $0[$1]"), ROW(CAN_TILE_ZERO, F32, "$0 = vdupq_n_s32(0)"), \
        ROW(CAN_TILE_LOAD, F32, "$0 = load_tile($1, $2, $3, $4)", \
            "int32x4_t load_tile(const void *x, ptrdiff_t step, int bytes, int rows)\n" \
            "{\n" \
            "        const int8_t *from = x;\n" \
            "        if (bytes == 16)\n" \
            "                return vreinterpretq_s32_s8(vld1q_s8(from));\n" \
            "        return vreinterpretq_s32_s8(vcombine_s8(vld1_s8(from), rows > 1 ? vld1_s8(from + step) : vdup_n_s8(0)));\n" \
            "}"), \
        ROW(CAN_TILE_STORE, F32, "store_tile($0, $1, $2, $4)", \
            "void store_tile(int32x4_t tile, void *y, ptrdiff_t step, int rows)\n" \
            "{\n" \
            "        char *to = y;\n" \
            "        vst1_s32((void *)to, vget_low_s32(tile));\n" \
            "        if (rows > 1)\n" \
            "                vst1_s32((void *)(to + step), vget_high_s32(tile));\n" \
            "}")
/* `elements` is ".16b" or ".8h"; sums of floats are handled as bits. */
#define ARM_MATRICES(x, w, instruction, elements) \
        ROW(CAN_TILE_MULTIPLY, x, "$0 = " instruction "($0, $1, $2)", \
            "int32x4_t " instruction "(int32x4_t sum, int32x4_t x, int32x4_t w)\n" \
            "{\n" \
            "        __asm__ (\"" instruction "\\t%0.4s, %1" elements ", %2" elements "\" : \"+w\"(sum) : \"w\"(x), \"w\"(w));\n" \
            "        return sum;\n" \
            "}", .to = E_##w)

/* These are rows of a library function for words of x in all lanes, LANE(lane). */
#define ARM_DOT_LANES(function_, LANE) ARM_LANES(I32, function_, LANE)
#define ARM_LANES(sum, function_, LANE) \
        { .op = LOOP_CALL, .element = E_##sum, .function = function_, .lane = 1, LANE("0") }, \
        { .op = LOOP_CALL, .element = E_##sum, .function = function_, .lane = 2, LANE("1") }, \
        { .op = LOOP_CALL, .element = E_##sum, .function = function_, .lane = 3, LANE("2") }, \
        { .op = LOOP_CALL, .element = E_##sum, .function = function_, .lane = 4, LANE("3") }

#endif
