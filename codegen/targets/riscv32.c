/* SPDX-License-Identifier: MIT */
/* 32-bit RISC-V with products (RV32IM). */
#include "codegen/targets/firmware.h"

extern const struct target target_generic, target_riscv32;

static const struct multiply multiplies[] = { SINGLES("mul", 2), { 0 } };

static const struct rates rates = { FIRMWARE_RATES,
                                    .packed_word = .01,
                                    .code_long = 4,
                                    .code_float = 75,
                                    .code_accumulate = 2,
                                    .code_divide = 1.5,
                                    .code_bytes = 3.3,
                                    .code_load_wait = .5,
                                    .code_branch_wait = 1,
                                    .code_rows = 1.01,
                                    .stack_function = 46,
                                    .scalar_registers = 28 };

const struct target target_riscv32 = {
        .name = "riscv32",
        .doc = "32-bit RISC-V with products (rv32im), no floats",
        .base = &target_generic,
        .triple = "riscv32-unknown-none-elf",
        FIRMWARE,
        .gcc_optimize = FIRMWARE_GCC_SINGLE,
        .vector_registers = 20,
        .rates = &rates,
        .machine = "defined(__riscv_mul) && __riscv_xlen == 32",
        .compilers = "gcc or clang for 32-bit RISC-V (-march=rv32imac)",
        .multiplies = multiplies,
};
