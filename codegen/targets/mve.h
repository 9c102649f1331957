/* SPDX-License-Identifier: MIT */
/* These are rows of MVE (Helium), four lanes of 32 bits. A byte lies in the lower bits of its
 * lane, and what is above these means nothing: loads extend bytes, and stores leave the rest away.
 * s is the suffix of intrinsics. Predicates have no rows: gcc 12 ends by an internal error where
 * one becomes numbers. */
#ifndef CODEGEN_TARGETS_MVE_H
#define CODEGEN_TARGETS_MVE_H

#include "codegen/targets/rows.h"

/* Words of memory have the type v of the file. */
#define MVE_WORDS(v, type, word) \
        .portable = type " load_" v "(const void *x)\n" \
                    "{\n" \
                    "        const " word " *const words = x;\n" \
                    "        return (" type "){ { words[0], words[1], words[2], words[3] } };\n" \
                    "}"
#define MVE_STORED(v, type, word) \
        .portable = "void store_" v "(void *x, " type " a)\n" \
                    "{\n" \
                    "        " word " *const words = x;\n" \
                    "        for (int i = 0; i < 4; i++)\n" \
                    "                words[i] = a.at[i];\n" \
                    "}"
/* gcc 12 does not know what the intrinsics for loads and stores of words read and write: it moves
 * stores of single elements across them. */
#define MVE_MEMORY(e, v, type, word) \
        OP(LOAD, e, "load_" v "($0)", \
           type " load_" v "(const void *x)\n" \
           "{\n" \
           "        typedef " type " words __attribute__((may_alias, aligned(4)));\n" \
           "        return *(const words *)x;\n" \
           "}", MVE_WORDS(v, type, word)), \
        ROW(CAN_STORE, e, "store_" v "($0, $1)", \
            "void store_" v "(void *x, " type " a)\n" \
            "{\n" \
            "        typedef " type " words __attribute__((may_alias, aligned(4)));\n" \
            "        *(words *)x = a;\n" \
            "}", MVE_STORED(v, type, word))
#define MVE_RAMP(type, number, s) \
        type " ramp_" s "(" number " a, " number " b, " number " c, " number " d) { return (" type "){ a, b, c, d }; }", \
        .portable = type " ramp_" s "(" number " a, " number " b, " number " c, " number " d) { return (" type "){ { a, b, c, d } }; }"
#define MVE_INTEGERS(e, v, type, word, number, s) \
        ROW(CAN_TYPE, e, type), OP(SPLAT, e, "vdupq_n_" s "($0)"), OP(RAMP, e, "ramp_" s "($0)", MVE_RAMP(type, number, s)), \
        MVE_MEMORY(e, v, type, word), \
        OP(ADD, e, "vaddq_" s "($0, $1)"), OP(SUB, e, "vsubq_" s "($0, $1)"), OP(MUL, e, "vmulq_" s "($0, $1)"), \
        OP(MIN, e, "vminq_" s "($0, $1)"), OP(MAX, e, "vmaxq_" s "($0, $1)"), \
        OP(AND, e, "vandq_" s "($0, $1)"), OP(OR, e, "vorrq_" s "($0, $1)"), OP(XOR, e, "veorq_" s "($0, $1)"), \
        OP(NOT, e, "vmvnq_" s "($0)"), OP(SUM_LANES, e, "vaddvq_" s "($0)"), \
        ROW(CAN_SHL_LITERAL, e, "vshlq_n_" s "($0, $1)"), \
        ROW(CAN_SHR_LITERAL, e, "vshlq_" s "($0, vdupq_n_s32(-($1)))")
#define MVE_SAME(from, s, to, t) \
        CONVERT(CAST, from, to, "vreinterpretq_" t "_" s "($0)"), CONVERT(BITCAST, from, to, "vreinterpretq_" t "_" s "($0)")

#define MVE_BYTES(e, type, s) \
        ROW(CAN_TYPE, e, type), OP(SPLAT, e, "vdupq_n_" s "($0)"), OP(LOAD, e, "vldrbq_" s "($0)"), \
        ROW(CAN_STORE, e, "vstrbq_" s "($0, $1)")
#define MVE_LOADED(from, result, ...) \
        { .op = LOOP_CAST, .element = E_##from, .to = E_##result, .loaded = true, .text = __VA_ARGS__ }
/* A load moves its pointer first. gcc takes an instruction for most addresses instead. The pointer
 * has one of the eight low registers. */
#define MVE_WALK(from, result, name, byte, type, s) \
        { .op = CAN_WALK, .element = E_##from, .to = E_##result, .level = 127, .text = name "($0, $1)", \
          .definition = type " " name "(const " byte " **x, ptrdiff_t step)\n" \
                        "{\n" \
                        "        const " byte " *at = *x;\n" \
                        "        " type " a;\n" \
                        "#if defined(__OPTIMIZE__)\n" \
                        "        if (step > 0 && step <= 127) {\n" \
                        "                __asm__ (\"vldrb." s " %q0, [%1, %2]!\"\n" \
                        "                        : \"=t\"(a), \"+l\"(at) : \"i\"(step), \"m\"(*(const " byte " (*)[])at));\n" \
                        "                *x = at;\n" \
                        "                return a;\n" \
                        "        }\n" \
                        "#endif\n" \
                        "        at += step;\n" \
                        "        __asm__ (\"vldrb." s " %q0, [%1]\" : \"=t\"(a) : \"l\"(at), \"m\"(*(const " byte " (*)[4])at));\n" \
                        "        *x = at;\n" \
                        "        return a;\n" \
                        "}", \
          .portable = type " " name "(const " byte " **x, ptrdiff_t step)\n" \
                      "{\n" \
                      "        " type " a;\n" \
                      "        *x += step;\n" \
                      "        for (int i = 0; i < 4; i++)\n" \
                      "                a.at[i] = (*x)[i];\n" \
                      "        return a;\n" \
                      "}" }
#define MVE_EXTEND_I8 \
        "extend_i8x4($0)", \
        "int32x4_t extend_i8x4(int32x4_t a)\n" \
        "{\n" \
        "        return vmovlbq_s16(vmovlbq_s8(vreinterpretq_s8_s32(a)));\n" \
        "}", \
        .portable = "int32x4_t extend_i8x4(int32x4_t a)\n" \
                    "{\n" \
                    "        for (int i = 0; i < 4; i++)\n" \
                    "                a.at[i] = (int8_t)(uint8_t)((uint32_t)a.at[i] & 255u);\n" \
                    "        return a;\n" \
                    "}"
#define MVE_EXTEND_U8 "vandq_u32($0, vdupq_n_u32(255))"
#define MVE_ALL_BYTES \
        MVE_BYTES(I8, "int32x4_t", "s32"), MVE_BYTES(U8, "uint32x4_t", "u32"), \
        MVE_LOADED(I8, I32, "vldrbq_s32($0)"), MVE_LOADED(U8, U32, "vldrbq_u32($0)"), \
        MVE_LOADED(U8, I32, "vreinterpretq_s32_u32(vldrbq_u32($0))"), \
        MVE_WALK(I8, I32, "walk_i8x4", "int8_t", "int32x4_t", "s32"), MVE_WALK(U8, U32, "walk_u8x4", "uint8_t", "uint32x4_t", "u32"), \
        MVE_WALK(U8, I32, "walk_u8x4_i32", "uint8_t", "int32x4_t", "u32"), \
        CONVERT(CAST, I8, I32, MVE_EXTEND_I8), CONVERT(CAST, U8, U32, MVE_EXTEND_U8), \
        CONVERT(CAST, U8, I32, "vreinterpretq_s32_u32(" MVE_EXTEND_U8 ")"), \
        CONVERT(CAST, I32, I8, "($0)"), CONVERT(CAST, U32, U8, "($0)"), \
        CONVERT(CAST, I32, U8, "vreinterpretq_u32_s32($0)"), CONVERT(CAST, U32, I8, "vreinterpretq_s32_u32($0)")

/* The result's lowest bytes are those of a, shifted and saturated; less: a is less by half a unit
 * of the result. Without optimization gcc knows no literal in a function. Its assembler (2.40)
 * takes vqshrnb for the rounding vqrshrnb. */
#define MVE_SATURATE \
        { .op = CAN_SATURATE, .element = E_I32, .to = E_I8, .level = 8, .rounds = true, .text = "saturate_i8x4($0, $1, $2)", \
          .definition = "int32x4_t saturate_i8x4(int32x4_t a, int shift, int less)\n" \
                        "{\n" \
                        "#if defined(__OPTIMIZE__)\n" \
                        "        if (less) {\n" \
                        "                __asm__ (\"vqrshrnb.s32 %q0, %q0, %1\\n\\tvqmovnb.s16 %q0, %q0\" : \"+t\"(a) : \"i\"(shift));\n" \
                        "                return a;\n" \
                        "        }\n" \
                        "        if (shift)\n" \
                        "                __asm__ (\"vshr.s32 %q0, %q1, %2\" : \"=t\"(a) : \"t\"(a), \"i\"(shift));\n" \
                        "#else\n" \
                        "        a = vaddq_n_s32(a, less ? 1 << (shift - 1) : 0);\n" \
                        "        a = vshlq_s32(a, vdupq_n_s32(-shift));\n" \
                        "#endif\n" \
                        "        const int16x8_t half = vqmovnbq_s32(vreinterpretq_s16_s32(a), a);\n" \
                        "        return vreinterpretq_s32_s8(vqmovnbq_s16(vreinterpretq_s8_s32(a), half));\n" \
                        "}", \
          .portable = "int32x4_t saturate_i8x4(int32x4_t a, int shift, int less)\n" \
                      "{\n" \
                      "        for (int i = 0; i < 4; i++) {\n" \
                      "                a.at[i] = (a.at[i] + (less ? 1 << (shift - 1) : 0)) >> shift;\n" \
                      "                a.at[i] = a.at[i] < -128 ? -128 : a.at[i] > 127 ? 127 : a.at[i];\n" \
                      "        }\n" \
                      "        return a;\n" \
                      "}" }

/* Floats: denormal numbers are zeros, whatever FPSCR says, and NaN is the default one. A vector has
 * no division or square root. */
/* Comparisons other than gt and ge are true of NaN. */
#define MVE_EXTREME(operation, name, is_better, is_first) \
        OP(operation, F32, name "_f32x4($0, $1)", \
           "float32x4_t " name "_f32x4(float32x4_t a, float32x4_t b)\n" \
           "{\n" \
           "        const float32x4_t best = vpselq_f32(b, a, vcmpgtq_f32(" is_better "));\n" \
           "        return vpselq_f32(b, best, vcmpneq_f32(b, b));\n" \
           "}", .cycles = 4), \
        OP(operation##_ORDERED, F32, "vpselq_f32($0, $1, vcmpgtq_f32(" is_first "))", .cycles = 2)
/* gcc must not order these in another way: their registers would not suffice. */
#define MVE_FMA(name, operands, type, place, last, ...) \
        OP(FMA, F32, "add_" name "_f32x4($2, " operands ")", \
           "float32x4_t add_" name "_f32x4(float32x4_t sum, float32x4_t a, " type " b)\n" \
           "{\n" \
           "        __asm__ (\"vfma.f32 %q0, %q1, " last "\" : \"+t\"(sum) : \"t\"(a), \"" place "\"(b));\n" \
           "        return sum;\n" \
           "}", __VA_ARGS__)
#define MVE_FLOATS \
        ROW(CAN_TYPE, F32, "float32x4_t"), OP(SPLAT, F32, "vdupq_n_f32($0)"), OP(RAMP, F32, "((float32x4_t){ $0 })"), \
        MVE_MEMORY(F32, "f32x4", "float32x4_t", "f32"), OP(LANE, F32, "vgetq_lane_f32($0, $1)"), \
        OP(ADD, F32, "vaddq_f32($0, $1)"), OP(SUB, F32, "vsubq_f32($0, $1)"), OP(MUL, F32, "vmulq_f32($0, $1)"), \
        OP(NEG, F32, "vnegq_f32($0)"), MVE_FMA("scaled", "$1, $0", "float", "r", "%2", .scalar = 1), \
        MVE_FMA("product", "$0, $1", "float32x4_t", "t", "%q2", .lane = 0), ROW(CAN_FMA_FROM, F32, "vfmsq_f32($2, $0, $1)"), \
        MVE_EXTREME(MAX, "max", "b, a", "$0, $1"), MVE_EXTREME(MIN, "min", "a, b", "$1, $0"), \
        MATH("abs", F32, "vabsq_f32($0)"), MATH("round", F32, "vrndnq_f32($0)"), MATH("trunc", F32, "vrndq_f32($0)"), \
        MATH("floor", F32, "vrndmq_f32($0)"), MATH("ceil", F32, "vrndpq_f32($0)"), \
        OP(SUM_LANES, F32, "sum_lanes_f32x4($0)", \
           "float sum_lanes_f32x4(float32x4_t a)\n" \
           "{\n" \
           "        return (vgetq_lane_f32(a, 0) + vgetq_lane_f32(a, 2)) + (vgetq_lane_f32(a, 1) + vgetq_lane_f32(a, 3));\n" \
           "}"), \
        MVE_FLOAT_FROM(I32, "s32"), MVE_FLOAT_FROM(U32, "u32")
#define MVE_FLOAT_FROM(e, s) \
        CONVERT(CAST, F32, e, "vcvtq_" s "_f32($0)"), CONVERT(CAST, e, F32, "vcvtq_f32_" s "($0)"), \
        CONVERT(BITCAST, F32, e, "vreinterpretq_" s "_f32($0)"), CONVERT(BITCAST, e, F32, "vreinterpretq_f32_" s "($0)")

/* gcc must not order products and sums in another way: their registers would not suffice. */
#define MVE_ADD_PRODUCT \
        MATH("add_product", I32, "add_product_i32x4($0, $1, $2)", \
             "int32x4_t add_product_i32x4(int32x4_t sum, int32x4_t x, int32x4_t w)\n" \
             "{\n" \
             "        int32x4_t product;\n" \
             "        __asm__ (\"vmul.i32 %q1, %q2, %q3\\n\\tvadd.i32 %q0, %q0, %q1\"\n" \
             "                : \"+t\"(sum), \"=&t\"(product) : \"t\"(x), \"t\"(w));\n" \
             "        return sum;\n" \
             "}", \
             .portable = "int32x4_t add_product_i32x4(int32x4_t sum, int32x4_t x, int32x4_t w)\n" \
                         "{\n" \
                         "        for (int i = 0; i < 4; i++)\n" \
                         "                sum.at[i] = (int32_t)((uint32_t)sum.at[i] + (uint32_t)x.at[i] * (uint32_t)w.at[i]);\n" \
                         "        return sum;\n" \
                         "}")

#endif
