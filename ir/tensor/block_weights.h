/* SPDX-License-Identifier: MIT */
/* Builds products by weights of few bits, in blocks with a step each, in Tensor IR: for the
 * importer, which reads MatMulNBits, and for the pass quantize_products, which rounds products of
 * floats. So the same kernels serve both.
 *
 *      y[r, o] = sum over blocks b, sum over k in b of x[r, k] * (number[o, k] - zero[o, b]) * scale[o, b]
 *
 * There are two forms. With x as it is, the operations that decode weights,
 *
 *      (float(byte >> shift & mask) - zero) * scale
 *
 * stand in front of a dot, where fuse takes them into the kernel. With x rounded to 8 bits, each
 * block of a row by a step of its own,
 *
 *      step = max |x| / 127            q = round(x / step), as x * (1 / step)
 *
 * products of blocks are whole numbers (dot_blocks), the same ones on every target. */
#ifndef IR_TENSOR_BLOCK_WEIGHTS_H
#define IR_TENSOR_BLOCK_WEIGHTS_H

#include "ir/tensor/tensor.h"

enum { BLOCK_LEAST = 16 };             /* A block has a power of two numbers, and at least this
                                        * many. */

struct block_weights {
        int64_t outputs, inner;
        int64_t block, blocks;          /* block: the numbers of a block; blocks: the blocks of an
                                         * output, the last of which may be padded. */
        int64_t bytes;                  /* A block has this many bytes. */
        int bits;                       /* A number has 2, 4 or 8 bits. */
        struct value *numbers;          /* <outputs x blocks x bytes x u8>; a byte's lowest bits
                                         * come first. */
        struct value *scales;           /* <outputs x blocks> of floats. */
        struct value *zeros;            /* <outputs x bytes x u8>, packed alike, or <outputs x
                                         * blocks> of floats; NULL: they are 2^(bits - 1). */
        struct value *outer, *minima;   /* They are <outputs x n> of f16 or f32, where n divides
                                         * blocks, of rounded products alone, or NULL. Scales, then
                                         * of u8 or i8, are multiplied by outer; zeros, <outputs x
                                         * blocks x u8>, by minima, and these are subtracted. */
        int center;                     /* It is the zero point where zeros is NULL. */
        struct value *group;            /* Each number has the scale of this block, where that is
                                         * not its own: <blocks x numbers of a byte x bytes x i32>,
                                         * in the order of build_in_blocks; or NULL. */
};

/* Fills in blocks and bytes from the other fields. */
static inline struct block_weights block_weights_of(int64_t outputs, int64_t inner, int bits,
                                                    int64_t block)
{
        return (struct block_weights){ .outputs = outputs,
                                       .inner = inner,
                                       .block = block,
                                       .bits = bits,
                                       .center = 1 << (bits - 1),
                                       .blocks = divide_up(inner, block),
                                       .bytes = block * bits / 8 };
}

/* Builds x, [.., blocks * block], as [rows, blocks, numbers of a byte, bytes], the order in which
 * it is multiplied. */
struct value *build_in_blocks(struct builder *b, const struct block_weights *w, struct value *x);
/* Builds the numbers of `bits` bits that each byte of x holds, the lowest bits first, each in 8
 * bits, along a new dimension `at`. */
struct value *build_bits_apart(struct builder *b, struct value *x, int64_t bits, int at);

/* Builds [rows, inner] from the numbers of rows of bytes, [rows, blocks, bytes] in the order of
 * block_weights_sorted, less zeros (NULL: 2^(bits - 1)), times scales; both are floats, [rows,
 * blocks]. */
struct value *build_block_rows(struct builder *b, const struct block_weights *w,
                               struct value *bytes, struct value *scales, struct value *zeros);

/* These functions build the product [rows, outputs] of x, f32 [.., blocks * block], as it is, or
 * rounded. For rounded x, weights are constant, without groups, their zeros are bytes, and
 * block_weights_sum_fits holds. */
struct value *build_block_product(struct builder *b, const struct block_weights *w,
                                  struct value *x);
struct value *build_rounded_block_product(struct builder *b, const struct block_weights *w,
                                          struct value *x);

/* ---- block_product.c: such products, as passes and exporters find them ---- */

/* A product of x as it is, whatever simplify has made of what build_block_product built. */
struct block_product {
        struct block_weights w;         /* Its numbers are of any type and shape, in the order of
                                         * block_weights_sorted; its zeros and group are NULL. */
        struct value *x;                /* It is [rows, blocks, numbers of a byte, bytes]. */
        struct value *zero;             /* This is subtracted from the numbers, spread over them; or
                                         * added, where `negated`. */
        bool negated;
        bool scaled;                    /* The weights are multiplied by w.scales, [outputs,
                                         * blocks]; else there are none. */
};
bool block_product_find(const struct op *op, struct block_product *p);
/* Returns what v, a broadcast of [outputs, blocks], spreads over the numbers of blocks, or NULL. */
struct value *block_weights_spread(const struct value *v);

/* ---- limits ---- */

/* Returns the largest number of that many bits, where such bytes are the same with a sign, for a
 * multiply's `limit`; 0: they may be any byte. */
static inline int block_weights_limit(int bits) { return bits < 8 ? (1 << bits) - 1 : 0; }
/* Do the sums of products of a block fit into i32? */
bool block_weights_sum_fits(int64_t block);

/* Returns constant bytes in an order in which numbers at the same place of neighbouring bytes are
 * neighbours: a kernel that reads the bytes one after the other reads x so, too. */
struct value *block_weights_sorted(struct module *m, const struct block_weights *w,
                                   const struct constant *c);

#endif
