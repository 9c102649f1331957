/* SPDX-License-Identifier: MIT */
/* Declares the rules of simplify.def as functions, and the helpers that they share. */
#ifndef PASSES_SIMPLIFY_SIMPLIFY_H
#define PASSES_SIMPLIFY_SIMPLIFY_H

#include "passes/pass.h"

/* Returns the value that replaces op's result, or NULL when the pattern is not there. */
typedef struct value *(*rewrite_function)(struct builder *b, struct op *op,
                                          struct pass_context *context);

#define RULE(code, class, name, algebra, when)                         \
        struct value *rewrite_##name(struct builder *b, struct op *op, \
                                     struct pass_context *context);
#define ELEMENTWISE(class, name, algebra, when) RULE(, class, name, algebra, when)
#include "passes/simplify/simplify.def"

/* Applies if_constant to an if of several results, in place. Returns false if its condition is not
 * known. */
bool simplify_if(struct op *op);
/* Is v a splat of this number, with the same sign where it is zero? */
bool simplify_is(const struct value *v, double number);
/* Is v a constant, or a constant spread by broadcasts and reshapes? */
bool simplify_is_spread_constant(const struct value *v);
/* Returns what a broadcast spreads, and onto which dimensions. A constant is returned without
 * dimensions along which its numbers are equal (for small constants, which fold spreads: along
 * which they repeat). NULL: v is neither. */
struct value *simplify_spread_source(struct builder *b, struct value *v, int64_t onto[RANK_MAX]);
/* Returns f(x, y) of two constants of one type, spread by broadcasts or not, as a constant that is
 * spread where they are; NULL: it would be larger than both, or one is none. */
struct value *simplify_join(struct builder *b, enum opcode code, struct value *x, struct value *y);
/* Are x and y the same value, or constants of equal contents? A dump reads small constants back as
 * several that were one. */
bool simplify_same(const struct value *x, const struct value *y);
/* Returns the factor of operand i of the contraction (of a convolution: of its weights, or a splat)
 * as a factor of its result; NULL when it varies along a contracted dimension. */
struct value *simplify_result_factor(struct builder *b, const struct op *contraction, int i,
                                     struct value *factor);
/* Is op arithmetic of floats that are made of bytes and constants alone, and that become whole
 * numbers (or scale what does)? Beside halves, each of its roundings counts, and rules that keep
 * only the real numbers leave it as it is. */
bool simplify_is_between_bytes(const struct op *op);
/* Is op a sum of such floats that becomes whole numbers? The order of its additions counts. */
bool simplify_is_average_of_bytes(const struct op *op);
/* simplify_axes finds the axes of a reduce as a mask, when they are constant and vanish from its
 * shape; simplify_reduce builds the same reduction of another operand along the axes of a mask. */
bool simplify_axes(const struct op *op, unsigned *mask);
struct value *simplify_reduce(struct builder *b, const struct op *like, struct value *x,
                              unsigned mask);

/* Builds dot(x, w) with the other dimension of w, a constant matrix, contracted; NULL: it is so
 * already, or op is no such product. */
struct value *dot_turned(struct builder *b, struct op *op, int64_t contracted);

#endif
