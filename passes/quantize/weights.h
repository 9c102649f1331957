/* SPDX-License-Identifier: MIT */
/* Weights on even steps: what round_weights and byte_weights share. */
#ifndef PASSES_QUANTIZE_WEIGHTS_H
#define PASSES_QUANTIZE_WEIGHTS_H

#include "passes/pass.h"

/* The constants of f's module that such a pass changes: floats, limits.weight_elements or more,
 * that contractions multiply by or gathers take rows of, and that nothing else reads. None but for
 * the module's first function. */
struct constant **weights_find(struct arena *arena, const struct function *f,
                               const struct limits *limits, int *count);

/* Weights as they are stored (store_weights.c): floats of fewer bits, and the steps that they
 * are in, for each index of the dimensions `kept` of them (bit d: dimension d); NULL: they are
 * the weights. */
struct stored_weights {
        struct value *numbers, *steps;
        unsigned kept;
};
/* user, which multiplies by constant weights or gathers rows of them, reads these, and brings
 * them to f32 */
bool weights_widen(struct op *user, const struct stored_weights *s, struct pass_context *context);

/* rounded to e (16 bits), no finite number of c becomes infinite */
bool weights_fit(const struct constant *c, enum element e);

/* The step and zero point of some weights: the whole number q, 0 <= q < steps, stands for (q -
 * zero) * step. Zero stands for itself; any other weight is at most half a step away. */
struct weight_scheme { double step, zero; };

/* that of `count` elements from number `from` on; false: they are not all finite, or too small to
 * be told apart */
bool weights_scheme(const struct constant *c, int64_t from, int64_t count, int64_t steps,
                  struct weight_scheme *scheme);
/* the number that stands for element i */
int64_t weights_number(const struct weight_scheme *scheme, const struct constant *c, int64_t i,
                       int64_t steps);

#endif
