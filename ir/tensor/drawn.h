/* SPDX-License-Identifier: MIT */
/* Random numbers for a model's inputs (drawn.c): what --check, --bench and --tune run it on
 * where nobody gives samples. Floats are in [-1, 1). Whole numbers are small and not negative,
 * but those by which rows of a table are chosen: these are drawn from all that the table has, as
 * a text has words from all over its vocabulary. */
#ifndef IR_DRAWN_H
#define IR_DRAWN_H

#include "ir/tensor/tensor.h"

/* extents[k], for each argument of the function: of the smallest dimension that its elements
 * choose from, as they are; 0: they choose from none. Numbers values (value.number). */
void drawn_extents(struct function *f, int64_t *extents);
/* so many elements; extent: what drawn_extents says of them */
void drawn_fill(enum element e, void *data, int64_t count, int64_t extent, uint64_t seed);

#endif
