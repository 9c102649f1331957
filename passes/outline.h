/* SPDX-License-Identifier: MIT */
#ifndef PASSES_OUTLINE_H
#define PASSES_OUTLINE_H

#include "ir/loop/loop.h"

/* Returns the statements in the body of a loop around others; 0: it holds no loops, or can be no
 * function, because it sets variables from outside, fails or launches. */
int outline_statements(const struct loop_stmt *loop);
/* Makes a loop of the kernel the launch of a task, and returns the task, which the caller puts
 * before the kernel. The loop sets no variable from outside, and does not fail. */
struct loop_function *outline_loop(struct loop_program *p, const struct loop_function *kernel,
                                   struct loop_stmt *s);

#endif
