/* SPDX-License-Identifier: MIT */
/* A range is what is known of one tensor: extremes, counts, sums, and a histogram that grows by
 * powers of two. */
#include <math.h>
#include <string.h>

#include "passes/calibrate/calibration.h"

enum { HALF = RANGE_BINS / 2, HALF_BITS = 10, LANES = 4, TALLIES = 2 };

const struct extent extent_none = { INFINITY, -INFINITY };

struct extent extent_join(struct extent a, struct extent b)
{
        return (struct extent){ a.least < b.least ? a.least : b.least,
                                a.most > b.most ? a.most : b.most };
}

struct range *range_new(struct arena *arena, const char *name)
{
        struct range *r = ARENA_NEW(arena, struct range);
        r->name = name;
        r->all = extent_none;
        r->exponent = RANGE_EXPONENT_LEAST;
        r->bins = arena_array(arena, RANGE_BINS, sizeof *r->bins);
        return r;
}

double range_mean(const struct range *r)
{
        return r->count ? exact_sum_value(&r->sum) / (double)r->count : 0;
}

/* ---- the histogram ---- */

/* Joins pairs of bins, counted from the zero in the middle: floor(floor(x) / 2) = floor(x / 2). */
static void grow(struct range *r, int exponent)
{
        for (; r->exponent < exponent; r->exponent++) {
                for (int k = 0; k < HALF / 2; k++) {      /* The loop goes from the middle
                                                           * outwards. */
                        int up = HALF + k, down = HALF - 1 - k;
                        uint64_t above = r->bins[HALF + 2 * k] + r->bins[HALF + 2 * k + 1];
                        uint64_t below = r->bins[HALF - 1 - 2 * k] + r->bins[HALF - 2 - 2 * k];
                        r->bins[up] = above;
                        r->bins[down] = below;
                }
                memset(r->bins, 0, HALF / 2 * sizeof *r->bins);
                memset(r->bins + HALF + HALF / 2, 0, HALF / 2 * sizeof *r->bins);
        }
}

static bool holds(int exponent, struct extent e)
{
        double end = ldexp(1, exponent);
        return extent_is_none(e) || ((double)e.least >= -end && (double)e.most < end);
}

int range_exponent(struct extent e)
{
        int exponent = RANGE_EXPONENT_LEAST;
        while (!holds(exponent, e))
                exponent++;             /* The exponent 128 holds all floats. */
        return exponent;
}

/* Returns x's bin; a product with a power of two rounds nothing in double. */
static inline int bin_of(float x, double scale)
{
        double v = x * scale;
        int k = (int)v;
        return k - (v < k) + HALF;
}

static double bin_scale(const struct range *r) { return ldexp(1, HALF_BITS - r->exponent); }

int range_bin(const struct range *r, float x) { return bin_of(x, bin_scale(r)); }

/* ---- blocks ---- */

/* Adds up the sums of lanes side by side: the fixed order is one that compilers can follow with
 * vectors. */
static double add_lanes(const double lanes[LANES])
{
        return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

static void add_sums(struct range *r, const float *x, int count)
{
        double sums[LANES] = { 0 }, squares[LANES] = { 0 };
        int i = 0;
        for (; i + LANES <= count; i += LANES)
                for (int l = 0; l < LANES; l++) {
                        double v = x[i + l];
                        sums[l] += v;
                        squares[l] += v * v;
                }
        for (int l = 0; i < count; i++, l++) {
                double v = x[i];
                sums[l] += v;
                squares[l] += v * v;
        }
        exact_sum_add(&r->sum, add_lanes(sums));
        exact_sum_add(&r->squares, add_lanes(squares));
}

/* Counts numbers in several tallies in turn, because increments of one count would wait for each
 * other where many numbers are equal. */
static void add_bins(struct range *r, const float *x, int count, struct extent e)
{
        /* A tally can count RANGE_BLOCK numbers. */
        uint16_t tallies[TALLIES][RANGE_BINS] = { { 0 } };
        double scale = bin_scale(r);
        for (int i = 0; i < count; i++)
                tallies[i % TALLIES][bin_of(x[i], scale)]++;
        for (int k = bin_of(e.least, scale); k <= bin_of(e.most, scale); k++)
                r->bins[k] += (uint64_t)tallies[0][k] + tallies[1][k];
}

/* Moves the finite numbers together. Returns false if there is a NaN; *index then says where. */
static bool take_finite(struct range *r, float *x, int *count, int64_t *index)
{
        int kept = 0;
        for (int i = 0; i < *count; i++) {
                if (isnan(x[i])) {
                        *index += i;
                        return false;
                }
                x[kept] = x[i];
                kept += isfinite(x[i]) != 0;
        }
        r->infinite += (uint64_t)(*count - kept);
        *count = kept;
        return true;
}

static struct extent extent_of(const float *x, int count)
{
        struct extent lanes[LANES], e = extent_none;
        int i = 0;
        for (int l = 0; l < LANES; l++)
                lanes[l] = extent_none;
        for (; i + LANES <= count; i += LANES)
                for (int l = 0; l < LANES; l++)
                        lanes[l] = extent_join(lanes[l], (struct extent){ x[i + l], x[i + l] });
        for (; i < count; i++)
                e = extent_join(e, (struct extent){ x[i], x[i] });
        for (int l = 0; l < LANES; l++)
                e = extent_join(e, lanes[l]);
        return e;
}

static void add_block(struct range *r, const float *x, int count)
{
        struct extent e = extent_of(x, count);
        if (extent_is_none(e))
                return;
        e.least += 0.0f;                /* The addition makes 0 of -0. */
        e.most += 0.0f;
        r->all = extent_join(r->all, e);
        if (!holds(r->exponent, e))
                grow(r, range_exponent(e));
        add_bins(r, x, count, e);
        add_sums(r, x, count);
        r->count += (uint64_t)count;
}

/* Are all of them finite? There is no branch for each. */
static bool all_finite(const float *x, int count)
{
        int bad = 0;
        for (int i = 0; i < count; i++)
                bad |= !(fabsf(x[i]) <= 0x1.fffffep127f);
        return !bad;
}

int64_t range_add(struct range *r, enum element e, const void *data, int64_t count)
{
        float copy[RANGE_BLOCK];
        for (int64_t i = 0; i < count; i += RANGE_BLOCK) {
                int size = (int)(count - i < RANGE_BLOCK ? count - i : RANGE_BLOCK);
                const float *x = (const float *)data + i;
                int64_t index = i;
                bool plain = e == E_F32 && all_finite(x, size);
                for (int k = 0; k < size && !plain; k++)
                        copy[k] = (float)element_load(e, data, (size_t)(i + k)).f;
                if (!plain && !take_finite(r, copy, &size, &index))
                        return index;
                add_block(r, plain ? x : copy, size);
        }
        return -1;
}

/* ---- two of them ---- */

bool range_merge(struct range *r, const struct range *other)
{
        if (__builtin_add_overflow(r->count, other->count, &r->count) ||
            __builtin_add_overflow(r->infinite, other->infinite, &r->infinite) ||
            r->count > INT64_MAX || r->infinite > INT64_MAX)
                return false;
        r->all = extent_join(r->all, other->all);
        exact_sum_merge(&r->sum, &other->sum);
        exact_sum_merge(&r->squares, &other->squares);
        grow(r, other->exponent);
        for (int k = 0; k < RANGE_BINS; k++) {            /* Their sums are counts, so none
                                                           * wraps. */
                int at = k - HALF;
                for (int e = other->exponent; e < r->exponent; e++)
                        at = at >= 0 ? at / 2 : -((1 - at) / 2);
                r->bins[at + HALF] += other->bins[k];
        }
        return true;
}
