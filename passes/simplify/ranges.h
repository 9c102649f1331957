/* SPDX-License-Identifier: MIT */
/* Whole numbers: what is known of integers that are multiplied. */
#ifndef PASSES_SIMPLIFY_RANGES_H
#define PASSES_SIMPLIFY_RANGES_H

#include "passes/pass.h"

/* Returns how many products an element of a convolve or dot is the sum of. */
int64_t whole_products(const struct op *op);
double whole_products_most(const struct op *op);          /* At the bounds of extents. */
/* Returns the largest magnitude that a sum of a convolve or dot of integers can have. */
double whole_sum_bound(const struct op *op);
/* A float holds every whole number up to this one. */
enum { WHOLE_IN_FLOATS = 1 << 24 };
/* Are sums in floats exact, too? They are where no sum of a convolve or dot of integers is larger
 * than WHOLE_IN_FLOATS. */
bool whole_in_floats(const struct op *op);
/* Has the target a multiply for such integers? */
bool whole_multiplies(const struct pass_context *context, enum element x, enum element w);

/* Returns why a convolve or dot of floats that are decoded bytes is not one of integers once
 * simplify has run; NULL for any other operation (integers.c). */
const char *whole_obstacle(const struct op *op, const struct pass_context *context);

struct whole_range { double low, high; };

struct whole_range whole_range_of_element(enum element e);
/* Returns the range of an integer value, as far as types and numbers tell. */
struct whole_range whole_range_of(const struct value *v);
static inline double whole_largest(struct whole_range r)
{
        return -r.low > r.high ? -r.low : r.high;
}
/* Returns the ranges of the sums of each output of a convolve or dot by constant integer weights,
 * and of all parts of a sum that a border leaves: one range for each index of w's dimension
 * whole_outputs(op). NULL: it is no such operation. */
struct whole_range *whole_ranges_of_sums(struct arena *arena, const struct op *op);
/* Returns the dimension of w that is the outputs', for a convolution or a product of matrices; -1:
 * there is not exactly one. */
int whole_outputs(const struct op *op);
/* Returns the largest sum of magnitudes of the weights of an output, which is an index of dimension
 * `along`. */
double whole_largest_sum(struct arena *arena, const struct value *w, int along);

#endif
