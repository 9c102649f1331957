/* SPDX-License-Identifier: MIT */
/* This file imports com.microsoft's mixtures of experts: MoE; QMoE, whose weights are whole
 * numbers; and MoEGroupRouter. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_experts.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"

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
        int64_t normalize, sparse, after, fusion;
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
            !onnx_float(im, n, "swiglu_limit", INFINITY, &limit) ||
            !onnx_int_range(im, n, "swiglu_limit_after_activation", 0, 0, 1, &after))
                return false;
        if (sparse || after)
                return onnx_unsupported(im, n, "%s", sparse ? "use_sparse_mixer"
                                                            : "swiglu_limit_after_activation");
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
        const dim_t rows[2] = { type_product(im->m, t, 0, t->rank - 1), t->dims[t->rank - 1] };

        x->x = compose_reshape(im->c, x->x, 2, rows);
        struct value *y = x->x ? compose_experts(im->c, x) : NULL;
        return onnx_output(n, 0, y ? compose_reshape(im->c, y, t->rank, t->dims) : NULL);
}

/* The operands are input, router_probs, and weights and bias of three layers. */
bool onnx_import_experts(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_experts x = {
                .x = n->inputs[0],
                .router = onnx_input(n, 1),
                .first = { .weights = onnx_input(n, 2), .bias = onnx_input(n, 3) },
                .second = { .weights = onnx_input(n, 4), .bias = onnx_input(n, 5) },
                .third = { .weights = onnx_input(n, 6), .bias = onnx_input(n, 7) }
        };

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
        if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
                return onnx_invalid(im, n, "weights of %lld bits, want 2, 3, 4 or 8",
                                    (long long)bits);
        l->bits = (int)bits;
        if (bits == 3)
                l->zeros = NULL;        /* Zero points of 3 bits are all 4. */
        return !l->weights || l->scales || onnx_invalid(im, n, "weights without scales");
}

/* The operands are input, router_probs, weights, scales and bias of three layers, their zero
 * points, router_weights, ... */
bool onnx_import_quantized_experts(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const kinds[] = { "int", "fp4", "nvfp4", "fp8", "wfp4afp8", NULL };
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
        if (packed > 0 || kind)
                return onnx_unsupported(im, n, kind ? "a quant_type of devices alone"
                                                    : "weights that are packed for a device");
        for (int i = 15; i < n->input_count; i++)
                if (n->inputs[i])
                        return onnx_unsupported(im, n, "scales of activations");
        if (!experts_read(im, n, &x))
                return false;
        /* onnxruntime's softmax is over the logits of the chosen experts alone, but not where
         * weights have 3 bits. */
        const bool threes = x.first.bits == 3 || x.second.bits == 3;
        x.normalize = x.normalize || (!x.mix && !threes);
        return experts_output(im, n, &x);
}

/* ---- MoEGroupRouter ---- */

/* Returns whether a number of x [rows, columns] is among the `count` largest of its row; of equal
 * ones the first are. */
static struct value *among_largest(struct onnx_import *im, struct value *x, int64_t count)
{
        struct value *order = compose_argsort(im->c, x, 1, 1, count);
        if (!order)
                return NULL;
        struct value *none = constant_number(im->m, type_with_element(im->m, x->type, E_BOOL), 0);
        struct value *yes =
                constant_number(im->m, type_with_element(im->m, order->type, E_BOOL), 1);
        return compose_scatter(im->c, none, order, yes, 1, SCATTER_REPLACE);
}

/* Returns scores [tokens, experts], or -inf for experts of a group that is not among the `kept` of
 * `groups` whose `summed` best scores have the largest sum. */
static struct value *of_best_groups(struct onnx_import *im, struct value *scores, int64_t groups,
                                    int64_t kept, int64_t summed)
{
        const int64_t size = value_extent(scores, 1) / groups, last = 2;
        const dim_t tokens = scores->type->dims[0];
        struct value *x = compose_reshape(
                im->c, scores, 3, (const dim_t[]){ tokens, dim_of(groups), dim_of(size) });
        struct value *order = compose_argsort(im->c, x, 2, 1, compose_min(summed, size));
        struct value *best = order ? compose_gather_elements(im->c, x, order, 2) : NULL;
        struct value *sums = compose_reduce(im->c, REDUCE_sum, best, &last, 1, E_COMPUTE);
        struct value *keep = sums ? among_largest(im, sums, kept) : NULL;
        keep = compose_reshape(im->c, keep, 3,
                               (const dim_t[]){ tokens, dim_of(groups), dim_of(1) });
        struct value *never = build_scalar(&im->b, E_F32, -INFINITY);
        x = compose_select(im->c, keep, x, never);
        return compose_reshape(im->c, x, 2, scores->type->dims);
}

/* The operands are logits [.., experts] and a bias for each expert. Of the experts in the best
 * groups those with the largest sigmoid(logit) + bias are chosen: the result is the logarithm of
 * the sigmoid there, and the sentinel elsewhere. Or the results are these sums, and the sigmoids,
 * for all. */
bool onnx_import_moe_group_router(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *rows = onnx_input(n, 2);
        const enum element e = value_element(x);
        const bool full = onnx_wants(n, 1) || onnx_wants(n, 2);
        int64_t groups, kept, summed, chosen;
        float sentinel;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_want_element(im, n, 1, E_F32) || !onnx_want_rank(im, n, 1, 1, 1) ||
            !onnx_want_rank(im, n, 2, 2, 2) ||
            !onnx_float(im, n, "router_sentinel", -10000, &sentinel) ||
            !onnx_int_range(im, n, "group_topk", 2, 1, NUMBER_MAX, &summed) ||
            !onnx_int_range(im, n, "topk_group", 1, 1, NUMBER_MAX, &kept) ||
            !onnx_int_range(im, n, "n_group", 1, 1, NUMBER_MAX, &groups) ||
            !onnx_int_required(im, n, "top_k", &chosen) ||
            !onnx_int_range(im, n, "top_k", 1, 1, NUMBER_MAX, &chosen))
                return false;
        const int64_t width = value_extent(x, value_rank(x) - 1);
        const int64_t experts = value_extent(n->inputs[1], 0);
        if (rows && (!full || value_element(rows) != e || value_extent(rows, 0) != experts ||
                     value_extent(rows, 1) != width))
                return onnx_invalid(im, n, "weights %s for %s", compose_text(im->c, rows->type),
                                    compose_text(im->c, x->type));
        if ((!rows && width != experts) || experts % groups || kept > groups ||
            chosen > kept * (experts / groups) || (full && (groups > 1 || onnx_wants(n, 0))))
                return onnx_invalid(im, n, "%lld of %lld experts in %lld of %lld groups for %s",
                                    (long long)chosen, (long long)experts, (long long)kept,
                                    (long long)groups, compose_text(im->c, x->type));
        const dim_t rows_of[2] = { type_product(im->m, x->type, 0, value_rank(x) - 1),
                                   dim_of(width) };
        x = compose_reshape(im->c, x, 2, rows_of);
        x = compose_cast(im->c, x, E_F32);
        x = rows && x ? compose_dot(im->c, x, compose_cast(im->c, rows, E_F32), 0, 1, 1, E_COMPUTE)
                      : x;
        struct value *weights = compose_unary(im->c, OP_sigmoid, x);
        struct value *scores = add(im->c, weights, n->inputs[1]);
        if (full)
                return (!onnx_wants(n, 1) || onnx_output(n, 1, scores)) &&
                       (!onnx_wants(n, 2) || onnx_output(n, 2, weights));
        if (!scores || !(scores = of_best_groups(im, scores, groups, kept, summed)))
                return false;
        struct value *found =
                compose_unary(im->c, OP_log, compose_with(im->c, OP_max, weights, 1e-20));
        struct value *other = build_scalar(&im->b, E_F32, sentinel);
        struct value *y = compose_select(im->c, among_largest(im, scores, chosen), found, other);
        return onnx_output(n, 0, compose_cast(im->c, y, e));
}
