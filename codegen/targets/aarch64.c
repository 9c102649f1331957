/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with NEON, which all of these processors have. It has four lanes of 32 bits
 * and 32 registers, but no masked loads and no gathers. A product may take one operand from a lane
 * of a vector, so that one load of x serves four channels. */
#include "ir/target/rates.h"

#include "codegen/targets/arm.h"

extern const struct target target_generic, target_aarch64;

/* An operation without an instruction is a function. max(a, b) is b where b is larger or NaN, and a
 * of two zeros; fmax would return +0 of two zeros. */
#define CHOICE(operation, name, first) \
        OP(operation, F32, name "_f32x4($0, $1)", \
           "float32x4_t " name "_f32x4(float32x4_t a, float32x4_t b)\n" \
           "{\n" \
           "        return vbslq_f32(" first ");\n" \
           "}")
#define OR_NAN(compare) "vornq_u32(" compare "(b, a), vceqq_f32(b, b)), b, a"
#define EXTREME_LANE(operation, name, better) \
        OP(operation, F32, name "_lanes_f32x4($0)", \
           "float " name "_lanes_f32x4(float32x4_t a)\n" \
           "{\n" \
           "        const float32x2_t low = vget_low_f32(a), high = vget_high_f32(a);\n" \
           "        const float32x2_t b = vbsl_f32(" better "(high, low), high, low), c = vrev64_f32(b);\n" \
           "        const float32x2_t d = vbsl_f32(" better "(c, b), c, b);\n" \
           "        const int number = vminvq_u32(vceqq_f32(a, a)) != 0;\n" \
           "        return number ? vget_lane_f32(d, 0) : vget_lane_f32(vreinterpret_f32_u32(vdup_n_u32(0x7fc00000)), 0);\n" \
           "}")

/* Channels 0 and 1 of all outputs are multiplied side by side, then 2 and 3: products of 16 bits,
 * added in pairs; where they are small, two of them are added first. These are instructions, not
 * intrinsics, because C compilers reload from memory what is broadcast from a register, and delay
 * all products until registers are full. */
#define DOT_I8_OF(name, x0, x1, products) \
        .text = name "($0, $1, $2)", .gcc_optimize = "no-gcse,no-tree-ter", \
        .definition = "int32x4_t " name "(int32x4_t sum, uint32x4_t x, uint32x4_t w)\n" \
                      "{\n" \
                      "        const int16x8_t outputs = vreinterpretq_s16_u32(w);\n" \
                      "        const int16x8_t w0 = vuzp1q_s16(outputs, outputs), w1 = vuzp2q_s16(outputs, outputs);\n" \
                      "        int16x8_t x0, x1, products;\n" \
                      "        __asm__ (\"" x0 "\" : \"=w\"(x0) : \"w\"(x));\n" \
                      "        __asm__ (\"" x1 "\" : \"=w\"(x1) : \"w\"(x));\n" \
                      "        __asm__ (\"smull\\t%1.8h, %2.8b, %4.8b\\n\\t" products "\\n\\tsadalp\\t%0.4s, %1.8h\"\n" \
                      "                : \"+&w\"(sum), \"=&w\"(products) : \"w\"(x0), \"w\"(x1), \"w\"(w0), \"w\"(w1));\n" \
                      "        return sum;\n" \
                      "}"
#define DOT_I8(name, ...) DOT_I8_OF(name, __VA_ARGS__, "sadalp\\t%0.4s, %1.8h\\n\\tsmull\\t%1.8h, %3.8b, %5.8b")
#define DOT_I8_SHORT(name, ...) DOT_I8_OF(name, __VA_ARGS__, "smlal\\t%1.8h, %3.8b, %5.8b")
#define LANE_DUP(half) "dup\\t%0.4h, %1.h[" half "]"
#define DOT_I8_LANE(lane) DOT_I8("dot_i8_lane" lane, LANE_DUP("2 * " lane), LANE_DUP("2 * " lane " + 1"))
#define DOT_I8_SHORT_LANE(lane) DOT_I8_SHORT("dot_i8_short_lane" lane, LANE_DUP("2 * " lane), LANE_DUP("2 * " lane " + 1"))
#define DOT_I8_ALL "uzp1\\t%0.8h, %1.8h, %1.8h", "uzp2\\t%0.8h, %1.8h, %1.8h"

/* This is an instruction, too, which adds to the register that it is given: from vfmaq_f32 gcc
 * makes one with a register for the result, and moves the sums of a loop of 5 x 4, which fill
 * nearly all registers, to and fro. */
#define FMA_LANE(n) \
        OP(FMA, F32, "fma_lane" #n "($0, $1, $2)", \
           "float32x4_t fma_lane" #n "(float32x4_t x, float32x4_t w, float32x4_t sum)\n" \
           "{\n" \
           "        __asm__ (\"fmla\\t%0.4s, %2.4s, %1.s[" #n "]\" : \"+w\"(sum) : \"w\"(x), \"w\"(w));\n" \
           "        return sum;\n" \
           "}", .lane = 1 + n)

static const struct c_spelling spellings[] = {
        FMA_LANE(0), FMA_LANE(1), FMA_LANE(2), FMA_LANE(3),
        ARM_FLOATS, ARM_INTEGERS(I32, "int32x4_t", "s32"), ARM_INTEGERS(U32, "uint32x4_t", "u32"),
        ARM_SAME(I32, "s32", U32, "u32"), ARM_SAME(U32, "u32", I32, "s32"), ARM_TRUTHS,
        ARM_ALL_BYTES, ARM_HALVES, ARM_STORAGE,
        OP(DIV, F32, "vdivq_f32($0, $1)"),
        CHOICE(MAX, "max", OR_NAN("vcgtq_f32")), CHOICE(MIN, "min", OR_NAN("vcltq_f32")),
        MATH("sqrt", F32, "vsqrtq_f32($0)"), MATH("round", F32, "vrndnq_f32($0)"),
        ROUNDED(F32, U8, "vqmovn_u16(vcombine_u16(vqmovn_u32(vcvtnq_u32_f32($0)), vdup_n_u16(0)))"),
        ROUNDED(F32, I8, "vqmovn_s16(vcombine_s16(vqmovn_s32(vcvtnq_s32_f32($0)), vdup_n_s16(0)))"),
        MATH("floor", F32, "vrndmq_f32($0)"), MATH("ceil", F32, "vrndpq_f32($0)"), MATH("trunc", F32, "vrndq_f32($0)"),
        { .op = LOOP_CALL, .element = E_F32, .function = "sqrt", .lanes = 1,
          .text = "vget_lane_f32(vsqrt_f32(vdup_n_f32($0)), 0)" },
        { .op = LOOP_FMA, .element = E_F32, .lanes = 1, .text = "__builtin_fmaf($0, $1, $2)" },
        { .op = LOOP_FMA, .element = E_F64, .lanes = 1, .text = "__builtin_fma($0, $1, $2)" },
        OP(SUM_LANES, F32, "sum_lanes_f32x4($0)",
           "float sum_lanes_f32x4(float32x4_t a)\n"
           "{\n"
           "        return vaddv_f32(vadd_f32(vget_low_f32(a), vget_high_f32(a)));\n"
           "}"),
        OP(SUM_LANES, I32, "vaddvq_s32($0)"), OP(SUM_LANES, U32, "vaddvq_u32($0)"),
        EXTREME_LANE(MAX_LANES, "max", "vcgt_f32"), EXTREME_LANE(MIN_LANES, "min", "vclt_f32"),
        OP(MAX_LANES, I32, "vmaxvq_s32($0)"), OP(MIN_LANES, I32, "vminvq_s32($0)"),
        OP(MAX_LANES, U32, "vmaxvq_u32($0)"), OP(MIN_LANES, U32, "vminvq_u32($0)"),
        OP(MAX_LANES, BOOL, "(vmaxvq_u32($0) != 0)"), OP(MIN_LANES, BOOL, "(vminvq_u32($0) != 0)"),
        OP(INTERLEAVE_LOW, F32, "vzip1q_f32($0, $1)"), OP(INTERLEAVE_HIGH, F32, "vzip2q_f32($0, $1)"),
        ARM_WORDS(I8, "s8"), ARM_WORDS(U8, "u8"), ARM_DOT_LANES("dot_i8", DOT_I8_LANE),
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8", DOT_I8("dot_i8_x4", DOT_I8_ALL) },
        ARM_DOT_LANES("dot_i8_short", DOT_I8_SHORT_LANE),
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8_short", DOT_I8_SHORT("dot_i8_short_x4", DOT_I8_ALL) },
        PREFETCH(0, "prefetch_l1", "3"), PREFETCH(1, "prefetch_l2", "2"), PREFETCH(2, "prefetch_once", "0"),
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        ARM_BYTES_BY_LANE("smlal", I8, I8, "dot_i8_short", 3, .spare = 7, .limit = 127),
        /* The bits are the same as those of bytes with signs. */
        ARM_BYTES_BY_LANE("smlal", I8, U8, "dot_i8_short", 3, .spare = 7, .limit = 127),
        ARM_BYTES_BY_LANE("smull", I8, I8, "dot_i8", 4, .spare = 7), ARM_FLOATS_BY_LANE(4),
        ARM_HALVES_BY_LANE("fma", 4, F32, 2),   /* Up to as many instructions widen the halves. */
        { 0 }
};

const struct target target_aarch64 = {
        .name = "aarch64",
        .doc = "any 64-bit ARM: NEON",
        .base = &target_generic,
        .triple = "aarch64-unknown-linux-gnu",
        .engine = &engine_vector,
        .machine = "defined(__aarch64__) && defined(__GNUC__)",
        ARM64_PROCESSOR,
        .include = "<arm_neon.h>",
        .vector_bytes = 16,
        .vector_registers = 32,
        .has_fma = true,
        .pointers = true,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
