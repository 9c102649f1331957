/* SPDX-License-Identifier: MIT */
/* Activation functions of f16 and bf16 are computed in f32 and rounded once, as the operators'
 * functions state them. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"

/* Applies the function to operand 0 in its wide type; the result has the operand's type. */
static bool activated(struct onnx_import *im, struct onnx_node *n, int kind, double alpha,
                      double beta)
{
        const struct compose_activation use = { kind, alpha, beta };
        struct value *x = n->inputs[0];

        return onnx_want_float(im, n, 0) &&
               onnx_output(n, 0,
                           compose_cast(im->c,
                                        compose_activate(im->c, &use, compose_wide(im->c, x)),
                                        value_element(x)));
}

/* Does the same with a parameter from the attribute alpha. */
static bool with_alpha(struct onnx_import *im, struct onnx_node *n, int kind, float preset)
{
        float alpha;

        return onnx_float(im, n, "alpha", preset, &alpha) && activated(im, n, kind, alpha, 0);
}

bool onnx_import_relu(struct onnx_import *im, struct onnx_node *n)
{
        if (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs"))
                return false;
        return onnx_output(n, 0, compose_with(im->c, OP_max, n->inputs[0], 0));
}

bool onnx_import_leaky_relu(struct onnx_import *im, struct onnx_node *n)
{
        return with_alpha(im, n, ACT_LEAKY_RELU, 0.01f);
}

/* The slope broadcasts to x, one way; before opset 7 it is one number, one for each channel, or one
 * for each number. */
bool onnx_import_prelu(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { n->inputs[0], n->inputs[1] };
        const struct type *x = v[0]->type, *slope = v[1]->type;

        if (!onnx_same_element(im, n, v, 2))
                return false;
        if (n->opset < 7 && !type_same_dims(x, slope)) {
                if (type_elements(slope) != 1 &&
                    (slope->rank != 1 || x->rank < 2 || !dim_equal(slope->dims[0], x->dims[1])))
                        return onnx_invalid(im, n,
                                            "slope is %s, want one number or one per channel",
                                            compose_text(im->c, slope));
                v[1] = compose_along(im->c, v[1], x, 1);
        } else if (!compose_broadcast(im->c, v, 2)) {
                return false;
        }
        if (!v[1] || !type_same_dims(v[0]->type, x))
                return v[1] && onnx_invalid(im, n, "slope is %s, which does not broadcast to %s",
                                            compose_text(im->c, slope), compose_text(im->c, x));
        return onnx_output(n, 0, compose_below_zero(im->c, v[0], mul(im->c, v[0], v[1])));
}

bool onnx_import_elu(struct onnx_import *im, struct onnx_node *n)
{
        return with_alpha(im, n, ACT_ELU, 1);
}

bool onnx_import_selu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha, gamma;

        /* These are the constants of Klambauer et al., Self-Normalizing Neural Networks, as the
         * standard rounds them. */
        return onnx_float(im, n, "alpha", 1.67326319217681884765625f, &alpha) &&
               onnx_float(im, n, "gamma", 1.05070102214813232421875f, &gamma) &&
               activated(im, n, ACT_SELU, alpha, gamma);
}

bool onnx_import_celu(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;

        if (!onnx_float(im, n, "alpha", 1, &alpha))
                return false;
        if (alpha == 0)
                return onnx_invalid(im, n, "alpha is 0");
        return activated(im, n, ACT_CELU, alpha, 0);
}

bool onnx_import_thresholded_relu(struct onnx_import *im, struct onnx_node *n)
{
        return with_alpha(im, n, ACT_THRESHOLDED_RELU, 1);
}

bool onnx_import_hard_sigmoid(struct onnx_import *im, struct onnx_node *n)
{
        float alpha, beta;

        return onnx_float(im, n, "alpha", 0.2f, &alpha) && onnx_float(im, n, "beta", 0.5f, &beta) &&
               activated(im, n, ACT_HARD_SIGMOID, alpha, beta);
}

bool onnx_import_hard_swish(struct onnx_import *im, struct onnx_node *n)
{
        return activated(im, n, ACT_HARD_SWISH, 0, 0);
}

bool onnx_import_softsign(struct onnx_import *im, struct onnx_node *n)
{
        return activated(im, n, ACT_SOFTSIGN, 0, 0);
}

bool onnx_import_mish(struct onnx_import *im, struct onnx_node *n)
{
        return activated(im, n, ACT_MISH, 0, 0);
}

bool onnx_import_swish(struct onnx_import *im, struct onnx_node *n)
{
        return with_alpha(im, n, ACT_SWISH, 1);
}

/* lambd cuts a hole around 0, and bias moves what is left towards 0, also for integers. */
bool onnx_import_shrink(struct onnx_import *im, struct onnx_node *n)
{
        const enum element e = value_element(n->inputs[0]);
        float bias, lambd;

        if (!onnx_float(im, n, "bias", 0, &bias) || !onnx_float(im, n, "lambd", 0.5f, &lambd))
                return false;
        struct value *x = compose_cast(im->c, n->inputs[0],
                                       element_is_integer(e) ? E_F64 : compose_wide_element(e));
        const struct compose_activation use = { ACT_SHRINK, lambd, bias };
        return onnx_output(n, 0, compose_cast(im->c, compose_activate(im->c, &use, x), e));
}

bool onnx_import_gelu(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const forms[] = { "none", "tanh", NULL };
        int form;

        return onnx_choice(im, n, "approximate", forms, 0, &form) &&
               activated(im, n, form == 1 ? ACT_GELU_TANH : ACT_GELU, 0, 0);
}

/* Imports com.microsoft's Gelu and BiasGelu (variant 0, by erf), and FastGelu (variant 1, by tanh).
 * An optional bias lies along the last axis. */
bool onnx_import_bias_gelu(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[2] = { compose_wide(im->c, n->inputs[0]),
                               compose_wide(im->c, onnx_input(n, 1)) };

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 2))
                return false;
        if (v[1] && !compose_broadcast(im->c, v, 2))
                return false;
        const struct compose_activation use = { .kind = onnx_variant(n) == 1 ? ACT_GELU_TANH
                                                                             : ACT_GELU };
        struct value *y = compose_activate(im->c, &use, v[1] ? add(im->c, v[0], v[1]) : v[0]);
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

bool onnx_import_quick_gelu(struct onnx_import *im, struct onnx_node *n)
{
        return with_alpha(im, n, ACT_SWISH, 1.702f);
}
