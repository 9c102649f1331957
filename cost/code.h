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
/* Returns the work of a block of one run in products, which are multiplications whose results are
 * added up; any other operation counts as one. `run` has the values of the variables around the
 * block, and gets those of its own. */
double cost_of_work(struct loop_bounds *run, const struct loop_block *block);
/* Returns the work of a call of the kernel, at the bounds of its extents. */
double cost_of_kernel_work(const struct loop_function *kernel);

/* Counts what one call of a kernel executes on a core without vectors that starts one instruction
 * in a cycle: instructions, those of them that load or store at most four bytes, and branches back
 * to the start of a loop. Scalar arguments are as for cost_of_call. Fitted to what QEMU counts of
 * code by gcc 12 -O2 (docs/measurements/firmware.md): models of the table are within 15 %. */
enum code_count {
        COUNT_NONE,
        COUNT_INSTRUCTIONS,
        COUNT_LOADS,
        COUNT_STORES,
        COUNT_BRANCHES,
        COUNT_CODE,                     /* Instructions of the code, each once, are for code_bytes
                                         * alone, and */
        COUNT_WORK                      /* work in products for cost_of_work. */
};
double code_count(enum code_count what, const struct target *target,
                  const struct loop_function *kernel, const struct loop_range *scalars);
/* Returns about how many bytes of code a function is on such a core, addresses included. */
double code_bytes(const struct target *target, const struct loop_function *f);
/* Returns the words of stack that a function takes besides its variables and parameters; 0: nobody
 * knows for which core it is. */
int64_t code_stack_words(const struct target *target);

#endif
