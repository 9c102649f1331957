/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with the integer products of Armv8.6: bytes without a sign by bytes with one,
 * in Neoverse V1 (2020), Cortex-A510 and A710 (2021) and later. Products by lane are usdot and
 * sudot: the instruction's name begins with the type of the bytes in the vector. Products of
 * matrices (smmla) have the sums of two positions by two outputs in a vector, which is a tile;
 * eight channels of a position are a row of another tile. Processors with these instructions have
 * products of bf16, too (bfdot). */
#include "codegen/targets/arm.h"
#include "ir/target/rates.h"

extern const struct target target_aarch64_fp16, target_aarch64_i8mm;

#define DOT(name, instruction, operands) \
        .text = name "($0, $1, $2)", \
        .definition = "int32x4_t " name "(int32x4_t sum, uint32x4_t x, uint32x4_t w)\n" \
                      "{\n" \
                      "        __asm__ (\"" instruction "\\t%0.4s, " operands "\" : \"+w\"(sum) : \"w\"(x), \"w\"(w));\n" \
                      "        return sum;\n" \
                      "}"
#define SUDOT(lane) DOT("sudot_lane" lane, "sudot", "%2.16b, %1.4b[" lane "]")
#define USDOT(lane) DOT("usdot_lane" lane, "usdot", "%2.16b, %1.4b[" lane "]")

#define BFDOT(name, x) \
        .text = name "($0, $1, $2)", \
        .definition = "float32x4_t " name "(float32x4_t sum, uint32x4_t x, uint32x4_t w)\n" \
                      "{\n" \
                      "        __asm__ (\"bfdot\\t%0.4s, %1.8h, " x "\" : \"+w\"(sum) : \"w\"(w), \"w\"(x));\n" \
                      "        return sum;\n" \
                      "}"
#define BFDOT_LANES(n) \
        { .op = LOOP_CALL, .element = E_F32, .function = "dot_bf16_odd", .lane = 1 + n, BFDOT("bfdot_lane" #n, "%2.2h[" #n "]") }

/* The sums leave their tiles through memory, which takes as long as `least` products. */
#define TILES(called, x, w) ARM_MATRICES_OF(called, 8, x, w, I32, .order = ORDER_EXACT, .least = 100)

static const struct c_spelling spellings[] = {
        { .op = LOOP_CALL,
          .element = E_I32,
          .function = "dot_u8_i8",
          DOT("sudot", "usdot", "%1.16b, %2.16b") },
        ARM_DOT_LANES("dot_u8_i8", SUDOT),
        { .op = LOOP_CALL,
          .element = E_I32,
          .function = "dot_i8_u8",
          DOT("usdot", "usdot", "%2.16b, %1.16b") },
        ARM_DOT_LANES("dot_i8_u8", USDOT),
        { .op = LOOP_CALL, .element = E_F32, .function = "dot_bf16_odd", BFDOT("bfdot", "%2.8h") },
        BFDOT_LANES(0),
        BFDOT_LANES(1),
        BFDOT_LANES(2),
        BFDOT_LANES(3),
        LOAD_WORDS(BF16, 2, "vreinterpretq_u32_u16(vld1q_u16((const void *)$0))"),
        LOAD_WORDS(BF16, 2, "word_of($0)", ARM_WORD_OF, .lanes = 1),
        CONVERT(CAST, F32, BF16, "bf16_from_f32x4($0)",
                "uint16x4_t bf16_from_f32x4(float32x4_t a)\n"
                "{\n"
                "        uint16x4_t b;\n"
                "        __asm__ (\"bfcvtn\\t%0.4h, %1.4s\" : \"=w\"(b) : \"w\"(a));\n"
                "        return b;\n"
                "}"),
        ARM_TILES,
        ARM_MATRICES(I8, I8, "smmla", ".16b"),
        ARM_MATRICES(U8, I8, "usmmla", ".16b"),
        ARM_MATRICES(U8, U8, "ummla", ".16b"),
        ARM_MATRICES(BF16, BF16, "bfmmla", ".8h"),
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        TILES("smmla", I8, I8),
        TILES("usmmla", U8, I8),
        TILES("ummla", U8, U8),
        /* Arm's manual, BFMatMulAdd: it computes as BFDOT of channels 0 and 1, then of 2 and 3. */
        ARM_MATRICES_OF("bfmmla", 4, BF16, BF16, F32, .order = ORDER_APART, .flushes = true,
                        .least = 100),
        { .name = "bfdot",
          .positions = 1,
          .outputs = 4,
          .depth = 1,
          .channels = 2,
          .x = { .memory = E_BF16, .word = E_U32, .source = SOURCE_LANE },
          .w = { .memory = E_BF16, .word = E_U32, .source = SOURCE_VECTOR },
          .sum = E_F32,
          .body = "dot_bf16_odd",
          .order = ORDER_SEQUENCE,
          .flushes = true,
          .instructions = 1 },
        ARM_BYTES_BY_LANE("sudot", U8, I8, "dot_u8_i8", 1),
        ARM_BYTES_BY_LANE("usdot", I8, U8, "dot_i8_u8", 1),
        { 0 }
};

const struct target target_aarch64_i8mm = {
        .name = "aarch64-i8mm",
        .doc = "what aarch64-fp16 has, and products of bytes with and without a sign, and of "
               "matrices of them (i8mm), and of bf16",
        .base = &target_aarch64_fp16,
        .engine = &engine_tile,
        .attribute = "i8mm,bf16,fp16fml,fullfp16,dotprod",
        .gcc_attribute = "arch=armv8.2-a+dotprod+fp16fml+i8mm+bf16",
        .gcc_optimize = ARM_GCC,
        .rates =
                &(const struct rates){
                        .tile_multiply = 1,
                        .tile_load = 1.5, /* loads two rows */
                        .tile_shape = .01, /* Nothing is configured. */
                        .tile_block = 40,
                        .tile_kernel = 10,
                },
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
