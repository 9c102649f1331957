/* SPDX-License-Identifier: MIT */
/* A reduction over all positions, as a global pool is, of rows that circular buffers pass on: see
 * circular_pool.c. */
#ifndef KERNELS_CIRCULAR_POOL_H
#define KERNELS_CIRCULAR_POOL_H

#include "ir/lower/lower_emit.h"

struct circular_pool {
        const struct op *op;            /* The reduction. */
        struct value *rows;             /* It reduces rows of this value, or of what element-wise
                                         * operations make of it. */
        struct value *result;           /* Element-wise operations make this of the reduction. */
        unsigned reduced;               /* Each dimension of the rows that is reduced has a bit. */
        struct emit_place sums;         /* What is combined so far, for one image. */
};

/* Finds the pool that ends the region; `rows` is its last value in a circular buffer. Returns false
 * where there is none. */
bool circular_pool_find(struct circular_pool *pool, const struct region *region,
                        struct value *rows, struct value *result);
/* Returns the bytes of the sums. */
int64_t circular_pool_bytes(const struct circular_pool *pool);
/* circular_pool_begin sets the sums of an image, circular_pool_row adds a row, which is in its
 * circular buffer, and circular_pool_end stores the result. */
void circular_pool_begin(struct circular_pool *pool, struct emit *e);
void circular_pool_row(struct circular_pool *pool, struct emit *e, struct loop_expr *image,
                       struct loop_expr *row);
void circular_pool_end(struct circular_pool *pool, struct emit *e, struct loop_expr *image,
                       struct loop_buffer *result);

#endif
