/* SPDX-License-Identifier: MIT */
/* Activation functions of one operand. */
#ifndef FRONT_COMPOSE_COMPOSE_ACTIVATION_H
#define FRONT_COMPOSE_COMPOSE_ACTIVATION_H

#include "front/compose/compose.h"

enum compose_activation_kind {
        ACT_AFFINE,                     /* alpha x + beta */
        ACT_ELU,                        /* x, below zero alpha (e^x - 1) */
        ACT_HARD_SIGMOID,               /* alpha x + beta between 0 and 1 */
        ACT_LEAKY_RELU,                 /* x, below zero alpha x */
        ACT_RELU,
        ACT_SCALED_TANH,                /* alpha tanh(beta x) */
        ACT_SIGMOID,
        ACT_SOFTPLUS,
        ACT_SOFTSIGN,
        ACT_TANH,
        ACT_THRESHOLDED_RELU,           /* x above alpha, else 0 */
        ACT_SELU,                       /* beta times ELU */
        ACT_CELU,                       /* x, below zero alpha (e^(x / alpha) - 1) */
        ACT_HARD_SWISH,                 /* x times x / 6 + 0.5 between 0 and 1 */
        ACT_MISH,                       /* x tanh(softplus(x)) */
        ACT_SWISH,                      /* x sigmoid(alpha x) */
        ACT_SHRINK,                     /* x + beta below -alpha, x - beta above alpha, else 0 */
        ACT_GELU,                       /* x / 2 (1 + erf(x / sqrt 2)) */
        ACT_GELU_TANH                   /* the approximation of that by tanh */
};
struct compose_activation {
        int kind;                       /* enum compose_activation_kind */
        double alpha, beta;             /* read where the formula of the kind has them */
};
/* Computed in x's own type, so the caller widens f16 and bf16. */
struct value *compose_activate(struct compose *c, const struct compose_activation *a,
                               struct value *x);

/* Returns the number that a normal variable is below with probability x. */
struct value *compose_probit(struct compose *c, struct value *x);

#endif
