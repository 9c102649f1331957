/* SPDX-License-Identifier: MIT */
/* Predicts the cost of a block of Loop IR (code.c). */
#ifndef COST_CODE_H
#define COST_CODE_H

#include "ir/loop/loop_bounds.h"
#include "ir/target/target.h"

/* Returns the predicted cycles of one core, roughly. target NULL: a target that has masks and all
 * types of vectors; bounds NULL: nothing is known of variables. */
double cost_of_code(const struct target *target, const struct loop_bounds *bounds,
                    const struct loop_block *block);
/* Returns those of one call of a kernel whose scalar arguments lie in these ranges: its code, or
 * the time that so many bytes of constants take from the second cache. */
double cost_of_call(const struct target *target, const struct loop_function *kernel,
                    const struct loop_range *scalars, double constants);

#endif
