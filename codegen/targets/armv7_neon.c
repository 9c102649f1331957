/* SPDX-License-Identifier: MIT */
/* This is 32-bit ARM with NEON and VFPv4: Cortex-A5, A7, A15 and later, and 64-bit processors under
 * a 32-bit system. It has four lanes of 32 bits and 16 registers, none of them for f64; vectors
 * have no division, square root or rounding, and a fused product takes no lane. NEON treats
 * denormal floats as zeros, whatever FPSCR says. */
#include "codegen/targets/arm.h"

extern const struct target target_generic, target_armv7_neon;

#define CHOICE(operation, name, first) \
        OP(operation, F32, name "_f32x4($0, $1)", \
           "float32x4_t " name "_f32x4(float32x4_t a, float32x4_t b)\n" \
           "{\n" \
           "        return vbslq_f32(" first ");\n" \
           "}")
#define OR_NAN(compare) "vornq_u32(" compare "(b, a), vceqq_f32(b, b)), b, a"

/* Reductions over all lanes combine the halves of 64 bits, then the two lanes of one. v is i32x4, s
 * the suffix of intrinsics. */
#define OF_LANES(operation, e, name, v, result, type, s, of_halves, of_pairs) \
        OP(operation, e, name "_" v "($0)", \
           result " " name "_" v "(" type "x4_t a)\n" \
           "{\n" \
           "        const " type "x2_t b = " of_halves "_" s "(vget_low_" s "(a), vget_high_" s "(a));\n" \
           "        return vget_lane_" s "(" of_pairs "_" s "(b, b), 0);\n" \
           "}")
#define INTEGER_LANES(e, v, result, type, s) \
        OF_LANES(SUM_LANES, e, "sum_lanes", v, result, type, s, "vadd", "vpadd"), \
        OF_LANES(MAX_LANES, e, "max_lanes", v, result, type, s, "vmax", "vpmax"), \
        OF_LANES(MIN_LANES, e, "min_lanes", v, result, type, s, "vmin", "vpmin")
#define TRUTH_LANES(operation, name, of_halves, of_pairs) \
        OP(operation, BOOL, "(" name "_boolx4($0) != 0)", \
           "uint32_t " name "_boolx4(uint32x4_t a)\n" \
           "{\n" \
           "        const uint32x2_t b = " of_halves "(vget_low_u32(a), vget_high_u32(a));\n" \
           "        return vget_lane_u32(" of_pairs "(b, b), 0);\n" \
           "}")
/* vpmax and vpmin return NaN where one operand is NaN. */
#define EXTREME_LANE(operation, name) OF_LANES(operation, F32, name "_lanes", "f32x4", "float", "float32", "f32", "v" name, "vp" name)

/* The result has the sign of a; adding 2^23 brings |a| into the binade whose numbers are whole. A
 * number that large is whole already. */
#define ROUND \
        "float32x4_t round_f32x4(float32x4_t a)\n" \
        "{\n" \
        "        const float32x4_t whole = vdupq_n_f32(8388608.0f);\n" \
        "        const uint32x4_t sign = vdupq_n_u32(0x80000000);\n" \
        "        const float32x4_t b = vsubq_f32(vaddq_f32(vabsq_f32(a), whole), whole);\n" \
        "        return vbslq_f32(vcaltq_f32(a, whole), vbslq_f32(sign, a, b), a);\n" \
        "}"
/* Rounds to the nearest i32; the result is exact to 2^22, and larger numbers saturate as bytes in
 * any case. */
#define NEAREST \
        "int16x8_t nearest_i16x4(float32x4_t a)\n" \
        "{\n" \
        "        const float32x4_t whole = vdupq_n_f32(12582912.0f);\n" \
        "        const int16x4_t b = vqmovn_s32(vcvtq_s32_f32(vsubq_f32(vaddq_f32(a, whole), whole)));\n" \
        "        return vcombine_s16(b, b);\n" \
        "}"
/* This is an instruction, because intrinsics of halves need an option of gcc. */
#define HALF_INSTRUCTION(name, to, from, instruction) \
        name "($0)", to " " name "(" from " a)\n" \
             "{\n" \
             "        " to " b;\n" \
             "        __asm__ (\"" instruction "\" : \"=w\"(b) : \"w\"(a));\n" \
             "        return b;\n" \
             "}"

/* Channels 0 and 1 of all outputs are multiplied side by side, then 2 and 3, as in aarch64.c. */
#define DOT_I8_OF(name, x_registers, x_words, products) \
        .text = name "($0, $1, $2)", \
        .definition = "int32x4_t " name "(int32x4_t sum, uint32x4_t x, uint32x4_t w)\n" \
                      "{\n" \
                      "        uint32x2_t w0 = vget_low_u32(w), w1 = vget_high_u32(w)" x_registers ";\n" \
                      "        int16x8_t products;\n" \
                      "        __asm__ (\"vuzp.16\\t%P0, %P1\" : \"+w\"(w0), \"+w\"(w1));\n" \
                      x_words \
                      "        __asm__ (\"vmull.s8\\t%q1, %P2, %P4\\n\\t" products "\\n\\tvpadal.s16\\t%q0, %q1\"\n" \
                      "                : \"+&w\"(sum), \"=&w\"(products) : \"w\"(x0), \"w\"(x1), \"w\"(w0), \"w\"(w1));\n" \
                      "        return sum;\n" \
                      "}"
#define DOT_I8(name, ...) DOT_I8_OF(name, __VA_ARGS__, "vpadal.s16\\t%q0, %q1\\n\\tvmull.s8\\t%q1, %P3, %P5")
#define DOT_I8_SHORT(name, ...) DOT_I8_OF(name, __VA_ARGS__, "vmlal.s8\\t%q1, %P3, %P5")
/* `half` is e, the lower half of the register, or f, the upper one. */
#define LANE_DUP(half, first, second) \
        ", x0, x1", \
        "        __asm__ (\"vdup.16\\t%P0, %" half "1[" first "]\" : \"=w\"(x0) : \"w\"(x));\n" \
        "        __asm__ (\"vdup.16\\t%P0, %" half "1[" second "]\" : \"=w\"(x1) : \"w\"(x));\n"
#define LANE_DUP_0 LANE_DUP("e", "0", "1")
#define LANE_DUP_1 LANE_DUP("e", "2", "3")
#define LANE_DUP_2 LANE_DUP("f", "0", "1")
#define LANE_DUP_3 LANE_DUP("f", "2", "3")
#define DOT_LANE(DOT, name, n) { .op = LOOP_CALL, .element = E_I32, .function = name, .lane = 1 + n, DOT(name "_lane" #n, LANE_DUP_##n) }
#define DOT_ROWS(DOT, name) \
        DOT_LANE(DOT, name, 0), DOT_LANE(DOT, name, 1), DOT_LANE(DOT, name, 2), DOT_LANE(DOT, name, 3), \
        { .op = LOOP_CALL, .element = E_I32, .function = name, \
          DOT(name "_x4", ", x0 = vget_low_u32(x), x1 = vget_high_u32(x)", \
              "        __asm__ (\"vuzp.16\\t%P0, %P1\" : \"+w\"(x0), \"+w\"(x1));\n") }

/* Without this intrinsic gcc takes lanes out through registers of the core. */
#define FMA_LANE(n, half, place) OP(FMA, F32, "vfmaq_f32($2, vdupq_lane_f32(vget_" half "_f32($0), " place "), $1)", .lane = 1 + n)

static const struct c_spelling spellings[] = {
        FMA_LANE(0, "low", "0"),
        FMA_LANE(1, "low", "1"),
        FMA_LANE(2, "high", "0"),
        FMA_LANE(3, "high", "1"),
        ARM_FLOATS,
        ARM_INTEGERS(I32, "int32x4_t", "s32"),
        ARM_INTEGERS(U32, "uint32x4_t", "u32"),
        ARM_SAME(I32, "s32", U32, "u32"),
        ARM_SAME(U32, "u32", I32, "s32"),
        ARM_TRUTHS,
        ARM_ALL_BYTES,
        ARM_HALVES,
        ARM_STORED(F16, "uint16x4_t", "u16"),
        ARM_STORED(BF16, "uint16x4_t", "u16"),
        CONVERT(CAST, F16, F32,
                HALF_INSTRUCTION("f32_from_f16x4", "float32x4_t", "uint16x4_t",
                                 "vcvt.f32.f16\\t%q0, %P1")),
        CONVERT(CAST, F32, F16,
                HALF_INSTRUCTION("f16_from_f32x4", "uint16x4_t", "float32x4_t",
                                 "vcvt.f16.f32\\t%P0, %q1")),
        CONVERT(CAST, BF16, F32, "vreinterpretq_f32_u32(vshll_n_u16($0, 16))"),
        CHOICE(MAX, "max", OR_NAN("vcgtq_f32")),
        CHOICE(MIN, "min", OR_NAN("vcltq_f32")),
        MATH("round", F32, "round_f32x4($0)", ROUND),
        ROUNDED_BEFORE(F32, U8, "vqmovun_s16(nearest_i16x4($0))", NEAREST),
        ROUNDED_BEFORE(F32, I8, "vqmovn_s16(nearest_i16x4($0))", NEAREST),
        { .op = LOOP_CALL,
          .element = E_F32,
          .function = "sqrt",
          .lanes = 1,
          .text = "sqrt_f32($0)",
          .definition = "float sqrt_f32(float a)\n"
                        "{\n"
                        "        float b;\n"
                        "        __asm__ (\"vsqrt.f32\\t%0, %1\" : \"=t\"(b) : \"t\"(a));\n"
                        "        return b;\n"
                        "}" },
        { .op = LOOP_FMA, .element = E_F32, .lanes = 1, .text = "__builtin_fmaf($0, $1, $2)" },
        { .op = LOOP_FMA, .element = E_F64, .lanes = 1, .text = "__builtin_fma($0, $1, $2)" },
        OF_LANES(SUM_LANES, F32, "sum_lanes", "f32x4", "float", "float32", "f32", "vadd", "vpadd"),
        EXTREME_LANE(MAX_LANES, "max"),
        EXTREME_LANE(MIN_LANES, "min"),
        INTEGER_LANES(I32, "i32x4", "int32_t", "int32", "s32"),
        INTEGER_LANES(U32, "u32x4", "uint32_t", "uint32", "u32"),
        TRUTH_LANES(MAX_LANES, "max_lanes", "vorr_u32", "vpmax_u32"),
        TRUTH_LANES(MIN_LANES, "min_lanes", "vand_u32", "vpmin_u32"),
        OP(INTERLEAVE_LOW, F32, "vzipq_f32($0, $1).val[0]"),
        OP(INTERLEAVE_HIGH, F32, "vzipq_f32($0, $1).val[1]"),
        ARM_WORDS(I8, "s8"),
        ARM_WORDS(U8, "u8"),
        DOT_ROWS(DOT_I8, "dot_i8"),
        DOT_ROWS(DOT_I8_SHORT, "dot_i8_short"),
        PREFETCH(0, "prefetch_l1", "3"),
        PREFETCH(1, "prefetch_l2", "2"),
        PREFETCH(2, "prefetch_once", "0"),
        { .op = CAN_END }
};

/* The words of 8 bits that aarch64 converts to floats are denormal numbers on the way, so they are
 * not used here. */
static const struct multiply multiplies[] = {
        ARM_BYTES_BY_LANE("smlal", I8, I8, "dot_i8_short", 3, .spare = 5, .limit = 127),
        ARM_BYTES_BY_LANE("smull", I8, I8, "dot_i8", 4, .spare = 5),
        ARM_FLOATS_OF(4, F32, NULL, 1), ARM_FLOATS_OF(4, BF16, NULL, 1), ARM_FLOATS_OF(4, F16, NULL, 1),
        { 0 }
};

const struct target target_armv7_neon = {
        .name = "armv7-neon",
        .doc = "32-bit ARM: NEON and VFPv4; denormal numbers are zeros",
        .base = &target_generic,
        .triple = "armv7-unknown-linux-gnueabihf",
        .engine = &engine_vector,
        .machine = "defined(__ARMEL__) && __ARM_ARCH_PROFILE == 'A' && defined(__ARM_FP) && \\\n"
                   "        (!defined(__clang__) || (defined(__ARM_NEON) && "
                   "defined(__ARM_FEATURE_FMA)))",
        .compilers = "gcc for ARMv7-A with -mfloat-abi=hard or softfp, or clang with "
                     "-mfpu=neon-vfpv4, too",
        .gcc_optimize = ARM_GCC ",no-gcse",
        .include = "<arm_neon.h>",
        .control =
                &(const struct float_control){
                        "FZ of the caller's FPSCR", "0x1000000u", "unsigned",
                        "__asm__ volatile(\"vmrs %0, fpscr\" : \"=r\"(control));",
                        "__asm__ volatile(\"vmsr fpscr, %0\" : : \"r\"(control));" },
        .vector_bytes = 16,
        .vector_registers = 16,
        .has_fma = true,
        .pointers = true,
        .flushes = true,
        .attribute = "neon,vfp4",
        .gcc_attribute = "fpu=neon-vfpv4",
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
