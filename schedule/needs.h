/* Which elements of its operands an element of a result needs, along one dimension: see needs.c. */
#ifndef SCHEDULE_NEEDS_H
#define SCHEDULE_NEEDS_H

#include "ir/tensor.h"

enum { NEED_SCALE_MAX = 1 << 12 };

/* any: of some elements; all: unknown which; else element i needs i * scale + low .. i * scale + high */
struct need { bool any, all; int64_t scale, low, high; };

/* What an element of op's result needs of an operand along `dimension` (2 is the first spatial one of [N, C, spatial]), n being
 * what an element of something behind op needs of op. */
struct need need_through(const struct op *op, int operand, int dimension, struct need n);
/* both; false: two ways that do not go together */
bool need_add(struct need *to, struct need n);

#endif
