/* SPDX-License-Identifier: MIT */
#include "ir/tensor/spectrum_plan.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- roots of unity ---- */

/* Sets cos and sin of x, 0 <= x <= pi / 4, by their series. */
static void series(double x, double *cosine, double *sine)
{
        const double square = x * x;
        double c = 1, s = 1;
        for (int i = 22; i >= 2; i -= 2) {
                c = 1 - c * square / (double)(i * (i - 1));
                s = 1 - s * square / (double)(i * (i + 1));
        }
        *cosine = c;
        *sine = x * s;
}

void spectrum_root(int64_t k, int64_t n, double *cosine, double *sine)
{
        const double eighth = 0.785398163397448309616; /* It is pi / 4. */
        k = (k % n + n) % n;
        const int octant = (int)(8 * k / n);
        const int64_t rest = 8 * k % n, from_axis = octant & 1 ? n - rest : rest;
        double c, s;
        series(eighth * ((double)from_axis / (double)n), &c, &s);
        const int turned = (octant + 1) / 2; /* So many quarters are left out. */
        const double y = octant & 1 ? -s : s;
        *cosine = turned % 2 ? -y : c;
        *sine = turned % 2 ? c : y;
        if (turned % 4 >= 2) {
                *cosine = -*cosine;
                *sine = -*sine;
        }
}

/* ---- plans ---- */

int spectrum_radix_factor(int radix)
{
        if (radix == 16)
                return 4;
        for (int a = 2; a * a <= radix; a++)
                if (radix % a == 0)
                        return a;
        return radix;
}

bool spectrum_radix_is_coprime(int a, int b)
{
        while (b) {
                const int rest = a % b;
                a = b;
                b = rest;
        }
        return a == 1;
}

double spectrum_radix_flops(int radix)
{
        const int a = spectrum_radix_factor(radix), b = radix / a;
        const double half = (radix - 1) / 2;
        if (radix <= 2)
                return radix == 2 ? 4 : 0;
        if (b > 1)
                return b * spectrum_radix_flops(a) + a * spectrum_radix_flops(b) +
                       (spectrum_radix_is_coprime(a, b) ? 0 : 6 * (a - 1) * (b - 1));
        return 4 * half + 2 * half + 8 * half * half + 4 * half;
}

/* A pass takes this many operations an element besides its arithmetic. */
enum { PASS_MOVES = 6 };

/* Returns the operations an element of the passes for n with radices of at most `most`, the best of
 * which it sets; a negative number: there are none. */
static double best_passes(int64_t n, int most, int *radix, int *passes, int depth)
{
        double best = -1;
        int rest[SPECTRUM_PASSES_MAX], count;
        if (n == 1) {
                *passes = 0;
                return 0;
        }
        for (int r = most; r > 1 && depth < SPECTRUM_PASSES_MAX; r--) {
                if (n % r)
                        continue;
                double cost = best_passes(n / r, r, rest, &count, depth + 1);
                if (cost < 0)
                        continue;
                cost += (spectrum_radix_flops(r) + (n > r ? 6 * (r - 1) : 0)) / r + PASS_MOVES;
                if (best >= 0 && cost >= best)
                        continue;
                best = cost;
                radix[0] = r;
                memcpy(radix + 1, rest, (size_t)count * sizeof *rest);
                *passes = 1 + count;
        }
        return best;
}

/* Sets the size of the convolution, of factors 2, 3 and 5, that takes the least work, and its
 * passes. Returns the work. */
static double best_convolution(int64_t n, struct spectrum_plan *plan)
{
        const int64_t least = 2 * n - 1;
        double best = -1;
        for (int64_t five = 1; five < 2 * least; five *= 5)
                for (int64_t three = five; three < 2 * least; three *= 3) {
                        struct spectrum_plan p = { .extent = n, .size = three };
                        while (p.size < least)
                                p.size *= 2;
                        const double work = (2 * best_passes(p.size, SPECTRUM_RADIX_MAX, p.radix,
                                                             &p.passes, 0) +
                                             16) *
                                            (double)p.size;
                        if (best >= 0 && work >= best)
                                continue;
                        best = work;
                        *plan = p;
                }
        return best;
}

struct spectrum_plan spectrum_plan(int64_t extent)
{
        struct spectrum_plan plan = { .extent = extent, .size = extent };
        if (best_passes(extent, SPECTRUM_RADIX_MAX, plan.radix, &plan.passes, 0) < 0)
                best_convolution(extent, &plan);
        return plan;
}

bool spectrum_is_convolved(const struct spectrum_plan *plan) { return plan->size != plan->extent; }

double spectrum_flops(const struct spectrum_plan *plan)
{
        double flops = 0;
        int64_t rest = plan->size;
        for (int i = 0; i < plan->passes; i++) {
                const int r = plan->radix[i];
                rest /= r;
                flops += spectrum_radix_flops(r) / r + (rest > 1 ? 6.0 * (r - 1) / r : 0);
        }
        flops *= (double)plan->size;
        return spectrum_is_convolved(plan)
                       ? 2 * flops + 6 * (double)plan->size + 12 * (double)plan->extent
                       : flops;
}

/* ---- tables ---- */

int64_t spectrum_table_at(const struct spectrum_plan *plan, int pass)
{
        int64_t at = 0, m = plan->size;
        for (int i = 0; i < pass; i++) {
                m /= plan->radix[i];
                at += m > 1 ? 2 * m * (plan->radix[i] - 1) : 0;
        }
        return at;
}

int64_t spectrum_table_extent(const struct spectrum_plan *plan)
{
        return spectrum_table_at(plan, plan->passes) +
               (spectrum_is_convolved(plan) ? 2 * (plan->extent + plan->size) : 0);
}

/* Adds a times w to y, `count` complex numbers, whose imaginary parts lie `apart` behind. */
static void add_product(double *restrict y, const double *restrict a, int64_t apart, int64_t count,
                        double c, double d)
{
        for (int64_t q = 0; q < count; q++) {
                y[q] += a[q] * c + a[apart + q] * d;
                y[apart + q] += a[apart + q] * c - a[q] * d;
        }
}

/* Does one pass, where s numbers lie side by side. */
static void pass_of(int64_t n, int64_t r, int64_t s, const double *x, double *y)
{
        const int64_t m = n / s / r;
        for (int64_t p = 0; p < m; p++)
                for (int64_t k = 0; k < r; k++) {
                        double *to = y + s * (r * p + k), c, d;
                        memset(to, 0, (size_t)s * sizeof *to);
                        memset(to + n, 0, (size_t)s * sizeof *to);
                        for (int64_t j = 0; j < r; j++) {
                                spectrum_root(j * k % r * m + p * k, r * m, &c, &d);
                                add_product(to, x + s * (p + m * j), n, s, c, d);
                        }
                }
}

double *spectrum_in_double(const struct spectrum_plan *plan, int64_t lines, double *x, double *room)
{
        int64_t s = lines;
        for (int i = 0; i < plan->passes; i++) {
                pass_of(plan->size * lines, plan->radix[i], s, x, room);
                s *= plan->radix[i];
                double *other = x;
                x = room;
                room = other;
        }
        return x;
}

/* Fills c, and the transform of 1 / c. */
static void convolution_table(const struct spectrum_plan *plan, double *table)
{
        const int64_t n = plan->extent, size = plan->size;
        double *x = memory_alloc((size_t)size * 4 * sizeof *x), *y = x + 2 * size;
        for (int64_t j = 0; j < n; j++) {
                double c, d;
                spectrum_root(j * j % (2 * n), 2 * n, &c, &d);
                table[j] = c;
                table[n + j] = -d;
                const int64_t back = j ? size - j : 0;
                x[j] = x[back] = c / (double)size;
                x[size + j] = x[size + back] = d / (double)size;
        }
        const double *done = spectrum_in_double(plan, 1, x, y);
        memcpy(table + 2 * n, done, 2 * (size_t)size * sizeof *table);
        free(x);
}

void spectrum_table(const struct spectrum_plan *plan, double *table)
{
        int64_t m = plan->size;
        for (int i = 0; i < plan->passes; i++) {
                const int r = plan->radix[i];
                m /= r;
                for (int k = 1; k < r && m > 1; k++, table += 2 * m)
                        for (int64_t p = 0; p < m; p++) {
                                double c, d;
                                spectrum_root(p * k, r * m, &c, &d);
                                table[p] = c;
                                table[m + p] = -d;
                        }
        }
        if (spectrum_is_convolved(plan))
                convolution_table(plan, table);
}
