/* SPDX-License-Identifier: MIT */
/* Chooses which contractions read bf16, f16 or tf32, as context->precision says. */
#ifndef PASSES_QUANTIZE_PRECISION_H
#define PASSES_QUANTIZE_PRECISION_H

#include "passes/pass.h"

/* Marks (op->number) the contractions that are predicted to take at most the share of their time
 * that --limit bf16_percent (f16_percent) says. Returns their number. */
int precision_choose(struct function *f, const struct pass_context *context);

/* Makes contractions of f16 and bf16, and what is computed around them, compute in f32
 * (precision_widen.c). Returns how many operations changed, -1 after an error. */
int precision_widen(struct function *f, struct pass_context *context);

#endif
