/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators are the standard's with another signature, or small formulas:
 * FusedGemm, ExpandDims, Pad, Range, CDist, UnfoldTensor, NhwcMaxPool, BranchwiseRMSNorm,
 * HyperConnectionPreMix and PostMix, EngramGate. */
#include <math.h>
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_norm.h"

/* Imports Gemm, then an activation. */
bool onnx_import_fused_gemm(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const names[] = { "Relu",      "Sigmoid",     "Tanh",
                                             "LeakyRelu", "Elu",         "HardSigmoid",
                                             "Softplus",  "Softsign",    "ThresholdedRelu",
                                             "ScaledTanh", NULL };
        static const int kinds[] = { ACT_RELU,      ACT_SIGMOID,  ACT_TANH,
                                     ACT_LEAKY_RELU, ACT_ELU,     ACT_HARD_SIGMOID,
                                     ACT_SOFTPLUS,  ACT_SOFTSIGN, ACT_THRESHOLDED_RELU,
                                     ACT_SCALED_TANH };
        float alpha, beta, gamma;
        int which;

        if (!onnx_want_float(im, n, 0) || !onnx_choice(im, n, "activation", names, -1, &which) ||
            !onnx_float(im, n, "activation_alpha", 0, &alpha) ||
            !onnx_float(im, n, "activation_beta", 0, &beta) ||
            !onnx_float(im, n, "activation_gamma", 0, &gamma))
                return false;
        n->opset = 11;
        if (!onnx_import_gemm(im, n))
                return false;
        if (which < 0)
                return true;
        const struct compose_activation use = { .kind = kinds[which],
                                                .alpha = alpha,
                                                .beta = beta };
        const enum element e = value_element(n->outputs[0]);
        struct value *y = compose_activate(im->c, &use, compose_wide(im->c, n->outputs[0]));
        return onnx_output(n, 0, compose_cast(im->c, y, e));
}

/* Imports Unsqueeze by one axis, which is an operand. */
bool onnx_import_expand_dims(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *t = n->inputs[0]->type;
        int64_t axis;
        dim_t dims[RANK_MAX];
        bool known;

        if (!onnx_want_rank(im, n, 0, 0, RANK_MAX - 1) ||
            !onnx_operand_int(im, n, 1, 0, &axis, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "an axis that only a run knows");
        if (axis < -t->rank - 1 || axis > t->rank)
                return onnx_invalid(im, n, "axis %lld of rank %d", (long long)axis, t->rank);
        axis += axis < 0 ? t->rank + 1 : 0;
        for (int d = 0; d <= t->rank; d++)
                dims[d] = d == axis ? dim_of(1) : t->dims[d - (d > axis)];
        return onnx_output(n, 0, compose_reshape(im->c, n->inputs[0], t->rank + 1, dims));
}

/* Imports Pad as of the operator set that takes pads as an operand and knows no axes. */
bool onnx_import_pad_operand(struct onnx_import *im, struct onnx_node *n)
{
        n->opset = 13;
        return onnx_import_pad(im, n);
}

/* Imports Range, in steps of 1 where none are given. */
bool onnx_import_range_by_one(struct onnx_import *im, struct onnx_node *n)
{
        struct value **v = arena_array(im->arena, 3, sizeof *v);

        v[0] = n->inputs[0];
        v[1] = n->inputs[1];
        v[2] = onnx_input(n, 2);
        if (!v[2])
                v[2] = constant_number(im->m, type_scalar(im->m, value_element(v[0])), 1);
        n->inputs = v;
        n->input_count = 3;
        return onnx_import_range(im, n);
}

/* Computes the distances between the rows of A and those of B. */
bool onnx_import_cdist(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const metrics[] = { "sqeuclidean", "euclidean", NULL };
        struct value *a = n->inputs[0], *b = n->inputs[1];
        const int64_t along[1] = { 2 };
        int metric;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, n->inputs, 2) ||
            !onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_choice(im, n, "metric", metrics, 0, &metric))
                return false;
        if (value_extent(a, 1) != value_extent(b, 1))
                return onnx_invalid(im, n, "rows of %lld and of %lld",
                                    (long long)value_extent(a, 1), (long long)value_extent(b, 1));
        const dim_t dims[3] = { a->type->dims[0], b->type->dims[0], a->type->dims[1] };
        const struct type *t = compose_type(im->c, value_element(a), 3, dims);
        if (!t)
                return false;
        a = compose_spread(im->c, a, t, (const int64_t[]){ 0, 2 });
        b = compose_spread(im->c, b, t, (const int64_t[]){ 1, 2 });
        struct value *apart = a && b ? sub(im->c, a, b) : NULL;
        struct value *sum = apart ? compose_reduce(im->c, REDUCE_sum, mul(im->c, apart, apart),
                                                   along, 1, E_COMPUTE)
                                  : NULL;
        return onnx_output(n, 0, metric ? compose_unary(im->c, OP_sqrt, sum) : sum);
}

/* Takes windows of `size` along a dimension, `step` apart; they are a further dimension, the
 * last. */
bool onnx_import_unfold_tensor(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, size, step;
        const int rank = value_rank(x);
        int axis;

        if (!onnx_want_rank(im, n, 0, 1, RANK_MAX - 1) || !onnx_int(im, n, "dim", -1, &stated) ||
            !onnx_axis(im, n, stated, rank, &axis) || !onnx_int_required(im, n, "size", &size) ||
            !onnx_int_range(im, n, "size", 1, 1, NUMBER_MAX, &size) ||
            !onnx_int_range(im, n, "step", 1, 1, NUMBER_MAX, &step))
                return false;
        if (size > value_extent(x, axis))
                return onnx_invalid(im, n, "windows of %lld in %lld", (long long)size,
                                    (long long)value_extent(x, axis));
        const dim_t windows[2] = { dim_of((value_extent(x, axis) - size) / step + 1),
                                   dim_of(size) };
        const struct type *t = compose_type(im->c, E_I64, 2, windows);
        if (!t)
                return false;
        dim_t dims[RANK_MAX];
        for (int d = 0; d <= rank; d++)
                dims[d] = d == rank ? windows[1] : d == axis ? windows[0] : x->type->dims[d];
        if (!compose_type(im->c, value_element(x), rank + 1, dims))
                return false;
        struct value *first = times(im->c, build_iota(&im->b, t, 0), (double)step);
        struct value *at = first ? add(im->c, first, build_iota(&im->b, t, 1)) : NULL;
        struct value *y = at ? build_gather(&im->b, x, at, axis) : NULL;
        int64_t perm[RANK_MAX];
        for (int d = 0; d <= rank; d++)
                perm[d] = d == rank ? axis + 1 : d <= axis ? d : d + 1;
        return onnx_output(n, 0, y ? build_transpose(&im->b, y, perm) : NULL);
}

/* Imports MaxPool of bytes whose channels are last. */
bool onnx_import_nhwc_max_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct value **v = arena_array(im->arena, 1, sizeof *v);

        if (!onnx_want_8_bit(im, n, 0) || !onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !(v[0] = compose_move_channels(im->c, n->inputs[0], true)))
                return false;
        n->inputs = v;
        n->opset = 12;
        return onnx_import_max_pool(im, n) &&
               onnx_output(n, 0, compose_move_channels(im->c, n->outputs[0], false));
}

/* ---- branches: streams of one shape side by side ---- */

/* Returns x, [.., branches, width] or flat [.., branches * width], as the former in its wide
 * type. */
static struct value *by_branches(struct onnx_import *im, struct onnx_node *n, struct value *x)
{
        const int rank = value_rank(x);
        int64_t branches;
        dim_t dims[RANK_MAX];

        if (!onnx_int_range(im, n, "num_branches", 0, 0, NUMBER_MAX, &branches))
                return NULL;
        x = compose_wide(im->c, x);
        if (!branches && rank >= 2)
                return x;
        if (!branches || rank < 1 || rank >= RANK_MAX || value_extent(x, rank - 1) % branches) {
                onnx_invalid(im, n, "%s in %lld branches", compose_text(im->c, x->type),
                             (long long)branches);
                return NULL;
        }
        memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
        dims[rank - 1] = dim_of(branches);
        dims[rank] = dim_of(value_extent(x, rank - 1) / branches);
        return compose_reshape(im->c, x, rank + 1, dims);
}

/* Returns the factors of x, [.., branches, width]: one for each branch, [.., branches] or [..,
 * branches, 1], or one for each element, also with both dimensions as one. */
static struct value *factors_of(struct onnx_import *im, struct onnx_node *n, struct value *x,
                                struct value *factors)
{
        const int rank = value_rank(x);
        const struct type *t = x->type, *f = factors->type;
        dim_t dims[RANK_MAX];

        memcpy(dims, t->dims, (size_t)rank * sizeof *dims);
        if (f->rank == rank - 1 && dim_equal(f->dims[rank - 2], t->dims[rank - 2]))
                dims[rank - 1] = dim_of(1);
        else if (f->rank == rank)
                dims[rank - 1] = f->dims[rank - 1];
        const struct type *want = type_tensor(im->m, f->element, rank, dims);
        if (!dim_equal(type_product(im->m, want, 0, rank), type_product(im->m, f, 0, f->rank)) ||
            (!dim_is(dims[rank - 1], 1) && !dim_equal(dims[rank - 1], t->dims[rank - 1]))) {
                onnx_invalid(im, n, "factors are %s for streams %s", compose_text(im->c, f),
                             compose_text(im->c, t));
                return NULL;
        }
        factors = compose_reshape(im->c, compose_cast(im->c, factors, t->element), rank, dims);
        struct value *both[2] = { x, factors };
        return factors && compose_broadcast(im->c, both, 2) ? both[1] : NULL;
}

/* The operands are X and scale; each branch is divided by its root mean square. */
bool onnx_import_branchwise_rms_norm(struct onnx_import *im, struct onnx_node *n)
{
        struct value *scale = onnx_input(n, 1);
        struct compose_layer_norm l = { .computed = E_F32, .stash = E_F32 };
        const struct type *given = n->inputs[0]->type;
        struct value *x;

        if (!onnx_want_float(im, n, 0) || (scale && !onnx_want_float(im, n, 1)) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &l.epsilon) ||
            !(x = by_branches(im, n, n->inputs[0])))
                return false;
        l.axis = value_rank(x) - 1;
        const int64_t width = value_extent(x, l.axis), all = width * value_extent(x, l.axis - 1);
        if (scale && type_elements(scale->type) != width && type_elements(scale->type) != all)
                return onnx_invalid(im, n, "the scale is %s for %s",
                                    compose_text(im->c, scale->type), compose_text(im->c, x->type));
        if (scale) {
                const bool each = type_elements(scale->type) == all;
                l.scale = compose_reshape(im->c, compose_wide(im->c, scale), each ? 2 : 1,
                                          x->type->dims + l.axis - each);
        }
        struct value *y = compose_layer_norm(im->c, x, &l, NULL, NULL);
        y = compose_cast(im->c, y, given->element);
        return onnx_output(n, 0, y ? compose_reshape(im->c, y, given->rank, given->dims) : NULL);
}

/* The operands are streams and pre_mix; the result is the sum of the branches times their
 * factors. */
bool onnx_import_hyper_pre_mix(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x, *factors;
        float scale;

        if (!onnx_want_float(im, n, 0) || !onnx_want_float(im, n, 1) ||
            !onnx_float(im, n, "reduction_scale", 1, &scale) ||
            !(x = by_branches(im, n, n->inputs[0])) ||
            !(factors = factors_of(im, n, x, n->inputs[1])))
                return false;
        const int64_t along[1] = { value_rank(x) - 2 };
        struct value *sum =
                compose_reduce(im->c, REDUCE_sum, mul(im->c, x, factors), along, 1, E_COMPUTE);
        return onnx_output(
                n, 0, compose_cast(im->c, times(im->c, sum, scale), value_element(n->inputs[0])));
}

/* The operands are streams, block_output, post_mix, stream_mix. The result is the streams, mixed by
 * a matrix, plus what a block made, times factors of each stream. */
bool onnx_import_hyper_post_mix(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *given = n->inputs[0]->type;
        struct value *block = n->inputs[1], *mix = onnx_input(n, 3), *x, *factors;

        if (!onnx_want_float(im, n, 0) || !onnx_want_float(im, n, 1) ||
            !onnx_want_float(im, n, 2) || (mix && !onnx_want_float(im, n, 3)) ||
            !(x = by_branches(im, n, n->inputs[0])) ||
            !(factors = factors_of(im, n, x, n->inputs[2])))
                return false;
        const int rank = value_rank(x);
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims, (size_t)rank * sizeof *dims);
        dims[rank - 2] = dim_of(1);
        if (value_rank(block) != rank - 1 ||
            type_elements(block->type) * value_extent(x, rank - 2) != type_elements(x->type))
                return onnx_invalid(im, n, "a block's result %s for streams %s",
                                    compose_text(im->c, block->type), compose_text(im->c, x->type));
        block = compose_reshape(im->c, compose_wide(im->c, block), rank, dims);
        if (mix) {
                int64_t perm[RANK_MAX];
                dims[rank - 2] = dims[rank - 1] = x->type->dims[rank - 2];
                if (mix->type != type_tensor(im->m, value_element(mix), rank, dims))
                        return onnx_invalid(im, n, "the matrices are %s for streams %s",
                                            compose_text(im->c, mix->type),
                                            compose_text(im->c, x->type));
                for (int d = 0; d < rank; d++)
                        perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
                mix = build_transpose(&im->b, compose_cast(im->c, mix, value_element(x)), perm);
                x = compose_matmul(im->c, mix, x);
        }
        struct value *both[2] = { factors, block };
        if (!x || !block || !compose_broadcast(im->c, both, 2))
                return false;
        struct value *y = add(im->c, x, mul(im->c, both[0], both[1]));
        y = compose_cast(im->c, y, given->element);
        return onnx_output(n, 0, y ? compose_reshape(im->c, y, given->rank, given->dims) : NULL);
}

/* Returns x, [batch, steps, branches, width], divided by its root mean square and multiplied by a
 * scale [branches, width]. */
static struct value *scaled_rms(struct onnx_import *im, struct onnx_node *n, struct value *x,
                                struct value *scale, float epsilon)
{
        const struct compose_layer_norm l = { .scale = compose_wide(im->c, scale),
                                              .axis = 3,
                                              .epsilon = epsilon,
                                              .computed = E_F32,
                                              .stash = E_F32 };

        if (scale->type != type_tensor(im->m, value_element(scale), 2, x->type->dims + 2)) {
                onnx_invalid(im, n, "the scale is %s for %s", compose_text(im->c, scale->type),
                             compose_text(im->c, x->type));
                return NULL;
        }
        return compose_layer_norm(im->c, x, &l, NULL, NULL);
}

/* The operands are key, query, value, key_norm_scale, query_norm_scale, conv_norm_scale; the
 * results are the value times the gate of each branch, and that normalized. */
bool onnx_import_engram_gate(struct onnx_import *im, struct onnx_node *n)
{
        struct value *key = n->inputs[0], *query = n->inputs[1], *value = n->inputs[2];
        const int64_t along[1] = { 3 };
        const enum element e = value_element(key);
        float epsilon;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 4, 4) ||
            !onnx_same_element(im, n, n->inputs, n->input_count) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &epsilon))
                return false;
        const dim_t *d = key->type->dims, row[3] = { d[0], d[1], d[3] };
        if (query->type != key->type || value->type != type_tensor(im->m, e, 3, row))
                return onnx_invalid(im, n, "keys %s, queries %s and values %s do not fit",
                                    compose_text(im->c, key->type),
                                    compose_text(im->c, query->type),
                                    compose_text(im->c, value->type));
        key = scaled_rms(im, n, compose_wide(im->c, key), n->inputs[3], epsilon);
        query = key ? scaled_rms(im, n, compose_wide(im->c, query), n->inputs[4], epsilon) : NULL;
        if (!query)
                return false;
        const struct type *all = key->type;
        struct value *dot =
                compose_reduce(im->c, REDUCE_sum, mul(im->c, key, query), along, 1, E_COMPUTE);
        dot = times(im->c, dot, 1 / sqrt((double)dim_extent(d[3])));
        struct value *size = compose_with(im->c, OP_max, compose_unary(im->c, OP_abs, dot), 1e-6);
        struct value *sign = compose_unary(im->c, OP_sign, dot);
        struct value *gate = mul(im->c, sign, compose_unary(im->c, OP_sqrt, size));
        gate = compose_unreduce(im->c, compose_unary(im->c, OP_sigmoid, gate), all, along, 1);
        value = compose_spread(im->c, compose_wide(im->c, value), all,
                               (const int64_t[]){ 0, 1, 3 });
        struct value *y = gate && value ? mul(im->c, gate, value) : NULL;
        if (!onnx_output(n, 0, compose_cast(im->c, y, e)))
                return false;
        if (!onnx_wants(n, 1))
                return true;
        if (!onnx_input(n, 5))
                return onnx_invalid(im, n, "gated_value_normed is wanted without conv_norm_scale");
        return onnx_output(
                n, 1, compose_cast(im->c, scaled_rms(im, n, y, n->inputs[5], epsilon), e));
}
