/* SPDX-License-Identifier: MIT */
/* Cortex-M0 and M0+: Thumb, whose instructions take eight registers. Products have 32 bits. */
#include "codegen/targets/firmware.h"

extern const struct target target_generic, target_cortex_m0;

/* The high word comes of four products of 16 bits each, none of which overflows. */
static const struct c_spelling spellings[] = {
        { .op = LOOP_CALL,
          .element = E_I32,
          .lanes = 1,
          .function = "multiply_high",
          .text = "multiply_high($0, $1, $2)",
          .definition = "int32_t multiply_high(int32_t x, int32_t m, int32_t b)\n"
                        "{\n"
                        "        const uint32_t x0 = (uint32_t)x & 65535u, "
                        "m0 = (uint32_t)m & 65535u;\n"
                        "        const uint32_t x16 = (uint32_t)x >> 16, m16 = (uint32_t)m >> 16;\n"
                        "        const int32_t x1 = (int16_t)x16, m1 = (int16_t)m16;\n"
                        "        const uint32_t least = (x0 * m0) >> 16;\n"
                        "        const int32_t middle = x1 * (int32_t)m0 + (int32_t)least;\n"
                        "        const uint32_t middle0 = (uint32_t)middle & 65535u, "
                        "middle16 = (uint32_t)middle >> 16;\n"
                        "        const int32_t low = (int32_t)x0 * m1 + (int32_t)middle0;\n"
                        "        const uint32_t low16 = (uint32_t)low >> 16;\n"
                        "        const int32_t high = x1 * m1 + (int16_t)middle16 + "
                        "(int16_t)low16;\n"
                        "        const uint32_t sum = (uint32_t)high + (uint32_t)b;\n"
                        "        return (int32_t)sum;\n"
                        "}" },
        { .op = CAN_END }
};

/* A load with a sign has no offset in its instruction: bytes of x without one are faster. */
static const struct multiply multiplies[] = { SINGLE("muls", I8, I8, 3),
                                              SINGLE("muls", U8, I8, 2),
                                              SINGLE("muls", I8, U8, 3),
                                              SINGLE("muls", U8, U8, 2),
                                              { 0 } };

static const struct rates rates = { FIRMWARE_RATES,
                                    .packed_word = .01,
                                    .lanes_window = 12,
                                    .code_long = 20,
                                    .code_float = 80,
                                    .code_signed = 2.5,
                                    .code_accumulate = 2.3,
                                    .code_divide = 3,
                                    .code_bytes = 3.6,
                                    .code_load_wait = 1,
                                    .code_branch_wait = 2,
                                    .code_rows = .99,
                                    .stack_function = 44,
                                    .scalar_registers = 7 };

const struct target target_cortex_m0 = {
        .name = "cortex-m0",
        .doc = "Cortex-M0, M0+: few registers, no floats",
        .base = &target_generic,
        .triple = "thumbv6m-none-eabi",
        .cpu = "cortex-m0",
        FIRMWARE,
        /* What is moved out of loops takes registers: 1.3 % fewer instructions of resnet8_int8,
         * 1.4 % more of dscnn_kws_int8. */
        .gcc_optimize = FIRMWARE_GCC_SINGLE ",no-move-loop-invariants",
        .vector_registers = 4,
        .rates = &rates,
        .machine = "defined(__thumb__) && defined(__arm__)",
        .compilers = "gcc or clang for Cortex-M0 (-mcpu=cortex-m0)",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
