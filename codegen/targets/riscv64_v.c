/* SPDX-License-Identifier: MIT */
/* This is 64-bit RISC-V with its vector extension 1.0: registers of 128 bits, which every such
 * processor has, or more. A vector is a register group of two (LMUL = 2): half as many instructions
 * load, address and multiply, and half as many vectors, 16, one of which masks take, are enough for
 * tiles. Where a schedule asks for that, a vector is a register group of four.
 *
 * Rates: two pipelines of 128 bits, as a SiFive P670 has (LLVM's model, RISCVSchedSiFiveP600.td),
 * so that a group of two takes one cycle and a group of four two; and two instructions begin in a
 * cycle, as in the in-order cores (SpacemiT X60, XuanTie C908, SiFive X280: their makers'
 * overviews). */
#include "codegen/targets/riscv.h"
#include "ir/target/rates.h"

extern const struct target target_riscv64, target_riscv64_v;

static const struct c_spelling spellings[] = {
        RVV_ROWS(RVV_8, "4", RVV_STEPS_8, RVV_BITS_M2, RVV_FLOAT_M2),
        { .op = LOOP_FMA, .element = E_F32, .lanes = 1, .text = "__builtin_fmaf($0, $1, $2)" },
        { .op = LOOP_FMA, .element = E_F64, .lanes = 1, .text = "__builtin_fma($0, $1, $2)" },
        { .op = CAN_END }
};
static const struct multiply multiplies[] = { RVV_MULTIPLIES(8), { 0 } };

/* ---- register groups of four: everything takes twice as long, and does twice as much ---- */

static const struct c_spelling wide_spellings[] = {
        RVV_ROWS(RVV_16_WIDE, "8", RVV_STEPS_16, RVV_BITS_M4, RVV_FLOAT_M4), { .op = CAN_END }
};
static const struct multiply wide_multiplies[] = { RVV_MULTIPLIES(16), { 0 } };
static const struct target wide = {
        .name = "riscv64-v in groups of four",
        .base = &target_riscv64_v,
        .length = "__riscv_vsetvlmax_e8m4()",
        .vector_bytes = 64,
        .vector_registers = 7,
        .rates = &(const struct rates){ .issue = .5, .packed_result = 9.6 },
        .multiplies = wide_multiplies,
        C_SPELLINGS(wide_spellings),
};

const struct target target_riscv64_v = {
        .name = "riscv64-v",
        .doc = "64-bit RISC-V with V 1.0, 8 lanes: two registers of 128 bits or more",
        .base = &target_riscv64,
        .engine = &engine_vector,
        .attribute = "arch=+v",
        .include = "<riscv_vector.h>",
        .length = "__riscv_vsetvlmax_e8m2()",
        .vector_bytes = 32,
        .vector_registers = 15,
        .wide = &wide,
        .rates = &(const struct rates){ .starts = 2 },
        .has_fma = true,
        .pointers = true,
        .has_masks = true,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
