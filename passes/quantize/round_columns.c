/* SPDX-License-Identifier: MIT */
/* quantize_products: rounds weights column by column, so that later columns make up for the errors
 * of earlier ones (step gptq).
 *
 * The change d = w - w' of an output's weights changes it in the mean square by d^T H d, H the
 * moments of what it multiplies. With H = (U + 1) D (U + 1)^T, U strictly upper triangular and D
 * diagonal, that is
 *
 *      sum over k of D[k] * r[k]^2         r = d (U + 1)
 *
 * so with t[k] = w[k] + sum over j < k of d[j] * U[j][k] the number nearest to t[k] makes its part
 * least: r[k] = t[k] - w'[k]. That is GPTQ without its inverse (Frantar et al., GPTQ: Accurate
 * Post-Training Quantization for Generative Pre-trained Transformers, 2022; Chee et al., QuIP,
 * 2023, theorem 6). The step of a block is chosen for t as it is when the block's first column is
 * reached. A hundredth of the diagonal's mean is added to H's diagonal, because H comes from few
 * samples. An output for which all this is no better than the nearest numbers keeps those. */
#include "passes/quantize/quantize_products.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, OUTPUTS = 8, PANEL = 64 };
static const double DAMPING = 0.01;

/* ---- H = R R^T, R upper triangular: from the last column to the first ---- */

/* Factors the columns from `begin` to `end`, of rows up to `end`. Returns false if H is not
 * positive definite. */
static bool factor_panel(double *h, int64_t n, int64_t begin, int64_t end)
{
        for (int64_t k = end - 1; k >= begin; k--) {
                double d = h[k * n + k], column[PANEL];
                if (!(d > 0))
                        return false;
                d = h[k * n + k] = sqrt(d);
                for (int64_t i = 0; i < k; i++)
                        h[i * n + k] /= d;
                for (int64_t j = begin; j < k; j++)
                        column[j - begin] = h[j * n + k];
                for (int64_t i = 0; i < k; i++) {
                        double x = h[i * n + k];
                        for (int64_t j = i > begin ? i : begin; j < k; j++)
                                h[i * n + j] -= x * column[j - begin];
                }
        }
        return true;
}

/* Returns what the panel's columns, `width` of them, subtract from h[i][j]. */
static double product(const double *restrict x, const double *restrict y, int64_t width)
{
        double sums[LANES] = { 0 }, sum = 0;
        int64_t k = 0;
        for (; k + LANES <= width; k += LANES)
                for (int l = 0; l < LANES; l++)
                        sums[l] += x[k + l] * y[k + l];
        for (; k < width; k++)
                sum += x[k] * y[k];
        for (int l = 0; l < LANES; l++)
                sum += sums[l];
        return sum;
}

static bool factor(double *h, int64_t n)
{
        for (int64_t end = n; end > 0;) {
                int64_t begin = end > PANEL ? end - PANEL : 0;
                if (!factor_panel(h, n, begin, end))
                        return false;
                for (int64_t i = 0; i < begin; i++)
                        for (int64_t j = i; j < begin; j++)
                                h[i * n + j] -=
                                        product(h + i * n + begin, h + j * n + begin, end - begin);
                end = begin;
        }
        return true;
}

/* U's rows, padded with zeros to whole lanes, and D. feedback_of returns false if H is not positive
 * definite. */
struct feedback { int64_t n, stride; float *u; double *d; };

static bool feedback_of(struct arena *arena, const struct moments *m, const float *factors,
                        struct feedback *f)
{
        const int64_t n = m->depth;
        double *h = arena_array(arena, (size_t)n * (size_t)n, sizeof *h), mean = 0;
        for (int64_t i = 0; i < n; i++)
                for (int64_t j = i; j < n; j++) {
                        double by = factors ? (double)factors[i] * (double)factors[j] : 1;
                        h[i * n + j] = (double)m->products[i * n + j] / ((double)m->rows * by);
                }
        for (int64_t i = 0; i < n; i++)
                mean += h[i * n + i] / (double)n;
        for (int64_t i = 0; i < n; i++)
                h[i * n + i] += mean > 0 ? DAMPING * mean : 1;
        if (!isfinite(mean) || !factor(h, n))
                return false;
        *f = (struct feedback){ .n = n, .stride = round_up(n, LANES) };
        f->u = arena_array(arena, (size_t)n * (size_t)f->stride, sizeof *f->u);
        f->d = arena_array(arena, (size_t)n, sizeof *f->d);
        for (int64_t k = 0; k < n; k++)
                f->d[k] = h[k * n + k] * h[k * n + k];
        for (int64_t i = 0; i < n; i++)
                for (int64_t k = i + 1; k < n; k++)
                        f->u[i * f->stride + k] = (float)(h[i * n + k] / h[k * n + k]);
        return true;
}

/* Computes t[j] += d * U[k][j], for j > k. */
static void feed(const struct feedback *f, int64_t k, float d, float *restrict t)
{
        const float *restrict u = f->u + k * f->stride;
        for (int64_t j = k / LANES * LANES; j < f->stride; j += LANES)
                for (int l = 0; l < LANES; l++)
                        t[j + l] += d * u[j + l];
}

/* ---- outputs ---- */

/* Several outputs at a time, so that rows of U are read once for all of them. */
struct columns {
        const struct feedback *f;
        const struct rounded *nearest;
        const float *weights;           /* The weights of the first output begin here. */
        int64_t first, count;
        float *t;                       /* Its shape is [OUTPUTS][stride]. */
        unsigned char *numbers;         /* Its shape is [OUTPUTS][inner]. */
        struct step *steps;             /* Its shape is [OUTPUTS][blocks]. */
        double change[OUTPUTS], before[OUTPUTS];
};

/* Computes d^T H d of the nearest numbers. */
static void change_before(struct columns *c)
{
        const struct rounded *r = c->nearest;
        const int64_t n = r->inner, stride = c->f->stride;
        memset(c->t, 0, (size_t)(OUTPUTS * stride) * sizeof *c->t);
        for (int64_t k = 0; k < n; k++)
                for (int64_t o = 0; o < c->count; o++) {
                        struct step s = rounded_step(r, c->first + o, k / r->block);
                        float *t = c->t + o * stride,
                              d = c->weights[o * n + k] -
                                  step_value(s, r->numbers[(c->first + o) * n + k]);
                        double residue = (double)(t[k] + d);
                        c->before[o] += c->f->d[k] * residue * residue;
                        feed(c->f, k, d, t);
                }
}

static void round_outputs(struct columns *c, struct block *b, bool clip)
{
        const struct rounded *r = c->nearest;
        const int64_t n = r->inner, stride = c->f->stride;
        for (int64_t o = 0; o < c->count; o++)
                memcpy(c->t + o * stride, c->weights + o * n, (size_t)n * sizeof *c->t);
        for (int64_t k = 0; k < n; k++)
                for (int64_t o = 0; o < c->count; o++) {
                        float *t = c->t + o * stride;
                        struct step *s = &c->steps[o * r->blocks + k / r->block];
                        if (k % r->block == 0) {
                                rounded_open(r, b, t, k / r->block);
                                *s = block_step(b, clip);
                        }
                        float number = step_number(b, *s, t[k] / s->scale),
                              value = step_value(*s, number);
                        double residue = (double)(t[k] - value);
                        c->numbers[o * n + k] = (unsigned char)number;
                        c->change[o] += c->f->d[k] * residue * residue;
                        feed(c->f, k, c->weights[o * n + k] - value, t);
                }
}

void product_round_columns(const struct products *q, const struct product *p, const float *weights,
                           const struct moments *m, const float *factors, struct rounded *r)
{
        struct feedback f;
        const int64_t n = p->inner;
        if (!m->rows || !feedback_of(q->arena, m, factors, &f))
                return;
        struct block b = rounded_block(q->arena, r);
        struct columns c = { .f = &f, .nearest = r };
        c.t = arena_array(q->arena, (size_t)(OUTPUTS * f.stride), sizeof *c.t);
        c.numbers = arena_array(q->arena, (size_t)(OUTPUTS * n), sizeof *c.numbers);
        c.steps = arena_array(q->arena, (size_t)(OUTPUTS * r->blocks), sizeof *c.steps);
        for (int64_t first = 0; first < p->outputs; first += OUTPUTS) {
                c.first = first;
                c.count = p->outputs - first < OUTPUTS ? p->outputs - first : OUTPUTS;
                c.weights = weights + first * n;
                memset(c.change, 0, sizeof c.change);
                memset(c.before, 0, sizeof c.before);
                change_before(&c);
                round_outputs(&c, &b, q->policy->steps[STEP_search]);
                for (int64_t o = 0; o < c.count; o++) {
                        if (!(c.change[o] < c.before[o]))
                                continue;
                        memcpy(r->numbers + (first + o) * n, c.numbers + o * n, (size_t)n);
                        for (int64_t i = 0; i < r->blocks; i++)
                                rounded_set(r, first + o, i, c.steps[o * r->blocks + i]);
                }
        }
}
