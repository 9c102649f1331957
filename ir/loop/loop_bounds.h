/* SPDX-License-Identifier: MIT */
/* What is known of subscripts: between which numbers they lie, and what divides them.
 *
 *     for %i = 0 to 12 step 4 {            %i: 0 .. 8, multiple of 4
 *       let %p : index = %i * 16 + 8       %p: 8 .. 136, multiple of 8
 *
 * Sound whatever a run's data is; "unknown" is a fine answer. */
#ifndef IR_LOOP_BOUNDS_H
#define IR_LOOP_BOUNDS_H

#include "ir/loop/loop.h"

struct loop_bounds;
struct loop_range {
        int64_t low, high;              /* both included; INT64_MIN, INT64_MAX: unknown */
        int64_t multiple;               /* of all values; 0: of the value 0 alone, 1: nothing
                                         * known */
};

/* of every index variable that f declares */
struct loop_bounds *loop_bounds_new(struct arena *arena, const struct loop_function *f);
/* ... of the task that a statement of a kernel launches, whose own are `kernel` */
struct loop_bounds *loop_bounds_launched(struct arena *arena, const struct loop_bounds *kernel,
                                         const struct loop_stmt *launch);
/* of one more */
void loop_bounds_set(struct loop_bounds *bounds, const struct loop_variable *v,
                     struct loop_range range);
/* of an integer or bool expression; bounds NULL: of literals alone */
struct loop_range loop_bounds_of(const struct loop_bounds *bounds, const struct loop_expr *e);
/* of the variable of a FOR whose bounds are these */
struct loop_range loop_bounds_for(const struct loop_bounds *bounds, const struct loop_expr *from,
                                  const struct loop_expr *to, int64_t step);

#endif
