/* SPDX-License-Identifier: MIT */
/* Finds floats that round as a formula in fixed-point arithmetic does, to the bit.
 *
 * Both are monotone in s, so they are one function where they agree on both sides of each threshold
 * (multiplier.c). For a factor `a`, thresholds bound what is added, in exact numbers of
 * x = s + bias - origin:
 *
 *     x(least(v)) * a + b >= v - 1/2 > x(least(v) - 1) * a + b
 *
 * f32 rounds twice on the way to a half. So factors a few steps of f32 away from the real one are
 * tried, each with numbers around the middle of that room, until one has all thresholds on the
 * right side. With the origin in the middle of the byte's sums, products are small and roundings
 * are fine; where 0 is among these sums, numbers on both sides of it are rounded to different
 * sides, and it is the origin. */
#include <math.h>

#include "passes/requantize/multiplier.h"

enum { STEPS = 8, MOVES = 12 };         /* Factors up to STEPS steps away, and for each so many
                                         * numbers on either side of the middle, are tried. */

/* The search is for sums from low to high. */
struct search {
        const struct formula *f;
        const struct thresholds *t;
        int64_t origin, low, high;
        int hard;                       /* This threshold was wrong last, and is asked first. */
};

static bool agrees(const struct search *s, float a, float b, int64_t sum)
{
        const struct formula *f = s->f;
        float x = (float)(int32_t)(sum + f->bias - s->origin);
        x *= a;
        x += b;
        x = rintf(x);
        return (x <= (float)f->low    ? f->low
                : x >= (float)f->high ? f->high
                                      : (int)x) == formula_at(f, sum);
}

static bool is_among(const struct search *s, int i)
{
        return s->t->least[i] > s->low && s->t->least[i] <= s->high;
}

/* Does the line agree at both sides of all thresholds, and at the ends? */
static bool is_right(struct search *s, float a, float b)
{
        const struct thresholds *t = s->t;
        if (!agrees(s, a, b, s->low) || !agrees(s, a, b, s->high))
                return false;
        for (int n = 0; n < t->count; n++) {
                const int i = (n + s->hard) % t->count;
                if (!is_among(s, i) ||
                    (agrees(s, a, b, t->least[i]) && agrees(s, a, b, t->least[i] - 1)))
                        continue;
                s->hard = i;
                return false;
        }
        return true;
}

/* Returns the middle of what may be added, in exact numbers. *room: half of the room, negative
 * where there is none. */
static double middle_of(const struct search *s, double a, double *room)
{
        const int64_t shift = s->f->bias - s->origin;
        const double real = (double)s->origin * a + (double)s->f->fixed.zero;
        double low = real - 1, high = real + 1;   /* Without thresholds a half is near enough. */
        for (int i = 0; i < s->t->count; i++)
                if (is_among(s, i)) {
                        const double half = (double)(s->t->first + 1 + i) - 0.5;
                        const int64_t x = s->t->least[i] + shift;
                        low = fmax(low, half - (double)x * a);
                        high = fmin(high, half - (double)(x - 1) * a);
                }
        *room = (high - low) / 2;
        return low + *room;
}

static bool find_added(struct search *s, float a, float *b)
{
        double room;
        const double middle = middle_of(s, (double)a, &room);
        for (int i = 0; i <= 2 * MOVES && room > 0; i++) {
                const int move = i & 1 ? (i + 1) / 2 : -i / 2;
                *b = (float)(middle + room * move / (MOVES + 1));
                if (is_right(s, a, *b))
                        return true;
        }
        return false;
}

/* Returns the origin for sums that are no byte's end. */
static int64_t origin_of(const struct formula *f, const struct thresholds *t)
{
        const int64_t first = t->count ? t->least[0] + f->bias : 0,
                      last = t->count ? t->least[t->count - 1] + f->bias : 0,
                      middle = first + (last - first) / 2;
        if (first <= 0 || t->low + f->bias - middle < INT32_MIN ||
            t->high + f->bias - middle > INT32_MAX)
                return 0;
        return middle;
}

bool line_find(const struct formula *f, const struct thresholds *t, bool two, struct line *found)
{
        if (t->falls)
                return false;
        found->origin = origin_of(f, t);
        const int64_t split = found->origin - f->bias;
        two = two && split > t->low && split <= t->high;
        struct search above = { f, t, found->origin, two ? split : t->low, t->high, 0 },
                      below = { f, t, found->origin, t->low, split - 1, 0 };
        float up = (float)fixed_slope(&f->fixed), down = up;
        for (int i = 0; i <= 2 * STEPS; i++) {
                found->a = i & 1 ? up : down;
                up = i & 1 ? up : nextafterf(up, INFINITY);
                down = i & 1 ? nextafterf(down, -INFINITY) : down;
                if (!find_added(&above, found->a, &found->b))
                        continue;
                found->below = found->b;
                if (!two || find_added(&below, found->a, &found->below))
                        return true;
        }
        return false;
}
