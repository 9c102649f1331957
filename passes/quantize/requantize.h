/* Bytes by integers alone: what the passes requantize and requantize_integer share. */
#ifndef PASSES_QUANTIZE_REQUANTIZE_H
#define PASSES_QUANTIZE_REQUANTIZE_H

#include "passes/pass.h"

/* Where op makes bytes of a sum of integers by floats, makes them by a whole multiplier that gives the
 * same bytes. always: however long that takes, and where there is no such multiplier, by the one for
 * which fewest sums become another byte, which is off by one. 1: done, and op is gone; 0: it stays; -1 after an error.
 * (requantize.c) */
int requantize_sum(struct op *op, struct pass_context *context, bool always);

/* Where op makes bytes of one or two tensors of bytes, element by element, makes them by a table, or
 * by a whole multiplier for each of the two (byte_functions.c). The same returns. */
int requantize_bytes(struct op *op, struct pass_context *context);

/* Where op makes bytes of a softmax of bytes, makes them by a table and a division of integers. The
 * same returns. (byte_softmax.c) */
int requantize_softmax(struct op *op, struct pass_context *context);

#endif
