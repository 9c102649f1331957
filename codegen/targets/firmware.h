/* SPDX-License-Identifier: MIT */
/* Cores for firmware, by gcc or clang: what a product of bytes takes, and what things cost.
 *
 * A core starts one instruction in a cycle, so rates count instructions: of code that gcc 12 makes
 * at -O2, as QEMU counts them (docs/measurements/firmware.md). */
#ifndef CODEGEN_TARGETS_FIRMWARE_H
#define CODEGEN_TARGETS_FIRMWARE_H

#include "codegen/targets/rows.h"
#include "ir/target/rates.h"

/* Products of bytes are added one by one, in so many instructions each. */
#define SINGLE(name_, x_, w_, count) \
        { .name = name_, .positions = 1, .outputs = 1, .depth = 1, .channels = 1, \
          .x = { .memory = E_##x_, .word = E_I32, .source = SOURCE_SCALAR }, \
          .w = { .memory = E_##w_, .word = E_I32, .source = SOURCE_VECTOR }, \
          .sum = E_I32, .order = ORDER_EXACT, .instructions = count }
#define SINGLES(name, count) \
        SINGLE(name, I8, I8, count), SINGLE(name, U8, I8, count), \
        SINGLE(name, I8, U8, count), SINGLE(name, U8, U8, count)

/* ssat, behind a shift. Without optimization gcc knows no literal in a function. */
#define THUMB_SATURATE \
        { .op = CAN_SATURATE, .element = E_I32, .level = 8, .lanes = 1, .cycles = 1, .text = "saturate_i8($0, $1)", \
          .definition = "int32_t saturate_i8(int32_t x, int shift)\n" \
                        "{\n" \
                        "#if defined(__OPTIMIZE__)\n" \
                        "        if (shift > 0) {\n" \
                        "                __asm__ (\"ssat %0, #8, %1, asr %2\" : \"=r\"(x) : \"r\"(x), \"i\"(shift));\n" \
                        "        } else {\n" \
                        "                __asm__ (\"ssat %0, #8, %1\" : \"=r\"(x) : \"r\"(x));\n" \
                        "        }\n" \
                        "        return x;\n" \
                        "#else\n" \
                        "        x >>= shift;\n" \
                        "        return x < -128 ? -128 : x > 127 ? 127 : x;\n" \
                        "#endif\n" \
                        "}", \
          .portable = "int32_t saturate_i8(int32_t x, int shift)\n" \
                      "{\n" \
                      "        const uint32_t by = (uint32_t)shift;\n" \
                      "        const uint32_t moved = ((uint32_t)x + 0x80000000u) >> by, zero = 0x80000000u >> by;\n" \
                      "        const int64_t y = (int64_t)moved - (int64_t)zero;\n" \
                      "        return y < -128 ? -128 : (y > 127 ? 127 : (int32_t)y);\n" \
                      "}" }

#define FIRMWARE_RATES \
        .issue = 1, .starts = 1, .load = 1, .latency = .01, .contention = .01, .l2 = 1e9, .memory = 1e9, \
        .packed_iteration = 3, .packed_entry = 8, .packed_result = 6, \
        .lanes_issue = 1, .lanes_load = 1, .lanes_tile = 12, \
        .code_operation = 1, .code_store = 1, .code_loop = 3, .code_iteration = 3, .code_extreme = 2, \
        .scalar_issue = 1, .scalar_iteration = 3, .scalar_integer = 1, .scalar_spilled = 2, \
        .accumulator_vector = 4, .accumulator_load = 1, .accumulator_narrow = 1, .accumulator_whole = 1

/* gcc must not order loads in front of what uses them, nor sums in another way than they are
 * written: both take registers. Where products are added one by one it must leave what is loaded
 * where it is used, too (no-tree-ter): 36.3 M instructions of resnet8_int8 on RV32, 45.3 M without
 * it; Cortex-M4 3.47 M of dscnn_kws_int8 within 9,216 bytes, 4.09 M without it. Single products'
 * registers are then given best by priority, in a function as a whole: Cortex-M0 65.3 M
 * instructions, 69.5 M without. */
#define FIRMWARE_GCC "no-schedule-insns,no-ipa-cp,no-tree-reassoc"
#define FIRMWARE_GCC_SINGLE FIRMWARE_GCC ",no-tree-ter,ira-region=one,ira-algorithm=priority"
/* Nor must it move what does not change out of loops, which takes registers, too: Cortex-M4 14.32 M
 * instructions of resnet8_int8, 14.51 M where gcc does so, and 0.7 KB less code. */
#define FIRMWARE_GCC_THUMB ",no-move-loop-invariants"
#define FIRMWARE \
        .portable = (const struct portable[]){ { 0 } }, .engine = &engine_words, .integers = true, .workspace_align = 8, .vector_bytes = 4, \
        .l1_bytes = 16384, .l2_bytes = 65536, .pointers = true

#endif
