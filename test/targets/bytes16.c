/* SPDX-License-Identifier: MIT */
/* A made-up core: vectors of 16 bytes, of 8 halves or of 4 words, and a dot product of bytes. Its intrinsics are operators of GNU C
 * (bytes16.h), so that its code runs anywhere. */
#include "codegen/targets/rows.h"

extern const struct target target_generic, target_bytes16;

/* number: of lanes, 0 where they are those of f32; type: with its lanes, "i8x16"; mask: of truth values of as many lanes */
#define N(number, ...) { __VA_ARGS__, .lanes = number }
#define AS(number, operation, e, ...) N(number, .op = operation, .element = E_##e, .text = __VA_ARGS__)
#define IN(number, operation, e, ...) AS(number, LOOP_##operation, e, __VA_ARGS__)
#define FROM(number, operation, e, result, ...) N(number, .op = LOOP_##operation, .element = E_##e, .to = E_##result, .text = __VA_ARGS__)

/* what is moved only */
#define MOVED(n, e, type, c) \
        AS(n, CAN_TYPE, e, type), IN(n, SPLAT, e, "((" type "){ 0 } + (" c ")($0))"), \
        IN(n, LOAD, e, "load_" type "($0)", LOADED(type)), AS(n, CAN_STORE, e, "store_" type "($0, $1)", STORED(type))
#define LOADED(type) type " load_" type "(const void *p)\n{\n        " type " a;\n        __builtin_memcpy(&a, p, sizeof a);\n        return a;\n}"
#define STORED(type) "void store_" type "(void *p, " type " a)\n{\n        __builtin_memcpy(p, &a, sizeof a);\n}"
#define COMPARED(n, e, mask, cast) \
        IN(n, LT, e, "(" mask ")(" cast "($0) < " cast "($1))"), IN(n, LE, e, "(" mask ")(" cast "($0) <= " cast "($1))"), \
        IN(n, GT, e, "(" mask ")(" cast "($0) > " cast "($1))"), IN(n, GE, e, "(" mask ")(" cast "($0) >= " cast "($1))"), \
        IN(n, EQ, e, "(" mask ")(" cast "($0) == " cast "($1))"), IN(n, NE, e, "(" mask ")(" cast "($0) != " cast "($1))")
#define CHOSEN(n, e, type, mask) CHOSEN_BY(n, e, type, mask, "$0")
#define CHOSEN_BY(n, e, type, mask, truths) \
        IN(n, SELECT, e, "select_" type "(" truths ", $1, $2)", \
           type " select_" type "(" mask " m, " type " a, " type " b)\n{\n        return (" type ")((m & (" mask ")a) | (~m & (" mask ")b));\n}")
#define EXTREME(n, operation, name, e, type, mask, cast, compare) \
        IN(n, operation, e, name "_" type "($0, $1)", \
           type " " name "_" type "(" type " a, " type " b)\n" \
           "{\n        const " mask " m = (" mask ")(" cast "a " compare " " cast "b);\n" \
           "        return (" type ")((m & (" mask ")a) | (~m & (" mask ")b));\n}")
#define WOVEN(n, e, type, low, high) \
        IN(n, INTERLEAVE_LOW, e, "__builtin_shuffle($0, $1, (" type "){ " low " })"), IN(n, INTERLEAVE_HIGH, e, "__builtin_shuffle($0, $1, (" type "){ " high " })")
/* all that integers do; wraps: of operands and results, so that C has no overflow */
#define INTEGER(n, e, type, c, wraps, mask) \
        MOVED(n, e, type, c), COMPARED(n, e, mask, ""), CHOSEN(n, e, type, mask), \
        EXTREME(n, MIN, "min", e, type, mask, "", "<"), EXTREME(n, MAX, "max", e, type, mask, "", ">"), \
        IN(n, ADD, e, "(" type ")((" wraps ")($0) + (" wraps ")($1))"), IN(n, SUB, e, "(" type ")((" wraps ")($0) - (" wraps ")($1))"), \
        IN(n, MUL, e, "(" type ")((" wraps ")($0) * (" wraps ")($1))"), IN(n, NEG, e, "(" type ")-(" wraps ")($0)"), \
        IN(n, AND, e, "(($0) & ($1))"), IN(n, OR, e, "(($0) | ($1))"), IN(n, XOR, e, "(($0) ^ ($1))"), IN(n, NOT, e, "(~($0))")
#define TRUTHS(n, mask) \
        AS(n, CAN_TYPE, BOOL, mask), IN(n, SPLAT, BOOL, "((" mask "){ 0 } - (signed char)($0))"), IN(n, AND, BOOL, "(($0) & ($1))"), \
        IN(n, OR, BOOL, "(($0) | ($1))"), IN(n, XOR, BOOL, "(($0) ^ ($1))"), IN(n, NE, BOOL, "(($0) ^ ($1))"), IN(n, EQ, BOOL, "(~(($0) ^ ($1)))"), \
        IN(n, NOT, BOOL, "(~($0))"), IN(n, SELECT, BOOL, "select_truths_" mask "($0, $1, $2)", \
           mask " select_truths_" mask "(" mask " m, " mask " a, " mask " b)\n{\n        return (m & a) | (~m & b);\n}")
/* of truth values in memory, one a byte */
#define STORED_TRUTHS(n, mask, bytes) \
        IN(n, LOAD, BOOL, "(-__builtin_convertvector(load_" bytes "($0), " mask "))", LOADED(bytes)), \
        AS(n, CAN_STORE, BOOL, "store_" bytes "($0, __builtin_convertvector(-($1), " bytes "))", STORED(bytes))
/* from a type of any width to another one of as many lanes */
#define CONVERTED(n, a, b, type) FROM(n, CAST, a, b, "__builtin_convertvector($0, " type ")")
#define SAME(n, a, b, type) FROM(n, BITCAST, a, b, "(" type ")($0)")
/* f16, whose bits are in u16x8 */
#define HALVES(operation, operator) IN(8, operation, F16, "(u16x8)((h16x8)($0) " operator " (h16x8)($1))")

static const struct c_spelling spellings[] = {
        MOVED(0, F32, "f32x4", "float"), COMPARED(0, F32, "i32x4", ""), CHOSEN(0, F32, "f32x4", "i32x4"), IN(0, RAMP, F32, "(f32x4){ $0 }"),
        IN(0, ADD, F32, "(($0) + ($1))"), IN(0, SUB, F32, "(($0) - ($1))"), IN(0, MUL, F32, "(($0) * ($1))"), IN(0, DIV, F32, "(($0) / ($1))"),
        IN(0, NEG, F32, "(-($0))"), EXTREME(0, MIN_ORDERED, "min_ordered", F32, "f32x4", "i32x4", "", "<"),
        EXTREME(0, MAX_ORDERED, "max_ordered", F32, "f32x4", "i32x4", "", ">"),
        INTEGER(0, I32, "i32x4", "int32_t", "u32x4", "i32x4"), INTEGER(0, U32, "u32x4", "uint32_t", "u32x4", "i32x4"), TRUTHS(0, "i32x4"),
        IN(0, RAMP, I32, "(i32x4){ $0 }"), IN(0, RAMP, U32, "(u32x4){ $0 }"), STORED_TRUTHS(0, "i32x4", "i8x4"),
        AS(0, CAN_SHL_LITERAL, I32, "(i32x4)((u32x4)($0) << $1)"), AS(0, CAN_SHR_LITERAL, I32, "(($0) >> $1)"),
        AS(0, CAN_SHL_LITERAL, U32, "(($0) << $1)"), AS(0, CAN_SHR_LITERAL, U32, "(($0) >> $1)"),
        CONVERTED(0, I32, F32, "f32x4"), CONVERTED(0, U32, F32, "f32x4"), FROM(0, CAST, I32, U32, "(u32x4)($0)"), FROM(0, CAST, U32, I32, "(i32x4)($0)"),
        SAME(0, I32, U32, "u32x4"), SAME(0, U32, I32, "i32x4"), SAME(0, F32, I32, "i32x4"), SAME(0, F32, U32, "u32x4"),
        SAME(0, I32, F32, "f32x4"), SAME(0, U32, F32, "f32x4"), FROM(0, CAST, BOOL, I32, "(-($0))"), FROM(0, CAST, BOOL, U32, "(u32x4)-($0)"),
        /* narrow elements beside those of 32 bits: as many lanes */
        MOVED(0, I8, "i8x4", "int8_t"), MOVED(0, U8, "u8x4", "uint8_t"), MOVED(0, I16, "i16x4", "int16_t"), MOVED(0, U16, "u16x4", "uint16_t"),
        CONVERTED(0, I8, I32, "i32x4"), CONVERTED(0, U8, I32, "i32x4"), CONVERTED(0, U8, U32, "u32x4"), CONVERTED(0, I16, I32, "i32x4"),
        CONVERTED(0, U16, I32, "i32x4"), CONVERTED(0, U16, U32, "u32x4"), CONVERTED(0, I32, I8, "i8x4"), CONVERTED(0, I32, U8, "u8x4"),
        CONVERTED(0, U32, U8, "u8x4"), CONVERTED(0, U32, I8, "i8x4"), CONVERTED(0, I32, I16, "i16x4"), CONVERTED(0, I32, U16, "u16x4"),
        CONVERTED(0, U32, U16, "u16x4"), CONVERTED(0, U32, I16, "i16x4"),
        /* 16 lanes of bytes, 8 of halves */
        INTEGER(16, I8, "i8x16", "int8_t", "u8x16", "i8x16"), INTEGER(16, U8, "u8x16", "uint8_t", "u8x16", "i8x16"), SAME(16, I8, U8, "u8x16"), SAME(16, U8, I8, "i8x16"),
        TRUTHS(16, "i8x16"), STORED_TRUTHS(16, "i8x16", "i8x16"), FROM(16, CAST, BOOL, I8, "(-($0))"), FROM(16, CAST, BOOL, U8, "(u8x16)-($0)"),
        WOVEN(16, I8, "i8x16", "0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23",
              "8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31"),
        INTEGER(8, I16, "i16x8", "int16_t", "u16x8", "i16x8"), INTEGER(8, U16, "u16x8", "uint16_t", "u16x8", "i16x8"), SAME(8, I16, U16, "u16x8"), SAME(8, U16, I16, "i16x8"),
        TRUTHS(8, "i16x8"), STORED_TRUTHS(8, "i16x8", "i8x8"), FROM(8, CAST, BOOL, I16, "(-($0))"), FROM(8, CAST, BOOL, U16, "(u16x8)-($0)"),
        MOVED(8, I8, "i8x8", "int8_t"), MOVED(8, U8, "u8x8", "uint8_t"),
        CONVERTED(8, I8, I16, "i16x8"), CONVERTED(8, U8, I16, "i16x8"), CONVERTED(8, U8, U16, "u16x8"), CONVERTED(8, I16, I8, "i8x8"),
        CHOSEN_BY(8, I8, "i8x8", "i8x8", "__builtin_convertvector($0, i8x8)"), CHOSEN_BY(8, U8, "u8x8", "i8x8", "__builtin_convertvector($0, i8x8)"),
        CONVERTED(8, I16, U8, "u8x8"), CONVERTED(8, U16, U8, "u8x8"), CONVERTED(8, U16, I8, "i8x8"),
        MOVED(8, F16, "u16x8", "uint16_t"), COMPARED(8, F16, "i16x8", "(h16x8)"), CHOSEN(8, F16, "u16x8", "i16x8"),
        HALVES(ADD, "+"), HALVES(SUB, "-"), HALVES(MUL, "*"), HALVES(DIV, "/"), IN(8, NEG, F16, "(($0) ^ 0x8000)"),
        EXTREME(8, MIN_ORDERED, "min_halves", F16, "u16x8", "i16x8", "(h16x8)", "<"),
        EXTREME(8, MAX_ORDERED, "max_halves", F16, "u16x8", "i16x8", "(h16x8)", ">"),
        /* the dot product: four bytes of x, which all lanes have, by four of w in each */
        LOAD_WORDS(I8, 4, "(u32x4)load_i8x16($0)", LOADED("i8x16")),
        LOAD_WORDS(I8, 4, "word_of($0)", "uint32_t word_of(const void *x)\n{\n        uint32_t word;\n"
                   "        __builtin_memcpy(&word, x, 4);\n        return word;\n}", .lanes = 1),
        { .op = LOOP_CALL, .element = E_I32, .function = "dot_i8", .text = "dot_i8x16($0, (i8x16)($1), (i8x16)($2))",
          .definition = "i32x4 dot_i8x16(i32x4 sum, i8x16 x, i8x16 w)\n{\n        for (int k = 0; k < 16; k++)\n"
                        "                sum[k / 4] += x[k] * w[k];\n        return sum;\n}" },
        { .op = CAN_END }
};

static const struct multiply multiplies[] = {
        { .name = "dot", .positions = 1, .outputs = 4, .depth = 1, .channels = 4,
          .x = { .memory = E_I8, .word = E_U32, .source = SOURCE_BROADCAST },
          .w = { .memory = E_I8, .word = E_U32, .source = SOURCE_VECTOR },
          .sum = E_I32, .body = "dot_i8", .order = ORDER_EXACT, .instructions = 1 },
        { 0 }
};

const struct target target_bytes16 = {
        .name = "bytes16",
        .doc = "a made-up core with vectors of 16 bytes",
        .base = &target_generic,
        .engine = &engine_vector,
        .machine = "defined(__GNUC__)",
        .include = "\"bytes16.h\"",
        .vector_bytes = 16,
        .vector_registers = 16,
        .narrow = 1u << E_I8 | 1u << E_U8 | 1u << E_I16 | 1u << E_U16 | 1u << E_F16,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
