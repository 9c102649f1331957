/* SPDX-License-Identifier: MIT */
/* Masks that follow from indices, and numbers in equal steps. */
#ifndef FRONT_COMPOSE_COMPOSE_MASK_H
#define FRONT_COMPOSE_COMPOSE_MASK_H

#include "front/compose/compose.h"

/* Returns bool, of the dimensions of indices (of any integer type, or whole floats) and one of
 * `depth` at `axis`: true at the index. A negative index counts from the end; where it is out of
 * range, all is false. */
struct value *compose_one_hot(struct compose *c, struct value *indices, int axis, int64_t depth);
/* Returns x with 0 where, in its last two dimensions, the column less the row is less than k, or
 * where it is greater (not upper). k: an i64 scalar. */
struct value *compose_triangle(struct compose *c, struct value *x, struct value *k, bool upper);
/* Returns bool, of the dimensions of t: true where the column less the row is k. */
struct value *compose_eye(struct compose *c, const struct type *t, int64_t k);
/* Returns start, start + delta, .. of type t, which has one dimension. start, delta: scalars of its
 * element. Floats are computed in f64 and rounded once. */
struct value *compose_range(struct compose *c, struct value *start, struct value *delta,
                            const struct type *t);

#endif
