/* SPDX-License-Identifier: MIT */
/* This file has activation functions of one operand. */
#include "front/compose/compose_activation.h"

#include "front/compose/compose_arithmetic.h"

/* Returns x / 2 * (1 + erf(x / sqrt 2)), or its approximation by 1 + tanh u, u = sqrt(2 / pi) (x
 * + 0.044715 x^3), which is 2 sigmoid(2 u) (D. Hendrycks and K. Gimpel, Gaussian Error Linear
 * Units, 2016). The factor x comes last, so that nothing is infinite before the result is, and 1
 * + tanh u does not cancel. */
static struct value *gelu(struct compose *c, struct value *x, bool approximate)
{
        static const double root = 1.59576912160573071176; /* It is 2 sqrt(2 / pi). */
        struct value *share;

        if (approximate) {
                struct value *cube = mul(c, x, mul(c, x, x));
                share = compose_unary(c, OP_sigmoid,
                                      times(c, add(c, x, times(c, cube, 0.044715)), root));
        } else {
                share = plus(c,
                             times(c, compose_unary(c, OP_erf, times(c, x, 0.70710678118654752440)),
                                   0.5),
                             0.5);
        }
        return mul(c, x, share);
}

static struct value *shrink(struct compose *c, struct value *x, double a, double b)
{
        struct value *above = plus(c, x, -b), *y = x ? build_like(c->b, x, 0) : NULL;

        y = compose_select(c, compose_with(c, OP_gt, x, a), above, y);
        struct value *below = plus(c, x, b);
        return compose_select(c, compose_with(c, OP_lt, x, -a), below, y);
}

struct value *compose_activate(struct compose *c, const struct compose_activation *use,
                               struct value *x)
{
        double a = use->alpha, b = use->beta;

        if (!x)
                return NULL;
        switch (use->kind) {
        case ACT_AFFINE: return plus(c, times(c, x, a), b);
        case ACT_ELU: return compose_below_zero(c, x, times(c, compose_unary(c, OP_expm1, x), a));
        case ACT_HARD_SIGMOID:
                x = plus(c, times(c, x, a), b);
                return compose_with(c, OP_min, compose_with(c, OP_max, x, 0), 1);
        case ACT_LEAKY_RELU: return compose_below_zero(c, x, times(c, x, a));
        case ACT_RELU: return compose_with(c, OP_max, x, 0);
        case ACT_SCALED_TANH: return times(c, compose_unary(c, OP_tanh, times(c, x, b)), a);
        case ACT_SIGMOID: return compose_unary(c, OP_sigmoid, x);
        case ACT_SOFTPLUS: return compose_unary(c, OP_softplus, x);
        case ACT_SOFTSIGN: return divide(c, x, plus(c, compose_unary(c, OP_abs, x), 1));
        case ACT_THRESHOLDED_RELU:
                return compose_select(c, compose_with(c, OP_gt, x, a), x,
                                      x ? build_like(c->b, x, 0) : NULL);
        case ACT_SELU:
                return times(
                        c, compose_below_zero(c, x, times(c, compose_unary(c, OP_expm1, x), a)), b);
        case ACT_CELU: {
                struct value *bent = compose_unary(c, OP_expm1, compose_with(c, OP_div, x, a));
                return compose_below_zero(c, x, times(c, bent, a));
        }
        case ACT_HARD_SWISH: return mul(c, x, clamp(c, plus(c, times(c, x, 1.0 / 6), 0.5), 0, 1));
        case ACT_MISH:
                return mul(c, x, compose_unary(c, OP_tanh, compose_unary(c, OP_softplus, x)));
        case ACT_SWISH: return mul(c, x, compose_unary(c, OP_sigmoid, a == 1 ? x : times(c, x, a)));
        case ACT_SHRINK: return shrink(c, x, a, b);
        case ACT_GELU: return gelu(c, x, false);
        case ACT_GELU_TANH: return gelu(c, x, true);
        default: return compose_unary(c, OP_tanh, x);
        }
}

/* Solves for erf by Newton's method, from the approximation of S. Winitzki (A handy approximation
 * for the error function and its inverse, 2008). The result is infinite at 0 and 1, and NaN for
 * numbers that are no probability. */
struct value *compose_probit(struct compose *c, struct value *x)
{
        const double a = 0.147, slope = 1.1283791670955126,
                     root = 1.4142135623730951; /* These are 2 / sqrt(pi) and sqrt(2). */
        struct value *p = plus(c, times(c, compose_cast(c, x, E_F64), 2), -1);
        struct value *logarithm =
                compose_unary(c, OP_log, mul(c, compose_from(c, OP_sub, 1, p), plus(c, p, 1)));
        struct value *half = plus(c, times(c, logarithm, 0.5), slope * slope / (2 * a));
        struct value *y =
                compose_unary(c, OP_sqrt, sub(c, mul(c, half, half), times(c, logarithm, 1 / a)));

        y = compose_unary(c, OP_sqrt, sub(c, y, half));
        y = mul(c, y, compose_unary(c, OP_sign, p));
        for (int k = 0; k < 3 && y; k++) {
                struct value *off = sub(c, compose_unary(c, OP_erf, y), p);
                struct value *rate = times(
                        c, compose_unary(c, OP_exp, compose_unary(c, OP_neg, mul(c, y, y))), slope);
                y = sub(c, y, divide(c, off, rate));
        }
        struct value *end = compose_with(c, OP_eq, compose_unary(c, OP_abs, p), 1);
        y = compose_select(c, end, compose_with(c, OP_div, p, 0), times(c, y, root));
        return x ? compose_cast(c, y, value_element(x)) : NULL;
}
