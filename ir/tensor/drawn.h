/* SPDX-License-Identifier: MIT */
/* Random numbers for a model's inputs (drawn.c), which --check, --bench and --tune use where the
 * user gives no samples. Floats are in [-1, 1). Integers are small and not negative, except indices
 * of a table's rows: these are drawn from all rows, as a text has words from all over its
 * vocabulary. */
#ifndef IR_TENSOR_DRAWN_H
#define IR_TENSOR_DRAWN_H

#include "ir/tensor/tensor.h"

/* Fills extents[k], for each argument of the function: the smallest dimension that its elements,
 * unchanged, choose from; 0: they choose from none. It numbers values (value.number). */
void drawn_extents(struct function *f, int64_t *extents);
/* Draws `count` elements; extent: the number that drawn_extents found for them. */
void drawn_fill(enum element e, void *data, int64_t count, int64_t extent, uint64_t seed);
/* Draws `bytes` bytes of texts, each of which has `room` bytes, its NUL included: short words of
 * ASCII letters and digits, with spaces between them. */
void drawn_texts(void *data, int64_t bytes, int64_t room, uint64_t seed);

#endif
