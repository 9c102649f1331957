/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with products of bytes: these processors have the dot product of Armv8.2, as
 * Cortex-A55 and A76 (2018) and later do. */
#include "codegen/targets/arm.h"

extern const struct target target_aarch64, target_aarch64_dotprod;

/* This is an instruction, because its intrinsic needs options of the compiler. */
#define DOT(name, x) \
        .text = name "($0, $1, $2)", .gcc_optimize = "no-gcse", \
        .definition = "int32x4_t " name "(int32x4_t sum, uint32x4_t x, uint32x4_t w)\n" \
                      "{\n" \
                      "        __asm__ (\"sdot\\t%0.4s, %2.16b, " x "\" : \"+w\"(sum) : \"w\"(x), \"w\"(w));\n" \
                      "        return sum;\n" \
                      "}"
#define LANE(lane) DOT("sdot_lane" lane, "%1.4b[" lane "]")

static const struct c_spelling spellings[] = {
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8", DOT("sdot", "%1.16b") }, ARM_DOT_LANES("dot_i8", LANE),
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        ARM_BYTES_BY_LANE("sdot", I8, I8, "dot_i8", 1),
        ARM_BYTES_BY_LANE("sdot", I8, U8, "dot_i8", 1, .limit = 127), /* The bits are the same. */
        { 0 }
};

const struct target target_aarch64_dotprod = {
        .name = "aarch64-dotprod",
        .doc = "what aarch64 has, and products of bytes (Armv8.2 with dotprod)",
        .base = &target_aarch64,
        .attribute = "dotprod",
        .gcc_attribute = "arch=armv8.2-a+dotprod",
        .gcc_optimize = ARM_GCC,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
