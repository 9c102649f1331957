/* SPDX-License-Identifier: MIT */
/* Bounds are what is known of subscripts: between which numbers they lie, and what divides them.
 *
 *     for %i = 0 to 12 step 4 {            %i: 0 .. 8, multiple of 4
 *       let %p : index = %i * 16 + 8       %p: 8 .. 136, multiple of 8
 *
 * They hold for whatever data a run has; "unknown" is a valid answer. */
#ifndef IR_LOOP_LOOP_BOUNDS_H
#define IR_LOOP_LOOP_BOUNDS_H

#include "ir/loop/loop.h"

struct loop_bounds;
struct loop_range {
        int64_t low, high;              /* Both are included; INT64_MIN, INT64_MAX: unknown. */
        int64_t multiple;               /* All values are multiples of it; 0: the value is 0, 1:
                                         * nothing is known. */
};

/* Finds the bounds of every index variable that f declares. */
struct loop_bounds *loop_bounds_new(struct arena *arena, const struct loop_function *f);
/* Does so for a call of kernel f with scalar arguments of these ranges. */
struct loop_bounds *loop_bounds_called(struct arena *arena, const struct loop_function *f,
                                       const struct loop_range *scalars);
/* Does so for the task that a statement of a kernel launches; `kernel` are the kernel's bounds. */
struct loop_bounds *loop_bounds_launched(struct arena *arena, const struct loop_bounds *kernel,
                                         const struct loop_stmt *launch);
/* Sets the bounds of one more variable. */
void loop_bounds_set(struct loop_bounds *bounds, const struct loop_variable *v,
                     struct loop_range range);
/* Returns the bounds of an integer or bool expression; bounds NULL: only literals are known. */
struct loop_range loop_bounds_of(const struct loop_bounds *bounds, const struct loop_expr *e);
/* Returns the bounds of the variable of a FOR from `from` to `to`. */
struct loop_range loop_bounds_for(const struct loop_bounds *bounds, const struct loop_expr *from,
                                  const struct loop_expr *to, int64_t step);

#endif
