/* SPDX-License-Identifier: MIT */
/* Kernels that pass rows on through rings: see rings.c. */
#ifndef KERNELS_RINGS_H
#define KERNELS_RINGS_H

#include "ir/lower/lower_emit.h"

/* Does the kernel of a fusion keep rows of some results inside it as rings? */
bool rings_wanted(const struct kernel_request *request);
/* writes it so; false: it cannot be written so */
bool rings_kernel(struct emit *e, const struct kernel_request *request, struct loop_buffer *buffer);
/* What the rings of an operation take, what it computes, and of that, what it computes more than
 * once; all 0: it has no rings. */
struct rings_cost { int64_t bytes; double flops, again; };
/* false: its rows (or patches) cannot be passed on so. *obstacle: the operation that is in the
 * way */
bool rings_cost(const struct op *op, struct rings_cost *cost, const struct op **obstacle);
/* says that the result of an operation inside a fusion is kept as a ring */
void rings_mark(struct op *op);
/* The schedule of a fusion's result becomes "as many columns at a time". rings_columns: how many
 * there are. */
void rings_set_patch(struct op *fusion, int64_t columns);
int64_t rings_columns(const struct op *fusion);

#endif
