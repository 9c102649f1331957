/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def as functions, and the pattern helpers they share. */
#ifndef PASSES_SIMPLIFY_SIMPLIFY_H
#define PASSES_SIMPLIFY_SIMPLIFY_H

#include "passes/pass.h"

/* The value that replaces op's result, or NULL when the pattern is not there. */
typedef struct value *(*rewrite_function)(struct builder *b, struct op *op,
                                          struct pass_context *context);

#define RULE(code, class, name, algebra, when)                         \
        struct value *rewrite_##name(struct builder *b, struct op *op, \
                                     struct pass_context *context);
#define ELEMENTWISE(class, name, algebra, when) RULE(, class, name, algebra, when)
#include "passes/simplify/simplify.def"

/* if_constant for an if of several results, in place; false: its condition is not known */
bool simplify_if(struct op *op);
/* a splat of this number, of this sign where it is zero */
bool simplify_is(const struct value *v, double number);
/* a constant, or a constant spread by broadcasts and reshapes */
bool simplify_is_spread_constant(const struct value *v);
/* What a broadcast spreads, and onto which dimensions; of a constant: its numbers without
 * dimensions that say nothing (of small ones, which fold spreads: where they repeat themselves).
 * Else NULL. */
struct value *simplify_spread_source(struct builder *b, struct value *v, int64_t onto[RANK_MAX]);
/* The same value, or constants of the same contents: a dump reads back small constants apart that
 * were one. */
bool simplify_same(const struct value *x, const struct value *y);
/* factor, of operand i of the contraction (of a convolution: its weights, or a splat), as a factor
 * of its result; NULL when it varies along a contracted dimension */
struct value *simplify_result_factor(struct builder *b, const struct op *contraction, int i,
                                     struct value *factor);
/* Arithmetic of floats that are made of bytes and constants alone, and become whole numbers (or
 * scale what does): beside halves, each of its roundings counts, and rules that keep real numbers
 * alone leave it as it is. */
bool simplify_is_between_bytes(const struct op *op);
/* A sum of such floats that becomes such numbers: the order of additions counts. */
bool simplify_is_average_of_bytes(const struct op *op);
/* The axes of a reduce as a mask, when they are constant and vanish from its shape; the same
 * reduction of another operand along the axes of a mask. */
bool simplify_axes(const struct op *op, unsigned *mask);
struct value *simplify_reduce(struct builder *b, const struct op *like, struct value *x,
                              unsigned mask);

/* dot(x, w) with the other dimension of w, a constant matrix, contracted; NULL: it is so
 * already, or is no such product */
struct value *dot_turned(struct builder *b, struct op *op, int64_t contracted);

#endif
