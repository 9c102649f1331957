/* Which contractions read bf16. */
#ifndef PASSES_QUANTIZE_PRECISION_H
#define PASSES_QUANTIZE_PRECISION_H

#include "passes/pass.h"

/* Marks (op->number) those that are predicted to take `percent` of the time so, at most. Returns
 * how many there are. */
int precision_choose(struct function *f, const struct target *target, int64_t percent);

#endif
