/* SPDX-License-Identifier: MIT */
/* Which multiply (ir/target/multiply.h) a contraction gets, before its operands are packed for
 * it. */
#ifndef PASSES_LAYOUT_MULTIPLIES_H
#define PASSES_LAYOUT_MULTIPLIES_H

#include "ir/target/multiply.h"
#include "passes/pass.h"
#include "schedule/schedule_choice.h"

/* Returns the best multiply that the target has for such operands, in a form that the smallest of
 * several targets has, too: panels are packed for all of them. NULL: there is none. */
const struct multiply *multiply_in(const struct pass_context *context, enum element x,
                                   enum element w);
/* Returns the best of those whose sums are in hardware tiles. */
const struct multiply *multiply_in_tiles(const struct pass_context *context, enum element x,
                                         enum element w);
/* Returns the best of those whose sums are in vectors, for w whose magnitudes are at most `limit`;
 * 0: they are not known. */
const struct multiply *multiply_in_vectors(const struct pass_context *context, enum element x,
                                           enum element w, int limit);
/* Returns the largest magnitude of constant weights of i8, which a multiply may need to be small
 * (its `limit`); 0: w is none. */
int multiply_limit(const struct value *w);
/* Returns the multiply for a contraction of 8-bit integers whose sums are of i32, or NULL. */
const struct multiply *multiply_of_bytes(const struct pass_context *context, const struct op *op);
/* Returns the element type that m's operand x should have in memory: that of its words, where m
 * would widen narrower elements each time that it loads them and the target multiplies wide ones,
 * too. */
enum element multiply_reads(const struct pass_context *context, const struct multiply *m);
/* Returns whether bytes that are multiplied by signed bytes should be signed or not (E_I8, E_U8),
 * by which of the two has words of more bytes, or takes fewer instructions; E_BOOL: the target has
 * no preference. */
enum element multiply_sign(const struct pass_context *context);
/* Returns m or, where m is of a warp group and slower for this product, the multiply of a single
 * warp. */
const struct multiply *multiply_of_product(const struct pass_context *context,
                                           const struct multiply *m,
                                           const struct schedule_product *p);
/* Returns how many vectors a panel of the product's weights has. */
int64_t multiply_panel(const struct target *target, const struct multiply *m,
                       const struct schedule_product *p);
/* Returns the same where the sums of a block become floats, which need as many registers, and
 * memory is to be small. */
int64_t multiply_few(const struct target *target, const struct multiply *m, int64_t outputs,
                     int64_t positions);

#endif
