/* SPDX-License-Identifier: MIT */
/* The step of a block of weights, and their numbers (block_step.c). */
#ifndef PASSES_QUANTIZE_BLOCK_STEP_H
#define PASSES_QUANTIZE_BLOCK_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* number q stands for (q - zero) * scale; scale: may be negative where there are no zero points */
struct step { float scale; int zero; };

/* `count` weights that share a step */
struct block {
        int bits;
        bool zeros;                     /* there are zero points, else all are 2^(bits - 1) */
        int least, most;                /* the numbers that are used */
        const float *w;
        int64_t count;
        float low, high;                /* of these and 0 */
        float *numbers;                 /* [count] */
};

void block_open(struct block *b, const float *w, int64_t count);
struct step block_step(const struct block *b, bool clip); /* clip: that of least squared error */
void block_round(const struct block *b, struct step s);   /* the numbers, nearest ones */

/* The nearest number of x, which is a weight by the scale: halves to even. */
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
