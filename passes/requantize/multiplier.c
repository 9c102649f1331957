/* SPDX-License-Identifier: MIT */
/* Finds whole multipliers that round as a formula in floats does, to the bit.
 *
 *      value                                             v  <=> least(v) <= s < least(v + 1)
 *        |               ________ v + 1
 *        |       _______|                                for each v:
 *        |   ___| v                                        least(v) * m + b >= v << shift
 *        |__|                                              (least(v) - 1) * m + b < v << shift
 *        +--------------------------- s
 *
 * A monotone formula is defined by its thresholds, at most 255, and so is (s * m + b) >> shift:
 * both are one function where their thresholds are equal, which bounds b for a given m. The upper
 * bound is the least, the lower one the largest, of some linear functions of m: their difference,
 * the room for b, is concave, and so the best m can be searched where a first guess leaves no room.
 *
 * f32 rounds a product to a half where it is nearer to it than 2^-18 or so, and such halves go to
 * even numbers: thresholds of even values lie that much lower, those of odd ones higher. So an even
 * value may have a b of its own, b + even. With n = (s * m + b - half) >> shift, the number below
 * the nearest half, a sum is near no threshold but that of n + 1; |even| < half / 2, so that the
 * result is n or n + 1 with either b.
 *
 * The formula itself is evaluated in f32, operation by operation, as the IR defines it (C with
 * binary32 and without contraction, which ISO mode ensures). */
#include "passes/requantize/multiplier.h"

#include <math.h>
#include <stdlib.h>

int formula_at(const struct formula *f, int64_t s)
{
        if (f->is_fixed)
                return (int)fixed_at(&f->fixed, s + f->bias);
        float x = (float)(int32_t)(s + f->bias);
        for (int i = 0; i < f->count; i++) {
                float c = f->steps[i].number;
                switch (f->steps[i].code) {
                case OP_mul: x *= c; break;
                case OP_div: x /= c; break;
                case OP_add: x += c; break;
                case OP_sub: x -= c; break;
                case OP_max: x = x < c ? c : x; break;
                case OP_min: x = x > c ? c : x; break;
                default: x = rintf(x); break;
                }
        }
        return x <= (float)f->low ? f->low : x >= (float)f->high ? f->high : (int)x;
}

/* Finds slope * s + offset: the formula without its rounding and bounds. */
static void formula_line(const struct formula *f, double *slope, double *offset)
{
        *slope = f->is_fixed ? fixed_slope(&f->fixed) : 1;
        *offset = 0;
        for (int i = 0; i < f->count; i++) {
                double c = (double)f->steps[i].number;
                switch (f->steps[i].code) {
                case OP_mul: *slope *= c; *offset *= c; break;
                case OP_div: *slope /= c; *offset /= c; break;
                case OP_add: *offset += c; break;
                case OP_sub: *offset -= c; break;
                default: break;
                }
        }
}

bool formula_is_finite(const struct formula *f)
{
        double largest = ldexp(1, 31);
        for (int i = 0; i < f->count; i++) {
                double c = fabs((double)f->steps[i].number);
                switch (f->steps[i].code) {
                case OP_mul: largest *= c; break;
                case OP_div: largest /= c; break;
                case OP_max: case OP_min: largest = fmax(largest, c); break;
                default: largest += c; break;
                }
                if (!(largest < 1e38))
                        return false;
        }
        return true;
}

/* ---- thresholds ---- */

static bool reaches(const struct formula *f, const struct thresholds *t, int64_t s, int value)
{
        return formula_at(f, t->falls ? -s : s) >= value;
}

/* Returns the least number that becomes at least `value`: it is above `below`, and at most `above`.
 * The search begins around a guess, in steps that double, and goes on by bisection. */
static int64_t least_of(const struct formula *f, const struct thresholds *t, int value,
                        int64_t below, int64_t above, int64_t guess)
{
        for (int64_t step = 1; guess > below && guess < above; step *= 2)
                if (reaches(f, t, guess, value)) {
                        above = guess;
                        guess -= step;
                } else {
                        below = guess;
                        guess += step;
                }
        while (above - below > 1) {
                int64_t middle = below + (above - below) / 2;
                if (reaches(f, t, middle, value))
                        above = middle;
                else
                        below = middle;
        }
        return above;
}

void thresholds_of(const struct formula *f, int64_t low, int64_t high, struct thresholds *t)
{
        double slope, offset;
        formula_line(f, &slope, &offset);
        *t = (struct thresholds){ .falls = slope < 0, .bottom = f->low, .top = f->high,
                                  .slope = fabs(slope) };
        t->low = t->falls ? -high : low;
        t->high = t->falls ? -low : high;
        t->first = formula_at(f, t->falls ? high : low);
        t->count = formula_at(f, t->falls ? low : high) - t->first;
        int64_t last = t->low, gap = 1;
        for (int i = 0; i < t->count; i++) {
                t->least[i] = least_of(f, t, t->first + 1 + i, i ? last - 1 : t->low, t->high,
                                       last + gap);
                gap = t->least[i] - last;
                last = t->least[i];
        }
}

void thresholds_part(struct thresholds *t, int64_t low, int64_t high)
{
        int kept = 0, before = 0;
        for (int i = 0; i < t->count; i++)
                if (t->least[i] <= low)
                        before++;
                else if (t->least[i] <= high)
                        t->least[kept++] = t->least[i];
        t->first += before;
        t->count = kept;
        t->low = low;
        t->high = high;
}

/* ---- multipliers ---- */

/* Products are less than 2^FAR, and so is b: neither sums nor differences of two overflow. */
enum { FAR = 61 };

/* The ranges hold the numbers that b may be, and those that b + even may be where each output has
 * an `even` of its own: even values, or negative numbers, have their thresholds there. There are
 * none where low > high. */
enum { PARTS = 2 };
struct room { int64_t low[PARTS], high[PARTS]; };

static int part_of(int64_t value, int64_t s, const struct form *form)
{
        return form->each && (form->by_sign ? s < form->origin : value % 2 == 0);
}

/* Returns the b with which s is the first sum that becomes `value`. */
static int64_t bound_of(int64_t value, int64_t s, int64_t m, const struct form *form)
{
        int64_t even = form->each || value % 2 ? 0 : form->even;
        return value * (INT64_C(1) << form->shift) - s * m - even;
}

static void at_least(struct room *room, int64_t value, int64_t s, int64_t m,
                     const struct form *form)
{
        int64_t b = bound_of(value, s, m, form), *low = &room->low[part_of(value, s, form)];
        *low = b > *low ? b : *low;
}

static void below(struct room *room, int64_t value, int64_t s, int64_t m, const struct form *form)
{
        int64_t b = bound_of(value, s, m, form) - 1, *high = &room->high[part_of(value, s, form)];
        *high = b < *high ? b : *high;
}

/* Holds the value at both sides of the origin. */
static void around_origin(struct room *room, const struct thresholds *t, int64_t m,
                          const struct form *form)
{
        int64_t value[2] = { t->first, t->first };
        if (form->origin <= t->low || form->origin > t->high)
                return;
        for (int i = 0; i < t->count; i++)
                for (int k = 0; k < 2; k++)
                        value[k] += t->least[i] <= form->origin - 1 + k;
        if (value[0] < t->top)
                below(room, value[0] + 1, form->origin - 1, m, form);
        if (value[1] > t->bottom)
                at_least(room, value[1], form->origin, m, form);
}

static struct room room_of(const struct thresholds *t, int64_t m, const struct form *form)
{
        const int64_t far = INT64_C(1) << FAR;
        struct room room = { { -far, -far }, { far, far } };
        int last = t->first + t->count;
        for (int i = 0; i < t->count; i++) {
                at_least(&room, t->first + 1 + i, t->least[i], m, form);
                below(&room, t->first + 1 + i, t->least[i] - 1, m, form);
        }
        if (t->first > t->bottom)
                at_least(&room, t->first, t->low, m, form);
        if (last < t->top)
                below(&room, last + 1, t->high, m, form);
        if (form->by_sign)
                around_origin(&room, t, m, form);
        return room;
}

/* Returns the size of the smaller part of the room; negative: there is no room. */
static int64_t size_of(const struct room *room)
{
        int64_t one = room->high[0] - room->low[0], other = room->high[1] - room->low[1];
        return one < other ? one : other;
}

/* Returns the m from `from` to `to` that leaves most room, or the first one that leaves any. */
static int64_t roomiest(const struct thresholds *t, int64_t from, int64_t to,
                        const struct form *form)
{
        while (to - from > 2) {
                int64_t a = from + (to - from) / 3, b = to - (to - from) / 3;
                const struct room at_a = room_of(t, a, form), at_b = room_of(t, b, form);
                int64_t size_a = size_of(&at_a), size_b = size_of(&at_b);
                if (size_a >= 0 || size_b >= 0)
                        return size_a >= 0 ? a : b;
                from = size_a < size_b ? a + 1 : size_a == size_b ? a : from;
                to = size_a > size_b ? b - 1 : size_a == size_b ? b : to;
        }
        for (; from < to; from++) {
                const struct room room = room_of(t, from, form);
                if (size_of(&room) >= 0)
                        break;
        }
        return from;
}

/* Returns an m around `guess` that leaves room; *room: the room. */
static int64_t best_around(const struct thresholds *t, int64_t guess, const struct form *form,
                           struct room *room)
{
        enum { NEAR = 4096 };           /* A slope is off by less than this fraction of itself. */
        int64_t around = guess / NEAR + 2;
        *room = room_of(t, guess, form);
        if (size_of(room) >= 0 || !t->count)
                return guess;
        int64_t m = roomiest(t, guess > around ? guess - around : 0,
                             guess + around < INT32_MAX ? guess + around : INT32_MAX, form);
        *room = room_of(t, m, form);
        return m;
}

static int64_t clamped(int64_t x, int64_t low, int64_t high)
{
        return x < low ? low : x > high ? high : x;
}

/* Returns a first guess of m. A slope above STEEP counts as STEEP: at most one sum then lies
 * between the ends of the byte. */
static double guess_of(const struct thresholds *t, int shift)
{
        enum { STEEP = 1 << 12 };
        return t->count ? rint(ldexp(fmin(t->slope, STEEP), shift)) : 0;
}

bool multiplier_fits(const struct thresholds *t, int shift)
{
        double guess = guess_of(t, shift),
               far = fmax(fabs((double)t->low), fabs((double)t->high));
        return guess <= INT32_MAX && 2 * (guess + 2) * far < ldexp(1, FAR);
}

/* Returns the largest |even|, which is less than half of the half. */
static int64_t even_most(int shift)
{
        int64_t most = (INT64_C(1) << shift >> 2) - 1;
        return most < INT32_MAX ? most : INT32_MAX;
}

bool multiplier_find(const struct thresholds *t, const struct form *form, struct multiplier *found)
{
        if (!multiplier_fits(t, form->shift))
                return false;
        struct room room;
        int64_t m = best_around(t, (int64_t)guess_of(t, form->shift), form, &room),
                even = form->even;
        if (size_of(&room) < 0)
                return false;
        if (form->each) {
                even = clamped(0, room.low[1] - room.high[0], room.high[1] - room.low[0]);
                room.low[0] = clamped(room.low[0], room.low[1] - even, INT64_MAX);
                room.high[0] = clamped(room.high[0], INT64_MIN, room.high[1] - even);
        }
        if (llabs(even) > (form->by_sign ? INT32_MAX : even_most(form->shift)))
                return false;
        int64_t b = room.low[0] + (room.high[0] - room.low[0]) / 2;
        *found = (struct multiplier){ (int32_t)(t->falls ? -m : m), (int32_t)even, b };
        return true;
}

/* ---- where there are none ---- */

static int by_size(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
        return (x > y) - (x < y);
}

/* Returns the b that moves the thresholds of a part least, in sum. A threshold moves by its
 * distance from the room it has for b, divided by m: the sum of these is least at the median of all
 * ends. */
static int64_t middle_of(const struct thresholds *t, int64_t m, const struct form *form, int part)
{
        int64_t ends[2 * THRESHOLDS_MAX];
        size_t count = 0;
        for (int i = 0; i < t->count; i++) {
                int64_t value = t->first + 1 + i;
                if (part_of(value, t->least[i], form) != part)
                        continue;
                ends[count++] = bound_of(value, t->least[i], m, form);
                ends[count++] = bound_of(value, t->least[i] - 1, m, form) - 1;
        }
        qsort(ends, count, sizeof *ends, by_size);
        return count ? ends[count / 2 - 1] + (ends[count / 2] - ends[count / 2 - 1]) / 2 : 0;
}

/* Returns the least possible sum that the integers make at least `value`. */
static int64_t least_by(const struct thresholds *t, int64_t value, const struct multiplier *by,
                        const struct form *form)
{
        int64_t product = value * (INT64_C(1) << form->shift) - by->b -
                          (part_of(value, 0, form) ? by->even : 0);
        if (!by->m)
                return product > 0 ? t->high + 1 : t->low;
        return clamped(product / by->m + (product % by->m > 0), t->low, t->high + 1);
}

/* Returns how many sums become another byte by these integers, with m >= 0. */
static int64_t count_wrong(const struct thresholds *t, const struct form *form,
                           const struct multiplier *by)
{
        int64_t wrong = 0;
        int last = t->first + t->count;
        for (int i = 0; i < t->count; i++)
                wrong += llabs(least_by(t, t->first + 1 + i, by, form) - t->least[i]);
        if (t->first > t->bottom)
                wrong += least_by(t, t->first, by, form) - t->low;
        if (last < t->top)
                wrong += t->high + 1 - least_by(t, last + 1, by, form);
        return wrong;
}

int64_t multiplier_nearest(const struct thresholds *t, const struct form *form,
                           struct multiplier *found)
{
        enum { PRECISE = 1 << 12 };     /* A step of m then moves no threshold by more than a 32nd
                                         * of a byte's step. */
        int64_t m = (int64_t)guess_of(t, form->shift), most = even_most(form->shift);
        if (m < PRECISE && t->count > 1)
                return -1;
        int64_t b = middle_of(t, m, form, 0);
        *found = (struct multiplier){ (int32_t)m, 0, b };
        if (form->each && t->count > 1)
                found->even = (int32_t)clamped(middle_of(t, m, form, 1) - b, -most, most);
        const int64_t wrong = count_wrong(t, form, found);
        found->m = t->falls ? -found->m : found->m;
        return wrong;
}

/* ---- with b in the high word ---- */

enum { HIGH = 32 };

/* Splits a b of this room, or near its middle, in two: high << 32 and summand * m. Returns what b
 * is then. Summands step over what high words leave between them: neighbours differ by m, and those
 * of another high word fall in between. */
static int64_t split_high(const struct thresholds *t, int64_t low, int64_t high, int64_t m,
                          bool exact, struct high_multiplier *found)
{
        enum { TRIES = 1 << 12, MORE = 1 << 20 };
        const int64_t middle = low + (high - low) / 2, around = middle >> HIGH;
        int64_t best = 0, least = INT64_MAX;
        for (int64_t n = 0; n < (exact ? MORE : TRIES) && least; n++) {
                const int64_t word = around + (n % 2 ? -(n + 1) / 2 : n / 2),
                              rest = middle - word * (INT64_C(1) << HIGH),
                              summand = m ? (int64_t)rint((double)rest / (double)m) : 0,
                              b = word * (INT64_C(1) << HIGH) + summand * m;
                const int64_t off = b < low ? low - b : b > high ? b - high : 0;
                if (llabs(word) > INT32_MAX || off >= least || llabs(summand) > INT32_MAX / 2 ||
                    t->low + summand < INT32_MIN || t->high + summand > INT32_MAX)
                        continue;
                least = off;
                best = b;
                found->high = (int32_t)word;
                found->summand = (int32_t)summand;
        }
        return least == INT64_MAX ? INT64_MIN : best;
}

bool multiplier_high(const struct thresholds *t, int shift, bool exact,
                     struct high_multiplier *found, int64_t *wrong)
{
        enum { PRECISE = 1 << 16 };     /* A step of the summand then moves no threshold by much. */
        const struct form form = { .shift = shift };
        if (!multiplier_fits(t, shift))
                return false;
        struct room room;
        int64_t m = best_around(t, (int64_t)guess_of(t, shift), &form, &room);
        if ((m < PRECISE && t->count > 1) || (exact && size_of(&room) < 0))
                return false;
        if (size_of(&room) < 0)         /* No b is right: one in the middle is nearest. */
                room.low[0] = room.high[0] = middle_of(t, m, &form, 0);
        struct multiplier by = { .m = (int32_t)m };
        by.b = split_high(t, room.low[0], room.high[0], m, exact, found);
        if (by.b == INT64_MIN)
                return false;
        found->m = (int32_t)(t->falls ? -m : m);
        found->summand = t->falls ? -found->summand : found->summand;
        *wrong = count_wrong(t, &form, &by);
        return true;
}
