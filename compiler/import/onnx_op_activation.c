/* SPDX-License-Identifier: MIT */
/* Activation functions. f16 and bf16 are computed in f32 and rounded once, as the operators'
 * functions state them. */
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

/* the operand in its wide type; the result back in the operand's */
static struct value *operand(struct onnx_import *im, const struct onnx_node *n)
{
        return compose_wide(im->c, n->inputs[0]);
}

static bool result(struct onnx_import *im, struct onnx_node *n, struct value *y)
{
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

static struct value *zeros(struct onnx_import *im, struct value *x)
{
        return x ? build_like(&im->b, x, 0) : NULL;
}

bool onnx_import_relu(struct onnx_import *im, struct onnx_node *n)
{
        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return false;
        return onnx_output(n, 0, compose_with(im->c, OP_max, n->inputs[0], 0));
}

bool onnx_import_leaky_relu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 0.01f, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n, compose_below_zero(im->c, x, times(im->c, x, alpha)));
}

/* The slope broadcasts to x, one way; before opset 7 it is one number or one per channel. */
bool onnx_import_prelu(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[0], n->inputs[1] };
        const struct type *x = v[0]->type, *slope = v[1]->type;

        if (!onnx_same_element(im, n, v, 2))
                return false;
        if (n->opset < 7) {
                if (type_elements(slope) != 1 &&
                    (slope->rank != 1 || x->rank < 2 || !dim_equal(slope->dims[0], x->dims[1])))
                        return onnx_invalid(im, n,
                                            "slope is %s, want one number or one per channel",
                                            type_text(im->arena, im->m, slope));
                v[1] = compose_along(im->c, v[1], x, 1);
        } else if (!compose_broadcast(im->c, v, 2)) {
                return false;
        }
        if (!v[1] || !type_same_dims(v[0]->type, x))
                return v[1] && onnx_invalid(im, n, "slope is %s, which does not broadcast to %s",
                                            type_text(im->arena, im->m, slope),
                                            type_text(im->arena, im->m, x));
        return onnx_output(n, 0, compose_below_zero(im->c, v[0], mul(im->c, v[0], v[1])));
}

bool onnx_import_elu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n,
                      compose_below_zero(im->c, x,
                                         times(im->c, compose_unary(im->c, OP_expm1, x), alpha)));
}

bool onnx_import_selu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha, gamma;

        /* the constants of Klambauer et al., Self-Normalizing Neural Networks, as the standard
         * rounds them */
        if (!onnx_want_float(im, n, 0) ||
            !onnx_float(im, n, "alpha", 1.67326319217681884765625f, &alpha) ||
            !onnx_float(im, n, "gamma", 1.05070102214813232421875f, &gamma))
                return false;
        struct value *x = operand(im, n);
        struct value *bent = times(im->c, compose_unary(im->c, OP_expm1, x), alpha);
        return result(im, n, times(im->c, compose_below_zero(im->c, x, bent), gamma));
}

bool onnx_import_celu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        if (alpha == 0)
                return onnx_invalid(im, n, "alpha is 0");
        struct value *x = operand(im, n);
        struct value *bent =
                times(im->c, compose_unary(im->c, OP_expm1, compose_with(im->c, OP_div, x, alpha)),
                      alpha);
        return result(im, n, compose_below_zero(im->c, x, bent));
}

bool onnx_import_thresholded_relu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n,
                      compose_select(im->c, compose_with(im->c, OP_gt, x, alpha), x, zeros(im, x)));
}

bool onnx_import_hard_sigmoid(struct onnx_import *im, struct onnx_node *n)
{
        float alpha, beta;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 0.2f, &alpha) ||
            !onnx_float(im, n, "beta", 0.5f, &beta))
                return false;
        return result(im, n,
                      clamp(im->c, plus(im->c, times(im->c, operand(im, n), alpha), beta), 0, 1));
}

bool onnx_import_hard_swish(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = operand(im, n);

        return onnx_want_float(im, n, 0) &&
               result(im, n,
                      mul(im->c, x,
                          clamp(im->c, plus(im->c, times(im->c, x, 1.0 / 6), 0.5), 0, 1)));
}

bool onnx_import_softsign(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = operand(im, n);

        return onnx_want_float(im, n, 0) &&
               result(im, n,
                      compose_binary(im->c, OP_div, x,
                                     plus(im->c, compose_unary(im->c, OP_abs, x), 1)));
}

bool onnx_import_mish(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = operand(im, n);

        return onnx_want_float(im, n, 0) &&
               result(im, n,
                      mul(im->c, x,
                          compose_unary(im->c, OP_tanh, compose_unary(im->c, OP_softplus, x))));
}

bool onnx_import_swish(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(
                im, n,
                mul(im->c, x,
                    compose_unary(im->c, OP_sigmoid, alpha == 1 ? x : times(im->c, x, alpha))));
}

/* lambd cuts a hole around 0, bias moves what is left towards it; also of integers */
bool onnx_import_shrink(struct onnx_import *im, struct onnx_node *n)
{
        float bias, lambd;

        if (!onnx_float(im, n, "bias", 0, &bias) || !onnx_float(im, n, "lambd", 0.5f, &lambd))
                return false;
        struct value *x = n->inputs[0];
        struct value *real = compose_cast(im->c, x,
                                          element_is_integer(value_element(x))
                                                  ? E_F64
                                                  : compose_wide_element(value_element(x)));
        struct value *otherwise = compose_select(im->c, compose_with(im->c, OP_gt, real, lambd),
                                                 plus(im->c, real, -bias), zeros(im, real));
        struct value *y = compose_select(im->c, compose_with(im->c, OP_lt, real, -lambd),
                                         plus(im->c, real, bias), otherwise);
        return result(im, n, y);
}

/* x / 2 * (1 + erf(x / sqrt 2)), or the approximation of it by 1 + tanh u (Hendrycks and Gimpel), u
 * = sqrt(2 / pi) (x + 0.044715 x^3), which is 2 sigmoid(2 u). x comes last, so that nothing is
 * infinite before the result is, and 1 + tanh u does not cancel. */
static struct value *gelu(struct onnx_import *im, struct value *x, bool approximate)
{
        static const double root = 1.59576912160573071176;      /* 2 sqrt(2 / pi) */
        struct value *share;

        if (approximate) {
                struct value *cube = mul(im->c, x, mul(im->c, x, x));
                share = compose_unary(
                        im->c, OP_sigmoid,
                        times(im->c, add(im->c, x, times(im->c, cube, 0.044715)), root));
        } else {
                share = plus(
                        im->c,
                        times(im->c,
                              compose_unary(im->c, OP_erf, times(im->c, x, 0.70710678118654752440)),
                              0.5),
                        0.5);
        }
        return mul(im->c, x, share);
}

bool onnx_import_gelu(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const forms[] = { "none", "tanh", NULL };
        int form;

        return onnx_want_float(im, n, 0) && onnx_choice(im, n, "approximate", forms, 0, &form) &&
               result(im, n, gelu(im, operand(im, n), form == 1));
}

/* com.microsoft: Gelu and BiasGelu (variant 0, erf), FastGelu (1, tanh); an optional bias along the
 * last axis */
bool onnx_import_bias_gelu(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { operand(im, n), compose_wide(im->c, onnx_input(n, 1)) };

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 2))
                return false;
        if (v[1] && !compose_broadcast(im->c, v, 2))
                return false;
        return result(im, n, gelu(im, v[1] ? add(im->c, v[0], v[1]) : v[0], onnx_variant(n) == 1));
}

bool onnx_import_quick_gelu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1.702f, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n,
                      mul(im->c, x, compose_unary(im->c, OP_sigmoid, times(im->c, x, alpha))));
}
