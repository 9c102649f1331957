/* 64-bit ARM with the integer products of Armv8.6: bytes without a sign by bytes with one, in Neoverse
 * V1 (2020), Cortex-A510 and A710 (2021) and later. Products by lane are usdot and sudot: the
 * instruction names first whose bytes are in the vector. Its products of matrices (smmla) want sums
 * of two positions in a vector, which no kernel has. */
#include "codegen/targets/arm.h"

extern const struct target target_aarch64_fp16, target_aarch64_i8mm;

#define DOT(name, instruction, operands) \
        .text = name "($0, $1, $2)", \
        .definition = "int32x4_t " name "(int32x4_t sum, uint32x4_t x, uint32x4_t w)\n" \
                      "{\n" \
                      "        __asm__ (\"" instruction "\\t%0.4s, " operands "\" : \"+w\"(sum) : \"w\"(x), \"w\"(w));\n" \
                      "        return sum;\n" \
                      "}"
#define SUDOT(lane) DOT("sudot_lane" lane, "sudot", "%2.16b, %1.4b[" lane "]")
#define USDOT(lane) DOT("usdot_lane" lane, "usdot", "%2.16b, %1.4b[" lane "]")

static const struct spelling spellings[] = {
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_u8_i8", DOT("sudot", "usdot", "%1.16b, %2.16b") },
        ARM_DOT_LANES("dot_u8_i8", SUDOT),
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8_u8", DOT("usdot", "usdot", "%2.16b, %1.16b") },
        ARM_DOT_LANES("dot_i8_u8", USDOT),
        { 0 }
};

static const struct multiply multiplies[] = {
        ARM_BYTES_BY_LANE("sudot", U8, I8, "dot_u8_i8", 1), ARM_BYTES_BY_LANE("usdot", I8, U8, "dot_i8_u8", 1), { 0 }
};

const struct target target_aarch64_i8mm = {
        .name = "aarch64-i8mm",
        .doc = "what aarch64-fp16 has, and products of bytes with and without a sign (i8mm)",
        .base = &target_aarch64_fp16,
        .attribute = "i8mm,fp16fml,fullfp16,dotprod",
        .gcc_attribute = "arch=armv8.2-a+dotprod+fp16fml+i8mm",
        .multiplies = multiplies,
        .spellings = spellings,
};
