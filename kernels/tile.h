/* The register tile: rows * columns positions by some vectors of outputs, and the loops that add it
 * up. */
#ifndef KERNELS_TILE_H
#define KERNELS_TILE_H

#include "kernels/stage.h"

/* One loop of a sum: window offsets, blocks or words of channels. number: of the word and offset in
 * the panel. total: where not 0, the extent in all turns of the outermost loop together (a last block
 * with fewer channels). count: where not NULL, the extent of the only loop, at most `extent`, and a
 * multiple of 16 channels unless it is what remains of that. */
struct sum_loop {
        const char *name;
        int64_t extent, x_step, number_step, total;
        struct loop_expr *count;
};

struct tile {
        struct stage *s;
        struct loop_buffer *xs;
        int rows, columns, vectors;
        int64_t row_step, column_step;  /* in x, from one position to the next */
        int64_t width;                  /* of a panel: elements of w for one word and offset */
        struct loop_variable *sums;     /* [split * rows * columns][vectors] */
        struct loop_expr *w_base, *prefetch_base;         /* in w; NULL: nothing is fetched */
};

/* the sums, all zero */
void tile_open(struct tile *t);
/* Adds up one nest of loops, the innermost unrolled. x_at: its first position in x; first: its
 * number in the panel. */
void tile_add(const struct tile *t, const struct sum_loop *loops, int count, struct loop_expr *x_at,
              int64_t first);
/* joins the sums that the schedule splits */
void tile_join(const struct tile *t);
/* Says what is fetched while the tile number tile_number of a panel is added up: its share of panel
 * number `next`, from the front to the back of the panel. */
void tile_prefetch(struct tile *t, struct loop_expr *next, struct loop_expr *tile_number,
                   int64_t panel_size);

#endif
