/* SPDX-License-Identifier: MIT */
/* Which elements of its operands an element of a result needs, along one dimension: see needs.c. */
#ifndef KERNELS_NEEDS_H
#define KERNELS_NEEDS_H

#include "ir/tensor/tensor.h"

enum { NEED_SCALE_MAX = 1 << 12 };

/* any: of some elements; all: unknown which; else element i needs (i * scale + low) / per .. (i *
 * scale + high) / per, rounded down, of a dimension of the operand */
struct need { bool any, all; int dimension; int64_t scale, per, low, high; };

/* an element needs itself */
struct need need_itself(int dimension);
/* What an element of something behind op needs of an operand of op, n being what it needs of op's
 * result. */
struct need need_through(const struct op *op, int operand, struct need n);
/* both; false: two ways that do not go together */
bool need_add(struct need *to, struct need n);

#endif
