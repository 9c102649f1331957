/* SPDX-License-Identifier: MIT */
/* Determinants, inverses, and sums of products by an equation of labels. */
#ifndef FRONT_COMPOSE_COMPOSE_MATRIX_H
#define FRONT_COMPOSE_COMPOSE_MATRIX_H

#include "front/compose/compose.h"

/* Returns the determinants of the square matrices in the last two dimensions of x. That of a matrix
 * without elements is 1. */
struct value *compose_determinant(struct compose *c, struct value *x);

/* of the square matrices in the last two dimensions of x; of one that has none, no numbers */
struct value *compose_inverse(struct compose *c, struct value *x);

/* Einstein's summation as numpy writes it: "ij,jk->ik", also with "..." and without a result. */
struct compose_einsum {
        const char *equation, *end;     /* its bytes, up to `end` */
        struct value *const *operands;  /* the operands, of one element type */
        int count;                      /* how many operands there are, at least 1 */
};
struct value *compose_einsum(struct compose *c, const struct compose_einsum *in);

#endif
