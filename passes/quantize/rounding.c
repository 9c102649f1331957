/* SPDX-License-Identifier: MIT */
#include "passes/quantize/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
        TOGETHER = 16
}; /* The first gradients of this many outputs are computed at once: a row of H is read once for
    * all. */
enum { MOVES = 4 };                     /* Each number moves at most this often; the bound is for
                                         * rounding errors of floats that disagree. */
static const float LEAST_GAIN = 1e-3f;  /* A move must gain at least this, times H[k][k]. */

/* ---- H ---- */

static double covariance(const struct moments *m, int64_t group, int64_t i, int64_t j,
                         const double *means)
{
        const float *products = m->products + group * m->depth * m->depth;
        return (double)products[i * m->depth + j] / (double)m->rows - means[i] * means[j];
}

/* Returns what is subtracted from correlations; scales: 1 / standard deviation, 0 for what does not
 * vary. */
static double shrinkage(const float *c, const double *scales, int64_t depth, int64_t rows)
{
        double t = 0, p = 0, n = (double)rows;
        for (int64_t i = 0; i < depth; i++) {
                p += scales[i] > 0;
                for (int64_t j = 0; j < depth; j++) {
                        double r = (double)c[i * depth + j] * scales[i] * scales[j];
                        t += r * r;
                }
        }
        if (!(t > p))
                return 1;
        double r = ((1 - 2 / p) * t + p * p) / ((n + 1 - 2 / p) * (t - p));
        return r < 1 ? r : 1;
}

const float *rounding_matrix(struct arena *arena, const struct moments *m, int64_t group,
                             bool centred)
{
        const int64_t depth = m->depth;
        if (!m->products || !m->rows)
                return NULL;
        float *h = arena_array(arena, (size_t)(depth * depth), sizeof *h);
        double *means = arena_array(arena, (size_t)depth, sizeof *means),
               *scales = arena_array(arena, (size_t)depth, sizeof *scales);
        for (int64_t i = 0; i < depth && centred; i++)
                means[i] = m->sums[group * depth + i] / (double)m->rows;
        for (int64_t i = 0; i < depth; i++)
                for (int64_t j = 0; j < depth; j++)
                        h[i * depth + j] = (float)fmax(covariance(m, group, i, j, means),
                                                       i == j ? 0 : -INFINITY);
        for (int64_t i = 0; i < depth; i++) {
                double variance = (double)h[i * depth + i];
                scales[i] = variance > 0 ? 1 / sqrt(variance) : 0;
        }
        const float left = (float)(1 - shrinkage(h, scales, depth, m->rows));
        for (int64_t i = 0; i < depth; i++)
                for (int64_t j = 0; j < depth; j++)
                        h[i * depth + j] *= i == j ? 1 : left;
        return h;
}

/* ---- descent ---- */

/* d and its gradient H d, of one output; moves: in which direction each number may go by one, to
 * the other side of its weight: 1, -1, or 0. */
struct descent { float *d, *gradient; signed char *moves; };

/* Rounds the weights, and sets d = w / scale - number. */
static void begin(struct descent *s, const float *w, float scale, int most, signed char *numbers,
                  int64_t depth)
{
        for (int64_t k = 0; k < depth; k++) {
                double x = (double)w[k] / (double)scale, number = fmin(fmax(rint(x), -most), most),
                       d = x - number;
                numbers[k] = (signed char)number;
                s->d[k] = (float)d;
                s->moves[k] = (signed char)(d > 0 ? number < most : d < 0 ? -(number > -most) : 0);
        }
        memset(s->gradient, 0, (size_t)depth * sizeof *s->gradient);
}

static void add_row(float *gradient, const float *row, float d, int64_t depth)
{
        for (int64_t k = 0; k < depth; k++)
                gradient[k] += d * row[k];
}

/* Returns the number that gains most where it moves; the gain, by which the sum shrinks, is 2 move
 * * gradient - H[k][k]. -1: none gains enough. */
static int64_t best_move(const struct descent *s, const float *diagonal, int64_t depth)
{
        int64_t best = -1;
        float most = 0;
        for (int64_t k = 0; k < depth; k++) {
                float gain = 2 * (float)s->moves[k] * s->gradient[k] - diagonal[k];
                if (gain > most && gain > diagonal[k] * LEAST_GAIN) {
                        most = gain;
                        best = k;
                }
        }
        return best;
}

static void descend(struct descent *s, const float *h, const float *diagonal, int64_t depth,
                    signed char *numbers)
{
        for (int64_t left = MOVES * depth, k; left > 0; left--) {
                if ((k = best_move(s, diagonal, depth)) < 0)
                        break;
                signed char move = s->moves[k];
                numbers[k] = (signed char)(numbers[k] + move);
                s->d[k] -= (float)move;
                s->moves[k] = (signed char)-move;
                add_row(s->gradient, h + k * depth, (float)-move, depth);
        }
}

void rounding_learn(const float *h, int64_t depth, const float *w, const float *scales,
                    int64_t outputs, int most, signed char *numbers)
{
        struct arena *arena = arena_new();
        struct descent all[TOGETHER];
        float *diagonal = arena_array(arena, (size_t)depth, sizeof *diagonal);
        for (int64_t k = 0; k < depth; k++)
                diagonal[k] = h[k * depth + k];
        for (int i = 0; i < TOGETHER; i++)
                all[i] = (struct descent){ arena_array(arena, (size_t)depth, sizeof(float)),
                                           arena_array(arena, (size_t)depth, sizeof(float)),
                                           arena_array(arena, (size_t)depth, 1) };
        for (int64_t o = 0; o < outputs; o += TOGETHER) {
                int count = outputs - o < TOGETHER ? (int)(outputs - o) : TOGETHER;
                for (int i = 0; i < count; i++)
                        begin(&all[i], w + (o + i) * depth, scales[o + i], most,
                              numbers + (o + i) * depth, depth);
                for (int64_t k = 0; k < depth; k++)
                        for (int i = 0; i < count; i++)
                                add_row(all[i].gradient, h + k * depth, all[i].d[k], depth);
                for (int i = 0; i < count; i++)
                        descend(&all[i], h, diagonal, depth, numbers + (o + i) * depth);
        }
        arena_free(arena);
}
