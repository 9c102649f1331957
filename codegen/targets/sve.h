/* SPDX-License-Identifier: MIT */
/* Rows of SVE, for vectors of a fixed number of lanes in registers of any length: SVE_ROWS("8",
 * "32") is for 8 lanes of 32 bits, 32 bytes, on all processors whose registers are no shorter. The
 * predicate all_v8() is true for these lanes only, and so is every mask; what lies after them in
 * vectors is undefined.
 *
 * Narrower elements are held in 32 bits each, extended when they are loaded, which costs nothing. n
 * is the number of lanes; s is the suffix of intrinsics. */
#ifndef CODEGEN_TARGETS_SVE_H
#define CODEGEN_TARGETS_SVE_H

#include "codegen/targets/rows.h"

#define SVE_PATTERN(n) "svptrue_pat_b32(SV_VL" n ")"
#define SVE_ALL(n) "all_v" n "()"
#define SVE_ALL_OF(n) \
        "svbool_t all_v" n "(void)\n" \
        "{\n" \
        "        return " SVE_PATTERN(n) ";\n" \
        "}"

/* It operates on all lanes of the register: an instruction without a predicate, which need not
 * overwrite an operand. */
#define SVE_ANY(name, operands) name "_x(svptrue_b32(), " operands ")"
/* These are operations of one intrinsic, whose first operand is the predicate. */
#define SVE_OP(n, operation, e, name, operands) OP(operation, e, name "(" SVE_ALL(n) ", " operands ")", SVE_ALL_OF(n))
#define SVE_ROW(n, operation, e, name, operands) ROW(operation, e, name "(" SVE_ALL(n) ", " operands ")", SVE_ALL_OF(n))
#define SVE_MATH(n, called, e, name, operands) MATH(called, e, name "(" SVE_ALL(n) ", " operands ")", SVE_ALL_OF(n))
#define SVE_CONVERT(n, from, to, ...) CONVERT(CAST, from, to, __VA_ARGS__, SVE_ALL_OF(n))

/* Memory of elements that are `cast` there; load and store are the intrinsics. */
#define SVE_MEMORY(n, e, type, cast, load, store) \
        ROW(CAN_TYPE, e, type), \
        SVE_OP(n, LOAD, e, load, cast "$0"), SVE_ROW(n, CAN_STORE, e, store, cast "$0, $1"), \
        ROW(CAN_LOAD_MASKED, e, load "($1, " cast "$0)"), ROW(CAN_STORE_MASKED, e, store "($2, " cast "$0, $1)")
/* Moves the lanes from `lane` on to the front. */
#define SVE_FROM(a, s, lane) "svext_" s "(" a ", " a ", " lane ")"
#define SVE_WEAVE(n, half, e, s) \
        OP(INTERLEAVE_LOW, e, "svzip1_" s "($0, $1)"), \
        OP(INTERLEAVE_HIGH, e, "zip_high_" s "v" n "($0, $1)", \
           "sv" SVE_TYPE_##e " zip_high_" s "v" n "(sv" SVE_TYPE_##e " a, sv" SVE_TYPE_##e " b)\n" \
           "{\n" \
           "        return svzip1_" s "(" SVE_FROM("a", s, half) ", " SVE_FROM("b", s, half) ");\n" \
           "}")
#define SVE_TYPE_F32 "float32_t"
#define SVE_TYPE_F16 "uint32_t"
#define SVE_TYPE_BF16 "uint32_t"

#define SVE_COMPARE(n, operation, name) \
        SVE_OP(n, operation, F32, "svcmp" name "_f32", "$0, $1"), SVE_OP(n, operation, I32, "svcmp" name "_s32", "$0, $1"), \
        SVE_OP(n, operation, U32, "svcmp" name "_u32", "$0, $1")
#define SVE_COMMON(n, e, type, s) \
        SVE_MEMORY(n, e, type, "", "svld1_" s, "svst1_" s), OP(SPLAT, e, "svdup_n_" s "($0)"), \
        SVE_ROW(n, CAN_GATHER, e, "svld1_gather_s32index_" s, "$0, $1"), \
        ROW(CAN_GATHER_MASKED, e, "svld1_gather_s32index_" s "($2, $0, $1)"), \
        SVE_ROW(n, CAN_SCATTER, e, "svst1_scatter_s32index_" s, "$0, $1, $2"), \
        ROW(CAN_SCATTER_MASKED, e, "svst1_scatter_s32index_" s "($3, $0, $1, $2)"), \
        OP(LANE, e, "svlasta_" s "(svpfalse_b(), svdup_lane_" s "($0, $1))"), OP(SELECT, e, "svsel_" s "($0, $1, $2)"), \
        OP(ADD, e, SVE_ANY("svadd_" s, "$0, $1")), OP(SUB, e, SVE_ANY("svsub_" s, "$0, $1")), \
        OP(MUL, e, SVE_ANY("svmul_" s, "$0, $1")), SVE_OP(n, DIV, e, "svdiv_" s "_x", "$0, $1")

/* ---- floats ---- */

/* fmax(-0, +0) is +0, where max must return the first of two zeros. */
#define SVE_EXTREME(n, operation, name, better) \
        OP(operation, F32, name "_f32v" n "($0, $1)", \
           "svfloat32_t " name "_f32v" n "(svfloat32_t a, svfloat32_t b)\n" \
           "{\n" \
           "        const svbool_t all = " SVE_PATTERN(n) ", nan = svcmpuo_f32(all, b, b);\n" \
           "        return svsel_f32(svorr_b_z(all, " better "(all, b, a), nan), b, a);\n" \
           "}"), \
        OP(operation##_ORDERED, F32, name "_ordered_f32v" n "($0, $1)", \
           "svfloat32_t " name "_ordered_f32v" n "(svfloat32_t a, svfloat32_t b)\n" \
           "{\n" \
           "        return svsel_f32(" better "(" SVE_PATTERN(n) ", a, b), a, b);\n" \
           "}")
/* Reductions combine halves of all lanes, then of half of them, ...: STEP(lane) combines those from
 * a lane on. */
#define SVE_STEPS_16(STEP) STEP("8") STEP("4") STEP("2") STEP("1")
#define SVE_STEPS_4(STEP) STEP("2") STEP("1")
#define SVE_STEPS_8(STEP) STEP("4") STEP("2") STEP("1")
#define SVE_STEP_SUM(lane) "        a = svadd_f32_x(all, a, " SVE_FROM("a", "f32", lane) ");\n"
#define SVE_STEP_LARGER(lane) \
        "        b = " SVE_FROM("a", "f32", lane) ";\n        a = svsel_f32(svcmpgt_f32(all, b, a), b, a);\n"
#define SVE_STEP_SMALLER(lane) \
        "        b = " SVE_FROM("a", "f32", lane) ";\n        a = svsel_f32(svcmplt_f32(all, b, a), b, a);\n"
#define SVE_FIRST(s, a) "svlasta_" s "(svpfalse_b(), " a ")"
#define SVE_EXTREME_LANE(n, operation, name, steps) \
        OP(operation, F32, name "_lanes_f32v" n "($0)", \
           "float " name "_lanes_f32v" n "(svfloat32_t a)\n" \
           "{\n" \
           "        const svbool_t all = " SVE_PATTERN(n) ", nan = svcmpuo_f32(all, a, a);\n" \
           "        svfloat32_t b;\n" \
           steps \
           "        if (svptest_any(all, nan))\n" \
           "                a = svreinterpret_f32_u32(svdup_n_u32(0x7fc00000));\n" \
           "        return " SVE_FIRST("f32", "a") ";\n" \
           "}")
#define SVE_FLOATS(n, STEPS) \
        SVE_COMMON(n, F32, "svfloat32_t", "f32"), SVE_OP(n, NEG, F32, "svneg_f32_x", "$0"), \
        OP(RAMP, F32, "ramp_f32v" n "($1, $2)", \
           "svfloat32_t ramp_f32v" n "(float start, float step)\n" \
           "{\n" \
           "        const svbool_t all = " SVE_PATTERN(n) ";\n" \
           "        const svfloat32_t lane = svcvt_f32_s32_x(all, svindex_s32(0, 1));\n" \
           "        return svadd_n_f32_x(all, svmul_n_f32_x(all, lane, step), start);\n" \
           "}"), \
        SVE_OP(n, FMA, F32, "svmla_f32_x", "$2, $0, $1"), SVE_ROW(n, CAN_FMA_FROM, F32, "svmls_f32_x", "$2, $0, $1"), \
        SVE_ROW(n, CAN_FMA_LESS, F32, "svnmls_f32_x", "$2, $0, $1"), \
        SVE_EXTREME(n, MAX, "max", "svcmpgt_f32"), SVE_EXTREME(n, MIN, "min", "svcmplt_f32"), \
        SVE_MATH(n, "sqrt", F32, "svsqrt_f32_x", "$0"), SVE_MATH(n, "abs", F32, "svabs_f32_x", "$0"), \
        SVE_MATH(n, "round", F32, "svrintn_f32_x", "$0"), SVE_MATH(n, "floor", F32, "svrintm_f32_x", "$0"), \
        SVE_MATH(n, "ceil", F32, "svrintp_f32_x", "$0"), SVE_MATH(n, "trunc", F32, "svrintz_f32_x", "$0"), \
        MATH("copysign", F32, "copysign_f32v" n "($0, $1)", \
             "svfloat32_t copysign_f32v" n "(svfloat32_t a, svfloat32_t b)\n" \
             "{\n" \
             "        const svbool_t all = " SVE_PATTERN(n) ";\n" \
             "        const svuint32_t sign = svand_n_u32_x(all, svreinterpret_u32_f32(b), 0x80000000u);\n" \
             "        const svuint32_t size = svand_n_u32_x(all, svreinterpret_u32_f32(a), 0x7fffffffu);\n" \
             "        return svreinterpret_f32_u32(svorr_u32_x(all, sign, size));\n" \
             "}"), \
        MATH("scale", F32, "scale_f32v" n "($0, $1)", \
             "svfloat32_t scale_f32v" n "(svfloat32_t a, svfloat32_t b)\n" \
             "{\n" \
             "        const svbool_t all = " SVE_PATTERN(n) ";\n" \
             "        return svscale_f32_x(all, a, svcvt_s32_f32_x(all, b));\n" \
             "}"), \
        OP(SUM_LANES, F32, "sum_lanes_f32v" n "($0)", \
           "float sum_lanes_f32v" n "(svfloat32_t a)\n" \
           "{\n" \
           "        const svbool_t all = " SVE_PATTERN(n) ";\n" \
           STEPS(SVE_STEP_SUM) \
           "        return " SVE_FIRST("f32", "a") ";\n" \
           "}"), \
        SVE_EXTREME_LANE(n, MAX_LANES, "max", STEPS(SVE_STEP_LARGER)), \
        SVE_EXTREME_LANE(n, MIN_LANES, "min", STEPS(SVE_STEP_SMALLER))

/* ---- integers ---- */

/* `count` converts an amount to the unsigned vector that shifts take. Floats become integers by
 * rounding towards zero, saturated, with 0 for NaN. */
#define SVE_INTEGERS(n, e, type, s, right, result, count) \
        SVE_COMMON(n, e, type, s), OP(RAMP, e, "svindex_" s "($1, $2)"), \
        SVE_OP(n, MIN, e, "svmin_" s "_x", "$0, $1"), SVE_OP(n, MAX, e, "svmax_" s "_x", "$0, $1"), \
        SVE_OP(n, AND, e, "svand_" s "_x", "$0, $1"), SVE_OP(n, OR, e, "svorr_" s "_x", "$0, $1"), \
        SVE_OP(n, XOR, e, "sveor_" s "_x", "$0, $1"), SVE_OP(n, NOT, e, "svnot_" s "_x", "$0"), \
        OP(NEG, e, "svsub_" s "_x(" SVE_ALL(n) ", svdup_n_" s "(0), $0)", SVE_ALL_OF(n)), \
        SVE_ROW(n, CAN_SHL_LITERAL, e, "svlsl_n_" s "_x", "$0, $1"), \
        SVE_ROW(n, CAN_SHR_LITERAL, e, right "_n_" s "_x", "$0, $1"), \
        SVE_OP(n, SHL, e, "svlsl_" s "_x", "$0, " count), \
        OP(SUM_LANES, e, "(" result ")svaddv_" s "(" SVE_ALL(n) ", $0)", SVE_ALL_OF(n)), \
        SVE_OP(n, MAX_LANES, e, "svmaxv_" s, "$0"), SVE_OP(n, MIN_LANES, e, "svminv_" s, "$0"), \
        SVE_CONVERT(n, F32, e, "svcvt_" s "_f32_x(" SVE_ALL(n) ", $0)"), SVE_CONVERT(n, e, F32, "svcvt_f32_" s "_x(" SVE_ALL(n) ", $0)"), \
        CONVERT(BITCAST, F32, e, "svreinterpret_" s "_f32($0)"), CONVERT(BITCAST, e, F32, "svreinterpret_f32_" s "($0)")
#define SVE_SAME(from, s, to, t) \
        CONVERT(CAST, from, to, "svreinterpret_" t "_" s "($0)"), CONVERT(BITCAST, from, to, "svreinterpret_" t "_" s "($0)")
#define SVE_WORDS(n) \
        SVE_INTEGERS(n, I32, "svint32_t", "s32", "svasr", "int32_t", "svreinterpret_u32_s32($1)"), \
        SVE_INTEGERS(n, U32, "svuint32_t", "u32", "svlsr", "uint32_t", "$1"), \
        SVE_OP(n, SHR, U32, "svlsr_u32_x", "$0, $1"), SVE_SAME(I32, "s32", U32, "u32"), SVE_SAME(U32, "u32", I32, "s32")

/* Bytes and half words: 32 bits are truncated to them, floats saturate; the second row rounds. */
#define SVE_NARROW(n, signed_, unsigned_, bits, least, most, all_ones) \
        SVE_SMALL(n, signed_, "svint32_t", "svld1s" bits "_s32", "svst1" bits "_s32", "s32"), \
        SVE_SMALL(n, unsigned_, "svuint32_t", "svld1u" bits "_u32", "svst1" bits "_u32", "u32"), \
        CONVERT(CAST, signed_, I32, "$0"), CONVERT(CAST, signed_, U32, "svreinterpret_u32_s32($0)"), \
        CONVERT(CAST, unsigned_, U32, "$0"), CONVERT(CAST, unsigned_, I32, "svreinterpret_s32_u32($0)"), \
        SVE_CUT(n, I32, signed_, "svext" bits "_s32_x", "$0"), \
        SVE_CUT(n, U32, signed_, "svext" bits "_s32_x", "svreinterpret_s32_u32($0)"), \
        SVE_CUT(n, U32, unsigned_, "svext" bits "_u32_x", "$0"), \
        SVE_CUT(n, I32, unsigned_, "svext" bits "_u32_x", "svreinterpret_u32_s32($0)"), \
        SVE_CONVERT(n, F32, signed_, SVE_NEAREST_SIGNED(n, least, most, "$0")), \
        SVE_CONVERT(n, F32, unsigned_, SVE_NEAREST(n, all_ones, "$0")), \
        ROUNDED_BEFORE(F32, signed_, SVE_NEAREST_SIGNED(n, least, most, SVE_ROUND(n)), SVE_ALL_OF(n)), \
        ROUNDED_BEFORE(F32, unsigned_, SVE_NEAREST(n, all_ones, SVE_ROUND(n)), SVE_ALL_OF(n))
#define SVE_SMALL(n, e, type, load, store, s) \
        SVE_MEMORY(n, e, type, "(void *)", load, store), OP(SPLAT, e, "svdup_n_" s "($0)")
#define SVE_CUT(n, from, to, name, operand) SVE_CONVERT(n, from, to, name "(" SVE_ALL(n) ", " operand ")")
#define SVE_ROUND(n) "svrintn_f32_x(" SVE_ALL(n) ", $0)"
#define SVE_NEAREST(n, most, a) "svmin_n_u32_x(" SVE_ALL(n) ", svcvt_u32_f32_x(" SVE_ALL(n) ", " a "), " most ")"
#define SVE_NEAREST_SIGNED(n, least, most, a) \
        "svmin_n_s32_x(" SVE_ALL(n) ", svmax_n_s32_x(" SVE_ALL(n) ", svcvt_s32_f32_x(" SVE_ALL(n) ", " a "), " least "), " most ")"

/* Floats of 16 bits are handled as bits. */
#define SVE_STORAGE(n, half) \
        SVE_SMALL(n, F16, "svuint32_t", "svld1uh_u32", "svst1h_u32", "u32"), \
        SVE_SMALL(n, BF16, "svuint32_t", "svld1uh_u32", "svst1h_u32", "u32"), \
        SVE_CUT(n, F16, F32, "svcvt_f32_f16_x", "svreinterpret_f16_u32($0)"), \
        SVE_CONVERT(n, F32, F16, "svreinterpret_u32_f16(svcvt_f16_f32_x(" SVE_ALL(n) ", $0))"), \
        SVE_CONVERT(n, BF16, F32, "svreinterpret_f32_u32(svlsl_n_u32_x(" SVE_ALL(n) ", $0, 16))"), \
        CONVERT(CAST, F32, BF16, "bf16_from_f32v" n "($0)", \
                "svuint32_t bf16_from_f32v" n "(svfloat32_t a)\n" \
                "{\n" \
                "        const svbool_t all = " SVE_PATTERN(n) ", nan = svcmpuo_f32(all, a, a);\n" \
                "        const svuint32_t bits = svreinterpret_u32_f32(a), high = svlsr_n_u32_x(all, bits, 16);\n" \
                "        const svuint32_t half = svadd_n_u32_x(all, svand_n_u32_x(all, high, 1), 32767);\n" \
                "        const svuint32_t near = svlsr_n_u32_x(all, svadd_u32_x(all, bits, half), 16);\n" \
                "        return svsel_u32(nan, svorr_n_u32_x(all, high, 64), near);\n" \
                "}"), \
        SVE_WEAVE(n, half, F32, "f32"), SVE_WEAVE(n, half, F16, "u32"), SVE_WEAVE(n, half, BF16, "u32")

/* ---- truth values: predicates ---- */

#define SVE_TRUTHS(n) \
        ROW(CAN_TYPE, BOOL, "svbool_t"), ROW(CAN_ZERO, BOOL, "svpfalse_b()"), \
        OP(SPLAT, BOOL, "svwhilelt_b32_s32(0, $0 ? " n " : 0)"), \
        ROW(CAN_TRUTHS, BOOL, "truths_v" n "($0)", \
            "svbool_t truths_v" n "(uint32_t bits)\n" \
            "{\n" \
            "        const svuint32_t lane = svlsr_u32_x(" SVE_PATTERN(n) ", svdup_n_u32(bits), svindex_u32(0, 1));\n" \
            "        if ((bits & (bits + 1)) == 0)\n" \
            "                return svwhilelt_b32_s32(0, __builtin_popcount(bits));\n" \
            "        return svcmpne_n_u32(" SVE_PATTERN(n) ", svand_n_u32_x(" SVE_PATTERN(n) ", lane, 1), 0);\n" \
            "}"), \
        OP(LOAD, BOOL, "load_bool_v" n "($0)", \
           "svbool_t load_bool_v" n "(const void *x)\n" \
           "{\n" \
           "        const svbool_t all = " SVE_PATTERN(n) ";\n" \
           "        return svcmpne_n_u32(all, svld1ub_u32(all, x), 0);\n" \
           "}"), \
        SVE_ROW(n, CAN_STORE, BOOL, "svst1b_u32", "(void *)$0, svdup_n_u32_z($1, 1)"), \
        SVE_COMPARE(n, LT, "lt"), SVE_COMPARE(n, LE, "le"), SVE_COMPARE(n, GT, "gt"), \
        SVE_COMPARE(n, GE, "ge"), SVE_COMPARE(n, EQ, "eq"), SVE_COMPARE(n, NE, "ne"), \
        SVE_OP(n, AND, BOOL, "svand_b_z", "$0, $1"), SVE_OP(n, OR, BOOL, "svorr_b_z", "$0, $1"), \
        SVE_OP(n, XOR, BOOL, "sveor_b_z", "$0, $1"), SVE_OP(n, NE, BOOL, "sveor_b_z", "$0, $1"), \
        SVE_OP(n, NOT, BOOL, "svnot_b_z", "$0"), \
        OP(EQ, BOOL, "svnot_b_z(" SVE_ALL(n) ", sveor_b_z(" SVE_ALL(n) ", $0, $1))", SVE_ALL_OF(n)), \
        OP(SELECT, BOOL, "svsel_b($0, $1, $2)"), SVE_OP(n, MAX_LANES, BOOL, "svptest_any", "$0"), \
        OP(MIN_LANES, BOOL, "!svptest_any(" SVE_ALL(n) ", svnot_b_z(" SVE_ALL(n) ", $0))", SVE_ALL_OF(n)), \
        CONVERT(CAST, BOOL, I32, "svdup_n_s32_z($0, 1)"), CONVERT(CAST, BOOL, U32, "svdup_n_u32_z($0, 1)"), \
        CONVERT(CAST, BOOL, F32, "svdup_n_f32_z($0, 1.0f)")

/* ---- multiplies (ir/target/multiply.h) ---- */

/* Words of x are lanes of 128 bits, of which each part of a longer vector has a copy: the
 * instruction takes a lane of its own part, from one of the first eight registers. Words are four
 * bytes; `bytes` is the bytes of a vector. */
#define SVE_PRODUCTS(n, bytes) \
        SVE_FOUR(bytes, I8, "s8"), SVE_FOUR(bytes, U8, "u8"), \
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8", \
          .text = "svdot_s32($0, svreinterpret_s8_u32($1), svreinterpret_s8_u32($2))" }, \
        SVE_LANES(n, "1", 1), SVE_LANES(n, "2", 2), SVE_LANES(n, "3", 3), SVE_LANES(n, "0", 0)
#define SVE_FOUR(bytes, e, s) \
        LOAD_WORDS(e, 4, "svreinterpret_u32_" s "(svld1_" s "(svptrue_pat_b8(SV_VL" bytes "), $0))")
#define SVE_LANES(n, number, k) \
        { .op = LOOP_FMA, .element = E_F32, .lane = 1 + k, .loaded = true, \
          .text = "svmla_lane_f32($2, $1, words_f32($0), " number ")", .definition = SVE_WORDS_OF("svfloat32_t", "f32") }, \
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8", .lane = 1 + k, .loaded = true, \
          .text = "svdot_lane_s32($0, svreinterpret_s8_u32($2), words_s8($1), " number ")", .definition = SVE_WORDS_OF("svint8_t", "s8") }
/* Loads four words into each part, in one of the first eight registers from the start: gcc would
 * use another one first, and copy it for each lane. */
#define SVE_WORDS_OF(type, s) \
        type " words_" s "(const void *x)\n" \
        "{\n" \
        "        " type " words = svld1rq_" s "(svptrue_b8(), x);\n" \
        "        __asm__ (\"\" : \"+y\"(words));\n" \
        "        return words;\n" \
        "}"
#define SVE_MULTIPLIES(count) \
        { .name = "sdot", .positions = 1, .outputs = count, .depth = 1, .channels = 4, \
          .x = { .memory = E_I8, .word = E_U32, .source = SOURCE_LANE_LOADED }, \
          .w = { .memory = E_I8, .word = E_U32, .source = SOURCE_VECTOR }, .lane_registers = 8, \
          .sum = E_I32, .body = "dot_i8", .order = ORDER_EXACT, .instructions = 1 }, \
        SVE_FMA(count, F32, NULL), SVE_FMA(count, BF16, NULL), SVE_FMA(count, F16, NULL), SVE_FMA(count, I8, NULL), SVE_FMA(count, U8, NULL), \
        SVE_FMA(count, F8E4M3, "finite_f8e4m3fn"), SVE_FMA(count, F8E5M2, "finite_f8e5m2")
#define SVE_FMA(count, w_, function) \
        { .name = "fma", .positions = 1, .outputs = count, .depth = 1, .channels = 1, \
          .x = { .memory = E_F32, .word = E_F32, .source = SOURCE_LANE_LOADED }, \
          .w = { .memory = E_##w_, .word = E_F32, .source = SOURCE_VECTOR, .decode = function }, .lane_registers = 8, \
          .sum = E_F32, .order = ORDER_SEQUENCE, .instructions = 1 }

/* This defines all rows. `half` is that of n; STEPS is described above. */
#define SVE_ROWS(n, half, bytes, STEPS) \
        SVE_FLOATS(n, STEPS), SVE_WORDS(n), SVE_NARROW(n, I8, U8, "b", "-128", "127", "255"), \
        SVE_NARROW(n, I16, U16, "h", "-32768", "32767", "65535"), SVE_STORAGE(n, half), SVE_TRUTHS(n), SVE_PRODUCTS(n, bytes)

#endif
