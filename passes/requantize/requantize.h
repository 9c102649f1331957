/* SPDX-License-Identifier: MIT */
/* Makes bytes by integers alone: what the passes requantize and requantize_integer share. */
#ifndef PASSES_REQUANTIZE_REQUANTIZE_H
#define PASSES_REQUANTIZE_REQUANTIZE_H

#include "passes/pass.h"
#include "passes/simplify/ranges.h"

/* Where op makes bytes of a sum of integers by floats, makes them by a whole multiplier that gives
 * the same bytes. always: it does so however long that takes, and where there is no such
 * multiplier, takes the one for which fewest sums become another byte, which is off by one. Returns
 * 1 where it did, and op is gone; 0 if op stays; -1 after an error (requantize.c). */
int requantize_sum(struct op *op, struct pass_context *context, bool always);

/* Where op makes bytes of several tensors of whole numbers, added up in floats (a layer's sums and
 * the other branch of a residual block), makes them by a whole factor for each. Returns the same
 * (whole_terms.c). */
int requantize_terms(struct op *op, struct pass_context *context);

/* Where op makes bytes of one or two tensors of bytes, element by element, makes them by a table,
 * or by a whole multiplier for each of the two. Returns the same (byte_functions.c). */
int requantize_bytes(struct op *op, struct pass_context *context);

/* Where op adds up decoded bytes, of windows or whole dimensions, adds the bytes up. Returns the
 * same (requantize_windows.c). */
int requantize_windows(struct op *op, struct pass_context *context);

/* Where op makes bytes of a softmax of bytes, makes them by a table and a division of integers.
 * Returns the same (byte_softmax.c). */
int requantize_softmax(struct op *op, struct pass_context *context);

/* Returns the range of the whole numbers v: by weights and bytes where v is a sum of products, by
 * the bytes where it adds bytes up, or by its type (requantize.c). */
struct whole_range requantize_range(const struct value *v);

/* The constant is the same in all places, or has one number for each index of a dimension
 * (requantize.c). */
/* stride is the distance from number to number. */
struct spread { const struct constant *constant; int64_t stride; };
/* Finds the constant that v is spread from. *along: the dimension that its numbers lie along, which
 * must be the same as before; -1: there was none. Returns false if v is no such constant. */
bool spread_find(const struct value *v, int *along, struct spread *s);
union scalar spread_number(const struct spread *s, int64_t i);
/* Builds `count` numbers of e, spread along a dimension of values shaped like a type; or one
 * number, where all are equal. */
struct value *spread_build(struct builder *b, const struct type *like, int along, enum element e,
                           const void *numbers, int64_t count, const char *name);

#endif
