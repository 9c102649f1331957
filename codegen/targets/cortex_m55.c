/* SPDX-License-Identifier: MIT */
/* Cortex-M55: vectors of 128 bits (MVE). A word is sixteen bytes in a vector register; all of its
 * products are added to one sum in a general register (vmladava).
 *
 * Contractions of floats, and loops over them, are in vectors of four lanes, which flush denormal
 * numbers to zero; not under --exact. So gcc makes no vectors of its own. */
#include "codegen/targets/firmware.h"
#include "codegen/targets/mve.h"
#include "codegen/targets/mve_portable.h"

extern const struct target target_cortex_m4, target_cortex_m55;

/* Sixteen bytes. */
#define SIXTEEN(operation, ...) { .op = operation, .element = E_I8, .lanes = 16, .text = __VA_ARGS__ }

static const struct c_spelling spellings[] = {
        SIXTEEN(CAN_TYPE, "int8x16_t"), SIXTEEN(LOOP_SPLAT, "vdupq_n_s8($0)"),
        SIXTEEN(LOOP_LOAD, "vldrbq_s8($0)"), SIXTEEN(CAN_STORE, "vstrbq_s8($0, $1)"),
        { .op = LOOP_CALL,
          .element = E_I32,
          .lanes = 1,
          .function = "dot_i8x16",
          .cycles = 1,
          .text = "vmladavaq_s8($0, $1, $2)" },
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        { .name = "vmladava",
          .positions = 1,
          .outputs = 1,
          .depth = 1,
          .channels = 16,
          .x = { .memory = E_I8, .word = E_I8, .source = SOURCE_SCALAR },
          .w = { .memory = E_I8, .word = E_I8, .source = SOURCE_VECTOR },
          .sum = E_I32,
          .body = "dot_i8x16",
          .order = ORDER_EXACT,
          .instructions = 1,
          .spare = 4,
          .least = 1 },
        { 0 }
};

static const struct rates rates = { FIRMWARE_RATES,
                                    .packed_decode = 2,
                                    .packed_word = .01,
                                    .code_long = 4,
                                    .code_float = 1.35,
                                    .code_divide = 1,
                                    .code_load_wait = .5,
                                    .code_branch_wait = 1.5,
                                    .code_rows = .99,
                                    .stack_function = 28,
                                    .scalar_registers = 13 };

/* ---- four lanes, of channels that are computed apart ---- */

static const struct c_spelling wide_spellings[] = {
        MVE_INTEGERS(I32, "i32x4", "int32x4_t", "i32", "int32_t", "s32"),
        OP(NEG, I32, "vnegq_s32($0)"),
        MVE_INTEGERS(U32, "u32x4", "uint32x4_t", "u32", "uint32_t", "u32"),
        MVE_SAME(I32, "s32", U32, "u32"),
        MVE_SAME(U32, "u32", I32, "s32"), MVE_ALL_BYTES, MVE_SATURATE, MVE_ADD_PRODUCT,
        MATH("multiply_high", I32, "vaddq_n_s32(vmulhq_s32($0, $1), $2)", .scalar = 3),
        MATH("multiply_high", I32, "vaddq_s32(vmulhq_s32($0, $1), $2)"), MVE_FLOATS, { .op = CAN_END }
};

#define LANES(x_, w_) \
        { .name = "vmul", .positions = 1, .outputs = 4, .depth = 1, .channels = 1, \
          .x = { .memory = E_##x_, .word = E_I32, .source = SOURCE_VECTOR }, \
          .w = { .memory = E_##w_, .word = E_I32, .source = SOURCE_VECTOR }, \
          .sum = E_I32, .body = "add_product", .order = ORDER_EXACT, .instructions = 2 }

static const struct multiply wide_multiplies[] = {
        LANES(I8, I8),
        LANES(U8, I8),
        LANES(I8, U8),
        LANES(U8, U8),
        { .name = "vfma",
          .positions = 1,
          .outputs = 4,
          .depth = 1,
          .channels = 1,
          .x = { .memory = E_F32, .word = E_F32, .source = SOURCE_SCALAR },
          .w = { .memory = E_F32, .word = E_F32, .source = SOURCE_VECTOR },
          .sum = E_F32,
          .order = ORDER_SEQUENCE,
          .flushes = true,
          .instructions = 1 },
        { 0 }
};

static const struct rates wide_rates = { .lanes_issue = .5, .lanes_load = 1, .lanes_tile = 12 };

static const struct target wide = {
        .name = "cortex-m55 in four lanes",
        .base = &target_cortex_m55,
        .vector_bytes = 16,
        .vector_registers = 8,
        .has_fma = true,
        .rates = &wide_rates,
        .multiplies = wide_multiplies,
        C_SPELLINGS(wide_spellings),
};

static const struct portable portable[] = { MVE_PORTABLE_ROWS, { 0 } };

const struct target target_cortex_m55 = {
        .name = "cortex-m55",
        .doc = "Cortex-M55: sixteen products at a time (MVE)",
        .base = &target_cortex_m4,
        .triple = "thumbv8.1m.main-none-eabihf",
        .cpu = "cortex-m55",
        .rates = &rates,
        .gcc_optimize = FIRMWARE_GCC ",no-tree-loop-vectorize,no-tree-slp-vectorize",
        .machine = "defined(__ARM_FEATURE_MVE) && !defined(__ARM_BIG_ENDIAN)",
        .compilers = "gcc or clang for Cortex-M55 (-mcpu=cortex-m55)",
        .include = "<arm_mve.h>",
        .portable = portable,
        .wide = &wide,
        .flushes = true,
        .keep = "w",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
