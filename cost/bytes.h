/* SPDX-License-Identifier: MIT */
/* Predicts the cost of making a byte of an integer sum (bytes.c). */
#ifndef COST_BYTES_H
#define COST_BYTES_H

#include "ir/target/target.h"

/* Return the predicted cycles of one core for each byte: bytes_cost_of_floats with `operations`
 * operations of floats, as the model has them; bytes_cost_of_integers with an integer multiplier
 * and a shift. even: halves are rounded to even numbers. */
double bytes_cost_of_floats(int operations, const struct target *t);
double bytes_cost_of_integers(bool even, const struct target *t);

#endif
