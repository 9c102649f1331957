/* The pass quantize_products: which products (quantize_products.c), their weights in few bits
 * (round_products.c), what is written (write_products.c). */
#ifndef PASSES_QUANTIZE_QUANTIZE_PRODUCTS_H
#define PASSES_QUANTIZE_QUANTIZE_PRODUCTS_H

#include "passes/quantize/quantize.h"

/* A dot of f32 by constant weights: y[.., o] = sum over k of x[.., k] * w[o, k]. */
struct product {
        struct op *op;
        const char *name;               /* of the calibration; NULL: it depends on no input */
        const char *obstacle;           /* to quantizing it, part of a sentence; or NULL */
        int64_t outputs, inner;
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
        int64_t outputs, inner, block, blocks;    /* block: inner, where there is one step for all */
        int bits;
        bool zeros;                     /* zero points, else all are 2^(bits - 1) */
        unsigned char *numbers;         /* [outputs][inner] */
        float *scales;                  /* [outputs][blocks] */
        unsigned char *zero;            /* [outputs][blocks] */
};

/* ---- round_products.c ---- */

/* The weights of a product: [outputs][inner], inner in the order of contract_b. */
float *product_weights(struct arena *arena, const struct product *p);
/* To the policy's type and blocks. The arena holds it. */
struct rounded *product_round(const struct products *q, const struct product *p, const float *weights);

/* ---- write_products.c ---- */

/* The operation becomes one that reads these. False after an error. */
bool product_write(const struct products *q, const struct product *p, const struct rounded *r);

#endif
