/* SPDX-License-Identifier: MIT */
/* Proves which iterations of a loop may run at the same time. */
#ifndef PASSES_VECTORIZE_INDEPENDENCE_H
#define PASSES_VECTORIZE_INDEPENDENCE_H

#include "ir/loop/loop_bounds.h"

enum { INDEPENDENT_LOOPS_MAX = 8 };

/* Returns whether it is proved that no iteration of the loops (each one directly inside the one
 * before; where there are several, from a literal to a
 * literal or to what is the same in all iterations) touches memory that another one
 * writes, sets a variable that was declared outside or, unless it may, fails. */
bool loops_are_independent(const struct loop_bounds *bounds, struct loop_stmt *const *loops,
                           int count, bool may_fail);

#endif
