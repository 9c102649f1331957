/* SPDX-License-Identifier: MIT */
/* Winograd's minimal filtering F(m x m, 3 x 3): m x m results of a 3 x 3 window with (m + 2)^2
 * products instead of 9 m^2.
 *
 *      Y = A^T [ (G w G^T) . (B^T x B) ] A         x: (m + 2) x (m + 2) of the input, w: 3 x 3, Y: m x m, . element by element
 *
 * The three transforms work on lines, first on all columns, then on all rows. Those of x and of the
 * products are steps, each one multiplication and one addition at most; that of w is done once, in
 * double, by matrix G. Points 0, 1, -1, (2, -2,) infinity. Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks", arXiv 1509.09308. */
#ifndef IR_WINOGRAD_TILES_H
#define IR_WINOGRAD_TILES_H

#include <stdint.h>

enum {
        WINOGRAD_WINDOW = 3,
        WINOGRAD_TILE_MAX = 4,
        WINOGRAD_SIZE_MAX = WINOGRAD_TILE_MAX + WINOGRAD_WINDOW - 1
};

/* value = a + k * b, numbers of earlier values; the line's own come first */
struct winograd_step { int a, b; double k; };
struct winograd_line {
        int count, results;
        struct winograd_step steps[12];
        int step_count;
        int result[WINOGRAD_SIZE_MAX];  /* numbers of values */
};

struct winograd {
        int tile, size;                 /* m, m + 2 */
        struct winograd_line input;     /* B^T: size -> size */
        struct winograd_line output;    /* A^T: size -> tile */
        double window[WINOGRAD_SIZE_MAX][WINOGRAD_WINDOW];          /* G */
};

/* NULL where there is none for this m */
const struct winograd *winograd_find(int64_t tile);

/* adds and multiplications of a transform */
double winograd_flops(const struct winograd_line *line);

#endif
