/* SPDX-License-Identifier: MIT */
/* The cost of a byte that is made of an integer sum (bytes.c). */
#ifndef COST_BYTES_H
#define COST_BYTES_H

#include "ir/target/target.h"

/* Predicted cycles of one core for each byte: by so many operations of floats, as the model has
 * them, and by a whole multiplier and a shift; even: with halves to even numbers. */
double bytes_cost_of_floats(int operations, const struct target *t);
double bytes_cost_of_integers(bool even, const struct target *t);

#endif
