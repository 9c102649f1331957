/* SPDX-License-Identifier: MIT */
/* Rows of a circular buffer, or of a kernel's result behind circular buffers, are computed by a
 * scheduled lowering: see circular_tiles.c. */
#ifndef KERNELS_CIRCULAR_TILES_H
#define KERNELS_CIRCULAR_TILES_H

#include "kernels/kernel_state.h"

/* What is computed row by row: `value`, by the operations behind `before` (the value that the
 * kernel computes before it; NULL: there is none). Its rows go to a circular buffer, or to `whole`
 * for the kernel's result. `strip` is memory that the kernel's values share; NULL: there is none
 * so far. */
struct circular_tiles {
        struct value *value;
        const struct value *before;
        const struct emit_circular *at;
        struct loop_buffer *whole;
        struct loop_buffer **strip;
        struct kernel_state *state;
        int64_t low;                    /* The result begins at this row of the value. */
};

/* Prepares the kernel state. All that the value is computed from must have been computed, as far as
 * the kernel computes it. Returns false where rows are those of the canonical nest. */
bool circular_tiles_prepare(struct circular_tiles *t, struct emit *e, const struct region *region);
/* Writes what computes one row of the value. */
bool circular_tiles_row(struct circular_tiles *t, struct loop_expr *image, struct loop_expr *row);
/* Has the contraction a schedule that such a kernel may follow? */
bool circular_tiles_schedule(const struct op *op);
/* Returns the bytes of the strip that such a kernel prepares for a contraction; 0: none. */
int64_t circular_tiles_strip(const struct op *contraction, const struct target *target);

#endif
