/* SPDX-License-Identifier: MIT */
/* Weights on even steps: what round_weights and byte_weights share. */
#ifndef PASSES_QUANTIZE_WEIGHTS_H
#define PASSES_QUANTIZE_WEIGHTS_H

#include "passes/pass.h"

/* Finds the constants of f's module that such a pass changes: at least limits.weight_elements
 * floats, that contractions multiply by or gathers take rows of, and that nothing else reads. It
 * finds none for functions other than the module's first. */
struct constant **weights_find(struct arena *arena, const struct function *f,
                               const struct limits *limits, int *count);

/* Weights as they are stored (store_weights.c): floats of fewer bits, and their steps, one for each
 * index of the dimensions in `kept` (bit d: dimension d); steps NULL: the numbers are the
 * weights. */
struct stored_weights {
        struct value *numbers, *steps;
        unsigned kept;
};
/* Makes user, which multiplies by constant weights or gathers rows of them, read these, and convert
 * them to f32. */
bool weights_widen(struct op *user, const struct stored_weights *s, struct pass_context *context);

/* Does every finite number of c stay finite, rounded to e (16 bits)? */
bool weights_fit(const struct constant *c, enum element e);

/* A scheme is the step and zero point of some weights: the whole number q, 0 <= q < steps, stands
 * for (q - zero) * step. Zero is represented exactly; any other weight is at most half a step
 * away. */
struct weight_scheme { double step, zero; };

/* Finds the scheme of `count` elements from number `from` on. Returns false if they are not all
 * finite, or too small to be told apart. */
bool weights_scheme(const struct constant *c, int64_t from, int64_t count, int64_t steps,
                  struct weight_scheme *scheme);
/* Returns the number that stands for element i. */
int64_t weights_number(const struct weight_scheme *scheme, const struct constant *c, int64_t i,
                       int64_t steps);

#endif
