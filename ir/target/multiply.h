/* SPDX-License-Identifier: MIT */
/* Multiplies: how a machine adds products to sums, one row for each instruction (or two) that does.
 *
 *     x: words of `channels` channels            w: words of `channels` channels
 *        at `positions`, `depth` deep            for `outputs`, `depth` deep
 *
 *               depth                              outputs
 *            +---------+                        +------------+
 *  positions | c c c c |                  depth | word  word |      sum[p][o] = body(sum[p][o], x[p][d], w[d][o])
 *            +---------+                        +------------+      for each d, in order
 *
 * A row says where operands lie and what a word is; what a product means is one function of the
 * library (ir/library/multiply.loop): of a sum, a word of x and a word of w, or, where the channels
 * of a word are added up apart, of one channel of each. From that and the geometry everything
 * follows: the interpreter and targets without the instruction run it, printers print the
 * instruction by the name of the function, packing and producers take the order of entries from
 * `channels` and `outputs`:
 *
 *     panels of w: [.., inputs / channels, vectors, outputs, channels]
 *
 * A target lists its rows (ir/target/target.h), best first, and has its base's behind them. */
#ifndef IR_MULTIPLY_H
#define IR_MULTIPLY_H

#include <stdbool.h>

#include "ir/element.h"

enum multiply_source {
        SOURCE_SCALAR,                  /* one word in a scalar register, for all lanes */
        SOURCE_BROADCAST,               /* one word in all lanes of a vector */
        SOURCE_LANE,                    /* one lane of a vector of MULTIPLY_LANES words, which
                                         * are consecutive channels of one position */
        SOURCE_LANE_LOADED,             /* MULTIPLY_LANES words in memory, which the instruction
                                         * loads into each part of its vector, to use one lane */
        SOURCE_VECTOR,                  /* a word in each lane */
        SOURCE_TILE,                    /* a hardware tile: positions or depth rows of words */
        SOURCE_WARP,                    /* a thread block's shared memory, from which a warp
                                         * loads fragments: rows of words that lie side by side;
                                         * sums are in fragments as well */
        SOURCE_WARP_GROUP               /* shared memory that the instruction reads itself, for
                                         * the four warps of a warp group: lines of eight words
                                         * (ir/loop/loop_tiles.h) */
};
/* of such an instruction: warps, each with a quarter of the positions; words of a line; outputs
 * at most; channels at a time where words lie transposed */
enum { MULTIPLY_WARPS = 4, MULTIPLY_SWIZZLE = 8, MULTIPLY_WIDE = 256, MULTIPLY_TRANSPOSED = 16 };

/* as ARM's instructions have them, however long their vectors of sums are */
enum { MULTIPLY_LANES = 4 };

/* How sums are added up: what comparisons may expect of two ways to compute the same. */
enum multiply_order {
        ORDER_EXACT,                    /* integers, which wrap: any order is the same */
        ORDER_SEQUENCE,                 /* one product after the other, as body says */
        ORDER_PARTIAL,                  /* the same, in partial sums, which are rounded to fewer
                                         * bits than sums */
        ORDER_APART                     /* channels of a word apart, all depths, then joined */
};

struct multiply_operand {
        enum element memory;            /* of its elements there */
        enum element word;              /* that body takes: a word of elements as u32 or u64
                                         * (ir/loop/loop_words.c), or one element as what it
                                         * computes with, where one is a word and in hardware
                                         * tiles */
        enum multiply_source source;
        const char *decode;             /* function(bits as u32) of one element that is no more
                                         * than bits, and neither infinite nor NaN; NULL: it is a
                                         * number */
};

struct multiply {
        const char *name;
        int positions, outputs, depth, channels;  /* each a power of two */
        struct multiply_operand x, w;
        enum element sum;
        const char *body;               /* function(sum, x.word, w.word); NULL: sum + x * w, in one
                                         * rounding where the target has fma */
        enum multiply_order order;
        const char *join;               /* NULL: body adds to sums. Else body adds `partial` words
                                         * at most to a partial sum of x's type, which begins as
                                         * zeros, and function(sum, partial) adds that to a sum */
        int partial;                    /* words of a partial sum at most */
        bool flushes;                   /* subnormal operands and sums are zeros */
        int instructions;               /* that it takes */
        int registers;                  /* of hardware tiles, or vector registers that each hold a
                                         * small one, or fragments of a warp; 0 where sums are in
                                         * vectors */
        int spare;                      /* vector registers that its instructions take beside sums
                                         * and operands */
        int lane_registers;             /* that a vector may be in whose lanes x is; 0: any */
        int least;                      /* products of a sum from which on it is faster than the
                                         * next row; 0: always */
        bool streams;                   /* the target's machine does it, in memories of its own */
        int limit;                      /* the largest magnitude of w for which body is what w's
                                         * elements say: where products are added up in fewer
                                         * bits; 0: any */
};

/* channels that a product of tiles has at a time */
static inline int multiply_row(const struct multiply *m) { return m->depth * m->channels; }

/* elements of o that fill a part of their share of a word, and are widened as they are loaded */
static inline bool multiply_widens(const struct multiply *m, const struct multiply_operand *o)
{
        return element_is_integer(o->memory) &&
               m->channels * element_info[o->memory].bytes < element_info[o->word].bytes;
}

static inline bool multiply_takes_lanes(const struct multiply *m)
{
        return m->x.source == SOURCE_LANE || m->x.source == SOURCE_LANE_LOADED;
}

/* for all w that are no larger in magnitude than that; 0: than anything */
static inline bool multiply_is_right(const struct multiply *m, int limit)
{
        return !m->limit || (limit && limit <= m->limit);
}

static inline bool multiply_by_warp_group(const struct multiply *m)
{
        return m->x.source == SOURCE_WARP_GROUP;
}
/* in fragments, of one warp or of several */
static inline bool multiply_in_warps(const struct multiply *m)
{
        return m->x.source >= SOURCE_WARP;
}

/* A step takes a whole row of channels: those behind the last are zeros in memory. */
static inline bool multiply_takes_rows(const struct multiply *m) { return multiply_in_warps(m); }

struct target;

/* The first multiply of the target that takes such operands, w being no larger than `limit` (0: not
 * known), and has sums in tiles, or has not; NULL: none. lanes, channels: as panels have them; 0:
 * any. */
const struct multiply *multiply_find(const struct target *t, enum element x, enum element w,
                                     bool tile, int lanes, int channels, int limit);
/* the same of one position, by a warp from memory; NULL: none */
const struct multiply *multiply_find_rows(const struct target *t, enum element x, enum element w,
                                          int lanes, int channels);
/* the best for operands as they come, before they are packed */
static inline const struct multiply *multiply_for(const struct target *t, enum element x,
                                                  enum element w, bool tile)
{
        return multiply_find(t, x, w, tile, 0, 0, 0);
}
/* hardware tiles of the target; 0: it has none */
int multiply_registers(const struct target *t);
/* all of a target's, best first; NULL behind the last */
const struct multiply *multiply_at(const struct target *t, int number);

#endif
