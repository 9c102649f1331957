/* SPDX-License-Identifier: MIT */
/* quantize_products: weights of large inputs are rounded more finely (step awq).
 *
 *      y = sum over k of (x[k] / s[k]) * (w[k] * s[k])           s[k] = (mean of x[k]^2)^(a / 2)
 *
 * Scaled weights have the same steps as the others of their block, so those with s > 1 are rounded
 * more finely. a is one of 0, 1 / 20, .. 1: the one for which rounding to the nearest numbers makes
 * sum over k of mean(x[k]^2) * (w[k] - w'[k] / s[k])^2 least (Lin et al., AWQ: Activation-aware
 * Weight Quantization, 2023, there by the mean of |x|). */
#include "passes/quantize/quantize_products.h"

#include <math.h>
#include <string.h>

enum { TRIES = 20 };
static const double LEAST = 1e-4;        /* No factor is less; 1 / it is the largest. */

/* Computes s, divided by the square root of least times largest factor, so that about half of the
 * factors are below 1. */
static void factors_of(const struct moments *m, double a, float *factors)
{
        double low = INFINITY, high = 0;
        for (int64_t k = 0; k < m->depth; k++) {
                double size = m->squares[k] / (double)m->rows;
                if (size > 0) {
                        low = fmin(low, size);
                        high = fmax(high, size);
                }
        }
        for (int64_t k = 0; k < m->depth; k++) {
                double size = m->squares[k] / (double)m->rows;
                double s = size > 0 ? pow(size / sqrt(low * high), a / 2) : 1;
                factors[k] = (float)fmin(fmax(s, LEAST), 1 / LEAST);
        }
}

/* Returns what rounding the scaled weights changes; scaled: room for a row. */
static double change_of(const struct moments *m, const struct rounded *r, struct block *b,
                        const float *weights, const float *factors, float *scaled)
{
        double change = 0;
        for (int64_t o = 0; o < r->outputs; o++) {
                const float *w = weights + o * r->inner;
                for (int64_t k = 0; k < r->inner; k++)
                        scaled[k] = w[k] * factors[k];
                for (int64_t i = 0; i < r->blocks; i++) {
                        rounded_open(r, b, scaled, i);
                        struct step s = block_step(b, false);
                        block_round(b, s);
                        for (int64_t k = 0; k < b->count; k++) {
                                int64_t at = i * r->block + k;
                                double d = (double)((b->w[k] - step_value(s, b->numbers[k])) /
                                                    factors[at]);
                                change += d * d * m->squares[at];
                        }
                }
        }
        return change;
}

float *product_scale_inputs(const struct products *q, const struct product *p, float *weights,
                            const struct moments *m)
{
        if (!m->rows)
                return NULL;
        struct rounded r = product_scheme(q->policy, p);
        struct block b = rounded_block(q->arena, &r);
        float *factors = arena_array(q->arena, (size_t)p->inner, sizeof *factors),
              *scaled = arena_array(q->arena, (size_t)p->inner, sizeof *scaled);
        double least = INFINITY;
        int best = 0;
        for (int i = 0; i <= TRIES; i++) {
                factors_of(m, (double)i / TRIES, factors);
                double change = change_of(m, &r, &b, weights, factors, scaled);
                if (change < least) {
                        least = change;
                        best = i;
                }
        }
        if (!best)
                return NULL;
        factors_of(m, (double)best / TRIES, factors);
        for (int64_t i = 0; i < p->outputs * p->inner; i++)
                weights[i] *= factors[i % p->inner];
        return factors;
}
