/* SPDX-License-Identifier: MIT */
/* What a target can do with vectors: a row for each operation, of which elements, in which form of
 * its operands. How an instruction is written is the printer's: its rows begin with these
 * (codegen/c_spelling.h), and a printer of another language brings rows of its own.
 *
 * A target's table holds the rows for its own vectors; those of the lanes of a base are found in
 * the base's table, so that x86-64-v4 has the 256-bit and 128-bit vectors of x86-64-v3 and x86-64
 * as well.
 *
 * Rows for arithmetic and comparisons on an element that is narrower than what scalars compute in
 * (i8, u8, i16, u16, f16) are for vectors of it: they give what the operation gives on operands
 * that were converted, converted back (loop_narrow_expand).
 *
 * What has no row is rewritten before the printer sees it (passes/vectorize/legalize.c), in the
 * end lane by lane. A table needs at least TYPE, SPLAT, RAMP (but of bool), LOAD and STORE of
 * each element it has vectors of, bool included; every further row makes it faster. The row of
 * RAMP is for a literal start, and its operands are the numbers of all lanes, "1, 3, 5, 7",
 * start, and step. */
#ifndef IR_CAPABILITY_H
#define IR_CAPABILITY_H

#include "ir/loop/loop.h"
#include "ir/target/target.h"

/* What a row is for: an operation of Loop IR (enum loop_opcode), or one of these. Operands, in
 * the order in which a printer has them: */
enum capability_op {
        CAN_TYPE = LOOP_CALL + 1,       /* of a variable: none */
        CAN_ZERO,                       /* of zero bits: none; where there is no row, SPLAT of 0 */
        CAN_TRUTHS,                     /* truth values that are known: an integer, its lowest bit
                                         * of lane 0 */
        CAN_LOAD_MASKED,                /* address, mask; zero where the mask is false, and nothing
                                         * is read */
        CAN_LOAD_WORDS,                 /* address: words of `level` elements of type `to` */
        CAN_GATHER,                     /* address of element 0, i32 subscripts */
        CAN_GATHER_MASKED,              /* the same, mask */
        CAN_STORE,                      /* address, value */
        CAN_STORE_MASKED,               /* address, value, mask */
        CAN_SCATTER,                    /* address of element 0, i32 subscripts, value; the last
                                         * lane wins */
        CAN_SCATTER_MASKED,             /* the same, mask */
        CAN_FMA_LESS,                   /* a * b - c: FMA whose third operand is a negation */
        CAN_FMA_FROM,                   /* c - a * b: FMA whose first or second operand is one */
        CAN_CAST_ROUNDED,               /* CAST whose operand is whole: it makes a call of round
                                         * itself, and what else it is given stays what it is */
        CAN_SHL_LITERAL,
        CAN_SHR_LITERAL,                /* vector, an i32 literal from 0 to width - 1 */
        CAN_PREFETCH,                   /* address; `level` says where to */
        /* hardware tiles, by number; a table has all of these, of F32 but for the last, or none */
        CAN_TILES,                      /* address of what says their shapes (struct
                                         * tile_shapes); or, where they are vector registers, a
                                         * name and how many */
        CAN_TILES_END,                  /* none */
        CAN_TILE_ZERO,                  /* tile */
        CAN_TILE_LOAD,                  /* tile, address of its first row, bytes from row to row,
                                         * bytes of a row, rows */
        CAN_TILE_STORE,                 /* the same */
        CAN_TILE_MULTIPLY,              /* tile of sums, of positions, of groups of weights; a row
                                         * for each element, `to` that of weights */
        CAN_END /* ends a table */
};

#define CAPABILITY_FIELDS                                                                                                 \
        uint8_t op;                     /* CAN_END ends a table */                                                        \
        uint8_t element;                /* of operand 0 (LOAD, STORE, SELECT, SPLAT, CALL: of the value) */               \
        uint8_t to;                     /* CAST, CAST_ROUNDED, BITCAST: the result's element */                           \
        uint8_t level;                  /* PREFETCH: 0 L1, 1 L2, 2 past the caches; LOAD_WORDS: elements of a word */     \
        uint8_t lane;                   /* CALL, FMA: 1 + n where operand 1 (of FMA 0) is lane n of a vector of           \
                                         * MULTIPLY_LANES in all lanes, and that vector stands for it; 0: any operand */ \
        uint8_t lanes;                  /* 0: a vector of as many as the target has of f32; 1: a scalar, inside kernels;  \
                                         * else that many, of a target with `narrow` elements */                          \
        bool calls;                     /* CAST_ROUNDED: of calls of round alone; what is whole already takes less by     \
                                         * CAST */                                                                        \
        bool loaded;                    /* it is a load, of as many bytes as the lanes have, and its address stands for   \
                                         * it */                                                                          \
        bool scalar;                    /* FMA, CALL: operand 0, or 1, is a scalar in all lanes, which stands for it */   \
        const char *function;           /* CALL: of the library */
/* It may stand for the row of a printer, which begins with the same fields. */
struct __attribute__((may_alias)) capability { CAPABILITY_FIELDS };

/* the first row of the target's own table, NULL: it has none; and the row behind one, NULL: it
 * is the last */
const struct capability *capability_first(const struct target *t);
const struct capability *capability_next(const struct target *t, const struct capability *row);

/* The row for e, whose operands are taken for granted; NULL: none. Variables, tile entries and
 * choices by a scalar condition want no more than a TYPE. */
const struct capability *capability_of(const struct target *t, const struct loop_expr *e);
const struct capability *capability_of_store(const struct target *t, const struct loop_stmt *s);
const struct capability *capability_of_type(const struct target *t, struct loop_type type);
/* that of ZERO, or else of SPLAT */
const struct capability *capability_of_zero(const struct target *t, struct loop_type type);
const struct capability *capability_of_prefetch(const struct target *t, int level);
const struct capability *capability_of_tiles(const struct target *t, enum capability_op op);
/* in tiles */
const struct capability *capability_of_products(const struct target *t, enum element x,
                                                enum element w);

/* The subscripts of a gather that a row can print: index(v) of a vector v of i32; else NULL. */
const struct loop_expr *capability_subscripts(const struct loop_expr *index);
/* Operand k of e as its row has it: of an FMA without the negation that the row is for, of a CAST
 * what it rounds, of a CALL the vector whose lane it is for. */
struct loop_expr *capability_operand(const struct capability *row, const struct loop_expr *e,
                                     int k);
/* Are the truth values e known, as those of ramp<16>(0, 1) < splat<16>(8)? *bits: bit l for lane
 * l. */
bool capability_truths(const struct loop_expr *e, uint64_t *bits);
/* b of a << b, a >> b: a literal in range; else -1 */
int capability_shift(const struct loop_expr *e);

#endif
