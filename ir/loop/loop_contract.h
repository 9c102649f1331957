/* SPDX-License-Identifier: MIT */
/* Contracts a * b + c to one rounding instead of two, where the target has an instruction for it:
 * that is faster, and gives other bits. Only the contract pass does it, and the library has a twin
 * of every function that gains by it, `exp_fused` of `exp`, within the same error bound. */
#ifndef IR_LOOP_LOOP_CONTRACT_H
#define IR_LOOP_LOOP_CONTRACT_H

#include "ir/loop/loop.h"

/* Returns a copy of e, on vectors, in which sums of products are fma, and calls are of twins.
 * rounded: e becomes a whole number; such sums stay as they are, there and below `round`. *count
 * grows by the number of contractions. */
struct loop_expr *loop_contract(struct arena *arena, const struct loop_library *library,
                                const struct loop_expr *e, bool rounded, int *count);

/* Returns the twin of a function of f32; NULL where it has no such products, branches or loops,
 * needs more than 32 bits, or is exact. */
struct loop_function *loop_contract_twin(struct arena *arena, const struct loop_library *library,
                                         const struct loop_function *f);

#endif
