/* SPDX-License-Identifier: MIT */
/* a * b + c with one rounding instead of two, where the target has an instruction for it: faster,
 * and other bits. Nothing does it by itself: the contract pass does, and the library has a twin of
 * every function that gains by it, `exp_fused` of `exp`, within the same error bound. */
#ifndef IR_LOOP_CONTRACT_H
#define IR_LOOP_CONTRACT_H

#include "ir/loop/loop.h"

/* A copy of e, on vectors, in which sums of products are fma, and calls those of twins. rounded:
 * e is to become a whole number; such sums stay what they are, there and below `round`. *count
 * grows by how many. */
struct loop_expr *loop_contract(struct arena *arena, const struct loop_library *library,
                                const struct loop_expr *e, bool rounded, int *count);

/* The twin of a function of f32; NULL where it has no such products, where it branches or loops,
 * where it needs more than 32 bits, and where it is exact. */
struct loop_function *loop_contract_twin(struct arena *arena, const struct loop_library *library,
                                         const struct loop_function *f);

#endif
