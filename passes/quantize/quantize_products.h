/* SPDX-License-Identifier: MIT */
/* The pass quantize_products: which products, convolutions and tables (quantize_products.c),
 * their weights in few bits (round_products.c; by samples round_columns.c, scale_inputs.c), what
 * is written (write_products.c; of convolutions and tables write_convolutions.c). */
#ifndef PASSES_QUANTIZE_QUANTIZE_PRODUCTS_H
#define PASSES_QUANTIZE_QUANTIZE_PRODUCTS_H

#include "passes/quantize/block_step.h"
#include "passes/calibrate/moments.h"
#include "passes/quantize/quantize.h"

/* A dot of f32 by constant weights: y[.., o] = sum over k of x[.., k] * w[o, k]. Or a
 * convolution by such: k counts what a window sees. Or a table that is gathered from: outputs
 * are its rows. */
struct product {
        struct op *op;                  /* dot, convolve or gather */
        const char *name;               /* of the calibration; NULL: it depends on no input */
        const char *obstacle;           /* to quantizing it, part of a sentence; or NULL */
        int64_t outputs, inner;
        int moments;                    /* number among those looked at; -1: none */
        const struct product *same;     /* of the same table, before it; or NULL */
        struct value *bytes, *steps, *zeros;    /* a table that has been written */
};

struct products {
        struct function *f;
        struct module *m;
        struct pass_context *context;
        const struct quantize_policy *policy;
        struct arena *arena;
        struct product *items;          /* in order */
        int count;
};

/* Weights on steps: number q of output o and input k stands for (q - zero) * scale of its block. */
struct rounded {
        int64_t outputs, inner, block, blocks;    /* block: inner, where there is one step for
                                                   * all / */
        int bits;
        bool zeros;                     /* zero points, else all are 2^(bits - 1) */
        unsigned char *numbers;         /* [outputs][inner] */
        float *scales;                  /* [outputs][blocks] */
        unsigned char *zero;            /* [outputs][blocks] */
};

static inline struct step rounded_step(const struct rounded *r, int64_t o, int64_t block)
{
        return (struct step){ .scale = r->scales[o * r->blocks + block],
                              .zero = r->zero[o * r->blocks + block] };
}
static inline void rounded_set(struct rounded *r, int64_t o, int64_t block, struct step s)
{
        r->scales[o * r->blocks + block] = s.scale;
        r->zero[o * r->blocks + block] = (unsigned char)s.zero;
}

/* ---- round_products.c ---- */

/* The weights of a product: [outputs][inner], inner in the order of contract_b. */
float *product_weights(struct arena *arena, const struct product *p);
/* To the policy's type and blocks, each weight to the nearest number. */
struct rounded *product_round(const struct products *q, const struct product *p,
                              const float *weights);
/* its type and blocks, without numbers */
struct rounded product_scheme(const struct quantize_policy *policy, const struct product *p);
/* a block of it, of nothing yet; and of some weights [inner] */
struct block rounded_block(struct arena *arena, const struct rounded *r);
void rounded_open(const struct rounded *r, struct block *b, const float *w, int64_t number);

/* ---- round_columns.c, scale_inputs.c: what samples say ---- */

/* Column by column, where that makes the mean square change of an output less. factors: by which
 * inputs have been divided, [inner], or NULL. */
void product_round_columns(const struct products *q, const struct product *p, const float *weights,
                           const struct moments *m, const float *factors, struct rounded *r);
/* Factors for inputs, [inner], by which weights are multiplied, here, and inputs are to be divided;
 * NULL: they are best as they are. */
float *product_scale_inputs(const struct products *q, const struct product *p, float *weights,
                            const struct moments *m);

/* ---- write_products.c ---- */

/* Numbers of a rounded matrix as constants: bytes [outputs, inner], or turned [inner, outputs],
 * of u8 where there are zero points, else of i8; [outputs] scales, or zero points of u8; and in
 * blocks. */
struct value *rounded_bytes(struct builder *b, const struct rounded *r, bool turned,
                            const char *name);
struct value *rounded_numbers(struct builder *b, const struct rounded *r, bool zeros);
struct block_weights rounded_blocks(struct builder *b, const struct rounded *r, const char *name);
/* number along `along`, of t's shape */
struct value *rounded_over(struct builder *b, struct value *v, const struct type *t, int along);

/* The operation becomes one that reads these, its input divided by the factors, if there are any.
 * False after an error. */
bool product_write(const struct products *q, const struct product *p, const struct rounded *r,
                   const float *factors);

/* ---- write_convolutions.c ---- */

bool convolution_write(const struct products *q, const struct product *p, const struct rounded *r);
/* r: NULL where p->same has been written */
bool table_write(const struct products *q, struct product *p, const struct rounded *r);

#endif
