/* SPDX-License-Identifier: MIT */
/* The cost model of sums of scalars, side by side (scalars.c): predicted cycles of one core. */
#ifndef COST_SCALARS_H
#define COST_SCALARS_H

#include <stdbool.h>

#include "ir/target/target.h"

/* One iteration of sums side by side: products, numbers loaded, values that want registers at
 * once. */
struct scalar_step { double sums, loads, held; bool floats; };
double scalars_step_cost(const struct scalar_step *step, const struct target *t);

/* Sums of `columns` neighbours, in an array, in each of some rows; in one pass over it products of
 * `steps` iterations are added to each. Of one iteration: numbers loaded for each column, and
 * such as are the same for all columns. Products may be of 16 bits. */
struct scalar_strip { int rows, columns, steps; double loads, held; bool floats, narrow; };
/* One sum of so many products of 16 bits, whose operands lie side by side: do C compilers add up
 * vectors of them? Cycles of an iteration, with so many loads. */
bool scalars_reduce(int64_t products, const struct target *t);
double scalars_reduction_cost(int loads, const struct target *t);
/* of a vector that C compilers make of neighbours */
int scalars_vector_bytes(const struct target *t);
/* cycles of one iteration, in one column */
double scalars_strip_cost(const struct scalar_strip *strip, const struct target *t);
/* what time counts more for, where columns are left whose code is one more */
double scalars_edge_factor(const struct target *t);

#endif
