/* SPDX-License-Identifier: MIT */
/* Which iterations of a loop may run at the same time. */
#ifndef PASSES_VECTORIZE_INDEPENDENCE_H
#define PASSES_VECTORIZE_INDEPENDENCE_H

#include "ir/loop/loop_bounds.h"

enum { INDEPENDENT_LOOPS_MAX = 8 };

/* Whether no iteration of the loops (each one directly in the one before, where there are several
 * from literal to literal) touches memory that another one writes, and none sets what was declared
 * outside, or (unless they may) fails: proved, or false. */
bool loops_are_independent(const struct loop_bounds *bounds, struct loop_stmt *const *loops,
                           int count, bool may_fail);

#endif
