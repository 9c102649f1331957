/* SPDX-License-Identifier: MIT */
/* This header has activation functions of one operand. */
#ifndef FRONT_COMPOSE_COMPOSE_ACTIVATION_H
#define FRONT_COMPOSE_COMPOSE_ACTIVATION_H

#include "front/compose/compose.h"

enum compose_activation_kind {
        ACT_AFFINE,                     /* alpha x + beta */
        ACT_ELU,                        /* x, or alpha (e^x - 1) where x is below zero */
        ACT_HARD_SIGMOID,               /* alpha x + beta between 0 and 1 */
        ACT_LEAKY_RELU,                 /* x, or alpha x where x is below zero */
        ACT_RELU,
        ACT_SCALED_TANH,                /* alpha tanh(beta x) */
        ACT_SIGMOID,
        ACT_SOFTPLUS,
        ACT_SOFTSIGN,
        ACT_TANH,
        ACT_THRESHOLDED_RELU,           /* x where it is above alpha, else 0 */
        ACT_SELU,                       /* beta times ELU */
        ACT_CELU,                       /* x, or alpha (e^(x / alpha) - 1) where x is below zero */
        ACT_HARD_SWISH,                 /* x times x / 6 + 0.5 between 0 and 1 */
        ACT_MISH,                       /* x tanh(softplus(x)) */
        ACT_SWISH,                      /* x sigmoid(alpha x) */
        ACT_SHRINK,                     /* x + beta where x is below -alpha, x - beta where it is
                                         * above alpha, else 0 */
        ACT_GELU,                       /* x / 2 (1 + erf(x / sqrt 2)) */
        ACT_GELU_TANH                   /* It is the approximation of GELU by tanh. */
};
struct compose_activation {
        int kind;                       /* It is an enum compose_activation_kind. */
        double alpha, beta;             /* They are read where the formula of the kind has them. */
};
/* Returns the activation of x, computed in x's own type, so the caller widens f16 and bf16. */
struct value *compose_activate(struct compose *c, const struct compose_activation *a,
                               struct value *x);

/* Returns the number that a normal variable is below with probability x. */
struct value *compose_probit(struct compose *c, struct value *x);

#endif
