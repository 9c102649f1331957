/* SPDX-License-Identifier: MIT */
/* This is the cost model of several scalar sums at a time (scalars.c): predicted cycles of one
 * core. */
#ifndef COST_SCALARS_H
#define COST_SCALARS_H

#include <stdbool.h>

#include "ir/target/target.h"

/* An iteration of several sums adds `sums` products, loads `loads` numbers, and has `held` values
 * that need registers at once. */
struct scalar_step { double sums, loads, held; bool floats; };
double scalars_step_cost(const struct scalar_step *step, const struct target *t);

/* An accumulator row holds sums of `columns` neighbours in an array, for each of `results` results
 * side by side. One pass over it adds `terms` products to each sum. For an iteration, `loads`
 * counts numbers loaded for each column, `held` those that all columns share. narrow: products are
 * of 16 bits. */
struct scalar_row { int results, columns, terms; double loads, held; bool floats, narrow; };
/* scalars_reduce: Do C compilers use vectors for one sum of `products` products of 16 bits, whose
 * operands are contiguous? scalars_reduction_cost returns the cycles of an iteration with `loads`
 * loads. */
bool scalars_reduce(int64_t products, const struct target *t);
double scalars_reduction_cost(int loads, const struct target *t);
/* Returns the bytes of a vector that C compilers make of neighbours. */
int scalars_vector_bytes(const struct target *t);
/* Returns the cycles of one iteration, in one column. */
double scalars_row_cost(const struct scalar_row *row, const struct target *t);
/* Returns the factor by which time counts more, where remaining columns need code of their own. */
double scalars_edge_factor(const struct target *t);

#endif
