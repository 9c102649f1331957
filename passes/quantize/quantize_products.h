/* SPDX-License-Identifier: MIT */
/* The pass quantize_products finds products, convolutions and tables (quantize_products.c), rounds
 * their weights to few bits (round_products.c; by samples round_columns.c, scale_inputs.c), and
 * writes the operations (write_products.c; of convolutions and tables write_convolutions.c). */
#ifndef PASSES_QUANTIZE_QUANTIZE_PRODUCTS_H
#define PASSES_QUANTIZE_QUANTIZE_PRODUCTS_H

#include "passes/quantize/block_step.h"
#include "passes/calibrate/moments.h"
#include "passes/quantize/quantize.h"

/* A product is a dot of f32 by constant weights: y[.., o] = sum over k of x[.., k] * w[o, k]. Or it
 * is a convolution by such weights, where k counts what a window sees; or a table that is gathered
 * from, whose rows are the outputs. */
struct product {
        struct op *op;                  /* The operation is a dot, convolve or gather. */
        const char *name;               /* Its name in the calibration; NULL: it depends on no
                                         * input. */
        const char *obstacle;           /* The text says why the product is not quantized, as a part
                                         * of a sentence; NULL: it is quantized. */
        int64_t outputs, inner;
        int moments;                    /* It has this number among the moments that are computed;
                                         * -1: it has none. */
        const struct product *same;     /* An earlier product has the same table; NULL: none has. */
        struct value *bytes, *steps, *zeros;    /* A table that has been written has these
                                                 * constants. */
};

struct products {
        struct function *f;
        struct module *m;
        struct pass_context *context;
        const struct quantize_policy *policy;
        struct arena *arena;
        struct product *items;          /* The products come in order. */
        int count;
};

/* Weights on steps: number q of output o and input k stands for (q - zero) * scale of its block. */
struct rounded {
        int64_t outputs, inner, block, blocks;    /* block is inner, where there is one step for
                                                   * all. */
        int bits;
        bool zeros;                     /* There are zero points; else all are 2^(bits - 1). */
        unsigned char *numbers;         /* Its shape is [outputs][inner]. */
        float *scales;                  /* Its shape is [outputs][blocks]. */
        unsigned char *zero;            /* Its shape is [outputs][blocks]. */
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

/* Returns the weights of a product: [outputs][inner], inner in the order of contract_b. */
float *product_weights(struct arena *arena, const struct product *p);
/* Rounds to the policy's type and blocks, each weight to the nearest number. */
struct rounded *product_round(const struct products *q, const struct product *p,
                              const float *weights);
/* Returns the type and blocks of a product's rounded weights, without numbers. */
struct rounded product_scheme(const struct quantize_policy *policy, const struct product *p);
/* These functions make a block of rounded weights without contents, and open one on some weights
 * [inner]. */
struct block rounded_block(struct arena *arena, const struct rounded *r);
void rounded_open(const struct rounded *r, struct block *b, const float *w, int64_t number);

/* ---- round_columns.c, scale_inputs.c: what samples say ---- */

/* Rounds column by column, where that makes the mean square change of an output less. factors: the
 * numbers that inputs have been divided by, [inner], or NULL. */
void product_round_columns(const struct products *q, const struct product *p, const float *weights,
                           const struct moments *m, const float *factors, struct rounded *r);
/* Returns factors, [inner], by which it multiplies weights, and by which inputs must be divided;
 * NULL: they are best as they are. */
float *product_scale_inputs(const struct products *q, const struct product *p, float *weights,
                            const struct moments *m);

/* ---- write_products.c ---- */

/* These functions build constants from a rounded matrix: bytes [outputs, inner], or transposed
 * [inner, outputs], of u8 where there are zero points, else of i8; [outputs] scales, or zero points
 * of u8; and all of it in blocks. */
struct value *rounded_bytes(struct builder *b, const struct rounded *r, bool turned,
                            const char *name);
struct value *rounded_numbers(struct builder *b, const struct rounded *r, bool zeros);
struct block_weights rounded_blocks(struct builder *b, const struct rounded *r, const char *name);
/* Spreads the numbers of v along dimension `along` over t's shape. */
struct value *rounded_over(struct builder *b, struct value *v, const struct type *t, int along);

/* Makes the operation one that reads these, its input divided by the factors, if there are any.
 * Returns false after an error. */
bool product_write(const struct products *q, const struct product *p, const struct rounded *r,
                   const float *factors);

/* ---- write_convolutions.c ---- */

bool convolution_write(const struct products *q, const struct product *p, const struct rounded *r);
/* r: NULL where p->same has been written. */
bool table_write(const struct products *q, struct product *p, const struct rounded *r);

#endif
