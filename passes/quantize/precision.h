/* SPDX-License-Identifier: MIT */
/* Which contractions read bf16 or f16, as context->precision says. */
#ifndef PASSES_QUANTIZE_PRECISION_H
#define PASSES_QUANTIZE_PRECISION_H

#include "passes/pass.h"

/* Marks (op->number) those that are predicted to take the share of their time that
 * --limit bf16_percent (f16_percent) says so, at most. Returns how many there are. */
int precision_choose(struct function *f, const struct pass_context *context);

/* Contractions of f16 and bf16, and what is computed around them, become such of f32
 * (precision_widen.c). Returns how many operations, -1 after an error. */
int precision_widen(struct function *f, struct pass_context *context);

#endif
