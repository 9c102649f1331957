/* SPDX-License-Identifier: MIT */
/* This file imports com.microsoft's mixtures of experts: MoE, and QMoE, whose weights are whole
 * numbers. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_experts.h"

static bool experts_read(struct onnx_import *im, struct onnx_node *n, struct compose_experts *x)
{
        static const char *const names[] = { "relu", "gelu", "silu", "swiglu", "identity", NULL };
        static const struct compose_activation activations[] = {
                { .kind = ACT_RELU },
                { .kind = ACT_GELU_TANH },
                { .kind = ACT_SWISH, .alpha = 1 },
                { .kind = ACT_AFFINE, .alpha = 1 },
                { .kind = ACT_AFFINE, .alpha = 1 },
        };
        enum { SWIGLU = 3 };
        static const int gates[] = { GATE_APART, GATE_INTERLEAVED, GATE_HALVES };
        int64_t normalize, sparse, fusion;
        float alpha, beta, limit;
        int which;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, 3) ||
            !onnx_want_rank(im, n, 1, 2, 2) || !onnx_want_element(im, n, 1, value_element(x->x)) ||
            !onnx_int_range(im, n, "k", 1, 1, NUMBER_MAX, &x->chosen) ||
            !onnx_choice(im, n, "activation_type", names, 0, &which) ||
            !onnx_int_range(im, n, "normalize_routing_weights", 0, 0, 1, &normalize) ||
            !onnx_int_range(im, n, "use_sparse_mixer", 0, 0, 1, &sparse) ||
            !onnx_int_range(im, n, "swiglu_fusion", 0, 0, 2, &fusion) ||
            !onnx_float(im, n, "activation_alpha", 1, &alpha) ||
            !onnx_float(im, n, "activation_beta", 0, &beta) ||
            !onnx_float(im, n, "swiglu_limit", INFINITY, &limit))
                return false;
        if (sparse)
                return onnx_unsupported(im, n, "use_sparse_mixer");
        x->gate = which == SWIGLU ? gates[fusion] : GATE_NONE;
        if ((x->gate == GATE_APART) != (x->third.weights != NULL))
                return onnx_unsupported(im, n, "activation %s %s a third layer", names[which],
                                        x->third.weights ? "with" : "without");
        x->activation = activations[which];
        x->alpha = alpha;
        x->beta = beta;
        x->limit = limit;
        x->normalize = normalize;
        return true;
}

/* Makes the result for tokens [tokens, inputs], or [batch, steps, inputs]. */
static bool experts_output(struct onnx_import *im, struct onnx_node *n, struct compose_experts *x)
{
        const struct type *t = x->x->type;
        int64_t tokens = type_extent(t, 0);

        if (t->rank == 3)
                tokens *= type_extent(t, 1);
        const dim_t rows[2] = { dim_of(tokens), t->dims[t->rank - 1] };
        x->x = compose_reshape(im->c, x->x, 2, rows);
        struct value *y = x->x ? compose_experts(im->c, x) : NULL;
        return onnx_output(n, 0, y ? compose_reshape(im->c, y, t->rank, t->dims) : NULL);
}

/* The operands are input, router_probs, and weights and bias of three layers. */
bool onnx_import_experts(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_experts x = { .x = n->inputs[0],
                                     .router = onnx_input(n, 1),
                                     .first = { .weights = onnx_input(n, 2),
                                                .bias = onnx_input(n, 3) },
                                     .second = { .weights = onnx_input(n, 4),
                                                 .bias = onnx_input(n, 5) },
                                     .third = { .weights = onnx_input(n, 6),
                                                .bias = onnx_input(n, 7) } };

        return onnx_want_inputs(im, n, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4) &&
               onnx_same_element(im, n, n->inputs, n->input_count) && experts_read(im, n, &x) &&
               experts_output(im, n, &x);
}

/* Reads the layer whose weights, scales and bias are operands from `at` on. */
static bool layer_read(struct onnx_import *im, struct onnx_node *n, int at, int zeros,
                       const char *width, int64_t preset, int64_t block,
                       struct compose_expert_layer *l)
{
        int64_t bits;

        *l = (struct compose_expert_layer){ .weights = onnx_input(n, at),
                                            .scales = onnx_input(n, at + 1),
                                            .zeros = onnx_input(n, zeros),
                                            .bias = onnx_input(n, at + 2),
                                            .block = block };
        if (!onnx_int_range(im, n, width, preset, 2, 8, &bits) ||
            !onnx_want_element(im, n, at, E_U8) || !onnx_want_element(im, n, zeros, E_U8) ||
            !onnx_want_element(im, n, at + 2, value_element(n->inputs[0])) ||
            (l->scales && !onnx_want_float(im, n, at + 1)))
                return false;
        if (bits != 2 && bits != 4 && bits != 8)
                return onnx_invalid(im, n, "weights of %lld bits, want 2, 4 or 8", (long long)bits);
        l->bits = (int)bits;
        return !l->weights || l->scales || onnx_invalid(im, n, "weights without scales");
}

/* The operands are input, router_probs, weights, scales and bias of three layers, their zero
 * points, router_weights, ... */
bool onnx_import_quantized_experts(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const kinds[] = { "int", NULL };
        struct compose_experts x = { .x = n->inputs[0],
                                     .router = onnx_input(n, 1),
                                     .mix = onnx_input(n, 14) };
        int64_t bits, block, level, packed;
        int kind;

        if (!onnx_want_inputs(im, n, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 6) ||
            !onnx_choice(im, n, "quant_type", kinds, 0, &kind) ||
            !onnx_int_range(im, n, "expert_weight_bits", 4, 2, 8, &bits) ||
            !onnx_int_range(im, n, "block_size", 0, 0, NUMBER_MAX, &block) ||
            !onnx_int_range(im, n, "accuracy_level", 0, 0, 4, &level) ||
            !onnx_int_range(im, n, "weights_prepacked", -1, -1, 1, &packed) ||
            !onnx_want_element(im, n, 14, value_element(x.x)) ||
            !layer_read(im, n, 2, 11, "fc1_expert_weight_bits", bits, block, &x.first) ||
            !layer_read(im, n, 5, 12, "fc2_expert_weight_bits", bits, block, &x.second) ||
            !layer_read(im, n, 8, 13, "fc3_expert_weight_bits", bits, block, &x.third))
                return false;
        if (packed > 0)
                return onnx_unsupported(im, n, "weights that are packed for a device");
        for (int i = 15; i < n->input_count; i++)
                if (n->inputs[i])
                        return onnx_unsupported(im, n, "scales of activations");
        if (!experts_read(im, n, &x))
                return false;
        /* onnxruntime's softmax is over the logits of the chosen experts alone. */
        x.normalize = x.normalize || !x.mix;
        return experts_output(im, n, &x);
}
