/* SPDX-License-Identifier: MIT */
/* Multiplies: how a target adds products to sums, with one row for each instruction (or two) that
 * does.
 *
 *     x: words of `channels` channels            w: words of `channels` channels
 *        at `positions`, `depth` deep            for `outputs`, `depth` deep
 *
 *               depth                              outputs
 *            +---------+                        +------------+
 *  positions | c c c c |                  depth | word  word |      sum[p][o] = body(sum[p][o], x[p][d], w[d][o])
 *            +---------+                        +------------+      for each d, in order
 *
 * A row says where operands lie and what a word is. A product means a function of the library
 * (ir/library/multiply.loop): of a sum, a word of x and a word of w, or, where the channels of a
 * word are added up apart, of one channel of each. All else follows from that function and the
 * geometry: the interpreter and targets without the instruction run it, printers print the
 * instruction by the name of the function, and packing and producers take the order of entries from
 * `channels` and `outputs`:
 *
 *     panels of w: [.., inputs / channels, vectors, outputs, channels]
 *
 * A target lists its rows (ir/target/target.h), best first, and has its base's behind them. */
#ifndef IR_TARGET_MULTIPLY_H
#define IR_TARGET_MULTIPLY_H

#include <stdbool.h>

#include "ir/element.h"

enum multiply_source {
        SOURCE_SCALAR,                  /* The operand is one word in a scalar register, for all
                                         * lanes. */
        SOURCE_BROADCAST,               /* The operand is one word in all lanes of a vector. */
        SOURCE_LANE,                    /* The operand is one lane of a vector of MULTIPLY_LANES
                                         * words, which are consecutive channels of one position. */
        SOURCE_LANE_LOADED,             /* The operand is one of MULTIPLY_LANES words in memory,
                                         * which the instruction loads into each part of its vector,
                                         * to use one lane. */
        SOURCE_VECTOR,                  /* The operand is a word in each lane. */
        SOURCE_TILE,                    /* The operand is a hardware tile, with as many rows of
                                         * words as there are positions, or as it is deep. */
        SOURCE_WARP,                    /* The operand is in a thread block's shared memory, from
                                         * which a warp loads fragments: rows of words that lie side
                                         * by side; sums are in fragments, too. */
        SOURCE_WARP_GROUP               /* The operand is in shared memory that the instruction
                                         * reads itself, for the four warps of a warp group, as
                                         * swizzle lines of eight words (ir/loop/loop_tiles.h). */
};
/* A warp group has this many warps, each with a quarter of the positions; a swizzle line has this
 * many words; the instruction has at most this many outputs, and takes this many channels at a time
 * where words lie transposed. */
enum { MULTIPLY_WARPS = 4, MULTIPLY_SWIZZLE = 8, MULTIPLY_WIDE = 256, MULTIPLY_TRANSPOSED = 16 };

/* ARM's instructions have this many, however long their vectors of sums are. */
enum { MULTIPLY_LANES = 4 };

/* The order in which sums are added up says what comparisons may expect of two ways to compute the
 * same. */
enum multiply_order {
        ORDER_EXACT,                    /* Integers wrap, so that any order gives the same sum. */
        ORDER_SEQUENCE,                 /* One product is added after the other, as body does. */
        ORDER_PARTIAL,                  /* Products are added in sequence to partial sums, which are
                                         * rounded to fewer bits than sums. */
        ORDER_APART                     /* The channels of a word are added up apart, over all
                                         * depths, and then joined. */
};

struct multiply_operand {
        enum element memory;            /* The type of its elements in memory. */
        enum element word;              /* The body takes this type: a word of elements as u32 or
                                         * u64 (ir/loop/loop_words.c), or one element in its compute
                                         * type, where one element is a word and in hardware
                                         * tiles. Where it is the type in memory, a word of several
                                         * channels is a vector of these elements. */
        enum multiply_source source;
        const char *decode;             /* function(bits as u32) of one element that is only bits,
                                         * and neither infinite nor NaN, or of a word of bytes,
                                         * whose result is `word`; NULL: elements are numbers. */
};

struct multiply {
        const char *name;
        int positions, outputs, depth, channels;  /* Each is a power of two. */
        struct multiply_operand x, w;
        enum element sum;
        const char *body;               /* function(sum, x.word, w.word); NULL: sum + x * w, with
                                         * one rounding where the target has fma. */
        enum multiply_order order;
        const char *join;               /* NULL: body adds to sums. Else body adds up to `partial`
                                         * words to a partial sum of x's type, which begins as
                                         * zeros, and function(sum, partial) adds that to a sum. */
        int partial;                    /* A partial sum has at most this many words. */
        bool flushes;                   /* Subnormal operands and sums count as zeros. */
        int instructions;               /* A multiply takes this many instructions. */
        int registers;                  /* There are this many hardware tiles, or vector registers
                                         * that each hold a small tile, or fragments of a warp; 0
                                         * where sums are in vectors. */
        int spare;                      /* Its instructions take this many vector registers besides
                                         * sums and operands. */
        int lane_registers;             /* This many vector registers may hold the lanes of x; 0:
                                         * any may. */
        int least;                      /* This row is faster than the next row from this many
                                         * products of a sum on; 0: always. */
        bool streams;                   /* The target's machine does it, in memories of its own. */
        int limit;                      /* The body is exact up to this magnitude of w, where
                                         * products are added up in fewer bits; 0: any. */
};

/* Returns the channels that a product of tiles has at a time. */
static inline int multiply_row(const struct multiply *m) { return m->depth * m->channels; }

/* Do elements of o fill only a part of their share of a word, so that they are widened as they are
 * loaded? */
static inline bool multiply_widens(const struct multiply *m, const struct multiply_operand *o)
{
        return element_is_integer(o->memory) &&
               m->channels * element_info[o->memory].bytes < element_info[o->word].bytes;
}

/* Is a word a vector of elements, as they are in memory? Sums then stand alone. */
static inline bool multiply_by_vectors(const struct multiply *m)
{
        return !m->registers && m->channels > 1 && m->x.word == m->x.memory;
}

/* May a kernel hold words of x, with what surrounds x, in a strip of its own? */
static inline bool multiply_in_strips(const struct multiply *m)
{
        return m->x.decode || multiply_by_vectors(m);
}

/* May it be computed there, element by element, too? */
static inline bool multiply_takes_strips(const struct multiply *m)
{
        return multiply_in_strips(m) || element_is_float(m->sum);
}

static inline bool multiply_takes_lanes(const struct multiply *m)
{
        return m->x.source == SOURCE_LANE || m->x.source == SOURCE_LANE_LOADED;
}

/* Is it exact for all w whose magnitude is at most that? limit 0: for any w. */
static inline bool multiply_is_right(const struct multiply *m, int limit)
{
        return !m->limit || (limit && limit <= m->limit);
}

static inline bool multiply_by_warp_group(const struct multiply *m)
{
        return m->x.source == SOURCE_WARP_GROUP;
}
/* Are operands in fragments, of one warp or of several? */
static inline bool multiply_in_warps(const struct multiply *m)
{
        return m->x.source >= SOURCE_WARP;
}

/* Does a step take a whole row of channels? Those behind the last are zeros in memory then. */
static inline bool multiply_takes_rows(const struct multiply *m) { return multiply_in_warps(m); }

struct target;

/* Returns the first multiply of the target that takes such operands, with w at most `limit` (0: not
 * known), and has sums in tiles, or has not; NULL: there is none. lanes, channels: as in panels; 0:
 * any. */
const struct multiply *multiply_find(const struct target *t, enum element x, enum element w,
                                     bool tile, int lanes, int channels, int limit);
/* Returns the first one of one position, which a warp computes from memory; NULL: there is none. */
const struct multiply *multiply_find_rows(const struct target *t, enum element x, enum element w,
                                          int lanes, int channels);
/* Returns the best one for operands as they come, before they are packed. */
static inline const struct multiply *multiply_for(const struct target *t, enum element x,
                                                  enum element w, bool tile)
{
        return multiply_find(t, x, w, tile, 0, 0, 0);
}
/* Returns the number of hardware tiles of the target; 0: it has none. */
int multiply_registers(const struct target *t);
/* Returns a multiply by its number; the best comes first, and NULL follows the last. */
const struct multiply *multiply_at(const struct target *t, int number);

#endif
