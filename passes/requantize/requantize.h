/* SPDX-License-Identifier: MIT */
/* Bytes by integers alone: what the passes requantize and requantize_integer share. */
#ifndef PASSES_REQUANTIZE_REQUANTIZE_H
#define PASSES_REQUANTIZE_REQUANTIZE_H

#include "passes/pass.h"
#include "passes/simplify/ranges.h"

/* Where op makes bytes of a sum of integers by floats, makes them by a whole multiplier that
 * gives the same bytes. always: however long that takes, and where there is no such multiplier,
 * by the one for which fewest sums become another byte, which is off by one. 1: done, and op is
 * gone; 0: it stays; -1 after an error. (requantize.c) */
int requantize_sum(struct op *op, struct pass_context *context, bool always);

/* Where op makes bytes of several tensors of whole numbers, added up in floats (a layer's sums
 * and the other branch of a residual block), makes them by a whole factor for each. The same
 * returns. (whole_terms.c) */
int requantize_terms(struct op *op, struct pass_context *context);

/* Where op makes bytes of one or two tensors of bytes, element by element, makes them by a
 * table, or by a whole multiplier for each of the two (byte_functions.c). The same returns. */
int requantize_bytes(struct op *op, struct pass_context *context);

/* Where op adds up decoded bytes, of windows or whole dimensions, adds the bytes up. The same
 * returns. (requantize_windows.c) */
int requantize_windows(struct op *op, struct pass_context *context);

/* Where op makes bytes of a softmax of bytes, makes them by a table and a division of integers. The
 * same returns. (byte_softmax.c) */
int requantize_softmax(struct op *op, struct pass_context *context);

/* the whole numbers that v can be: by weights and bytes where it is a sum of products, by the
 * bytes that it adds up, or by its type (requantize.c) */
struct whole_range requantize_range(const struct value *v);

/* A constant, the same in all places, or one number for each along a dimension. (requantize.c) */
struct spread { const struct constant *constant; int64_t stride; };     /* from number to number */
/* The constant that v is spread from; *along: the dimension that its numbers lie along, unless it
 * was another one before; -1: there was none. False: it is no such. */
bool spread_find(const struct value *v, int *along, struct spread *s);
union scalar spread_number(const struct spread *s, int64_t i);
/* `count` numbers of e, spread along a dimension of values that are shaped like a type; or one,
 * where they are the same */
struct value *spread_build(struct builder *b, const struct type *like, int along, enum element e,
                           const void *numbers, int64_t count, const char *name);

#endif
