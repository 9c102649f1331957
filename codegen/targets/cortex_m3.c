/* SPDX-License-Identifier: MIT */
/* Cortex-M3: Thumb-2, which multiplies and adds in one instruction, multiplies to 64 bits, and
 * saturates. */
#include "codegen/targets/firmware.h"

extern const struct target target_generic, target_cortex_m3;

static const struct c_spelling spellings[] = { THUMB_SATURATE, { .op = CAN_END } };

static const struct multiply multiplies[] = { SINGLES("mla", 1), { 0 } };

static const struct rates rates = { FIRMWARE_RATES,
                                    .packed_word = .01,
                                    .code_long = 4,
                                    .code_float = 36,
                                    .code_signed = 1.3,
                                    .code_divide = 3,
                                    .code_bytes = 3.1,
                                    .code_load_wait = .5,
                                    .code_branch_wait = 1.5,
                                    .code_rows = 1.01,
                                    .stack_function = 40,
                                    .scalar_registers = 13 };

const struct target target_cortex_m3 = {
        .name = "cortex-m3",
        .doc = "Cortex-M3: products one by one, no floats",
        .base = &target_generic,
        .triple = "thumbv7m-none-eabi",
        .cpu = "cortex-m3",
        FIRMWARE,
        .gcc_optimize = FIRMWARE_GCC_SINGLE FIRMWARE_GCC_THUMB,
        .vector_registers = 12,
        .rates = &rates,
        .machine = "defined(__thumb2__) && defined(__arm__)",
        .compilers = "gcc or clang for Cortex-M3 (-mcpu=cortex-m3)",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
