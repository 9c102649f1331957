/* Kernels that pass rows on through rings: see rings.c. */
#ifndef SCHEDULE_RINGS_H
#define SCHEDULE_RINGS_H

#include "ir/lower_emit.h"

/* Does the kernel of a fusion keep rows of some results inside it as rings? */
bool rings_wanted(const struct kernel_request *request);
/* writes it so; false: it cannot be written so */
bool rings_kernel(struct emit *e, const struct kernel_request *request, struct loop_buffer *buffer);
/* Bytes of all rings of a fusion; 0: it has none; -1: its rows cannot be passed on so. *obstacle: the operation that is in the way */
int64_t rings_bytes(const struct op *fusion, const struct op **obstacle);
/* says that the result of an operation inside a fusion is kept as a ring */
void rings_mark(struct op *op);

#endif
