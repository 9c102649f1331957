/* SPDX-License-Identifier: MIT */
/* Winograd's minimal filtering F(m x m, 3 x 3): m x m results of a 3 x 3 window with (m + 2)^2
 * products instead of 9 m^2.
 *
 *      Y = A^T [ (G w G^T) . (B^T x B) ] A         x: (m + 2) x (m + 2), w: 3 x 3, Y: m x m
 *
 * The three transforms work on lines, first on all columns, then on all rows. Those of x and of the
 * products are steps, each of at most one multiplication and one addition; that of w is done once,
 * in double, by matrix G. The product . is taken element by element, and the points are 0, 1, -1,
 * (2, -2,) and infinity. Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv
 * 1509.09308. */
#ifndef IR_TENSOR_WINOGRAD_TILES_H
#define IR_TENSOR_WINOGRAD_TILES_H

#include <stdint.h>

enum {
        WINOGRAD_WINDOW = 3,
        WINOGRAD_TILE_MAX = 4,
        WINOGRAD_SIZE_MAX = WINOGRAD_TILE_MAX + WINOGRAD_WINDOW - 1
};

/* value = a + k * b, where a and b are numbers of earlier values; the line's own values come
 * first. */
struct winograd_step { int a, b; double k; };
struct winograd_line {
        int count, results;
        struct winograd_step steps[12];
        int step_count;
        int result[WINOGRAD_SIZE_MAX];  /* The values that are results have these numbers. */
};

struct winograd {
        int tile, size;                 /* The two are m and m + 2. */
        struct winograd_line input;     /* The matrix B^T takes size values to size values. */
        struct winograd_line output;    /* The matrix A^T takes size values to tile values. */
        /* The matrix is G. */
        double window[WINOGRAD_SIZE_MAX][WINOGRAD_WINDOW];
};

/* Returns the tables for this m; NULL: there are none. */
const struct winograd *winograd_find(int64_t tile);

/* Returns how many additions and multiplications a transform takes. */
double winograd_flops(const struct winograd_line *line);

#endif
