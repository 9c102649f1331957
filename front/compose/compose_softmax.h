/* SPDX-License-Identifier: MIT */
/* This header has the softmax family, and losses over its logarithms. */
#ifndef FRONT_COMPOSE_COMPOSE_SOFTMAX_H
#define FRONT_COMPOSE_COMPOSE_SOFTMAX_H

#include "front/compose/compose.h"

/* Returns the softmax of x, of a wide type, over all elements along the axes; or its logarithm. */
struct value *compose_softmax(struct compose *c, struct value *x, const int64_t *axes, int count,
                              bool logarithm);
/* Returns the same, but 0 in rows of nothing but -inf, where a softmax is NaN. */
struct value *compose_masked_softmax(struct compose *c, struct value *x, const int64_t *axes,
                                     int count);

/* Returns the shares of x [.., heads, rows, keys] in its rows beside a further element of each row,
 * which is sink[head], of any float type. */
struct value *compose_softmax_with_sink(struct compose *c, struct value *x, struct value *sink);

/* Returns 1 at the first maximum along the axis, else 0. */
struct value *compose_hardmax(struct compose *c, struct value *x, int axis);
/* Returns the softmax along dimension 1 of the elements that are not 0; the others stay 0. */
struct value *compose_softmax_nonzero(struct compose *c, struct value *x);

enum compose_loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN };
struct compose_loss {
        struct value *target;           /* These integers <N x ...> are the class of each. */
        struct value *weight;           /* It is <classes>, of the operand's element; or NULL, which
                                         * stands for 1. */
        int reduction;                  /* It is the enum compose_loss_reduction of the losses <N x
                                         * ...>; a mean is weighted. */
        bool ignores;                   /* Targets of class ignore_index have no loss. */
        int64_t ignore_index;
};
/* Returns -x at the target's class, where x <N x classes x ...> are logarithms of probabilities. */
struct value *compose_likelihood_loss(struct compose *c, struct value *x,
                                      const struct compose_loss *loss);
/* Returns the likelihood loss of the log softmax of x over classes, which is stored in *logarithms
 * unless that is NULL. */
struct value *compose_cross_entropy_loss(struct compose *c, struct value *x,
                                         const struct compose_loss *loss,
                                         struct value **logarithms);

#endif
