/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with floats of 16 bits: FMLAL of Armv8.2 (FP16 and FHM), whose products of two
 * halves are exact and are added up in f32. It is in Neoverse V1 and Apple's A13 (2019),
 * Cortex-A510 and A710 (2021) and later. It takes four products as FMLA of floats does; the gain is
 * memory: half as many bytes are read, and no instruction widens them. */
#include "codegen/targets/arm.h"

extern const struct target target_aarch64_dotprod, target_aarch64_fp16;

/* The halves are bits in a short register, whose full register the instruction names; halves that
 * are taken from lanes must be in one of the first 16 registers, "x". */
#define FMLAL(name, wants, x) \
        .text = name "($0, $1, $2)", \
        .definition = "float32x4_t " name "(float32x4_t sum, uint16x4_t x, uint16x4_t w)\n" \
                      "{\n" \
                      "        __asm__ (\"fmlal\\t%0.4s, %2.4h, " x "\" : \"+w\"(sum) : \"" wants "\"(x), \"w\"(w));\n" \
                      "        return sum;\n" \
                      "}"
#define LANE(lane) FMLAL("fmlal_lane" lane, "x", "%1.h[" lane "]")

static const struct c_spelling spellings[] = {
        { .op = LOOP_CALL, .element = E_F32, .function = "add_halves", FMLAL("fmlal", "w", "%1.4h") },
        ARM_LANES(F32, "add_halves", LANE),
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        ARM_HALVES_BY_LANE("fmlal", 4, F16, 1, .body = "add_halves"), { 0 }
};

const struct target target_aarch64_fp16 = {
        .name = "aarch64-fp16",
        .doc = "what aarch64-dotprod has, and products of f16 added up in f32 (Armv8.2 with fp16 "
               "and fhm)",
        .base = &target_aarch64_dotprod,
        .attribute = "fp16fml,fullfp16,dotprod",
        .gcc_attribute = "arch=armv8.2-a+dotprod+fp16fml",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
