/* SPDX-License-Identifier: MIT */
/* Averages of bytes: sums of decoded numbers that become whole numbers again.
 *
 *     set %sum = %sum + f32(i32(%x[%i]) - 128) * 0.127
 *     store %y[0] = u8(round(%sum * 0.015625 / 0.127) + 128.0)
 *
 * Where the scales of both sides are equal, results often lie halfway between two numbers, and the
 * last bit of the sum decides. So these sums are rounded product by product, in the order of the
 * graph, on every target. */
#ifndef PASSES_VECTORIZE_AVERAGES_H
#define PASSES_VECTORIZE_AVERAGES_H

#include "ir/loop/loop.h"

/* Returns the variables of f that are such sums, as keys for averages_has, in arena. */
struct map *averages_find(struct arena *arena, const struct loop_function *f);
bool averages_has(const struct map *averages, const struct loop_variable *v);

#endif
