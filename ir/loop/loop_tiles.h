/* SPDX-License-Identifier: MIT */
/* Loop IR: sums in hardware tiles, f32x16tile[positions][vectors]. loop_tiles.c writes what their
 * statements mean in plain ones, which the interpreter runs.
 *
 *     tiles 28 by 2 rows 14 depth 16 lanes 16 word 4
 *     var %acc : f32x16tile[28][2]
 *     multiply %acc += %x[%i] * %w[%k] by add_product rows 14 depth 16 group 2 step 32 jump 448
 *     unload %sums[0] = %acc rows 14             ; or a part: from 14 to 28, and its rows apart: step 40
 *
 * acc{p, j}[l] += the products over c below depth * group of x[i + at(p) + c] and w[k + ((c / group
 * * vectors + j) * lanes + l) * group + c % group], where at(p) = p / rows * jump + p % rows *
 * step: one tile holds `rows` positions. `group` channels are a word, which takes as many bytes as
 * a sum. Each channel of a word has a partial sum, at first 0; what a product adds to it the
 * function says: part = add_product(part, x, w), for one word after the other, all of the sums'
 * element. Then the parts are joined and added (of integers, which wrap, any order is the same;
 * hardware may take subnormal operands and sums for zero). A target does it by the multiply
 * (ir/target/multiply.h) that has such operands, sums, lanes, words and function in its hardware
 * tiles.
 *
 * Words may lie in swizzle lines, as many as the sums have lanes: `depth 8 group 8 step 64 jump
 * 1024 swizzle 8`. Then all of an output's lie side by side, too, and word n of position p, or of
 * lane l, is word n ^ p % 8, or n ^ l, of its line, so that the same word of eight lines lies in
 * eight banks.
 *
 * So may transposed ones, `depth 16 group 8 swizzle 8 transposed`: a line has a channel's words of
 * outputs, word n of channel c at n ^ c % 8, and lines of the same outputs, one for each channel,
 * follow each other.
 *
 * `multiply .. jump 448 transposed` has the words of w transposed: a block of `lanes` words of
 * `group` channels holds channel by channel their lanes, w[k + (c / group * vectors + j) * lanes *
 * group + c % group * lanes + l], as rows of w that are channels are copied in pieces.
 *
 *     scale %acc by %factors[%i] rows 14         ; acc{p, j}[l] = acc{p, j}[l] * factors[i + p]
 *
 * x may be sums of another tile, as they are when they have been rounded to the element of w: then
 * a channel is an output of theirs, c being vector c / lanes, lane c % lanes, and there are no
 * steps.
 *
 *     multiply %acc += %scores * %v[%k] by add_product rows 16 depth 8 group 8 transposed
 *
 * Which tiles these are, the pass `registers` says:
 *
 *     tiles 28 by 2 rows 14 depth 16 lanes 16 word 4 sums 0 to 4 x 4 to 6 w 6 to 8
 *     var %acc : f32x16tile[28][2] in 0 to 4
 *     multiply %acc += %x[%i] * %w[%k] by add_product rows 14 .. jump 448 x 4 to 6 w 6 to 8
 *
 * Sums of the positions from t * rows on, vector j, lie in tile number t * vectors + j of
 * theirs; positions and weights are loaded into theirs in turn. Sums have their tiles up to the
 * end of their block, or an unload in it: until then no one else has them. */
#ifndef IR_LOOP_LOOP_TILES_H
#define IR_LOOP_LOOP_TILES_H

#include <stdbool.h>
#include <stdint.h>

/* Hardware tiles by number, from `first` on; count 0: they are not chosen yet. */
struct tile_range { int first, count; };

struct loop_tiles {
        int first;                      /* UNLOAD: the first of the positions that are stored. */
        int positions, vectors, rows, depth;
        int lanes, word;                /* lanes: of a vector of sums; word: bytes of a word. TILES
                                         * alone has both. */
        int columns;                    /* UNLOAD: how many vectors it stores, from `column` on; 0:
                                         * all. */
        int column;
        int group;                      /* These fields are of MULTIPLY alone; group: the channels
                                         * of a word. */
        bool transposed;                /* A word of w has outputs of one channel. */
        int64_t step, jump;             /* UNLOAD has a step: the elements from a position to the
                                         * next; 0: they lie side by side. */
        int swizzle;                    /* A swizzle line has this many words, one of which each
                                         * position of x, and each output, has; 0: there are no such
                                         * lines. */
        bool warp_group;                /* All warps of the block multiply, as warp groups. */
        bool prefetched;                /* MULTIPLY: w is in registers, by the PREFETCH in front of
                                         * it. */
        struct tile_range sums, x, w;   /* TILES has them; MULTIPLY has x and w, too. */
};

struct loop_stmt;
struct target;
/* Returns the target's multiply that a STMT_MULTIPLY means, of one position by a warp or of whole
 * tiles: it has such operands, sums, lanes and words. NULL: there is none. */
const struct multiply *loop_tile_multiply(const struct loop_stmt *s, const struct target *target);

#endif
