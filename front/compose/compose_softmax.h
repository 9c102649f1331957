/* SPDX-License-Identifier: MIT */
/* The softmax family, and losses over its logarithms. */
#ifndef FRONT_COMPOSE_COMPOSE_SOFTMAX_H
#define FRONT_COMPOSE_COMPOSE_SOFTMAX_H

#include "front/compose/compose.h"

/* x, of a wide type, over all elements along the axes; or the logarithm of that */
struct value *compose_softmax(struct compose *c, struct value *x, const int64_t *axes, int count,
                              bool logarithm);
/* the same, but 0 in rows of nothing but -inf, where a softmax is NaN */
struct value *compose_masked_softmax(struct compose *c, struct value *x, const int64_t *axes,
                                     int count);

/* 1 at the first maximum along the axis, else 0 */
struct value *compose_hardmax(struct compose *c, struct value *x, int axis);
/* the softmax along dimension 1 of what is not 0, which stays 0 */
struct value *compose_softmax_nonzero(struct compose *c, struct value *x);

enum compose_loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN };
struct compose_loss {
        struct value *target;           /* integers <N x ...>: the class of each */
        struct value *weight;           /* <classes>, of the operand's element; or NULL: 1 */
        int reduction;                  /* of the losses <N x ...>; a mean is weighted */
        bool ignores;                   /* what has the class ignore_index counts nothing */
        int64_t ignore_index;
};
/* -x at the target's class, of logarithms of probabilities x <N x classes x ...> */
struct value *compose_likelihood_loss(struct compose *c, struct value *x,
                                      const struct compose_loss *loss);
/* The likelihood loss of the log softmax of x over classes, which is stored in *logarithms unless
 * that is NULL. */
struct value *compose_cross_entropy_loss(struct compose *c, struct value *x,
                                         const struct compose_loss *loss,
                                         struct value **logarithms);

#endif
