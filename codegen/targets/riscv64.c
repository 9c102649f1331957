/* SPDX-License-Identifier: MIT */
/* 64-bit RISC-V without vectors; Linux distributions are compiled for it as RV64GC. */
#include "ir/target/rates.h"
#include "ir/target/target.h"

extern const struct target target_generic, target_riscv64;

const struct target target_riscv64 = {
        .name = "riscv64",
        .doc = "any 64-bit RISC-V: no vectors",
        .base = &target_generic,
        .triple = "riscv64-unknown-linux-gnu",
        .rates = &(const struct rates){ .scalar_registers = 32 },
        .machine = "defined(__riscv) && __riscv_xlen == 64 && defined(__GNUC__)",
        .compilers = "gcc or clang for 64-bit RISC-V (riscv64)",
};
