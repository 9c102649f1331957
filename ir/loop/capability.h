/* SPDX-License-Identifier: MIT */
/* What a target can do with vectors: there is a row for each operation, with its elements and the
 * form of its operands. The printer says how an instruction is written: its rows begin with these
 * (codegen/c_spelling.h), and a printer of another language brings rows of its own.
 *
 * A target's table holds the rows for its own vectors; rows for the lanes of a base are found in
 * the base's table, so that x86-64-v4 has the 256-bit and 128-bit vectors of x86-64-v3 and x86-64
 * as well.
 *
 * Rows for arithmetic and comparisons on an element that is narrower than what scalars compute in
 * (i8, u8, i16, u16, f16) are for vectors of it: they give what the operation gives on operands
 * that were converted, converted back (loop_narrow_expand).
 *
 * An operation without a row is rewritten before the printer sees it (passes/vectorize/legalize.c),
 * in the end lane by lane. A table needs at least TYPE, SPLAT, RAMP (but of bool), LOAD and STORE
 * for each element it has vectors of, bool included; every further row makes code faster. The row
 * of RAMP is for a literal start, and its operands are the numbers of all lanes, "1, 3, 5, 7",
 * start, and step. */
#ifndef IR_LOOP_CAPABILITY_H
#define IR_LOOP_CAPABILITY_H

#include "ir/loop/loop.h"
#include "ir/target/target.h"

/* A row is for an operation of Loop IR (enum loop_opcode), or for one of these. Their operands
 * follow, in the order in which a printer has them. */
enum capability_op {
        CAN_TYPE = LOOP_CALL + 1,       /* The row names the type of a variable, and has no
                                         * operands. */
        CAN_ZERO,                       /* The row gives zero bits, without operands; where there is
                                         * no row, SPLAT of 0 does. */
        CAN_TRUTHS,                     /* The operand gives known truth values, as an integer whose
                                         * lowest bit is lane 0. */
        CAN_LOAD_MASKED,                /* The load takes an address and a mask; a lane is 0 where
                                         * the mask is false, and nothing is read. */
        CAN_LOAD_WORDS,                 /* The load takes an address, and loads words of `level`
                                         * elements of type `to`. */
        CAN_GATHER,                     /* The load takes the address of element 0, and i32
                                         * subscripts. */
        CAN_GATHER_MASKED,              /* The load takes the same, and a mask. */
        CAN_WALK,                       /* The load takes the address of a pointer, and the number
                                         * of elements by which it moves that first; then it loads
                                         * elements as numbers of type `to`. It stands for a CAST of
                                         * a load whose address may be `level` elements from a
                                         * pointer, either way, at no cost, and no more. */
        CAN_STORE,                      /* The store takes an address and a value. */
        CAN_STORE_MASKED,               /* The store takes an address, a value and a mask. */
        CAN_SCATTER,                    /* The store takes the address of element 0, i32 subscripts
                                         * and a value; the last lane wins. */
        CAN_SCATTER_MASKED,             /* The store takes the same, and a mask. */
        CAN_FMA_LESS,                   /* The row computes a * b - c, an FMA whose third operand is
                                         * a negation. */
        CAN_FMA_FROM,                   /* The row computes c - a * b, an FMA whose first or second
                                         * operand is one. */
        CAN_CAST_ROUNDED,               /* The row is for a CAST whose operand is rounded: the
                                         * instruction does the work of a call of round itself, and
                                         * leaves whole numbers as they are. */
        CAN_SATURATE,                   /* The row is for the MIN of a MAX whose bounds are those of
                                         * integers of `level` bits, with signs, of what may be
                                         * shifted: it takes that, and the i32 literal by which it
                                         * is shifted to the right. With `to` I8 it is for vectors,
                                         * and for their conversion to bytes. */
        CAN_SHL_LITERAL,
        CAN_SHR_LITERAL,                /* The shift takes a vector, and an i32 literal from 0 to
                                         * width - 1. */
        CAN_PREFETCH,                   /* The prefetch takes an address; `level` is the cache. */
        /* Hardware tiles are operands by number; a table has all of these rows, of F32 but for the
         * last, or none. */
        CAN_TILES,                      /* The statement takes the address of the tiles' shapes
                                         * (struct tile_shapes) or, where tiles are vector
                                         * registers, a name and their number. */
        CAN_TILES_END,                  /* The statement has no operands. */
        CAN_TILE_ZERO,                  /* The statement takes a tile. */
        CAN_TILE_LOAD,                  /* The load takes a tile, the address of its first row, the
                                         * bytes from row to row, the bytes of a row, and the
                                         * rows. */
        CAN_TILE_STORE,                 /* The store takes the same. */
        CAN_TILE_MULTIPLY,              /* The product takes tiles of sums, of positions and of
                                         * weights; there is a row for each element, and `to` is
                                         * that of weights. */
        CAN_END /* CAN_END ends a table. */
};

#define CAPABILITY_FIELDS                                                                         \
        uint8_t op;                     /* CAN_END ends a table. */                               \
        uint8_t element;                /* The element type of operand 0; of LOAD, STORE, SELECT, \
                                         * SPLAT and CALL: of the value. */                       \
        uint8_t to;                     /* CAST, CAST_ROUNDED, BITCAST: the result's type. */     \
        uint8_t level;                  /* PREFETCH: 0 is L1, 1 is L2, 2 is past the caches;      \
                                         * LOAD_WORDS: the elements of a word; WALK: the elements \
                                         * that an address reaches. */                            \
        uint8_t lane;                   /* CALL, FMA: 1 + n where operand 1 (of FMA 0) is lane n  \
                                         * of a vector of MULTIPLY_LANES in all lanes, and that   \
                                         * vector stands for it; 0: it is any operand. */         \
        uint8_t lanes;                  /* 0: a vector of as many lanes as the target has of f32; \
                                         * 1: a scalar, in kernels; else that many lanes, of a    \
                                         * target with `narrow` elements. */                      \
        bool calls;                     /* CAST_ROUNDED: it is for calls of round alone; CAST     \
                                         * costs less for what is a whole number already. */      \
        bool loaded;                    /* The operand is a load of as many bytes as the lanes    \
                                         * have, and its address stands for it; CAST: a load of   \
                                         * elements side by side. */                              \
        uint8_t scalar;                 /* FMA, CALL: 1 + n where operand n is a scalar in all    \
                                         * lanes, which stands for it; 0: none is. */             \
        bool rounds;                    /* SATURATE: the shift may round, half up: a third        \
                                         * operand is 1 where what is shifted is less by half of  \
                                         * the result's unit for that, else 0. */                 \
        float cycles;                   /* The operation takes so long; 0: what the rate of its   \
                                         * kind says (rates.def, code_...). */                    \
        const char *function;           /* CALL: the function of the library. */
/* A capability may stand for the row of a printer, which begins with the same fields. */
struct __attribute__((may_alias)) capability { CAPABILITY_FIELDS };

/* These return the first row of the target's own table (NULL: it has none), and the row behind
 * another one (NULL: that is the last). */
const struct capability *capability_first(const struct target *t);
const struct capability *capability_next(const struct target *t, const struct capability *row);

/* Returns the row for e, whose operands are not looked at; NULL: there is none. Variables, tile
 * entries and choices by a scalar condition need only a TYPE. */
const struct capability *capability_of(const struct target *t, const struct loop_expr *e);
/* Returns the row of WALK for a conversion of a load; NULL: there is none. */
const struct capability *capability_of_walk(const struct target *t, const struct loop_expr *e);
const struct capability *capability_of_store(const struct target *t, const struct loop_stmt *s);
const struct capability *capability_of_type(const struct target *t, struct loop_type type);
/* Returns the row of ZERO, or else of SPLAT. */
const struct capability *capability_of_zero(const struct target *t, struct loop_type type);
const struct capability *capability_of_prefetch(const struct target *t, int level);
const struct capability *capability_of_tiles(const struct target *t, enum capability_op op);
/* Returns the row of a multiply in hardware tiles. */
const struct capability *capability_of_products(const struct target *t, enum element x,
                                                enum element w);

/* Returns the subscripts of a gather that a row can print: index(v) of a vector v of i32; else
 * NULL. */
const struct loop_expr *capability_subscripts(const struct loop_expr *index);
/* Returns what a MIN of a MAX, or the conversion of one, bounds to integers of *bits bits, once it
 * is shifted to the right by *shift; NULL: e is something else. */
const struct loop_expr *capability_saturated(const struct loop_expr *e, int *bits, int *shift);
/* Returns operand k of e as its row has it: for an FMA without the negation that the row includes,
 * for a CAST the value that is rounded, for a CALL the vector whose lane it is; a scalar for all
 * lanes may be a vector of literals. */
struct loop_expr *capability_operand(const struct capability *row, const struct loop_expr *e,
                                     int k);
/* Are the truth values e known, as those of ramp<16>(0, 1) < splat<16>(8)? *bits: bit l is lane
 * l. */
bool capability_truths(const struct loop_expr *e, uint64_t *bits);
/* Returns b of a << b or a >> b, where it is a literal in range; else -1. */
int capability_shift(const struct loop_expr *e);

#endif
