/* SPDX-License-Identifier: MIT */
/* A quantized number q stands for (q - zero) * scale. */
#ifndef FRONT_COMPOSE_COMPOSE_QUANTIZE_H
#define FRONT_COMPOSE_COMPOSE_QUANTIZE_H

#include "front/compose/compose_window.h"

/* In a quantized tensor that is still to be made as a result, numbers is NULL. */
struct compose_quantized {
        struct value *numbers;          /* They are integers. */
        struct value *scale;            /* They are floats. */
        struct value *zero;             /* It is the zero point, of the type of numbers; NULL stands
                                         * for 0. */
};

/* ---- element-wise (compose_quantize.c) ---- */

/* The scale and the zero point (NULL stands for 0) are of x's shape, or broadcast to it. */
struct compose_quantization {
        struct value *scale, *zero;
        enum element to;                /* The quantized numbers have this type. */
        enum element computed;          /* x is divided by the scale in this float type. */
        bool saturate;                  /* In floats of 8 bits, it is as in struct
                                         * compose_conversion. */
};
/* Returns saturate(round_half_even(x / scale) + zero). */
struct value *compose_quantize(struct compose *c, struct value *x,
                               const struct compose_quantization *q);
/* Returns (x - zero) * scale as the float `to`. */
struct value *compose_dequantize(struct compose *c, struct value *x, struct value *scale,
                                 struct value *zero, enum element to);

/* Returns saturate(round_half_even(real) + zero) as `to`. */
struct value *compose_requantize(struct compose *c, struct value *real, struct value *zero,
                                 enum element to);
/* Returns x - zero in the type `as`, or x itself where that is 0. */
struct value *compose_centered(struct compose *c, struct value *x, struct value *zero,
                               enum element as);
/* Returns x as u8. The scale and the zero point, which are scalars, follow from its range, widened
 * to hold 0. */
struct compose_quantized compose_quantize_dynamic(struct compose *c, struct value *x);
/* Returns a scale or zero point over x's shape. It is one number, one for each index of the axis
 * (which counts from the end where it is negative), or, where block is not 0, one for each `block`
 * indices of it. An error's text begins with `what`: "the scale is". */
struct value *compose_per_block(struct compose *c, const char *what, struct value *v,
                                const struct type *x, int64_t axis, int64_t block);

/* The first returns, as f32, a tensor of 8 bits whose scale (f32) and zero point are one number
 * each; the second one makes f32 such a tensor of element `to`, with the scale and the zero point
 * of `as`. */
struct value *compose_real(struct compose *c, const struct compose_quantized *q);
struct value *compose_of_real(struct compose *c, struct value *real,
                              const struct compose_quantized *as, enum element to);

/* ---- convolutions of integers (compose_conv_quantized.c) ---- */

/* x and w have 8 bits and are taken less their zero points, which are one number or, for w, one for
 * each output channel. The window's kernel is that of w. */
struct compose_conv_integer {
        struct compose_quantized x, w;
        struct compose_window window;
        int64_t groups;
};
/* Returns the sums of products, in i32; the window is placed; scales are not read. */
struct value *compose_conv_integer(struct compose *c, struct compose_conv_integer *v);
/* Returns the sums plus bias (i32 <channels>, or NULL) times the scales of x and w, divided by that
 * of y, rounded half to even, plus y's zero point, whose type the result has. Scales are f32 and
 * one number; that of w may be one number for each output channel. */
struct value *compose_conv_quantized(struct compose *c, struct compose_conv_integer *v,
                                     struct value *bias, const struct compose_quantized *y);

/* ---- products of matrices of integers (compose_matmul_quantized.c) ---- */

/* Operands have 8 bits. A zero point is one number, one for each row of a or each column of b, or
 * broadcasts to the operand. */

/* Returns the sums of products, in i32; scales are not read. */
struct value *compose_matmul_integer(struct compose *c, const struct compose_quantized *a,
                                     const struct compose_quantized *b);
/* Returns the sums times the scales of a and b, divided by that of y, rounded half to even, plus
 * y's zero point, whose type the result has. Scales, of one float type, and y's zero point are one
 * number, one for each row (of a and y) or column (of b), or broadcast to the result. */
struct value *compose_matmul_quantized(struct compose *c, const struct compose_quantized *a,
                                       const struct compose_quantized *b,
                                       const struct compose_quantized *y);
/* Returns the sums times the scales of a (one number) and b (one, or one for each column), plus
 * bias (<columns>, or NULL), in f32. a's zero point may be one number for each column. */
struct value *compose_matmul_to_float(struct compose *c, const struct compose_quantized *a,
                                      const struct compose_quantized *b, struct value *bias);
/* Returns the same for x, f32, which is quantized by its range first. */
struct value *compose_matmul_dynamic(struct compose *c, struct value *x,
                                     const struct compose_quantized *b, struct value *bias);

/* The result is alpha times a (transposed where trans_a) times b (likewise) plus bias, of
 * matrices. */
struct compose_gemm_quantized {
        struct compose_quantized a;     /* Its scale and zero point are one number each. */
        struct compose_quantized b;     /* Its scale and zero point are one number each, or one for
                                         * each column. */
        struct compose_quantized y;     /* Its scale and zero point are one number each; where both
                                         * are NULL the result is f32. */
        struct value *bias;             /* It is i32, as the sums of products are, in units of the
                                         * product of both scales; or it is NULL. */
        bool trans_a, trans_b;
        double alpha;
};
struct value *compose_gemm_quantized(struct compose *c, const struct compose_gemm_quantized *g);

/* ---- tables of few bits, in blocks with a scale each (compose_blocks.c) ---- */

/* The result is x times the transposed weights, plus bias. The last block of an output may reach
 * beyond `inner`: what it holds there is not read. */
struct compose_matmul_blocks {
        struct value *x;                /* It is floats, but not f64, [.., inner]. */
        struct value *numbers;          /* These are the weights, u8 [outputs, blocks, bytes of a
                                         * block], lowest bits first. */
        struct value *scales;           /* They have x's type, and are [outputs, blocks], or the
                                         * same in one dimension. */
        struct value *zeros;            /* They have x's type and are as the scales; or they are u8,
                                         * in `bits` bits packed as the weights are. NULL stands for
                                         * 2^(bits - 1). */
        struct value *groups;           /* These constant integers, [inner] or [blocks * block], say
                                         * which block's scale each number has; where it is NULL it
                                         * is its own block's. */
        struct value *bias;             /* It is [outputs], of x's type, or NULL. */
        int64_t inner, outputs;
        int64_t block;                  /* A block has so many numbers, a power of two of at least
                                         * BLOCK_LEAST (ir/tensor/block_weights.h). */
        int bits;                       /* A number has so many bits: 2, 4 or 8. */
        bool rounds;                    /* x may be rounded to 8 bits, each block of a row with a
                                         * quantization step of its own, so that products are
                                         * integers. */
};
struct value *compose_matmul_blocks(struct compose *c, const struct compose_matmul_blocks *in);

/* The result is x, each block of a row rounded to 8 bits with a step of its own, times the
 * transposed weights. These are constants: (number - center) * scale; or, with minima, number *
 * scale - zero * minimum. */
struct compose_matmul_nested {
        struct value *x;                /* It is f32 [.., inner]. */
        struct value *numbers;          /* They are as in struct compose_matmul_blocks. */
        struct value *scales;           /* They are f16 or f32 [outputs, blocks], or u8 or i8 where
                                         * there is outer. */
        struct value *outer;            /* Scales are multiplied by these f16 or f32 [outputs, n],
                                         * of blocks / n blocks each; or it is NULL. */
        struct value *zeros, *minima;   /* They are u8 [outputs, blocks], and of the type of outer;
                                         * or NULL, both. */
        int64_t inner, outputs, block;  /* inner is a multiple of block, of at least BLOCK_LEAST. */
        int bits, center;               /* A number has 1, 2, 4 or 8 bits. */
};
struct value *compose_matmul_nested(struct compose *c, const struct compose_matmul_nested *in);

/* The result is x times weights [outputs, inner], transposed where `transposed`. Each number of the
 * weights is one of 16 levels times a scale, which `block` numbers that follow each other in the
 * whole of the weights share. */
struct compose_matmul_levels {
        struct value *x;                /* It is f32 or f16, [.., inner], or [.., outputs] where the
                                         * weights are not transposed. */
        struct value *numbers;          /* They are u8, with two numbers in a byte, highest bits
                                         * first. */
        struct value *scales;           /* They have x's type, and there is one for each block. */
        const float *levels;            /* There are 16 levels. */
        int64_t inner, outputs, block;
        bool transposed;
};
struct value *compose_matmul_levels(struct compose *c, const struct compose_matmul_levels *in);

/* The result is rows of a table, decoded. An index out of range gives 0. */
struct compose_gather_blocks {
        struct value *data;             /* It is u8, with several numbers in a byte along the last
                                         * dimension, where bits is less than 8; else it is numbers
                                         * of any type. */
        struct value *indices;          /* They are i32 or i64; negative ones count from the end. */
        struct value *scales;           /* They are floats, but not f64, of data's shape, but for
                                         * the quantized axis, which has a scale for each block; the
                                         * result has their type. */
        struct value *zeros;            /* They have data's type and the scales' shape, packed as
                                         * data is; NULL stands for 2^(bits - 1) of u8, else 0. */
        int gather, quantize;           /* These are axes of data: that of the indices, and that of
                                         * the blocks. */
        int64_t block;                  /* A block has so many numbers; at 0 all of the axis are one
                                         * block. */
        int bits;                       /* A number in data has so many bits: 2, 4 or 8. */
};
struct value *compose_gather_blocks(struct compose *c, const struct compose_gather_blocks *in);

#endif
