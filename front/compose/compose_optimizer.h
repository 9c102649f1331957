/* SPDX-License-Identifier: MIT */
/* Steps of optimizers: what becomes of a tensor by its gradient and its states. */
#ifndef FRONT_COMPOSE_COMPOSE_OPTIMIZER_H
#define FRONT_COMPOSE_COMPOSE_OPTIMIZER_H

#include "front/compose/compose.h"

enum compose_optimizer_kind { OPTIMIZER_MOMENTUM, OPTIMIZER_ADAGRAD, OPTIMIZER_ADAM };

struct compose_optimizer {
        int kind;                       /* enum compose_optimizer_kind */
        float alpha, beta;              /* They are the factors of the states: of the first, and of
                                         * Adam's second or of Momentum's gradient. */
        float epsilon;                  /* It is added to what a step is divided by. */
        float decay;                    /* Adagrad divides the rate by 1 + updates * decay. */
        float norm, norm_after;         /* The tensor times norm is added to the gradient; Adam
                                         * takes the part norm_after off the result. */
        int nesterov;                   /* Momentum looks ahead. */
        struct value *first;            /* It says whether it is the first update (a bool, set by
                                         * compose_optimizer_rate). */
        struct value *rate;             /* It is the learning rate, f64, set likewise. */
};

/* Sets first and rate from the rate at the beginning, a scalar of a float type, and the number of
 * updates before this one, an i64 scalar. Returns false after an error. */
bool compose_optimizer_rate(struct compose *c, struct compose_optimizer *o, struct value *rate,
                            struct value *updates);
/* Makes of v (a tensor, its gradient, its states: two of Adam, else one) the new tensor and its new
 * states. Returns false after an error. */
bool compose_optimizer_update(struct compose *c, const struct compose_optimizer *o,
                              struct value *const *v, struct value **made);

#endif
