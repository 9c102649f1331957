/* SPDX-License-Identifier: MIT */
/* Which multiply (ir/target/multiply.h) a contraction gets, before its operands are packed for
 * it. */
#ifndef PASSES_LAYOUT_MULTIPLIES_H
#define PASSES_LAYOUT_MULTIPLIES_H

#include "ir/target/multiply.h"
#include "passes/pass.h"
#include "schedule/schedule_choice.h"

/* The best that the target has for such operands, of a form that the least of several targets has,
 * too: panels are packed for all of them. NULL: none. */
const struct multiply *multiply_in(const struct pass_context *context, enum element x,
                                   enum element w);
/* the same among those whose sums are in hardware tiles */
const struct multiply *multiply_in_tiles(const struct pass_context *context, enum element x,
                                         enum element w);
/* and among those whose sums are in vectors, for w that are no larger than `limit`; 0: not known */
const struct multiply *multiply_in_vectors(const struct pass_context *context, enum element x,
                                           enum element w, int limit);
/* The largest magnitude of constant weights of i8; 0: they are none. For a multiply that is
 * right for small ones (its `limit`). */
int multiply_limit(const struct value *w);
/* the one for a contraction of 8-bit integers whose sums are of i32, or NULL */
const struct multiply *multiply_of_bytes(const struct pass_context *context, const struct op *op);
/* The elements that m's operand x should have in memory: those of its words, where m would widen
 * narrower ones each time that it loads them and the target multiplies these, too. */
enum element multiply_reads(const struct pass_context *context, const struct multiply *m);
/* Of bytes that are multiplied by bytes with a sign: with or without one themselves (E_I8,
 * E_U8), as words of more of them are; E_BOOL: the target does not mind. */
enum element multiply_sign(const struct pass_context *context);
/* of a product, m, or where that is of a warp group and slower for it, that of each warp for
 * itself */
const struct multiply *multiply_of_product(const struct pass_context *context,
                                           const struct multiply *m,
                                           const struct schedule_product *p);
/* vectors of a panel of the product's weights */
int64_t multiply_panel(const struct target *target, const struct multiply *m,
                       const struct schedule_product *p);
/* the same where sums of a block become such of floats, which are as many, and memory is to be
 * small */
int64_t multiply_few(const struct target *target, const struct multiply *m, int64_t outputs,
                     int64_t positions);

#endif
