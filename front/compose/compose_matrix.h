/* SPDX-License-Identifier: MIT */
/* This header has determinants, inverses, and sums of products by an equation of labels. */
#ifndef FRONT_COMPOSE_COMPOSE_MATRIX_H
#define FRONT_COMPOSE_COMPOSE_MATRIX_H

#include "front/compose/compose.h"

/* Returns the determinants of the square matrices in the last two dimensions of x. That of a matrix
 * without elements is 1. */
struct value *compose_determinant(struct compose *c, struct value *x);

/* Returns the inverses of the square matrices in the last two dimensions of x; for a matrix that
 * has none, its numbers are not specified. */
struct value *compose_inverse(struct compose *c, struct value *x);

/* Einstein's summation is written as numpy writes it: "ij,jk->ik", also with "..." and without a
 * result. */
struct compose_einsum {
        const char *equation, *end;     /* The equation's bytes are those up to `end`. */
        struct value *const *operands;  /* The operands have one element type. */
        int count;                      /* There are so many operands, at least 1. */
};
struct value *compose_einsum(struct compose *c, const struct compose_einsum *in);

#endif
