/* SPDX-License-Identifier: MIT */
/* Rows that the vectors of x86 have in common, whatever their length: M is what names of intrinsics
 * begin with ("_mm512_"), F and I are the types of floats and integers, S is the suffix of integer
 * registers, and N ends the names of helper functions ("x16"). Include ir/loop/capability.h first.
 *
 * maxps(a, b) is a > b ? a : b, for NaN and two zeros, too: exactly MAX_ORDERED. MAX must return
 * NaN where b is NaN, which legalize proves unnecessary where b is a literal. */
#ifndef CODEGEN_TARGETS_X86_H
#define CODEGEN_TARGETS_X86_H

#include "codegen/targets/rows.h"

#define PREFETCH(n, name, hint) PREFETCH_BY(n, name, "_mm_prefetch", hint)

/* These rows are for i32 and u32 alike. */
#define X86_WORDS(M, F, I, S, e)                                                                      \
        ROW(CAN_TYPE, e, I),                                                                        \
        ROW(CAN_ZERO, e, M "setzero_" S "()"),                                                      \
        OP(LOAD, e, M "loadu_" S "((const void *)$0)"),                                               \
        ROW(CAN_STORE, e, M "storeu_" S "((void *)$0, $1)"),                                        \
        OP(ADD, e, M "add_epi32($0, $1)"),                                                            \
        OP(SUB, e, M "sub_epi32($0, $1)"),                                                            \
        OP(AND, e, M "and_" S "($0, $1)"),                                                            \
        OP(OR, e, M "or_" S "($0, $1)"),                                                              \
        OP(XOR, e, M "xor_" S "($0, $1)"),                                                            \
        OP(NOT, e, M "xor_" S "($0, " M "set1_epi32(-1))"),                                           \
        OP(NEG, e, M "sub_epi32(" M "setzero_" S "(), $0)"),                                          \
        ROW(CAN_SHL_LITERAL, e, M "slli_epi32($0, $1)"),                                            \
        CONVERT(BITCAST, F32, e, M "castps_" S "($0)"),                                               \
        CONVERT(BITCAST, e, F32, M "cast" S "_ps($0)")

#define X86_COMMON(M, F, I, S)                                                                        \
        ROW(CAN_TYPE, F32, F),                                                                      \
        ROW(CAN_ZERO, F32, M "setzero_ps()"),                                                       \
        OP(SPLAT, F32, M "set1_ps($0)"),                                                              \
        OP(RAMP, F32, M "setr_ps($0)"),                                                              \
        OP(LOAD, F32, M "loadu_ps($0)"),                                                              \
        ROW(CAN_STORE, F32, M "storeu_ps($0, $1)"),                                                 \
        OP(ADD, F32, M "add_ps($0, $1)"),                                                             \
        OP(SUB, F32, M "sub_ps($0, $1)"),                                                             \
        OP(MUL, F32, M "mul_ps($0, $1)"),                                                             \
        OP(DIV, F32, M "div_ps($0, $1)"),                                                             \
        OP(NEG, F32, M "xor_ps($0, " M "set1_ps(-0.0f))"),                                            \
        OP(MIN_ORDERED, F32, M "min_ps($0, $1)"),                                                     \
        OP(MAX_ORDERED, F32, M "max_ps($0, $1)"),                                                     \
        MATH("sqrt", F32, M "sqrt_ps($0)"),                                                           \
        MATH("abs", F32, M "andnot_ps(" M "set1_ps(-0.0f), $0)"),                                     \
        MATH("copysign", F32,                                                                         \
             M "or_ps(" M "andnot_ps(" M "set1_ps(-0.0f), $0), " M "and_ps(" M "set1_ps(-0.0f), $1))"), \
        X86_WORDS(M, F, I, S, I32),                                                                   \
        X86_WORDS(M, F, I, S, U32),                                                                   \
        OP(SPLAT, I32, M "set1_epi32($0)"),                                                           \
        OP(SPLAT, U32, M "set1_epi32((int)($0))"),                                                    \
        OP(RAMP, I32, M "setr_epi32($0)"),                                                            \
        OP(RAMP, U32, M "setr_epi32($0)"),                                                    \
        ROW(CAN_SHR_LITERAL, I32, M "srai_epi32($0, $1)"),                                          \
        ROW(CAN_SHR_LITERAL, U32, M "srli_epi32($0, $1)"),                                          \
        CONVERT(CAST, I32, U32, "$0"),                                                                \
        CONVERT(CAST, U32, I32, "$0"),                                                                \
        CONVERT(BITCAST, I32, U32, "$0"),                                                             \
        CONVERT(BITCAST, U32, I32, "$0"),                                                             \
        CONVERT(CAST, I32, F32, M "cvtepi32_ps($0)")

/* Truth values are vectors of words, all ones or all zeros, where there are no mask registers. */
#define X86_WORD_MASKS(M, I, S)                                                                       \
        ROW(CAN_TYPE, BOOL, I),                                                                     \
        ROW(CAN_ZERO, BOOL, M "setzero_" S "()"),                                                   \
        OP(SPLAT, BOOL, M "set1_epi32(-($0))"),                                                       \
        OP(AND, BOOL, M "and_" S "($0, $1)"),                                                         \
        OP(OR, BOOL, M "or_" S "($0, $1)"),                                                           \
        OP(XOR, BOOL, M "xor_" S "($0, $1)"),                                                         \
        OP(NE, BOOL, M "xor_" S "($0, $1)"),                                                          \
        OP(EQ, BOOL, M "cmpeq_epi32($0, $1)"),                                                        \
        OP(NOT, BOOL, M "xor_" S "($0, " M "set1_epi32(-1))"),                                        \
        OP(MAX_LANES, BOOL, "(" M "movemask_epi8($0) != 0)"),                                         \
        CONVERT(CAST, BOOL, I32, M "srli_epi32($0, 31)"),                                             \
        CONVERT(CAST, BOOL, U32, M "srli_epi32($0, 31)"),                                             \
        CONVERT(CAST, BOOL, F32, M "and_ps(" M "cast" S "_ps($0), " M "set1_ps(1.0f))"),              \
        OP(EQ, I32, M "cmpeq_epi32($0, $1)"),                                                         \
        OP(EQ, U32, M "cmpeq_epi32($0, $1)"),                                                         \
        OP(NE, I32, M "xor_" S "(" M "cmpeq_epi32($0, $1), " M "set1_epi32(-1))"),                    \
        OP(NE, U32, M "xor_" S "(" M "cmpeq_epi32($0, $1), " M "set1_epi32(-1))"),                    \
        OP(GT, I32, M "cmpgt_epi32($0, $1)"),                                                         \
        OP(LT, I32, M "cmpgt_epi32($1, $0)"),                                                         \
        OP(LE, I32, M "xor_" S "(" M "cmpgt_epi32($0, $1), " M "set1_epi32(-1))"),                    \
        OP(GE, I32, M "xor_" S "(" M "cmpgt_epi32($1, $0), " M "set1_epi32(-1))"),                    \
        OP(GT, U32, M "cmpgt_epi32(" X86_BIASED(M, S, "$0") ", " X86_BIASED(M, S, "$1") ")"),         \
        OP(LT, U32, M "cmpgt_epi32(" X86_BIASED(M, S, "$1") ", " X86_BIASED(M, S, "$0") ")"),         \
        OP(LE, U32, M "xor_" S "(" M "cmpgt_epi32(" X86_BIASED(M, S, "$0") ", " X86_BIASED(M, S, "$1") \
                    "), " M "set1_epi32(-1))"),                                                       \
        OP(GE, U32, M "xor_" S "(" M "cmpgt_epi32(" X86_BIASED(M, S, "$1") ", " X86_BIASED(M, S, "$0") \
                    "), " M "set1_epi32(-1))")

/* Makes the signed order of biased numbers their unsigned order. */
#define X86_BIASED(M, S, x) M "xor_" S "(" x ", " M "set1_epi32(INT32_MIN))"

/* ---- multiplies (ir/target/multiply.h) ---- */

#define X86_OPERAND(m, r, p) { .memory = E_##m, .word = E_##r, .source = SOURCE_##p }
/* Products of floats; weights may be stored in fewer bits. */
#define X86_FLOATS_OF(lanes, w_, function) \
        { .name = "fma", .positions = 1, .outputs = lanes, .depth = 1, .channels = 1, \
          .x = X86_OPERAND(F32, F32, BROADCAST), \
          .w = { .memory = E_##w_, .word = E_F32, .source = SOURCE_VECTOR, .decode = function }, \
          .sum = E_F32, .order = ORDER_SEQUENCE, .instructions = 1 }
#define X86_FLOATS(lanes) \
        X86_FLOATS_OF(lanes, F32, NULL), X86_FLOATS_OF(lanes, BF16, NULL), X86_FLOATS_OF(lanes, F16, NULL), \
        X86_FLOATS_OF(lanes, I8, NULL), X86_FLOATS_OF(lanes, U8, NULL), \
        X86_FLOATS_OF(lanes, F8E4M3, "finite_f8e4m3fn"), X86_FLOATS_OF(lanes, F8E5M2, "finite_f8e5m2")
/* It multiplies words of `channels_` channels. */
#define X86_GROUPS(called, lanes, channels_, x_, w_, sum_, ...) \
        { .name = called, .positions = 1, .outputs = lanes, .depth = 1, .channels = channels_, \
          .x = X86_OPERAND(x_, U32, BROADCAST), .w = X86_OPERAND(w_, U32, VECTOR), .sum = E_##sum_, \
          __VA_ARGS__ }
/* Bytes are multiplied as pairs of 16 bits, which x may be in memory already: no product of two
 * bytes, and no sum of two products, overflows. */
#define X86_MADDWD(lanes, x_, w_) \
        X86_GROUPS("maddwd", lanes, 2, x_, w_, I32, .body = "dot_i16", .order = ORDER_EXACT, \
                   .instructions = 2)
#define X86_MADDWDS(lanes) \
        X86_MADDWD(lanes, U8, I8), X86_MADDWD(lanes, I8, I8), X86_MADDWD(lanes, U8, U8), \
        X86_MADDWD(lanes, I8, U8), X86_MADDWD(lanes, I16, I8), X86_MADDWD(lanes, I16, U8)
/* Without VNNI, sums of two products must fit into 16 bits: weights with a sign have 7 bits, and so
 * have those without one. */
#define X86_MADDUBS(lanes) \
        X86_GROUPS("maddubs", lanes, 4, U8, I8, I32, .body = "dot_u8_i8_short", .order = ORDER_EXACT, \
                   .instructions = 3, .limit = 64), \
        X86_GROUPS("maddubs", lanes, 4, I8, U8, I32, .body = "dot_i8_u8_short", .order = ORDER_EXACT, \
                   .instructions = 3, .limit = 127)
#define X86_VNNI(lanes) \
        X86_VNNI_OF(lanes, U8, I8, "dot_u8_i8"), X86_VNNI_OF(lanes, I8, U8, "dot_i8_u8")
#define X86_VNNI_OF(lanes, x_, w_, function) \
        X86_GROUPS("vnni", lanes, 4, x_, w_, I32, .body = function, .order = ORDER_EXACT, \
                   .instructions = 1)

/* Words are contiguous bytes, or pairs of bytes that are widened. */
#define X86_WORD(e, channels_) \
        LOAD_WORDS(e, channels_, "word_of($0)", \
                   "uint32_t word_of(const void *x)\n" \
                   "{\n" \
                   "        uint32_t word;\n" \
                   "        __builtin_memcpy(&word, x, sizeof word);\n" \
                   "        return word;\n" \
                   "}", .lanes = 1)
#define X86_PAIR(e, type, low) \
        LOAD_WORDS(e, 2, "pair_" type "($0)", \
                   "uint32_t pair_" type "(const " low " *x)\n" \
                   "{\n" \
                   "        return (uint32_t)(uint16_t)x[0] | (uint32_t)x[1] << 16;\n" \
                   "}", .lanes = 1)
#define X86_DOT(function_, e, ...) \
        { .op = LOOP_CALL, .element = E_##e, .function = function_, .text = __VA_ARGS__ }
/* It is vpmaddwd and an addition. gcc would add up the products of several words first where it may
 * choose the order, and has no registers for all of them; so it must have this sum before it sees
 * the next one. */
#define X86_DOT_I16(M, I, lanes)                                                                      \
        X86_DOT("dot_i16", I32, "dot_i16_" lanes "($0, $1, $2)",                                      \
                .definition = I " dot_i16_" lanes "(" I " sum, " I " x, " I " w)\n"                   \
                              "{\n"                                                                   \
                              "        sum = " M "add_epi32(sum, " M "madd_epi16(x, w));\n"           \
                              "        __asm__ (\"\" : \"+v\"(sum));\n"                               \
                              "        return sum;\n"                                                 \
                              "}")
#define X86_DOT_SHORT(M, I, lanes)                                                                    \
        X86_DOT_SHORT_OF("dot_u8_i8_short", M, I, lanes, "x, w"),                                     \
        X86_DOT_SHORT_OF("dot_i8_u8_short", M, I, lanes, "w, x")
/* `operands` are the one without a sign, and the one with one. */
#define X86_DOT_SHORT_OF(called, M, I, lanes, operands)                                               \
        X86_DOT(called, I32, called "_" lanes "($0, $1, $2)",                                         \
                .definition = I " " called "_" lanes "(" I " sum, " I " x, " I " w)\n"                \
                              "{\n"                                                                   \
                              "        const " I " pairs = " M "maddubs_epi16(" operands ");\n"       \
                              "        sum = " M "add_epi32(sum, " M "madd_epi16(pairs, " M "set1_epi16(1)));\n" \
                              "        __asm__ (\"\" : \"+v\"(sum));\n"                               \
                              "        return sum;\n"                                                 \
                              "}")
/* The instruction adds to its first operand: gcc 12 copies and spills sums around its intrinsic,
 * but not around this one. */
#define X86_DOT_IN_PLACE(function_, e, called, type, sums, instruction) \
        X86_DOT_OF(function_, e, called, type, sums, instruction, "%2, %1")
/* `operands` is x, %1, and w, %2, in AT&T's order. */
#define X86_DOT_OF(function_, e, called, type, sums, instruction, operands) \
        X86_DOT(function_, e, called "($0, $1, $2)", \
                .definition = type " " called "(" type " sum, " sums " x, " sums " w)\n" \
                              "{\n" \
                              "        __asm__ (\"" instruction "\\t" operands ", %0\" : \"+v\"(sum) : \"v\"(x), \"v\"(w));\n" \
                              "        return sum;\n" \
                              "}")

#endif
