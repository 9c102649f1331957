/* SPDX-License-Identifier: MIT */
/* Rows of RISC-V's vector extension 1.0, for vectors of a fixed number of lanes in registers of any
 * length: RVV_ROWS(RVV_8, ...) is for 8 lanes of 32 bits in register groups of two registers of 128
 * bits (LMUL = 2), on all processors whose registers are no shorter. Every intrinsic is given the
 * number of lanes; what lies after them in vectors is undefined.
 *
 * The parameters of a length, in this order, are V in all macros: n is the number of lanes; m, h,
 * q, d are the register groups (LMUL) of elements of 32, 16, 8 and 64 bits; b is the mask bits,
 * that is, an element's width divided by the registers of its group. s is how intrinsics call an
 * element. Vectors of as many lanes in other register groups have other types, so functions are
 * named after both. */
#ifndef CODEGEN_TARGETS_RISCV_H
#define CODEGEN_TARGETS_RISCV_H

#include "codegen/targets/rows.h"

#define RVV_8 "8", "m2", "m1", "mf2", "m4", "16"
#define RVV_16 "16", "m2", "m1", "mf2", "m4", "16"
#define RVV_16_WIDE "16", "m4", "m2", "m1", "m8", "8"

/* RVV(MACRO, length, ...) is MACRO(n, m, h, q, d, b, ...). */
#define RVV(MACRO, ...) MACRO(__VA_ARGS__)

/* ---- elements of 32 bits ---- */

/* k is "f" for floats, "" for integers, where an intrinsic's name has it. */
#define RVV_PLACES(n, d) "__riscv_vreinterpret_v_i64" d "_u64" d "(__riscv_vwmul_vx_i64" d "($1, 4, " n "))"
#define RVV_COMMON(n, m, h, q, d, b, e, type, s, k, splat, first) \
        ROW(CAN_TYPE, e, "v" type "32" m "_t"), OP(SPLAT, e, splat s m "($0, " n ")"), \
        OP(LOAD, e, "__riscv_vle32_v_" s m "($0, " n ")"), ROW(CAN_STORE, e, "__riscv_vse32_v_" s m "($0, $1, " n ")"), \
        ROW(CAN_LOAD_MASKED, e, "__riscv_vle32_v_" s m "_mu($1, " splat s m "(0, " n "), $0, " n ")"), \
        ROW(CAN_STORE_MASKED, e, "__riscv_vse32_v_" s m "_m($2, $0, $1, " n ")"), \
        ROW(CAN_GATHER, e, "__riscv_vluxei64_v_" s m "($0, " RVV_PLACES(n, d) ", " n ")"), \
        ROW(CAN_GATHER_MASKED, e, \
            "__riscv_vluxei64_v_" s m "_mu($2, " splat s m "(0, " n "), $0, " RVV_PLACES(n, d) ", " n ")"), \
        ROW(CAN_SCATTER, e, "__riscv_vsoxei64_v_" s m "($0, " RVV_PLACES(n, d) ", $2, " n ")"), \
        ROW(CAN_SCATTER_MASKED, e, "__riscv_vsoxei64_v_" s m "_m($3, $0, " RVV_PLACES(n, d) ", $2, " n ")"), \
        OP(LANE, e, first s m "_" s "(__riscv_vslidedown_vx_" s m "($0, $1, " n "))"), \
        OP(SELECT, e, "__riscv_vmerge_vvm_" s m "($2, $1, $0, " n ")"), \
        RVV_OP(n, m, ADD, e, k "add", s), RVV_OP(n, m, SUB, e, k "sub", s), RVV_OP(n, m, MUL, e, k "mul", s)
#define RVV_OP(n, m, operation, e, name, s) OP(operation, e, "__riscv_v" name "_vv_" s m "($0, $1, " n ")")
#define RVV_COMPARE(n, m, b, operation, name, unsigned_name) \
        OP(operation, F32, "__riscv_vmf" name "_vv_f32" m "_b" b "($0, $1, " n ")"), \
        OP(operation, I32, "__riscv_vms" name "_vv_i32" m "_b" b "($0, $1, " n ")"), \
        OP(operation, U32, "__riscv_vms" unsigned_name "_vv_u32" m "_b" b "($0, $1, " n ")")
/* Interleaves lanes. w is "32" or "16" bits, g their register group; w2 and g2 are those of
 * elements of twice as many bits. */
#define RVV_WEAVE(n, half, e, type, s, name, w, g, w2, g2, unsigned_, signed_) \
        RVV_WEAVE_HALF(n, half, INTERLEAVE_LOW, e, type, name "_low", w, g, w2, g2, unsigned_("a"), unsigned_("b"), signed_), \
        RVV_WEAVE_HALF(n, half, INTERLEAVE_HIGH, e, type, name "_high", w, g, w2, g2, \
                       "__riscv_vslidedown_vx_u" w g "(" unsigned_("a") ", " half ", " n ")", \
                       "__riscv_vslidedown_vx_u" w g "(" unsigned_("b") ", " half ", " n ")", signed_)
#define RVV_WEAVE_HALF(n, half, operation, e, type, name, w, g, w2, g2, a, b, result) \
        OP(operation, e, name "_x" n g "($0, $1)", \
           type g "_t " name "_x" n g "(" type g "_t a, " type g "_t b)\n" \
           "{\n" \
           "        const vuint" w g "_t even = " a ", odd = " b ";\n" \
           "        const vuint" w2 g2 "_t sum = __riscv_vwaddu_vv_u" w2 g2 "(even, odd, " half ");\n" \
           "        const vuint" w2 g2 "_t both = __riscv_vwmaccu_vx_u" w2 g2 "(sum, UINT" w "_MAX, odd, " half ");\n" \
           "        return " result("__riscv_vlmul_trunc_v_u" w g2 "_u" w g "(__riscv_vreinterpret_v_u" w2 g2 "_u" w g2 "(both))") ";\n" \
           "}")
#define RVV_ITSELF(a) a
#define RVV_BITS_M2(a) "__riscv_vreinterpret_v_f32m2_u32m2(" a ")"
#define RVV_FLOAT_M2(a) "__riscv_vreinterpret_v_u32m2_f32m2(" a ")"
#define RVV_BITS_M4(a) "__riscv_vreinterpret_v_f32m4_u32m4(" a ")"
#define RVV_FLOAT_M4(a) "__riscv_vreinterpret_v_u32m4_f32m4(" a ")"

/* ---- floats ---- */

/* The instructions return the number where the other operand is NaN, and +0 as the larger of two
 * zeros; max must return the first of these. */
#define RVV_EXTREME(n, m, b, operation, name, better) \
        OP(operation, F32, name "_f32x" n m "($0, $1)", \
           "vfloat32" m "_t " name "_f32x" n m "(vfloat32" m "_t a, vfloat32" m "_t b)\n" \
           "{\n" \
           "        const vbool" b "_t better = __riscv_vmf" better "_vv_f32" m "_b" b "(b, a, " n ");\n" \
           "        const vbool" b "_t nan = __riscv_vmfne_vv_f32" m "_b" b "(b, b, " n ");\n" \
           "        return __riscv_vmerge_vvm_f32" m "(a, b, __riscv_vmor_mm_b" b "(better, nan, " n "), " n ");\n" \
           "}"), \
        OP(operation##_ORDERED, F32, name "_ordered_f32x" n m "($0, $1)", \
           "vfloat32" m "_t " name "_ordered_f32x" n m "(vfloat32" m "_t a, vfloat32" m "_t b)\n" \
           "{\n" \
           "        return __riscv_vmerge_vvm_f32" m "(b, a, __riscv_vmf" better "_vv_f32" m "_b" b "(a, b, " n "), " n ");\n" \
           "}")
/* Rounds to a whole number through integers; numbers too large for these are whole. t is the whole
 * number next to a, towards zero or (round) the nearest; `adjust` corrects it further. (QEMU 7.2
 * crashes at conversions towards zero where no operation on floats precedes them.) */
#define RVV_WHOLE(n, m, b, name, mode, adjust) \
        MATH(name, F32, name "_f32x" n m "($0)", \
             "vfloat32" m "_t " name "_f32x" n m "(vfloat32" m "_t a)\n" \
             "{\n" \
             "        const vfloat32" m "_t size = __riscv_vfabs_v_f32" m "(a, " n ");\n" \
             "        const vint32" m "_t whole = __riscv_vfcvt_" mode "x_f_v_i32" m "(size, " n ");\n" \
             "        vfloat32" m "_t t = __riscv_vfsgnj_vv_f32" m "(__riscv_vfcvt_f_x_v_f32" m "(whole, " n "), a, " n ");\n" \
             adjust \
             "        return __riscv_vmerge_vvm_f32" m "(a, t, __riscv_vmflt_vf_f32" m "_b" b "(size, 8388608.0f, " n "), " n ");\n" \
             "}")
#define RVV_ADJUST(n, m, b, compare, operation) \
        "        t = __riscv_vf" operation "_vf_f32" m "_mu(__riscv_vmf" compare "_vv_f32" m "_b" b "(t, a, " n "), t, t, 1.0f, " n ");\n"
/* Reductions combine halves of all lanes, then of half of them, ...: STEP(V, lane) combines those
 * from a lane on. */
#define RVV_STEPS_16(STEP, n, m, b) STEP(n, m, b, "8") RVV_STEPS_8(STEP, n, m, b)
#define RVV_STEPS_8(STEP, n, m, b) STEP(n, m, b, "4") STEP(n, m, b, "2") STEP(n, m, b, "1")
#define RVV_FROM(n, m, lane) "__riscv_vslidedown_vx_f32" m "(a, " lane ", " n ")"
#define RVV_STEP_SUM(n, m, b, lane) "        a = __riscv_vfadd_vv_f32" m "(a, " RVV_FROM(n, m, lane) ", " n ");\n"
#define RVV_STEP_BETTER(n, m, b, lane, compare) \
        "        b = " RVV_FROM(n, m, lane) ";\n" \
        "        a = __riscv_vmerge_vvm_f32" m "(a, b, __riscv_vmf" compare "_vv_f32" m "_b" b "(b, a, " n "), " n ");\n"
#define RVV_STEP_LARGER(n, m, b, lane) RVV_STEP_BETTER(n, m, b, lane, "gt")
#define RVV_STEP_SMALLER(n, m, b, lane) RVV_STEP_BETTER(n, m, b, lane, "lt")
#define RVV_EXTREME_LANE(n, m, b, operation, name, steps) \
        OP(operation, F32, name "_lanes_f32x" n m "($0)", \
           "float " name "_lanes_f32x" n m "(vfloat32" m "_t a)\n" \
           "{\n" \
           "        const vbool" b "_t nan = __riscv_vmfne_vv_f32" m "_b" b "(a, a, " n ");\n" \
           "        vfloat32" m "_t b;\n" \
           steps \
           "        if (__riscv_vcpop_m_b" b "(nan, " n "))\n" \
           "                a = __riscv_vreinterpret_v_u32" m "_f32" m "(__riscv_vmv_v_x_u32" m "(0x7fc00000, " n "));\n" \
           "        return __riscv_vfmv_f_s_f32" m "_f32(a);\n" \
           "}")
#define RVV_FLOATS(n, m, h, q, d, b, STEPS) \
        RVV_COMMON(n, m, h, q, d, b, F32, "float", "f32", "f", "__riscv_vfmv_v_f_", "__riscv_vfmv_f_s_"), \
        RVV_OP(n, m, DIV, F32, "fdiv", "f32"), OP(NEG, F32, "__riscv_vfneg_v_f32" m "($0, " n ")"), \
        OP(RAMP, F32, "ramp_f32x" n m "($1, $2)", \
           "vfloat32" m "_t ramp_f32x" n m "(float start, float step)\n" \
           "{\n" \
           "        const vfloat32" m "_t lane = __riscv_vfcvt_f_xu_v_f32" m "(__riscv_vid_v_u32" m "(" n "), " n ");\n" \
           "        return __riscv_vfadd_vf_f32" m "(__riscv_vfmul_vf_f32" m "(lane, step, " n "), start, " n ");\n" \
           "}"), \
        OP(FMA, F32, "__riscv_vfmacc_vv_f32" m "($2, $0, $1, " n ")"), \
        OP(FMA, F32, "__riscv_vfmacc_vf_f32" m "($2, $0, $1, " n ")", .scalar = 1), \
        ROW(CAN_FMA_FROM, F32, "__riscv_vfnmsac_vv_f32" m "($2, $0, $1, " n ")"), \
        ROW(CAN_FMA_LESS, F32, "__riscv_vfmsac_vv_f32" m "($2, $0, $1, " n ")"), \
        RVV_EXTREME(n, m, b, MAX, "max", "gt"), RVV_EXTREME(n, m, b, MIN, "min", "lt"), \
        MATH("sqrt", F32, "__riscv_vfsqrt_v_f32" m "($0, " n ")"), MATH("abs", F32, "__riscv_vfabs_v_f32" m "($0, " n ")"), \
        MATH("copysign", F32, "__riscv_vfsgnj_vv_f32" m "($0, $1, " n ")"), \
        RVV_WHOLE(n, m, b, "round", "", ""), RVV_WHOLE(n, m, b, "trunc", "rtz_", ""), \
        RVV_WHOLE(n, m, b, "floor", "rtz_", RVV_ADJUST(n, m, b, "gt", "sub")), \
        RVV_WHOLE(n, m, b, "ceil", "rtz_", RVV_ADJUST(n, m, b, "lt", "add")), \
        OP(SUM_LANES, F32, "sum_lanes_f32x" n m "($0)", \
           "float sum_lanes_f32x" n m "(vfloat32" m "_t a)\n" \
           "{\n" \
           STEPS(RVV_STEP_SUM, n, m, b) \
           "        return __riscv_vfmv_f_s_f32" m "_f32(a);\n" \
           "}"), \
        RVV_EXTREME_LANE(n, m, b, MAX_LANES, "max", STEPS(RVV_STEP_LARGER, n, m, b)), \
        RVV_EXTREME_LANE(n, m, b, MIN_LANES, "min", STEPS(RVV_STEP_SMALLER, n, m, b))

/* ---- integers ---- */

/* The result is 0 where b is out of the range in which the instruction has it. */
#define RVV_OR_ZERO(n, m, b, operation, e, type, s, name, instruction, condition) \
        OP(operation, e, name "_" s "x" n m "($0, $1)", \
           "v" type "32" m "_t " name "_" s "x" n m "(v" type "32" m "_t a, v" type "32" m "_t b)\n" \
           "{\n" \
           "        return __riscv_vmerge_vxm_" s m "(" instruction ", 0, " condition ", " n ");\n" \
           "}")
#define RVV_DIVIDE(n, m, b, operation, e, type, s, name, instruction) \
        RVV_OR_ZERO(n, m, b, operation, e, type, s, name, "__riscv_v" instruction "_vv_" s m "(a, b, " n ")", \
                    "__riscv_vmseq_vx_" s m "_b" b "(b, 0, " n ")")
#define RVV_SHIFT(n, m, b, operation, e, type, s, name, instruction, count) \
        RVV_OR_ZERO(n, m, b, operation, e, type, s, name, "__riscv_v" instruction "_vv_" s m "(a, " count ", " n ")", \
                    "__riscv_vmsgtu_vx_u32" m "_b" b "(" count ", 31, " n ")")
#define RVV_JOIN(n, m, operation, e, name, s, start) \
        OP(operation, e, "__riscv_vmv_x_s_" s "m1_" s "(__riscv_vred" name "_vs_" s m "_" s "m1($0, __riscv_vmv_v_x_" s "m1(" start ", 1), " n "))")
/* u is "u" without a sign, where an instruction's name has it; `right` is the shift. */
#define RVV_INTEGERS(n, m, h, q, d, b, e, type, s, u, right, count, least, most) \
        RVV_COMMON(n, m, h, q, d, b, e, type, s, "", "__riscv_vmv_v_x_", "__riscv_vmv_x_s_"), \
        OP(RAMP, e, "ramp_" s "x" n m "($1, $2)", \
           "v" type "32" m "_t ramp_" s "x" n m "(" type "32_t start, " type "32_t step)\n" \
           "{\n" \
           "        const v" type "32" m "_t lane = " RVV_LANE_##e(m, "__riscv_vid_v_u32" m "(" n ")") ";\n" \
           "        return __riscv_vadd_vx_" s m "(__riscv_vmul_vx_" s m "(lane, step, " n "), start, " n ");\n" \
           "}"), \
        RVV_OP(n, m, MIN, e, "min" u, s), RVV_OP(n, m, MAX, e, "max" u, s), RVV_OP(n, m, AND, e, "and", s), \
        RVV_OP(n, m, OR, e, "or", s), RVV_OP(n, m, XOR, e, "xor", s), OP(NOT, e, "__riscv_vnot_v_" s m "($0, " n ")"), \
        OP(NEG, e, "__riscv_vrsub_vx_" s m "($0, 0, " n ")"), \
        RVV_DIVIDE(n, m, b, DIV, e, type, s, "div", "div" u), RVV_DIVIDE(n, m, b, REM, e, type, s, "rem", "rem" u), \
        ROW(CAN_SHL_LITERAL, e, "__riscv_vsll_vx_" s m "($0, $1, " n ")"), \
        ROW(CAN_SHR_LITERAL, e, "__riscv_v" right "_vx_" s m "($0, $1, " n ")"), \
        RVV_SHIFT(n, m, b, SHL, e, type, s, "shl", "sll", count), RVV_SHIFT(n, m, b, SHR, e, type, s, "shr", right, count), \
        RVV_JOIN(n, m, SUM_LANES, e, "sum", s, "0"), RVV_JOIN(n, m, MAX_LANES, e, "max" u, s, least), \
        RVV_JOIN(n, m, MIN_LANES, e, "min" u, s, most), \
        CONVERT(CAST, F32, e, s "_from_f32x" n m "($0)", \
                "v" type "32" m "_t " s "_from_f32x" n m "(vfloat32" m "_t a)\n" \
                "{\n" \
                "        const vbool" b "_t nan = __riscv_vmfne_vv_f32" m "_b" b "(a, a, " n ");\n" \
                "        return __riscv_vfcvt_rtz_x" u "_f_v_" s m "(__riscv_vfmerge_vfm_f32" m "(a, 0.0f, nan, " n "), " n ");\n" \
                "}"), \
        CONVERT(CAST, e, F32, "__riscv_vfcvt_f_x" u "_v_f32" m "($0, " n ")"), \
        CONVERT(BITCAST, F32, e, "__riscv_vreinterpret_v_f32" m "_" s m "($0)"), \
        CONVERT(BITCAST, e, F32, "__riscv_vreinterpret_v_" s m "_f32" m "($0)")
#define RVV_SIGNED(m, a) "__riscv_vreinterpret_v_u32" m "_i32" m "(" a ")"
#define RVV_UNSIGNED(m, a) "__riscv_vreinterpret_v_i32" m "_u32" m "(" a ")"
#define RVV_LANE_I32(m, a) RVV_SIGNED(m, a)
#define RVV_LANE_U32(m, a) a
#define RVV_SAME(from, to, text) CONVERT(CAST, from, to, text), CONVERT(BITCAST, from, to, text)
#define RVV_WORDS(n, m, h, q, d, b) \
        RVV_INTEGERS(n, m, h, q, d, b, I32, "int", "i32", "", "sra", RVV_UNSIGNED(m, "b"), "INT32_MIN", "INT32_MAX"), \
        RVV_INTEGERS(n, m, h, q, d, b, U32, "uint", "u32", "u", "srl", "b", "0", "UINT32_MAX"), \
        RVV_SAME(I32, U32, RVV_UNSIGNED(m, "$0")), RVV_SAME(U32, I32, RVV_SIGNED(m, "$0"))

/* ---- bytes and half words: integers are truncated, floats saturate; the second row rounds ---- */

#define RVV_SMALL(n, g, e, type, s, bits) \
        ROW(CAN_TYPE, e, "v" type bits g "_t"), OP(SPLAT, e, "__riscv_vmv_v_x_" s bits g "($0, " n ")"), \
        OP(LOAD, e, "__riscv_vle" bits "_v_" s bits g "((const void *)$0, " n ")"), \
        ROW(CAN_STORE, e, "__riscv_vse" bits "_v_" s bits g "((void *)$0, $1, " n ")"), \
        ROW(CAN_LOAD_MASKED, e, \
            "__riscv_vle" bits "_v_" s bits g "_mu($1, __riscv_vmv_v_x_" s bits g "(0, " n "), (const void *)$0, " n ")"), \
        ROW(CAN_STORE_MASKED, e, "__riscv_vse" bits "_v_" s bits g "_m($2, (void *)$0, $1, " n ")")
/* signed_ and unsigned_ are elements of `bits` bits, in register groups g, a part (by: "2", "4") of
 * 32; CUT truncates 32 bits, with sign s, to them. */
#define RVV_NARROW(n, m, g, signed_, unsigned_, bits, by, CUT, h) \
        RVV_SMALL(n, g, signed_, "int", "i", bits), RVV_SMALL(n, g, unsigned_, "uint", "u", bits), \
        CONVERT(CAST, signed_, I32, "__riscv_vsext_vf" by "_i32" m "($0, " n ")"), \
        CONVERT(CAST, signed_, U32, RVV_UNSIGNED(m, "__riscv_vsext_vf" by "_i32" m "($0, " n ")")), \
        CONVERT(CAST, unsigned_, U32, "__riscv_vzext_vf" by "_u32" m "($0, " n ")"), \
        CONVERT(CAST, unsigned_, I32, RVV_SIGNED(m, "__riscv_vzext_vf" by "_u32" m "($0, " n ")")), \
        CONVERT(CAST, I32, signed_, CUT(n, g, h, "x_x", "i", "$0")), CONVERT(CAST, U32, unsigned_, CUT(n, g, h, "x_x", "u", "$0")), \
        CONVERT(CAST, U32, signed_, CUT(n, g, h, "x_x", "i", RVV_SIGNED(m, "$0"))), \
        CONVERT(CAST, I32, unsigned_, CUT(n, g, h, "x_x", "u", RVV_UNSIGNED(m, "$0")))
#define RVV_CUT_16(n, g, h, x, s, a) "__riscv_vncvt_" x "_w_" s "16" g "(" a ", " n ")"
#define RVV_CUT_8(n, g, h, x, s, a) "__riscv_vncvt_" x "_w_" s "8" g "(__riscv_vncvt_" x "_w_" s "16" h "(" a ", " n "), " n ")"
/* Converts floats, saturated, with 0 for NaN, which the instructions treat as the largest number.
 * `name` begins and ends the function's name; rounded conversions saturate when they become 16
 * bits. */
#define RVV_FROM_FLOATS(n, m, KIND, to, result, name, ...) \
        KIND(F32, to, name "_f32x" n m "($0)", result "_t " name "_f32x" n m "(vfloat32" m "_t a)\n{\n" __VA_ARGS__ "}")
#define RVV_TOWARDS_ZERO(from, to, ...) CONVERT(CAST, from, to, __VA_ARGS__)
#define RVV_FROM_SIGNED(n, m, h, b, to, result, name, least, most, CUT, g, end) \
        RVV_FROM_FLOATS(n, m, RVV_TOWARDS_ZERO, to, result, name "_from", \
                        "        const vbool" b "_t nan = __riscv_vmfne_vv_f32" m "_b" b "(a, a, " n ");\n" \
                        "        const vint32" m "_t number = __riscv_vfcvt_rtz_x_f_v_i32" m "(__riscv_vfmerge_vfm_f32" m "(a, 0.0f, nan, " n "), " n ");\n" \
                        "        const vint32" m "_t b = __riscv_vmax_vx_i32" m "(__riscv_vmin_vx_i32" m "(number, " most ", " n "), " least ", " n ");\n" \
                        "        return " CUT(n, g, h, "x_x", "i", "b") ";\n"), \
        RVV_FROM_FLOATS(n, m, ROUNDED, to, result, name "_rounded", \
                        "        const vbool" b "_t nan = __riscv_vmfne_vv_f32" m "_b" b "(a, a, " n ");\n" \
                        "        const vint16" h "_t near = __riscv_vfncvt_x_f_w_i16" h "(a, " n ");\n" \
                        "        const vint16" h "_t number = __riscv_vmerge_vxm_i16" h "(near, 0, nan, " n ");\n" \
                        "        return " end ";\n")
#define RVV_FROM_UNSIGNED(n, m, h, to, result, name, most, CUT, g, end) \
        RVV_FROM_FLOATS(n, m, RVV_TOWARDS_ZERO, to, result, name "_from", \
                        "        const vfloat32" m "_t positive = __riscv_vfmax_vf_f32" m "(a, 0.0f, " n ");\n" \
                        "        const vuint32" m "_t b = __riscv_vminu_vx_u32" m "(__riscv_vfcvt_rtz_xu_f_v_u32" m "(positive, " n "), " most ", " n ");\n" \
                        "        return " CUT(n, g, h, "x_x", "u", "b") ";\n"), \
        RVV_FROM_FLOATS(n, m, ROUNDED, to, result, name "_rounded", \
                        "        const vuint16" h "_t number = __riscv_vfncvt_xu_f_w_u16" h "(__riscv_vfmax_vf_f32" m "(a, 0.0f, " n "), " n ");\n" \
                        "        return " end ";\n")
#define RVV_ALL_NARROW(n, m, h, q, d, b) \
        RVV_NARROW(n, m, q, I8, U8, "8", "4", RVV_CUT_8, h), RVV_NARROW(n, m, h, I16, U16, "16", "2", RVV_CUT_16, h), \
        RVV_FROM_SIGNED(n, m, h, b, I16, "vint16" h, "i16", "-32768", "32767", RVV_CUT_16, h, "number"), \
        RVV_FROM_UNSIGNED(n, m, h, U16, "vuint16" h, "u16", "65535", RVV_CUT_16, h, "number"), \
        RVV_FROM_SIGNED(n, m, h, b, I8, "vint8" q, "i8", "-128", "127", RVV_CUT_8, q, \
                        "__riscv_vncvt_x_x_w_i8" q "(__riscv_vmax_vx_i16" h "(__riscv_vmin_vx_i16" h "(number, 127, " n "), -128, " n "), " n ")"), \
        RVV_FROM_UNSIGNED(n, m, h, U8, "vuint8" q, "u8", "255", RVV_CUT_8, q, \
                          "__riscv_vncvt_x_x_w_u8" q "(__riscv_vminu_vx_u16" h "(number, 255, " n "), " n ")")

/* Floats of 16 bits are handled as bits, because the instructions that convert f16 belong to
 * another extension. */
#define RVV_STORAGE(n, m, h, q, d, b, half) \
        RVV_SMALL(n, h, F16, "uint", "u", "16"), RVV_SMALL(n, h, BF16, "uint", "u", "16"), \
        CONVERT(CAST, BF16, F32, "__riscv_vreinterpret_v_u32" m "_f32" m "(__riscv_vsll_vx_u32" m "(__riscv_vzext_vf2_u32" m "($0, " n "), 16, " n "))"), \
        CONVERT(CAST, F32, BF16, "bf16_from_f32x" n m "($0)", \
                "vuint16" h "_t bf16_from_f32x" n m "(vfloat32" m "_t a)\n" \
                "{\n" \
                "        const vuint32" m "_t bits = __riscv_vreinterpret_v_f32" m "_u32" m "(a);\n" \
                "        const vuint32" m "_t high = __riscv_vsrl_vx_u32" m "(bits, 16, " n ");\n" \
                "        const vuint32" m "_t half = __riscv_vadd_vx_u32" m "(__riscv_vand_vx_u32" m "(high, 1, " n "), 32767, " n ");\n" \
                "        const vuint32" m "_t near = __riscv_vsrl_vx_u32" m "(__riscv_vadd_vv_u32" m "(bits, half, " n "), 16, " n ");\n" \
                "        const vbool" b "_t nan = __riscv_vmfne_vv_f32" m "_b" b "(a, a, " n ");\n" \
                "        return __riscv_vncvt_x_x_w_u16" h "(__riscv_vor_vx_u32" m "_mu(nan, near, high, 64, " n "), " n ");\n" \
                "}"), \
        CONVERT(CAST, F16, F32, "f32_from_f16x" n m "($0)", \
                "vfloat32" m "_t f32_from_f16x" n m "(vuint16" h "_t a)\n" \
                "{\n" \
                "        const vuint32" m "_t bits = __riscv_vzext_vf2_u32" m "(a, " n ");\n" \
                "        const vuint32" m "_t size = __riscv_vand_vx_u32" m "(bits, 32767, " n ");\n" \
                "        const vuint32" m "_t sign = __riscv_vsll_vx_u32" m "(__riscv_vxor_vv_u32" m "(bits, size, " n "), 16, " n ");\n" \
                "        const vfloat32" m "_t tiny = __riscv_vreinterpret_v_u32" m "_f32" m "(__riscv_vsll_vx_u32" m "(size, 13, " n "));\n" \
                "        const vfloat32" m "_t b = __riscv_vfmul_vf_f32" m "(tiny, 5.192296858534828e33f, " n ");    /* 2^112 */\n" \
                "        const vuint32" m "_t number = __riscv_vor_vv_u32" m "(__riscv_vreinterpret_v_f32" m "_u32" m "(b), sign, " n ");\n" \
                "        const vbool" b "_t none = __riscv_vmsgtu_vx_u32" m "_b" b "(size, 31743, " n "), nan = __riscv_vmsgtu_vx_u32" m "_b" b "(size, 31744, " n ");\n" \
                "        const vuint32" m "_t c = __riscv_vor_vx_u32" m "_mu(none, number, number, 0x7f800000, " n ");\n" \
                "        return __riscv_vreinterpret_v_u32" m "_f32" m "(__riscv_vor_vx_u32" m "_mu(nan, c, c, 0x400000, " n "));\n" \
                "}"), \
        CONVERT(CAST, F32, F16, "f16_from_f32x" n m "($0)", \
                "vuint16" h "_t f16_from_f32x" n m "(vfloat32" m "_t a)\n" \
                "{\n" \
                "        const vuint32" m "_t bits = __riscv_vreinterpret_v_f32" m "_u32" m "(a), size = __riscv_vand_vx_u32" m "(bits, 0x7fffffff, " n ");\n" \
                "        const vuint32" m "_t sign = __riscv_vsrl_vx_u32" m "(__riscv_vxor_vv_u32" m "(bits, size, " n "), 16, " n ");\n" \
                "        const vuint32" m "_t odd = __riscv_vand_vx_u32" m "(__riscv_vsrl_vx_u32" m "(size, 13, " n "), 1, " n ");\n" \
                "        const vuint32" m "_t near = __riscv_vadd_vv_u32" m "(__riscv_vadd_vx_u32" m "(size, 0xc8000fff, " n "), odd, " n ");\n" \
                "        const vfloat32" m "_t small = __riscv_vfadd_vf_f32" m "(__riscv_vreinterpret_v_u32" m "_f32" m "(size), 0.5f, " n ");\n" \
                "        const vuint32" m "_t tiny = __riscv_vsub_vx_u32" m "(__riscv_vreinterpret_v_f32" m "_u32" m "(small), 0x3f000000, " n ");\n" \
                "        vuint32" m "_t b = __riscv_vsrl_vx_u32" m "(near, 13, " n ");\n" \
                "        b = __riscv_vmerge_vvm_u32" m "(b, tiny, __riscv_vmsltu_vx_u32" m "_b" b "(size, 0x38800000, " n "), " n ");\n" \
                "        b = __riscv_vmerge_vxm_u32" m "(b, 0x7c00, __riscv_vmsgtu_vx_u32" m "_b" b "(size, 0x477fffff, " n "), " n ");\n" \
                "        b = __riscv_vmerge_vxm_u32" m "(b, 0x7e00, __riscv_vmsgtu_vx_u32" m "_b" b "(size, 0x7f800000, " n "), " n ");\n" \
                "        return __riscv_vncvt_x_x_w_u16" h "(__riscv_vor_vv_u32" m "(b, sign, " n "), " n ");\n" \
                "}"), \
        RVV_WEAVE(n, half, F16, "vuint16", "u16", "weave_u16", "16", h, "32", m, RVV_ITSELF, RVV_ITSELF), \
        RVV_WEAVE(n, half, BF16, "vuint16", "u16", "weave_u16", "16", h, "32", m, RVV_ITSELF, RVV_ITSELF)

/* ---- truth values: masks ---- */

#define RVV_TRUTHS(n, m, h, q, d, b) \
        ROW(CAN_TYPE, BOOL, "vbool" b "_t"), ROW(CAN_ZERO, BOOL, "__riscv_vmclr_m_b" b "(" n ")"), \
        OP(SPLAT, BOOL, "__riscv_vmsne_vx_u32" m "_b" b "(__riscv_vmv_v_x_u32" m "($0, " n "), 0, " n ")"), \
        ROW(CAN_TRUTHS, BOOL, "truths_x" n m "($0)", \
            "vbool" b "_t truths_x" n m "(uint32_t bits)\n" \
            "{\n" \
            "        const vuint32" m "_t lane = __riscv_vid_v_u32" m "(" n "), all = __riscv_vmv_v_x_u32" m "(bits, " n ");\n" \
            "        if ((bits & (bits + 1)) == 0)\n" \
            "                return __riscv_vmsltu_vx_u32" m "_b" b "(lane, (uint32_t)__builtin_popcount(bits), " n ");\n" \
            "        const vuint32" m "_t bit = __riscv_vand_vx_u32" m "(__riscv_vsrl_vv_u32" m "(all, lane, " n "), 1, " n ");\n" \
            "        return __riscv_vmsne_vx_u32" m "_b" b "(bit, 0, " n ");\n" \
            "}"), \
        OP(LOAD, BOOL, "__riscv_vmsne_vx_u8" q "_b" b "(__riscv_vle8_v_u8" q "((const void *)$0, " n "), 0, " n ")"), \
        ROW(CAN_STORE, BOOL, "__riscv_vse8_v_u8" q "((void *)$0, __riscv_vmerge_vxm_u8" q "(__riscv_vmv_v_x_u8" q "(0, " n "), 1, $1, " n "), " n ")"), \
        RVV_COMPARE(n, m, b, LT, "lt", "ltu"), RVV_COMPARE(n, m, b, LE, "le", "leu"), RVV_COMPARE(n, m, b, GT, "gt", "gtu"), \
        RVV_COMPARE(n, m, b, GE, "ge", "geu"), RVV_COMPARE(n, m, b, EQ, "eq", "eq"), RVV_COMPARE(n, m, b, NE, "ne", "ne"), \
        RVV_MASK(n, b, AND, "and"), RVV_MASK(n, b, OR, "or"), RVV_MASK(n, b, XOR, "xor"), RVV_MASK(n, b, NE, "xor"), \
        RVV_MASK(n, b, EQ, "xnor"), OP(NOT, BOOL, "__riscv_vmnot_m_b" b "($0, " n ")"), \
        OP(SELECT, BOOL, "select_bool_x" n m "($0, $1, $2)", \
           "vbool" b "_t select_bool_x" n m "(vbool" b "_t mask, vbool" b "_t a, vbool" b "_t b)\n" \
           "{\n" \
           "        return __riscv_vmor_mm_b" b "(__riscv_vmand_mm_b" b "(mask, a, " n "), __riscv_vmandn_mm_b" b "(b, mask, " n "), " n ");\n" \
           "}"), \
        OP(MAX_LANES, BOOL, "(__riscv_vcpop_m_b" b "($0, " n ") != 0)"), OP(MIN_LANES, BOOL, "(__riscv_vcpop_m_b" b "($0, " n ") == " n ")"), \
        CONVERT(CAST, BOOL, I32, "__riscv_vmerge_vxm_i32" m "(__riscv_vmv_v_x_i32" m "(0, " n "), 1, $0, " n ")"), \
        CONVERT(CAST, BOOL, U32, "__riscv_vmerge_vxm_u32" m "(__riscv_vmv_v_x_u32" m "(0, " n "), 1, $0, " n ")"), \
        CONVERT(CAST, BOOL, F32, "__riscv_vfmerge_vfm_f32" m "(__riscv_vfmv_v_f_f32" m "(0.0f, " n "), 1.0f, $0, " n ")")
#define RVV_MASK(n, b, operation, name) OP(operation, BOOL, "__riscv_vm" name "_mm_b" b "($0, $1, " n ")")

/* ---- multiplies (ir/target/multiply.h): x in a scalar register ---- */

#define RVV_PRODUCTS(n, m, h, q, d, b) \
        { .op = LOOP_CALL, .element = E_I32, .function = "add_product", .scalar = 2, \
          .text = "__riscv_vmacc_vx_i32" m "($0, $1, $2, " n ")" }, \
        { .op = LOOP_CALL, .element = E_I32, .function = "add_product", .text = "__riscv_vmacc_vv_i32" m "($0, $1, $2, " n ")" }
#define RVV_MULTIPLIES(lanes) \
        RVV_BYTES(lanes, I8, I8), RVV_BYTES(lanes, U8, I8), RVV_BYTES(lanes, U8, U8), RVV_BYTES(lanes, I8, U8), \
        RVV_FMA(lanes, F32, NULL), RVV_FMA(lanes, BF16, NULL), RVV_FMA(lanes, F16, NULL), RVV_FMA(lanes, I8, NULL), RVV_FMA(lanes, U8, NULL), \
        RVV_FMA(lanes, F8E4M3, "finite_f8e4m3fn"), RVV_FMA(lanes, F8E5M2, "finite_f8e5m2")
#define RVV_FMA(lanes, w_, function) \
        { .name = "fma", .positions = 1, .outputs = lanes, .depth = 1, .channels = 1, \
          .x = { .memory = E_F32, .word = E_F32, .source = SOURCE_SCALAR }, \
          .w = { .memory = E_##w_, .word = E_F32, .source = SOURCE_VECTOR, .decode = function }, \
          .sum = E_F32, .order = ORDER_SEQUENCE, .instructions = 1 }
#define RVV_BYTES(lanes, x_, w_) \
        { .name = "vmacc", .positions = 1, .outputs = lanes, .depth = 1, .channels = 1, \
          .x = { .memory = E_##x_, .word = E_I32, .source = SOURCE_SCALAR }, \
          .w = { .memory = E_##w_, .word = E_I32, .source = SOURCE_VECTOR }, \
          .sum = E_I32, .body = "add_product", .order = ORDER_EXACT, .instructions = 1, .spare = 1 }

/* This defines all rows. `half` is that of n; STEPS is described above. */
#define RVV_ROWS(V, half, STEPS, BITS, FLOAT) \
        RVV(RVV_FLOATS, V, STEPS), RVV(RVV_WORDS, V), RVV(RVV_ALL_NARROW, V), RVV(RVV_STORAGE, V, half), RVV(RVV_TRUTHS, V), \
        RVV(RVV_PRODUCTS, V), RVV(RVV_WEAVE_FLOATS, V, half, BITS, FLOAT)
#define RVV_WEAVE_FLOATS(n, m, h, q, d, b, half, BITS, FLOAT) \
        RVV_WEAVE(n, half, F32, "vfloat32", "f32", "weave_f32", "32", m, "64", d, BITS, FLOAT)

#endif
