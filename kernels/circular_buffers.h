/* SPDX-License-Identifier: MIT */
/* Kernels that pass rows on through circular buffers: see circular_buffers.c. */
#ifndef KERNELS_CIRCULAR_BUFFERS_H
#define KERNELS_CIRCULAR_BUFFERS_H

#include "ir/lower/lower_emit.h"

/* Does the kernel of a fusion keep rows of some results inside it as circular buffers? */
bool circular_wanted(const struct kernel_request *request);
/* writes it so; false: it cannot be written so */
bool circular_kernel(struct emit *e, const struct kernel_request *request,
                     struct loop_buffer *buffer);
/* What the buffers of an operation take, what it computes, and of that, what it computes more than
 * once; all 0: it has no buffers. */
struct circular_cost { int64_t bytes; double flops, again; };
/* false: its rows (or patches) cannot be passed on so. *obstacle: the operation that is in the
 * way */
bool circular_cost(const struct op *op, struct circular_cost *cost, const struct op **obstacle);
/* says that the result of an operation inside a fusion is kept as a circular buffer */
void circular_mark(struct op *op);
/* The schedule of a fusion's result becomes "as many columns at a time". circular_columns: how many
 * there are. */
void circular_set_patch(struct op *fusion, int64_t columns);
int64_t circular_columns(const struct op *fusion);

#endif
