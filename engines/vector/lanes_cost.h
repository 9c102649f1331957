/* SPDX-License-Identifier: MIT */
/* The cost models of windows of one channel each (lanes.c): predicted cycles of one core. */
#ifndef ENGINES_VECTOR_LANES_COST_H
#define ENGINES_VECTOR_LANES_COST_H

#include "ir/target/target.h"

struct lanes_shape { int64_t rows, columns, stride[2], window[2]; };

/* For one position of a register tile of so many; at once: all of the window is in registers;
 * resident: and stays there from tile to tile. */
double lanes_cost(const struct lanes_shape *sh, int rows, int columns, bool at_once, bool resident,
                  const struct target *t);
/* of a reduction of windows: so many elements of them */
double windows_cost(double elements, const struct target *t);

#endif
