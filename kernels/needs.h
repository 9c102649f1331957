/* SPDX-License-Identifier: MIT */
/* Needs say which elements of its operands an element of a result needs, along one dimension: see
 * needs.c. */
#ifndef KERNELS_NEEDS_H
#define KERNELS_NEEDS_H

#include "ir/tensor/tensor.h"

enum { NEED_SCALE_MAX = 1 << 12 };

/* This is what an element needs of a dimension of the operand. any: it needs some elements; all:
 * which ones is unknown; otherwise element i needs (i * scale + low) / per .. (i * scale + high) /
 * per, rounded down. */
struct need { bool any, all; int dimension; int64_t scale, per, low, high; };

/* Returns the need of an element for itself. */
struct need need_itself(int dimension);
/* Returns what an element of a later result needs of an operand of op, where n says what it needs
 * of op's result. */
struct need need_through(const struct op *op, int operand, struct need n);
/* Adds n to *to. Returns false where the two cannot be expressed as one need. */
bool need_add(struct need *to, struct need n);

#endif
