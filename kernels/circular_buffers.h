/* SPDX-License-Identifier: MIT */
/* Some kernels pass rows from one operation to the next through circular buffers: see
 * circular_buffers.c. */
#ifndef KERNELS_CIRCULAR_BUFFERS_H
#define KERNELS_CIRCULAR_BUFFERS_H

#include "ir/lower/lower_emit.h"

/* Does the kernel of a fusion keep rows of some results inside it as circular buffers? */
bool circular_wanted(const struct kernel_request *request);
/* Writes the kernel of such a fusion; returns false where that is impossible. */
bool circular_kernel(struct emit *e, const struct kernel_request *request,
                     struct loop_buffer *buffer);
/* An operation's circular buffers have these costs: their bytes and those of the strip that its
 * register tiles share, the floating-point operations, and how many of these are done more than
 * once. All are 0 where the operation has no buffers. */
struct circular_cost {
        int64_t bytes;
        double flops, again;
        double slower;                  /* Of the operations so many are computed one by one that
                                         * register tiles would compute without patches. */
};
/* Computes the costs. Returns false where rows (or patches) cannot be passed on; *obstacle is then
 * the operation that prevents it. */
bool circular_cost(const struct op *op, const struct target *target, struct circular_cost *cost,
                   const struct op **obstacle);
/* Sets the schedule that keeps the result of an operation inside a fusion in a circular buffer. */
void circular_mark(struct op *op);
/* circular_set_patch sets the schedule of a fusion's result to compute `columns` columns at a time;
 * circular_columns returns how many columns it has. */
void circular_set_patch(struct op *fusion, int64_t columns);
int64_t circular_columns(const struct op *fusion);

#endif
