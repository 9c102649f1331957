/* SPDX-License-Identifier: MIT */
/* Brings weights to steps, a block of them at a time.
 *
 * A block of numbers of an output has a scale, and where the type has them a zero point:
 *
 *      s8, s4      scale = w / -2^(bits - 1), w the one of largest magnitude, which is kept as it is
 *                  (of s8: max |w| / 127, so that -128 is not used)
 *      u8, u4      scale = (most - least) / (2^bits - 1), zero = round(-least / scale), 0 counted in
 *
 * and each weight becomes the number that is nearest to it. With the step `search`, scales that
 * clip the largest numbers are tried, too, and for each of them the scale that least squares give
 * for the resulting numbers; the one of least squared error is taken. */
#include "passes/quantize/block_step.h"

#include <float.h>
#include <math.h>

void block_open(struct block *b, const float *w, int64_t count)
{
        b->w = w;
        b->count = count;
        b->low = b->high = 0;
        for (int64_t i = 0; i < count; i++) {
                b->low = w[i] < b->low ? w[i] : b->low;
                b->high = w[i] > b->high ? w[i] : b->high;
        }
}

void block_round(const struct block *b, struct step s)
{
        const float by = 1 / s.scale;
        for (int64_t i = 0; i < b->count; i++)
                b->numbers[i] = step_number(b, s, b->w[i] * by);
}

static double error_of(const struct block *b, struct step s)
{
        const float zero = (float)s.zero;
        double error = 0;
        for (int64_t i = 0; i < b->count; i++) {
                double d = (double)b->w[i] - (double)((b->numbers[i] - zero) * s.scale);
                error += d * d;
        }
        return error;
}

/* The fit of numbers to their weights: the scale of least squares is products / squares, and it
 * takes products^2 / squares off the error. Sums of every LANES-th number are added up in the
 * end. */
struct fit { double products, squares; };

static struct fit fit_of(const struct block *b, int zero)
{
        enum { LANES = 8 };
        float products[LANES] = { 0 }, squares[LANES] = { 0 };
        const float shift = (float)zero;
        int64_t i = 0;
        for (; i + LANES <= b->count; i += LANES)
                for (int k = 0; k < LANES; k++) {
                        float q = b->numbers[i + k] - shift;
                        products[k] += q * b->w[i + k];
                        squares[k] += q * q;
                }
        struct fit f = { 0, 0 };
        for (; i < b->count; i++) {
                double q = (double)(b->numbers[i] - shift);
                f.products += q * (double)b->w[i];
                f.squares += q * q;
        }
        for (int k = 0; k < LANES; k++) {
                f.products += (double)products[k];
                f.squares += (double)squares[k];
        }
        return f;
}

static bool is_scale(double scale) { return fabs(scale) >= FLT_MIN && fabs(scale) <= FLT_MAX; }

/* Returns the step that holds all numbers, or that part of them. */
static struct step step_of(const struct block *b, double part)
{
        const double least = (double)b->low * part, most = (double)b->high * part;
        const int middle = 1 << (b->bits - 1), levels = b->most - b->least;
        double scale = b->zeros      ? (most - least) / levels
                       : b->least    ? fmax(-least, most) / (middle - 1)
                       : most > -least ? most / -middle : -least / middle;
        struct step s = { .scale = is_scale(scale) ? (float)scale : 1, .zero = middle };
        if (b->zeros)
                s.zero = (int)fmin(fmax(rint(-least / (double)s.scale), 0), levels);
        return s;
}

/* Tries parts of the largest number that are kept: for 4 bits from 1 down to a half by steps of 1 /
 * PARTS; for 8 bits, where clipping gains nothing, only 1. */
static struct step search(const struct block *b)
{
        enum { PARTS = 40, HALF = PARTS / 2 };
        const struct step all = step_of(b, 1);
        struct step best = all;
        double most = 0;
        for (int i = 0; i < (b->bits == 8 ? 1 : HALF); i++) {
                struct step s = step_of(b, 1 - (double)i / PARTS);
                block_round(b, s);
                struct fit f = fit_of(b, s.zero);
                double gain = f.squares > 0 ? f.products * f.products / f.squares : 0,
                       scale = f.squares > 0 ? f.products / f.squares : 0;
                if (gain > most && is_scale((float)scale)) {
                        most = gain;
                        best = (struct step){ .scale = (float)scale, .zero = s.zero };
                }
        }
        block_round(b, best);
        double error = error_of(b, best);
        block_round(b, all);
        return error < error_of(b, all) ? best : all;
}

struct step block_step(const struct block *b, bool clip)
{
        return clip ? search(b) : step_of(b, 1);
}
