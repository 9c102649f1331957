/* SPDX-License-Identifier: MIT */
/* Finds the step of a block of weights, and their numbers (block_step.c). */
#ifndef PASSES_QUANTIZE_BLOCK_STEP_H
#define PASSES_QUANTIZE_BLOCK_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* The number q stands for (q - zero) * scale; scale may be negative where there are no zero
 * points. */
struct step { float scale; int zero; };

/* A block is `count` weights that share a step. */
struct block {
        int bits;
        bool zeros;                     /* The block has a zero point; else it is 2^(bits - 1). */
        int least, most;                /* Numbers from `least` to `most` are used. */
        const float *w;
        int64_t count;
        float low, high;                /* The least and the largest are those of the weights and
                                         * 0. */
        float *numbers;                 /* The array has `count` elements. */
};

void block_open(struct block *b, const float *w, int64_t count);
struct step block_step(const struct block *b, bool clip); /* Returns the block's step; clip: the one
                                                           * of least squared error. */
void block_round(const struct block *b, struct step s);   /* Rounds the weights to the nearest
                                                           * numbers. */

/* Returns the number nearest to x, which is a weight divided by the scale: halves go to even. */
static inline float step_number(const struct block *b, struct step s, float x)
{
        const float magic = 0x1.8p23f, far = 1024, least = (float)b->least, most = (float)b->most;
        x = x > -far ? x : -far;
        x = x < far ? x : far;
        x = x + magic - magic + (float)s.zero;
        x = x > least ? x : least;
        return x < most ? x : most;
}
static inline float step_value(struct step s, float number)
{
        return (number - (float)s.zero) * s.scale;
}

#endif
