/* SPDX-License-Identifier: MIT */
/* Intrinsics of MVE that rows of mve.h and of Cortex-M55 name, in plain C (codegen/c_portable.c).
 * Lanes lie in registers as they do in memory of the core, which is little-endian. */
#ifndef CODEGEN_TARGETS_MVE_PORTABLE_H
#define CODEGEN_TARGETS_MVE_PORTABLE_H

#include "codegen/c_spelling.h"

#define MVE_S32 "int32x4_t"
#define MVE_U32 "uint32x4_t"
/* A function of vectors of four lanes, whose result's lanes are `each`. */
#define MVE_LANES(name, result, parameters, each) \
        { name, result " " name "(" parameters ")\n" \
                "{\n" \
                "        " result " y;\n" \
                "        for (int i = 0; i < 4; i++)\n" \
                "                y.at[i] = " each ";\n" \
                "        return y;\n" \
                "}" }
/* A function of a header, lane by lane, of one vector or of two of the same type. */
#define MVE_OF_ONE(name, s, vector, each) MVE_LANES(name "_" s, vector, vector " a", each)
#define MVE_OF_TWO(name, s, vector, each) \
        MVE_LANES(name "_" s, vector, vector " a, " vector " b", each)
#define MVE_WRAPS(name, operator) \
        MVE_OF_TWO(name, "s32", MVE_S32, "(int32_t)((uint32_t)a.at[i] " operator " (uint32_t)b.at[i])"), \
        MVE_OF_TWO(name, "u32", MVE_U32, "a.at[i] " operator " b.at[i]")
#define MVE_CHOOSES(name, compare) \
        MVE_OF_TWO(name, "s32", MVE_S32, "a.at[i] " compare " b.at[i] ? a.at[i] : b.at[i]"), \
        MVE_OF_TWO(name, "u32", MVE_U32, "a.at[i] " compare " b.at[i] ? a.at[i] : b.at[i]")

#define MVE_PORTABLE_ROWS \
        { "", "typedef struct { int8_t at[16]; } int8x16_t;\n" \
              "typedef struct { int16_t at[8]; } int16x8_t;\n" \
              "typedef struct { int32_t at[4]; } int32x4_t;\n" \
              "typedef struct { uint32_t at[4]; } uint32x4_t;" }, \
        MVE_LANES("vdupq_n_s32", MVE_S32, "int32_t a", "a"), \
        MVE_LANES("vdupq_n_u32", MVE_U32, "uint32_t a", "a"), \
        MVE_LANES("vldrbq_s32", MVE_S32, "const int8_t *a", "a[i]"), \
        MVE_LANES("vldrbq_u32", MVE_U32, "const uint8_t *a", "a[i]"), \
        MVE_STORES("vstrbq_s32", "int8_t", MVE_S32, "(int8_t)(uint8_t)((uint32_t)a.at[i] & 255u)"), \
        MVE_STORES("vstrbq_u32", "uint8_t", MVE_U32, "(uint8_t)(a.at[i] & 255u)"), \
        MVE_WRAPS("vaddq", "+"), MVE_WRAPS("vsubq", "-"), MVE_WRAPS("vmulq", "*"), \
        MVE_WRAPS("vandq", "&"), MVE_WRAPS("vorrq", "|"), MVE_WRAPS("veorq", "^"), \
        MVE_CHOOSES("vminq", "<"), MVE_CHOOSES("vmaxq", ">"), \
        MVE_OF_ONE("vmvnq", "s32", MVE_S32, "~a.at[i]"), \
        MVE_OF_ONE("vmvnq", "u32", MVE_U32, "~a.at[i]"), \
        MVE_OF_ONE("vnegq", "s32", MVE_S32, "(int32_t)(0u - (uint32_t)a.at[i])"), \
        MVE_LANES("vmulhq_s32", MVE_S32, MVE_S32 " a, " MVE_S32 " b", "(int32_t)((int64_t)a.at[i] * b.at[i] >> 32)"), \
        MVE_LANES("vaddq_n_s32", MVE_S32, MVE_S32 " a, int32_t b", "(int32_t)((uint32_t)a.at[i] + (uint32_t)b)"), \
        MVE_LANES("vshlq_n_s32", MVE_S32, MVE_S32 " a, int shift", "(int32_t)((uint32_t)a.at[i] << shift)"), \
        MVE_LANES("vshlq_n_u32", MVE_U32, MVE_U32 " a, int shift", "a.at[i] << shift"), \
        MVE_SHIFTS("vshlq_s32", MVE_S32, "(int32_t)((uint32_t)a.at[i] << shift.at[i])", "a.at[i] >> -shift.at[i]", "a.at[i] < 0 ? -1 : 0"), \
        MVE_SHIFTS("vshlq_u32", MVE_U32, "a.at[i] << shift.at[i]", "a.at[i] >> -shift.at[i]", "0u"), \
        MVE_LANES("vreinterpretq_u32_s32", MVE_U32, MVE_S32 " a", "(uint32_t)a.at[i]"), \
        MVE_LANES("vreinterpretq_s32_u32", MVE_S32, MVE_U32 " a", "(int32_t)a.at[i]"), \
        { "vaddvq_s32", "int32_t vaddvq_s32(int32x4_t a)\n" \
                        "{\n" \
                        "        return (int32_t)((uint32_t)a.at[0] + (uint32_t)a.at[1] + (uint32_t)a.at[2] + (uint32_t)a.at[3]);\n" \
                        "}" }, \
        { "vaddvq_u32", "uint32_t vaddvq_u32(uint32x4_t a) { return a.at[0] + a.at[1] + a.at[2] + a.at[3]; }" }, \
        MVE_SIXTEEN("vdupq_n_s8", "int8_t a", "a"), \
        MVE_SIXTEEN("vldrbq_s8", "const int8_t *a", "a[i]"), \
        { "vstrbq_s8", "void vstrbq_s8(int8_t *y, int8x16_t a)\n" \
                       "{\n" \
                       "        for (int i = 0; i < 16; i++)\n" \
                       "                y[i] = a.at[i];\n" \
                       "}" }, \
        { "vmladavaq_s8", "int32_t vmladavaq_s8(int32_t sum, int8x16_t a, int8x16_t b)\n" \
                          "{\n" \
                          "        uint32_t bits = (uint32_t)sum;\n" \
                          "        for (int i = 0; i < 16; i++)\n" \
                          "                bits += (uint32_t)(a.at[i] * b.at[i]);\n" \
                          "        return (int32_t)bits;\n" \
                          "}" }

#define MVE_STORES(name, element, vector, each) \
        { name, "void " name "(" element " *y, " vector " a)\n" \
                "{\n" \
                "        for (int i = 0; i < 4; i++)\n" \
                "                y[i] = " each ";\n" \
                "}" }
/* Shifts to the left, by negative numbers to the right. */
#define MVE_SHIFTS(name, vector, left, right, far) \
        MVE_LANES(name, vector, vector " a, " MVE_S32 " shift", \
                  "shift.at[i] > 31 ? 0 : shift.at[i] >= 0 ? " left " : shift.at[i] > -32 ? " right " : " far)
#define MVE_SIXTEEN(name, parameters, each) \
        { name, "int8x16_t " name "(" parameters ")\n" \
                "{\n" \
                "        int8x16_t y;\n" \
                "        for (int i = 0; i < 16; i++)\n" \
                "                y.at[i] = " each ";\n" \
                "        return y;\n" \
                "}" }

#endif
