/* SPDX-License-Identifier: MIT */
/* How a discrete Fourier transform of n elements is computed: in passes, one for each factor of n,
 * or as a convolution where n has a large prime factor.
 *
 * A pass of radix r takes x[q + s (p + m k)], k < r, to y[q + s (r p + k)], where s is the product
 * of the factors of the passes before, and r m s = n: a transform of r elements, and a product with
 * the twiddle w^(p k) of a transform of r m elements. It is its own reordering (Stockham's form;
 * C. Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992).
 *
 * With c[j] = exp(-pi i j^2 / n) a transform of n elements is c[k] times the convolution of x c
 * with 1 / c, of which transforms of `size` >= 2 n - 1 elements make products (L. Bluestein, A
 * linear filtering approach to the computation of discrete Fourier transform, 1970). */
#ifndef IR_TENSOR_SPECTRUM_PLAN_H
#define IR_TENSOR_SPECTRUM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum { SPECTRUM_RADIX_MAX = 16, SPECTRUM_PASSES_MAX = 24, SPECTRUM_EXTENT_MAX = 1 << 20 };

struct spectrum_plan {
        int64_t extent;                 /* It is n. */
        int64_t size;                   /* The passes transform so many elements: n, or more for a
                                         * convolution. */
        int radix[SPECTRUM_PASSES_MAX], passes;
};

/* Plans a transform of 1 to SPECTRUM_EXTENT_MAX elements. */
struct spectrum_plan spectrum_plan(int64_t extent);
/* Is it computed as a convolution? */
bool spectrum_is_convolved(const struct spectrum_plan *plan);
/* Returns the additions and multiplications of the transform. */
double spectrum_flops(const struct spectrum_plan *plan);

/* A table has what the transform multiplies by, in this order: for each pass with m > 1, twiddles
 * k = 1 .. r - 1, of each m real parts and m imaginary ones; for a convolution c, n real parts and
 * n imaginary ones, and the transform of 1 / c over `size`, likewise. */
int64_t spectrum_table_extent(const struct spectrum_plan *plan);
/* Returns where the twiddles of a pass begin; of number `passes`, where c does. */
int64_t spectrum_table_at(const struct spectrum_plan *plan, int pass);
/* Fills a table. */
void spectrum_table(const struct spectrum_plan *plan, double *table);

/* Transforms `lines` side by side in double: x has size * lines real parts and behind them as many
 * imaginary ones, and is lost; so has room. Returns which of the two has the result. No
 * convolution. */
double *spectrum_in_double(const struct spectrum_plan *plan, int64_t lines, double *x,
                           double *room);

/* Sets cos and sin of 2 pi k / n, to the last place, the same on every host. */
void spectrum_root(int64_t k, int64_t n, double *cosine, double *sine);
/* Returns the additions and multiplications of a transform of radix elements that is written out
 * (ir/lower/spectrum_emit.h). */
double spectrum_radix_flops(int radix);
/* Returns the factor a of radix = a b whose transforms come first; radix itself where it is
 * prime. */
int spectrum_radix_factor(int radix);
bool spectrum_radix_is_coprime(int a, int b);

#endif
