/* SPDX-License-Identifier: MIT */
/* Cortex-M4: Thumb-2 with the DSP extension, which adds two products of 16 bits each to a sum
 * (smlad).
 *
 * Four bytes become two registers of two numbers each: bytes 0 and 2, and 1 and 3 (sxtb16). Words
 * of x and of w are in the same order, so none is put right. A kernel decodes what a strip of
 * results reads of x once (kernels/prologue.c), and each tile decodes its weights: 21 instructions
 * for the 24 products of 4 channels, 3 positions and 2 outputs. */
#include "codegen/targets/firmware.h"

extern const struct target target_cortex_m3, target_cortex_m4;

#define HALVES(e, type, extend) \
        { .op = LOOP_CALL, .element = E_U64, .lanes = 1, .cycles = 2, .function = "halves_" e, .text = "halves_" e "($0)", \
          .definition = "uint64_t halves_" e "(uint32_t w)\n" \
                        "{\n" \
                        "        uint32_t even, odd;\n" \
                        "        __asm__ (\"" extend " %0, %1\" : \"=r\"(even) : \"r\"(w));\n" \
                        "        __asm__ (\"" extend " %0, %1, ror #8\" : \"=r\"(odd) : \"r\"(w));\n" \
                        "        return (uint64_t)odd << 32 | even;\n" \
                        "}", \
          .portable = "uint64_t halves_" e "(uint32_t w)\n" \
                      "{\n" \
                      "        uint64_t halves = 0;\n" \
                      "        for (uint32_t i = 0; i < 4u; i++) {\n" \
                      "                const uint32_t byte = (w >> (8u * i)) & 255u, place = (32u * (i % 2u)) + (16u * (i / 2u));\n" \
                      "                const " type " number = (" type ")byte;\n" \
                      "                halves |= (uint64_t)(uint16_t)number << place;\n" \
                      "        }\n" \
                      "        return halves;\n" \
                      "}" }
/* A word may begin at any address. */
#define WORD_OF(e) \
        { .op = CAN_LOAD_WORDS, .element = E_U32, .to = E_##e, .level = 4, .lanes = 1, .text = "word_of($0)", \
          .definition = "uint32_t word_of(const void *x)\n" \
                        "{\n" \
                        "        uint32_t word;\n" \
                        "        __builtin_memcpy(&word, x, sizeof word);\n" \
                        "        return word;\n" \
                        "}", \
          .portable = "uint32_t word_of(const void *x)\n" \
                      "{\n" \
                      "        const unsigned char *const bytes = x;\n" \
                      "        return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;\n" \
                      "}" }
/* A function of three numbers is one instruction. */
#define THREE(name, count, text_, portable_) \
        { .op = LOOP_CALL, .element = E_I32, .lanes = 1, .cycles = count, .function = name, .text = name "($0, $1, $2)", \
          .definition = text_, .portable = portable_ }

#define SMLAD(half) \
        "        __asm__ (\"smlad %0, %1, %2, %0\"\n" \
        "                : \"+r\"(sum) : \"r\"((uint32_t)" half("x") "), \"r\"((uint32_t)" half("w") "));\n"
#define EVEN(word) word
#define ODD(word) "(" word " >> 32)"

static const struct c_spelling spellings[] = {
        WORD_OF(I8),
        WORD_OF(U8),
        HALVES("i8", "int8_t", "sxtb16"),
        HALVES("u8", "uint8_t", "uxtb16"),
        THREE("dot_halves", 2, "int32_t dot_halves(int32_t sum, uint64_t x, uint64_t w)\n"
                            "{\n" SMLAD(EVEN) SMLAD(ODD) "        return sum;\n"
                            "}",
              "int32_t dot_halves(int32_t sum, uint64_t x, uint64_t w)\n"
              "{\n"
              "        uint32_t bits = (uint32_t)sum;\n"
              "        for (uint32_t i = 0; i < 64u; i += 16u) {\n"
              "                const int16_t a = (int16_t)(uint16_t)(x >> i), b = (int16_t)(uint16_t)(w >> i);\n"
              "                const int32_t product = (int32_t)a * b;\n"
              "                bits += (uint32_t)product;\n"
              "        }\n"
              "        return (int32_t)bits;\n"
              "}"),
        THREE("multiply_high", 1, "int32_t multiply_high(int32_t x, int32_t m, int32_t b)\n"
                               "{\n"
                               "        int32_t high;\n"
                               "        __asm__ (\"smmla %0, %1, %2, %3\"\n"
                               "                : \"=r\"(high) : \"r\"(x), \"r\"(m), \"r\"(b));\n"
                               "        return high;\n"
                               "}",
              "int32_t multiply_high(int32_t x, int32_t m, int32_t b)\n"
              "{\n"
              "        const int64_t product = (int64_t)x * m;\n"
              "        const uint64_t high = (uint64_t)product >> 32;\n"
              "        const uint32_t sum = (uint32_t)high + (uint32_t)b;\n"
              "        return (int32_t)sum;\n"
              "}"),
        { .op = CAN_END }
};

#define DUAL(x_, x_decode, w_, w_decode) \
        { .name = "smlad", .positions = 1, .outputs = 1, .depth = 1, .channels = 4, \
          .x = { .memory = E_##x_, .word = E_U64, .source = SOURCE_SCALAR, .decode = x_decode }, \
          .w = { .memory = E_##w_, .word = E_U64, .source = SOURCE_VECTOR, .decode = w_decode }, \
          .sum = E_I32, .body = "dot_halves", .order = ORDER_EXACT, .instructions = 2, .spare = 4 }

static const struct multiply multiplies[] = {
        DUAL(I8, "halves_i8", I8, "halves_i8"), DUAL(U8, "halves_u8", I8, "halves_i8"),
        DUAL(I8, "halves_i8", U8, "halves_u8"), DUAL(U8, "halves_u8", U8, "halves_u8"), { 0 }
};

/* packed_word: gcc often loads the two halves of a word apart. */
static const struct rates rates = { FIRMWARE_RATES,
                                    .packed_decode = 2,
                                    .packed_word = .6,
                                    .code_long = 4,
                                    .code_float = 1.35,
                                    .code_divide = 1,
                                    .code_bytes = 4.3,
                                    .code_load_wait = .5,
                                    .code_branch_wait = 1.5,
                                    .code_rows = 1.01,
                                    .stack_function = 23,
                                    .scalar_registers = 13 };

const struct target target_cortex_m4 = {
        .name = "cortex-m4",
        .doc = "Cortex-M4: pairs of products (DSP extension)",
        .base = &target_cortex_m3,
        .triple = "thumbv7em-none-eabihf",
        .cpu = "cortex-m4",
        .rates = &rates,
        .gcc_optimize = FIRMWARE_GCC FIRMWARE_GCC_THUMB ",no-tree-ter",
        .machine = "defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && "
                   "!defined(__ARM_BIG_ENDIAN)",
        .compilers = "gcc or clang for Cortex-M4 (-mcpu=cortex-m4)",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
