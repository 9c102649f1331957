/* SPDX-License-Identifier: MIT */
/* 32-bit RISC-V with products and floats of 32 bits (RV32IMF). */
#include "codegen/targets/firmware.h"

extern const struct target target_riscv32, target_riscv32_f;

static const struct rates rates = { .code_float = 1.5, .code_divide = 1 };

const struct target target_riscv32_f = {
        .name = "riscv32-f",
        .doc = "32-bit RISC-V with products and floats (rv32imf)",
        .base = &target_riscv32,
        .features = "f",
        .abi = "ilp32f",
        .rates = &rates,
        .machine = "defined(__riscv_mul) && defined(__riscv_flen) && __riscv_xlen == 32",
        .compilers = "gcc or clang for 32-bit RISC-V with floats (-march=rv32imafc)",
};
