/* SPDX-License-Identifier: MIT */
/* How a target says operations on vectors: rows of C with places for operands. A target's table
 * holds the rows for its own vectors; those of the lanes of a base are found in the base's table,
 * so that x86-64-v4 has the 256-bit and 128-bit vectors of x86-64-v3 and x86-64 as well.
 *
 * What has no row is rewritten before the printer sees it (passes/vectorize/legalize.c), in the end lane by
 * lane. A table needs at least TYPE, SPLAT, RAMP (but of bool), LOAD and STORE of each element it
 * has vectors of, bool included; every further row makes it faster. The row of RAMP is for a
 * literal start, and its operands are the numbers of all lanes, "1, 3, 5, 7", start, and step. */
#ifndef IR_SPELLING_H
#define IR_SPELLING_H

#include "ir/loop.h"
#include "ir/target.h"

/* What a row is for: an operation of Loop IR (enum loop_opcode), or one of these. Operands: */
enum spelling_op {
        SPELL_TYPE = LOOP_CALL + 1,     /* of a variable: none */
        SPELL_ZERO,                     /* of zero bits: none; where there is no row, SPLAT of 0 */
        SPELL_TRUTHS,                   /* truth values that are known: an integer, its lowest bit
                                         * of lane 0 */
        SPELL_LOAD_MASKED,              /* address, mask; zero where the mask is false, and nothing
                                         * is read */
        SPELL_LOAD_WORDS,               /* address: words of `level` elements of type `to` */
        SPELL_GATHER,                   /* address of element 0, i32 subscripts */
        SPELL_GATHER_MASKED,            /* the same, mask */
        SPELL_STORE,                    /* address, value */
        SPELL_STORE_MASKED,             /* address, value, mask */
        SPELL_SCATTER,                  /* address of element 0, i32 subscripts, value; the last
                                         * lane wins */
        SPELL_SCATTER_MASKED,           /* the same, mask */
        SPELL_FMA_LESS,                 /* a * b - c: FMA whose third operand is a negation */
        SPELL_FMA_FROM,                 /* c - a * b: FMA whose first or second operand is one */
        SPELL_CAST_ROUNDED,             /* CAST whose operand is whole: it makes a call of round
                                         * itself, and what else it is given stays what it is */
        SPELL_SHL_LITERAL, SPELL_SHR_LITERAL,     /* vector, an i32 literal from 0 to width - 1 */
        SPELL_PREFETCH,                 /* address; `level` says where to */
        /* hardware tiles, by number; a table has all of these, of F32 but for the last, or none */
        SPELL_TILES,                    /* address of what says their shapes (struct tile_shapes); or, where
                                         * they are vector registers, a name and how many */
        SPELL_TILES_END,                /* none */
        SPELL_TILE_ZERO,                /* tile */
        SPELL_TILE_LOAD,                /* tile, address of its first row, bytes from row to row, bytes of a
                                         * row, rows */
        SPELL_TILE_STORE,               /* the same */
        SPELL_TILE_MULTIPLY             /* tile of sums, of positions, of groups of weights; a row
                                         * for each element, `to` that of weights */
};

struct spelling {
        uint8_t op;
        uint8_t element;                /* of operand 0 (LOAD, STORE, SELECT, SPLAT, CALL: of the
                                         * value) */
        const char *text;               /* $0, $1, ...: operands, each once, in an argument's
                                         * place */
        const char *definition;         /* of the function that `text` calls, from its result type
                                         * on; or NULL */
        uint8_t to;                     /* CAST, CAST_ROUNDED, BITCAST: the result's element */
        bool calls;                     /* CAST_ROUNDED: of calls of round alone; what is whole already takes less by
                                         * CAST */
        uint8_t level;                  /* PREFETCH: 0 L1, 1 L2, 2 past the caches; LOAD_WORDS:
                                         * elements of a word */
        const char *function;           /* CALL: of the library */
        uint8_t lane;                   /* CALL, FMA: 1 + n where operand 1 (of FMA 0) is lane n of a
                                         * vector of MULTIPLY_LANES in all lanes, and that vector
                                         * stands for it; 0: any operand */
        bool loaded;                    /* it is a load, of as many bytes as the lanes have, and its
                                         * address stands for it */
        bool scalar;                    /* FMA, CALL: operand 0, or 1, is a scalar in all lanes, which stands
                                         * for it */
        uint8_t lanes;                  /* 0: a vector of the target; 1: a scalar, inside kernels */
        const char *gcc_optimize;       /* what gcc must not do, besides what the target says, to kernels that
                                         * have it; or NULL */
};

/* The row for e, whose operands are taken for granted; NULL: none. Variables, tile entries and
 * choices by a scalar condition want no more than a TYPE. */
const struct spelling *spelling_of(const struct target *t, const struct loop_expr *e);
const struct spelling *spelling_of_store(const struct target *t, const struct loop_stmt *s);
const struct spelling *spelling_of_type(const struct target *t, struct loop_type type);
/* that of ZERO, or else of SPLAT */
const struct spelling *spelling_of_zero(const struct target *t, struct loop_type type);
const struct spelling *spelling_of_prefetch(const struct target *t, int level);
const struct spelling *spelling_of_tiles(const struct target *t, enum spelling_op op);
const struct spelling *spelling_of_products(const struct target *t, enum element x, enum element w);     /* in tiles */

/* The subscripts of a gather that a row can print: index(v) of a vector v of i32; else NULL. */
const struct loop_expr *spelling_subscripts(const struct loop_expr *index);
/* Operand k of e as its row has it: of an FMA without the negation that the row is for, of a CAST
 * what it rounds, of a CALL the vector whose lane it is for. */
struct loop_expr *spelling_operand(const struct spelling *row, const struct loop_expr *e, int k);
/* Are the truth values e known, as those of ramp<16>(0, 1) < splat<16>(8)? *bits: bit l for lane
 * l. */
bool spelling_truths(const struct loop_expr *e, uint64_t *bits);
/* b of a << b, a >> b: a literal in range; else -1 */
int spelling_shift(const struct loop_expr *e);

#endif
