/* SPDX-License-Identifier: MIT */
/* Predicts what windows of one channel each cost (lanes_cost.c), in cycles of one core. */
#ifndef ENGINES_VECTOR_LANES_COST_H
#define ENGINES_VECTOR_LANES_COST_H

#include "ir/target/target.h"

struct lanes_shape { int64_t rows, columns, stride[2], window[2]; };

/* Returns the cost of one position of a register tile. at_once: the whole window is in registers;
 * resident: it stays there from tile to tile. */
double lanes_cost(const struct lanes_shape *sh, int rows, int columns, bool at_once, bool resident,
                  const struct target *t);
/* Is a window of so many offsets worth its code without a loop, although registers do not hold
 * it? */
bool lanes_unroll_window(int64_t offsets, const struct target *t);
/* Returns the cost of a reduction of windows with `elements` elements. */
double windows_cost(double elements, const struct target *t);

#endif
