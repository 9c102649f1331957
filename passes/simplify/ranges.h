/* SPDX-License-Identifier: MIT */
/* Whole numbers: what is known of integers that are multiplied. */
#ifndef PASSES_SIMPLIFY_RANGES_H
#define PASSES_SIMPLIFY_RANGES_H

#include "passes/pass.h"

/* products that an element of a convolve or dot is the sum of */
int64_t whole_products(const struct op *op);
/* the largest magnitude that a sum of a convolve or dot of integers can have */
double whole_sum_bound(const struct op *op);
/* up to which a float holds every whole number */
enum { WHOLE_IN_FLOATS = 1 << 24 };
/* Sums of floats are exact, too: no sum of a convolve or dot of integers is beyond that. */
bool whole_in_floats(const struct op *op);
/* the target has a multiply for such integers */
bool whole_multiplies(const struct pass_context *context, enum element x, enum element w);

/* A convolve or dot of floats that are decoded bytes: why it is not one of integers, once simplify
 * has run; of anything else NULL. (integers.c) */
const char *whole_obstacle(const struct op *op, const struct pass_context *context);

struct whole_range { double low, high; };

struct whole_range whole_range_of_element(enum element e);
/* of an integer value, as far as types and numbers say */
struct whole_range whole_range_of(const struct value *v);
static inline double whole_largest(struct whole_range r)
{
        return -r.low > r.high ? -r.low : r.high;
}
/* The sums of each output of a convolve or dot, and whatever part of one a border leaves, of whole
 * constant weights: one range for each place of w's dimension whole_outputs(op). NULL: it is none
 * such. */
struct whole_range *whole_ranges_of_sums(struct arena *arena, const struct op *op);
/* the dimension of w that is an output's, of a convolution or a product of matrices; -1: there is
 * no one */
int whole_outputs(const struct op *op);
/* the largest sum of magnitudes of the weights of an output, which are those of dimension
 * `along` */
double whole_largest_sum(struct arena *arena, const struct value *w, int along);

#endif
