/* SPDX-License-Identifier: MIT */
/* This is 64-bit RISC-V with vector registers of 256 bits or more, as the SpacemiT K1 (2024) has
 * them. */
#include "codegen/targets/riscv.h"

extern const struct target target_riscv64_v, target_riscv64_v256;

static const struct c_spelling spellings[] = {
        RVV_ROWS(RVV_16, "8", RVV_STEPS_16, RVV_BITS_M2, RVV_FLOAT_M2), { .op = CAN_END }
};
static const struct multiply multiplies[] = { RVV_MULTIPLIES(16), { 0 } };

const struct target target_riscv64_v256 = {
        .name = "riscv64-v256",
        .doc = "64-bit RISC-V with V 1.0, 16 lanes: two registers of 256 bits or more",
        .base = &target_riscv64_v,
        .vector_bytes = 64,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
