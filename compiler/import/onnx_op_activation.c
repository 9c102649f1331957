/* SPDX-License-Identifier: MIT */
/* Activation functions. f16 and bf16 are computed in f32 and rounded once, as the operators'
 * functions state them. */
#include <math.h>

#include "compiler/import/onnx_arithmetic.h"

/* the operand in its wide type; the result back in the operand's */
static struct value *operand(struct onnx_import *im, const struct onnx_node *n)
{
        return onnx_wide(im, n->inputs[0]);
}

static bool result(struct onnx_import *im, struct onnx_node *n, struct value *y)
{
        return onnx_output(n, 0, onnx_cast(im, y, onnx_element(n->inputs[0])));
}

static struct value *zeros(struct onnx_import *im, struct value *x)
{
        return x ? build_like(&im->b, x, 0) : NULL;
}

bool onnx_import_relu(struct onnx_import *im, struct onnx_node *n)
{
        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return false;
        return onnx_output(n, 0, onnx_with(im, OP_max, n->inputs[0], 0));
}

bool onnx_import_leaky_relu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 0.01f, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n, onnx_below_zero(im, x, times(im, x, alpha)));
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
                v[1] = onnx_along(im, v[1], x, 1);
        } else if (!onnx_broadcast(im, n, v, 2)) {
                return false;
        }
        if (!v[1] || !type_same_dims(v[0]->type, x))
                return v[1] && onnx_invalid(im, n, "slope is %s, which does not broadcast to %s",
                                            type_text(im->arena, im->m, slope),
                                            type_text(im->arena, im->m, x));
        return onnx_output(n, 0, onnx_below_zero(im, v[0], mul(im, v[0], v[1])));
}

bool onnx_import_elu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n, onnx_below_zero(im, x, times(im, onnx_unary(im, OP_expm1, x), alpha)));
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
        struct value *bent = times(im, onnx_unary(im, OP_expm1, x), alpha);
        return result(im, n, times(im, onnx_below_zero(im, x, bent), gamma));
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
                times(im, onnx_unary(im, OP_expm1, onnx_with(im, OP_div, x, alpha)), alpha);
        return result(im, n, onnx_below_zero(im, x, bent));
}

bool onnx_import_thresholded_relu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n, onnx_select(im, onnx_with(im, OP_gt, x, alpha), x, zeros(im, x)));
}

bool onnx_import_hard_sigmoid(struct onnx_import *im, struct onnx_node *n)
{
        float alpha, beta;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 0.2f, &alpha) ||
            !onnx_float(im, n, "beta", 0.5f, &beta))
                return false;
        return result(im, n, clamp(im, plus(im, times(im, operand(im, n), alpha), beta), 0, 1));
}

bool onnx_import_hard_swish(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = operand(im, n);

        return onnx_want_float(im, n, 0) &&
               result(im, n, mul(im, x, clamp(im, plus(im, times(im, x, 1.0 / 6), 0.5), 0, 1)));
}

bool onnx_import_softsign(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = operand(im, n);

        return onnx_want_float(im, n, 0) &&
               result(im, n, onnx_binary(im, OP_div, x, plus(im, onnx_unary(im, OP_abs, x), 1)));
}

bool onnx_import_mish(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = operand(im, n);

        return onnx_want_float(im, n, 0) &&
               result(im, n, mul(im, x, onnx_unary(im, OP_tanh, onnx_unary(im, OP_softplus, x))));
}

bool onnx_import_swish(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n,
                      mul(im, x, onnx_unary(im, OP_sigmoid, alpha == 1 ? x : times(im, x, alpha))));
}

/* lambd cuts a hole around 0, bias moves what is left towards it; also of integers */
bool onnx_import_shrink(struct onnx_import *im, struct onnx_node *n)
{
        float bias, lambd;

        if (!onnx_float(im, n, "bias", 0, &bias) || !onnx_float(im, n, "lambd", 0.5f, &lambd))
                return false;
        struct value *x = n->inputs[0];
        struct value *real =
                onnx_cast(im, x,
                          element_is_integer(onnx_element(x)) ? E_F64
                                                              : onnx_wide_element(onnx_element(x)));
        struct value *otherwise =
                onnx_select(im, onnx_with(im, OP_gt, real, lambd), plus(im, real, -bias), zeros(im, real));
        struct value *y = onnx_select(im, onnx_with(im, OP_lt, real, -lambd), plus(im, real, bias), otherwise);
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
                struct value *cube = mul(im, x, mul(im, x, x));
                share = onnx_unary(im, OP_sigmoid,
                                   times(im, add(im, x, times(im, cube, 0.044715)), root));
        } else {
                share = plus(im,
                             times(im, onnx_unary(im, OP_erf, times(im, x, 0.70710678118654752440)),
                                   0.5),
                             0.5);
        }
        return mul(im, x, share);
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
        struct value *v[2] = { operand(im, n), onnx_wide(im, onnx_input(n, 1)) };

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 2))
                return false;
        if (v[1] && !onnx_broadcast(im, n, v, 2))
                return false;
        return result(im, n, gelu(im, v[1] ? add(im, v[0], v[1]) : v[0], onnx_variant(n) == 1));
}

bool onnx_import_quick_gelu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_want_float(im, n, 0) || !onnx_float(im, n, "alpha", 1.702f, &alpha))
                return false;
        struct value *x = operand(im, n);
        return result(im, n, mul(im, x, onnx_unary(im, OP_sigmoid, times(im, x, alpha))));
}
