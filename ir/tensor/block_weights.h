/* SPDX-License-Identifier: MIT */
/* Products by weights of few bits, in blocks with a step each, in Tensor IR: what the importer
 * makes of MatMulNBits, and the pass quantize_products of products of floats. One statement of
 * both, so that the same kernels serve them.
 *
 *      y[r, o] = sum over blocks b, sum over k in b of x[r, k] * (number[o, k] - zero[o, b]) * scale[o, b]
 *
 * Two forms. With x as it is, what decodes,
 *
 *      (float(byte >> shift & mask) - zero) * scale
 *
 * stands in front of a dot, where fuse takes it into the kernel. With x rounded to 8 bits, each
 * block of a row by a step of its own,
 *
 *      step = max |x| / 127            q = round(x / step), as x * (1 / step)
 *
 * products of blocks are whole numbers (dot_blocks): the same ones on every target. */
#ifndef IR_BLOCK_WEIGHTS_H
#define IR_BLOCK_WEIGHTS_H

#include "ir/tensor/tensor.h"

enum { BLOCK_LEAST = 16 };             /* a block is a power of two, of at least so many numbers */

struct block_weights {
        int64_t outputs, inner;
        int64_t block, blocks;          /* numbers of a block; blocks of an output, the last perhaps
                                         * padded */
        int64_t bytes;                  /* of a block */
        int bits;                       /* 2, 4 or 8 */
        struct value *numbers;          /* <outputs x blocks x bytes x u8>, each byte's lowest bits
                                         * first */
        struct value *scales;           /* <outputs x blocks>, floats */
        struct value *zeros;            /* <outputs x bytes x u8>, packed alike; or <outputs x
                                         * blocks> of floats; NULL: 2^(bits - 1) */
        struct value *group;            /* whose scale each number has, where that is not its
                                         * block's: <blocks x numbers of a byte x bytes x i32>, as
                                         * build_in_blocks has them; or NULL */
};

/* blocks and bytes of what is set */
static inline struct block_weights block_weights_of(int64_t outputs, int64_t inner, int bits,
                                                    int64_t block)
{
        return (struct block_weights){ .outputs = outputs,
                                       .inner = inner,
                                       .block = block,
                                       .bits = bits,
                                       .blocks = divide_up(inner, block),
                                       .bytes = block * bits / 8 };
}

/* x, [.., blocks * block], as [rows, blocks, numbers of a byte, bytes]: as they are multiplied */
struct value *build_in_blocks(struct builder *b, const struct block_weights *w, struct value *x);
/* The numbers of `bits` bits that each byte of x holds, lowest first, in 8 bits, along a new
 * dimension `at`. */
struct value *build_bits_apart(struct builder *b, struct value *x, int64_t bits, int at);

/* the numbers of rows of bytes, [rows, blocks, bytes] in the order of block_weights_sorted,
 * times scales and less zeros (or NULL: 2^(bits - 1)), each [rows, blocks], floats: [rows,
 * inner] */
struct value *build_block_rows(struct builder *b, const struct block_weights *w,
                               struct value *bytes, struct value *scales, struct value *zeros);

/* [rows, outputs] of x, f32 [.., blocks * block], as it is, or rounded. The weights of rounded ones
 * are constant, without groups, their zeros bytes, and block_weights_sum_fits. */
struct value *build_block_product(struct builder *b, const struct block_weights *w,
                                  struct value *x);
struct value *build_rounded_block_product(struct builder *b, const struct block_weights *w,
                                          struct value *x);
/* the largest of their numbers, where bytes of such are the same with a sign: for a multiply's
 * `limit`; 0: any byte */
static inline int block_weights_limit(int bits) { return bits < 8 ? (1 << bits) - 1 : 0; }
/* sums of whole products of a block fit into i32 */
bool block_weights_sum_fits(int64_t block);

/* Constant bytes such that the numbers of a place in the bytes are neighbours: what reads them one
 * after the other reads x so, too. */
struct value *block_weights_sorted(struct module *m, const struct block_weights *w,
                                   const struct constant *c);

#endif
