/* SPDX-License-Identifier: MIT */
/* Winograd's minimal filtering F(m, r): m results of a window of r taps with m + r - 1 products
 * instead of m r; in two dimensions F(m x n, r x s), of which each has its own m and r.
 *
 *      Y = A^T [ (G w H^T) . (B^T x D) ] C         x: (m + r - 1) x (n + s - 1), w: r x s, Y: m x n
 *
 * The transforms work on lines, first on all columns, then on all rows. Those of x and of the
 * products are steps, each of at most one multiplication and one addition; that of w is done once,
 * in double, by matrices G and H. The product . is taken element by element.
 *
 * Matrices are those of Toom and Cook: a polynomial of degree m + r - 2 is known by its values at
 * as many points, and the product of two polynomials by the products of their values; filtering is
 * the transpose. Points are 0, 1, -1, 2, -2, 1/2, -1/2, as many as are needed, and infinity.
 * Matrices are computed in exact rationals (winograd_tiles.c). Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks", arXiv 1509.09308; Blahut, "Fast Algorithms for Signal
 * Processing", section 5.2. */
#ifndef IR_TENSOR_WINOGRAD_TILES_H
#define IR_TENSOR_WINOGRAD_TILES_H

#include "ir/tensor/tensor.h"

enum {
        WINOGRAD_WINDOW_MAX = 7,
        WINOGRAD_SIZE_MAX = 8,          /* There are seven points and infinity. */
        WINOGRAD_STEPS_MAX = 32,
        WINOGRAD_VALUES_MAX = WINOGRAD_SIZE_MAX + WINOGRAD_STEPS_MAX,
        WINOGRAD_DIMS = 2,              /* The spatial dimensions of an image. */
        WINOGRAD_FORMS_MAX = 4          /* Two dimensions have at most so many forms in all. */
};

/* value = a + k * b, where a and b are numbers of earlier values; the line's own values come
 * first. */
struct winograd_step { int a, b; double k; };
struct winograd_line {
        int count, results;
        struct winograd_step steps[WINOGRAD_STEPS_MAX];
        int step_count;
        int result[WINOGRAD_SIZE_MAX];  /* The values that are results have these numbers. */
};

/* F(tile, window) along one dimension. */
struct winograd {
        int tile, window, size;         /* m, r, and m + r - 1 */
        struct winograd_line input;     /* The matrix B^T takes size values to size values. */
        struct winograd_line output;    /* The matrix A^T takes size values to tile values. */
        /* The matrix is G. */
        double weights[WINOGRAD_SIZE_MAX][WINOGRAD_WINDOW_MAX];
};

/* Rows and columns; the rows of a signal are F(1, 1). */
struct winograd_square { struct winograd along[WINOGRAD_DIMS]; int elements; };

/* Computes F(tile, window). Returns false where there is none: where more points were needed, or
 * where a window of one tap has more than one result. */
bool winograd_find(int64_t tile, int64_t window, struct winograd *f);
/* The same for rows and columns. */
bool winograd_find_square(const int64_t *tile, const int64_t *window, struct winograd_square *f);
/* Returns the square of a convolve_winograd that its type rule has accepted. */
struct winograd_square winograd_of(const struct op *op);
/* Returns how many spatial dimensions such an operation has: 1 or 2. */
int winograd_dims(const struct op *op);
/* Returns how many phases of x a convolve_winograd reads as channels of their own: a window of r
 * taps at every s-th place is the sum of s windows of ceil(r / s) taps, each at all places of every
 * s-th element. */
int64_t winograd_phases(const struct op *op);

/* Lists the tiles that windows may be computed in, as far as there are any: two or four results
 * along each dimension that has a window, six also where one dimension alone has one. Larger
 * squares would save hardly more and err more. Returns their number. */
int winograd_forms(const int64_t *window, int64_t forms[][WINOGRAD_DIMS]);

/* Returns how many additions and multiplications a transform takes that has line `down` along
 * columns and `across` along rows. */
double winograd_flops(const struct winograd_line *down, const struct winograd_line *across);
/* Returns its steps. */
int winograd_steps(const struct winograd_line *down, const struct winograd_line *across);

#endif
