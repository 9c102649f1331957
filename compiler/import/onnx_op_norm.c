/* SPDX-License-Identifier: MIT */
/* Normalizations and the softmax family. All are sums over axes and element-wise arithmetic,
 * computed in the operand's wide type (or the stash type, where the operator has one) and rounded
 * once at the end. */
#include <float.h>
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_softmax.h"

static struct value *square(struct onnx_import *im, struct value *x) { return mul(im->c, x, x); }

/* Under --exact, x in units that keep sums and squares of f32 within its range: the power of two next to the largest magnitude
 * along axes, so that a quotient by it is exact. Where epsilon decides about small numbers, units are at least 1.
 * *unit: of each sum; NULL, and x as it is: 1, as onnxruntime and PyTorch have it, in whose kernels a variance beyond
 * 3.4e38 is infinite. */
static struct value *in_units(struct onnx_import *im, struct value *x, const int64_t *axes, int count, double epsilon,
                              struct value **unit)
{
        enum { EXPONENT_BITS = 0x7f800000 };
        const double least = 0x1p-100, decides = 0x1p-80;

        *unit = NULL;
        if (!x || !im->context->exact || x->type->element != E_F32)
                return x;
        struct value *most = compose_reduce(im->c, REDUCE_max, compose_unary(im->c, OP_abs, x),
                                            axes, count, E_COMPUTE),
                     *bits = compose_with(im->c, OP_and, compose_as_bits(im->c, most, E_I32),
                                          EXPONENT_BITS);
        *unit = compose_with(im->c, OP_max, compose_as_bits(im->c, bits, E_F32),
                             epsilon > decides ? 1 : least);
        return compose_binary(im->c, OP_div, x,
                              compose_unreduce(im->c, *unit, x->type, axes, count));
}

/* 1 / sqrt(x + epsilon), of x in squares of units: in units */
static struct value *inverse_root(struct onnx_import *im, struct value *x, double epsilon, struct value *unit)
{
        struct value *sum =
                unit ? add(im->c, x,
                           compose_binary(im->c, OP_div, compose_from(im->c, OP_div, epsilon, unit),
                                          unit))
                     : compose_with(im->c, OP_add, x, epsilon);
        return compose_unary(im->c, OP_reciprocal, compose_unary(im->c, OP_sqrt, sum));
}

/* x - mean, and the mean. In units, the rounding error of the mean is subtracted, too: it would be as large as deviations
 * from a mean that is 2^24 times theirs. */
static struct value *deviations(struct onnx_import *im, struct value *x, const int64_t *axes, int count,
                                const struct value *unit, struct value **mean)
{
        *mean = compose_mean(im->c, x, axes, count);
        struct value *deviation =
                sub(im->c, x, compose_unreduce(im->c, *mean, x->type, axes, count));
        if (!unit)
                return deviation;
        struct value *error = compose_mean(im->c, deviation, axes, count);
        *mean = add(im->c, *mean, error);
        return sub(im->c, deviation, compose_unreduce(im->c, error, x->type, axes, count));
}

/* (x - mean) / sqrt(variance + epsilon) along axes; *mean and *inverse: what the function makes on
 * its way */
static struct value *standardize(struct onnx_import *im, struct value *x, const int64_t *axes,
                                 int count, double epsilon, struct value **mean,
                                 struct value **inverse)
{
        struct value *unit;

        if (!(x = in_units(im, x, axes, count, epsilon, &unit)))
                return NULL;
        struct value *deviation = deviations(im, x, axes, count, unit, mean);
        *mean = unit ? mul(im->c, *mean, unit) : *mean;
        *inverse = inverse_root(im, compose_mean(im->c, square(im, deviation), axes, count),
                                epsilon, unit);
        struct value *y =
                mul(im->c, deviation, compose_unreduce(im->c, *inverse, x->type, axes, count));
        *inverse = unit ? compose_binary(im->c, OP_div, *inverse, unit) : *inverse;
        return y;
}

/* the same of x itself, in place of its deviations: x / sqrt(mean square + epsilon) */
static struct value *scale_to_one(struct onnx_import *im, struct value *x, const int64_t *axes, int count, double epsilon,
                                  struct value **inverse)
{
        struct value *unit;

        if (!(x = in_units(im, x, axes, count, epsilon, &unit)))
                return NULL;
        *inverse = inverse_root(im, compose_mean(im->c, square(im, x), axes, count), epsilon, unit);
        struct value *y = mul(im->c, x, compose_unreduce(im->c, *inverse, x->type, axes, count));
        *inverse = unit ? compose_binary(im->c, OP_div, *inverse, unit) : *inverse;
        return y;
}

/* the dimensions from axis on side by side, as one */
static struct value *as_rows(struct onnx_import *im, struct value *x, int axis)
{
        dim_t dims[2] = { dim_of(1), dim_of(1) };

        for (int d = 0; d < value_rank(x); d++)
                dims[d < axis ? 0 : 1] =
                        dim_of(dim_extent(dims[d < axis ? 0 : 1]) * value_extent(x, d));
        return compose_reshape(im->c, x, 2, dims);
}

/* ---- softmax ---- */

/* Softmax, LogSoftmax (variant 1): along one axis; before opset 13 over all dimensions from axis
 * on */
bool onnx_import_softmax(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, axes[RANK_MAX];
        int axis, count = 0, rank = value_rank(x);

        if (!onnx_want_float(im, n, 0) || !onnx_int(im, n, "axis", n->opset < 13 ? 1 : -1, &stated))
                return false;
        if (n->opset < 13 && stated == rank) {
                count = 0; /* rows of one element each */
        } else if (!onnx_axis(im, n, stated, rank, &axis)) {
                return false;
        } else if (n->opset < 13) {
                count = compose_axes_from(axis, rank, axes);
        } else {
                axes[count++] = axis;
        }
        return onnx_output(n, 0,
                           compose_cast(im->c,
                                        compose_softmax(im->c, compose_wide(im->c, x), axes, count,
                                                        onnx_variant(n)),
                                        value_element(x)));
}

/* ---- BatchNormalization ---- */

/* a parameter of x's channels (or, with spatial = 0, of every element but the batch) */
static bool want_parameter(struct onnx_import *im, const struct onnx_node *n, int input,
                           bool spatial)
{
        const struct type *x = n->inputs[0]->type, *t = n->inputs[input]->type;
        int rank = spatial ? 1 : x->rank - 1;
        bool fits = t->rank == rank && element_is_float(t->element);

        for (int d = 0; d < rank && fits; d++)
                fits = dim_is(t->dims[d], x->rank > 1 ? type_extent(x, d + 1) : 1);
        return fits || onnx_invalid(im, n, "operand %d is %s for an input %s", input,
                                    type_text(im->arena, im->m, t), type_text(im->arena, im->m, x));
}

struct batch_norm {
        struct value *x, *scale, *bias, *mean, *variance;         /* as x computes */
        int64_t training, axes[RANK_MAX];         /* axes: all but the channels */
        int count;                      /* of axes */
        float epsilon, momentum;
};

static bool batch_norm_read(struct onnx_import *im, struct onnx_node *n, struct batch_norm *b)
{
        struct value **v[4] = { &b->scale, &b->bias, &b->mean, &b->variance };
        int64_t spatial = 1;

        b->x = compose_wide(im->c, n->inputs[0]);
        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &b->epsilon) ||
            !onnx_float(im, n, "momentum", 0.9f, &b->momentum) ||
            (n->opset < 9 && !onnx_int_range(im, n, "spatial", 1, 0, 1, &spatial)) ||
            (n->opset < 7 && !onnx_ignore(im, n, "is_test")) ||
            (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs")) ||
            (n->opset >= 14 && !onnx_int_range(im, n, "training_mode", 0, 0, 1, &b->training)))
                return false;
        if (!b->x)
                return false;
        for (int i = 0; i < 4; i++) {
                if (!want_parameter(im, n, i + 1, spatial))
                        return false;
                *v[i] = compose_cast(im->c, n->inputs[i + 1], value_element(b->x));
        }
        for (int i = 1; i < n->output_count; i++)
                if (!b->training && n->wanted[i])
                        return onnx_unsupported(im, n,
                                                "statistics as outputs without training_mode");
        for (int d = 0; d < value_rank(b->x); d++)
                if (d != 1)
                        b->axes[b->count++] = d;
        return true;
}

/* Mean and variance of x itself in place of the given ones, which go on as running ones: outputs 1
 * and 2. */
static bool batch_statistics(struct onnx_import *im, struct onnx_node *n, struct batch_norm *b)
{
        const struct type *t = b->x->type;
        struct value *old[2] = { b->mean, b->variance };

        if (t->rank < 2)
                return onnx_invalid(im, n, "the input is of rank %d, want at least 2", t->rank);
        b->mean = compose_mean(im->c, b->x, b->axes, b->count);
        struct value *centered =
                sub(im->c, b->x, compose_unreduce(im->c, b->mean, t, b->axes, b->count));
        b->variance = compose_mean(im->c, square(im, centered), b->axes, b->count);
        for (int i = 0; i < 2; i++) {
                struct value *own = compose_with(im->c, OP_mul, i ? b->variance : b->mean,
                                                 1 - (double)b->momentum);
                struct value *running =
                        add(im->c, compose_with(im->c, OP_mul, old[i], b->momentum), own);
                running = compose_cast(im->c, running, value_element(n->inputs[3 + i]));
                if (!onnx_output(n, 1 + i, running))
                        return false;
        }
        return true;
}

bool onnx_import_batch_normalization(struct onnx_import *im, struct onnx_node *n)
{
        struct batch_norm bn = { .count = 0 };
        int64_t dims[RANK_MAX];

        if (!batch_norm_read(im, n, &bn) || (bn.training && !batch_statistics(im, n, &bn)))
                return false;
        const struct type *t = bn.x->type;
        for (int d = 0; d < t->rank; d++)
                dims[d] = d + 1;
        /* y = x a + b with a = scale / sqrt(variance + epsilon), b = bias - mean a: constants for a
         * trained network */
        struct value *root =
                compose_unary(im->c, OP_sqrt, compose_with(im->c, OP_add, bn.variance, bn.epsilon));
        struct value *a = compose_binary(im->c, OP_div, bn.scale, root);
        struct value *b = sub(im->c, bn.bias, mul(im->c, bn.mean, a));
        if (t->rank == 1) { /* one channel */
                a = compose_along(im->c, a, t, 0);
                b = compose_along(im->c, b, t, 0);
        } else {
                a = compose_spread(im->c, a, t, dims);
                b = compose_spread(im->c, b, t, dims);
        }
        return onnx_output(n, 0,
                           compose_cast(im->c, add(im->c, mul(im->c, bn.x, a), b),
                                        value_element(n->inputs[0])));
}

/* ---- LayerNormalization, RMSNormalization and their com.microsoft kin ---- */

/* v over the normalized dimensions: it broadcasts to x's shape from the right */
static struct value *parameter(struct onnx_import *im, const struct onnx_node *n, int input,
                               const struct type *x, enum element e)
{
        struct value *v = onnx_input(n, input);

        if (!v)
                return NULL;
        for (int d = 0; d < value_rank(v); d++) {
                int at = x->rank - value_rank(v) + d;
                if (at < 0 ||
                    (value_extent(v, d) != 1 && !dim_is(x->dims[at], value_extent(v, d)))) {
                        onnx_invalid(im, n, "operand %d is %s, which does not broadcast to %s",
                                     input, type_text(im->arena, im->m, v->type),
                                     type_text(im->arena, im->m, x));
                        return NULL;
                }
        }
        return build_broadcast_numpy(&im->b, compose_cast(im->c, v, e), x->rank, x->dims);
}

struct layer_norm {
        int scale, bias; /* operand numbers, -1: none */
        bool centered; /* less the mean: not for RMS */
        int mean, deviation, sum; /* output numbers of mean, 1 / deviation, and the operand as
                                   * normalized; -1: none */
};

/* one node's: how it is computed, and what comes out */
struct layer_normed {
        enum element computed, stash;   /* of mean and deviation as outputs */
        int axis, count;                /* dimensions from axis on, `count` of them: axes */
        int64_t axes[RANK_MAX];
        float epsilon;
        struct value *x, *mean, *inverse, *y;
};

static bool layer_norm_read(struct onnx_import *im, struct onnx_node *n, struct layer_normed *l)
{
        enum element e = value_element(n->inputs[0]);
        int64_t stated, number;

        l->stash = E_F32;
        if (!onnx_want_float(im, n, 0) || !onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, value_rank(n->inputs[0]), &l->axis) ||
            !onnx_float(im, n, "epsilon", n->domain[0] ? 1e-12f : 1e-5f, &l->epsilon) ||
            !onnx_int(im, n, "stash_type", 1, &number) ||
            !onnx_element_number(im, n, "stash_type", number, &l->stash))
                return false;
        if (!element_is_float(l->stash))
                return onnx_invalid(im, n, "stash_type is %s", element_info[l->stash].text);
        l->computed = e == E_F64 ? E_F64 : compose_wide_element(l->stash);
        return true;
}

static void normalize(struct onnx_import *im, bool centered, struct layer_normed *l)
{
        const struct type *t = l->x->type;

        if (centered) {
                struct value *rows = l->count > 1 ? as_rows(im, l->x, l->axis) : l->x;
                l->y = standardize(im, rows, (const int64_t[]){ value_rank(rows) - 1 }, 1,
                                   l->epsilon, &l->mean, &l->inverse);
                l->y = compose_reshape(im->c, l->y, t->rank, t->dims);
        } else {
                l->y = scale_to_one(im, l->x, l->axes, l->count, l->epsilon, &l->inverse);
        }
}

/* outputs beside the first, where they are wanted */
static bool layer_norm_outputs(struct onnx_import *im, struct onnx_node *n,
                               const struct layer_norm *form, const struct layer_normed *l)
{
        const struct type *t = l->x->type;

        if (form->mean >= 0 && l->mean && onnx_wants(n, form->mean) &&
            !onnx_output(n, form->mean,
                         compose_cast(im->c, compose_keep(im->c, l->mean, t, l->axes, l->count),
                                      l->stash)))
                return false;
        if (form->deviation >= 0 && onnx_wants(n, form->deviation) &&
            !onnx_output(n, form->deviation,
                         compose_cast(im->c, compose_keep(im->c, l->inverse, t, l->axes, l->count),
                                      l->stash)))
                return false;
        return form->sum < 0 || !onnx_wants(n, form->sum) ||
               onnx_output(n, form->sum, compose_cast(im->c, l->x, value_element(n->inputs[0])));
}

static bool layer_norm(struct onnx_import *im, struct onnx_node *n, struct value *x,
                       const struct layer_norm *form)
{
        struct layer_normed l = { .mean = NULL };

        if (!layer_norm_read(im, n, &l) || !(l.x = compose_cast(im->c, x, l.computed)))
                return false;
        const struct type *t = l.x->type;
        l.count = compose_axes_from(l.axis, t->rank, l.axes);
        normalize(im, form->centered, &l);
        struct value *scale = form->scale < 0 ? NULL : parameter(im, n, form->scale, t, l.computed);
        struct value *bias = form->bias < 0 ? NULL : parameter(im, n, form->bias, t, l.computed);
        if (!l.y || (form->scale >= 0 && onnx_input(n, form->scale) && !scale) ||
            (form->bias >= 0 && onnx_input(n, form->bias) && !bias))
                return false;
        l.y = scale ? mul(im->c, l.y, scale) : l.y;
        l.y = bias ? add(im->c, l.y, bias) : l.y;
        return layer_norm_outputs(im, n, form, &l) &&
               onnx_output(n, 0, compose_cast(im->c, l.y, value_element(n->inputs[0])));
}

bool onnx_import_layer_normalization(struct onnx_import *im, struct onnx_node *n)
{
        const struct layer_norm form = {
                .scale = 1, .bias = 2, .centered = true, .mean = 1, .deviation = 2, .sum = -1
        };

        return layer_norm(im, n, n->inputs[0], &form);
}

bool onnx_import_rms_normalization(struct onnx_import *im, struct onnx_node *n)
{
        const struct layer_norm form = {
                .scale = 1, .bias = -1, .mean = -1, .deviation = n->domain[0] ? 1 : -1, .sum = -1
        };

        return layer_norm(im, n, n->inputs[0], &form);
}

/* com.microsoft: x + skip (+ bias), then normalized. Variant 0: Skip: gamma, beta, bias; 1:
 * SkipSimplified: gamma, bias, no mean */
bool onnx_import_skip_layer_normalization(struct onnx_import *im, struct onnx_node *n)
{
        bool simplified = onnx_variant(n) == 1;
        const struct layer_norm form = { .scale = 2,
                                         .bias = simplified ? -1 : 3,
                                         .centered = !simplified,
                                         .mean = 1,
                                         .deviation = 2,
                                         .sum = 3 };
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, simplified ? 3 : 4) };

        if (!onnx_same_element(im, n, v, 3) || !compose_broadcast(im->c, v, v[2] ? 3 : 2))
                return false;
        if (v[0]->type != n->inputs[0]->type)
                return onnx_invalid(im, n, "operands do not broadcast to the first");
        struct value *right = compose_wide(im->c, v[1]);
        struct value *x = add(im->c, compose_wide(im->c, v[0]), right);
        return layer_norm(im, n, v[2] ? add(im->c, x, compose_wide(im->c, v[2])) : x, &form);
}

/* ---- over spatial dimensions: InstanceNormalization, GroupNormalization,
 * MeanVarianceNormalization ---- */

static bool want_vector(struct onnx_import *im, const struct onnx_node *n, int input,
                        int64_t extent)
{
        const struct type *t = n->inputs[input]->type;

        return (t->rank == 1 && dim_is(t->dims[0], extent) && element_is_float(t->element)) ||
               onnx_invalid(im, n, "operand %d is %s, want %lld numbers", input,
                            type_text(im->arena, im->m, t), (long long)extent);
}

bool onnx_import_instance_normalization(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = compose_wide(im->c, n->inputs[0]);
        int64_t axes[RANK_MAX];
        float epsilon;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &epsilon) ||
            (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs")) ||
            !want_vector(im, n, 1, value_extent(n->inputs[0], 1)) ||
            !want_vector(im, n, 2, value_extent(n->inputs[0], 1)) || !x)
                return false;
        int count = compose_axes_from(2, value_rank(x), axes);
        struct value *scale = compose_along(
                im->c, compose_cast(im->c, n->inputs[1], value_element(x)), x->type, 1);
        struct value *bias = compose_along(
                im->c, compose_cast(im->c, n->inputs[2], value_element(x)), x->type, 1);
        struct value *mean, *inverse,
                *y = standardize(im, x, axes, count, epsilon, &mean, &inverse);
        y = add(im->c, mul(im->c, y, scale), bias);
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

/* Scale and bias: one per group at opset 18, one per channel from 21. */
bool onnx_import_group_normalization(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *t = n->inputs[0]->type;
        int64_t groups, number = 1;
        float epsilon;
        enum element stash = E_F32, e = t->element;
        dim_t split[3] = { dim_of(0), dim_of(0), dim_of(1) };

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &epsilon) ||
            !onnx_int_required(im, n, "num_groups", &groups) ||
            (n->opset >= 21 && !onnx_int(im, n, "stash_type", 1, &number)) ||
            !onnx_element_number(im, n, "stash_type", number, &stash))
                return false;
        if (groups < 1 || type_extent(t, 1) % groups || !element_is_float(stash))
                return onnx_invalid(im, n, "%lld channels in %lld groups",
                                    (long long)type_extent(t, 1), (long long)groups);
        int64_t parameters = n->opset < 21 ? groups : type_extent(t, 1);
        if (!want_vector(im, n, 1, parameters) || !want_vector(im, n, 2, parameters))
                return false;
        split[0] = t->dims[0];
        split[1] = dim_of(groups);
        for (int d = 2; d < t->rank; d++)
                split[2] = dim_of(dim_extent(split[2]) * type_extent(t, d));
        const dim_t channels[3] = { t->dims[0], t->dims[1], split[2] };
        split[2] = dim_of(dim_extent(split[2]) * (type_extent(t, 1) / groups));
        enum element computed = e == E_F64 ? E_F64 : compose_wide_element(stash);
        struct value *scale = compose_cast(im->c, n->inputs[1], computed),
                     *bias = compose_cast(im->c, n->inputs[2], computed);
        struct value *x =
                compose_reshape(im->c, compose_cast(im->c, n->inputs[0], computed), 3, split);
        struct value *mean, *inverse,
                *y = standardize(im, x, (const int64_t[]){ 2 }, 1, epsilon, &mean, &inverse);
        y = n->opset < 21 ? y : compose_reshape(im->c, y, 3, channels);
        if (!y || !scale || !bias)
                return false;
        struct value *right = compose_along(im->c, bias, y->type, 1);
        y = add(im->c, mul(im->c, y, compose_along(im->c, scale, y->type, 1)), right);
        return onnx_output(n, 0,
                           compose_cast(im->c, compose_reshape(im->c, y, t->rank, t->dims), e));
}

bool onnx_import_mean_variance_normalization(struct onnx_import *im, struct onnx_node *n)
{
        static const int64_t preset[3] = { 0, 2, 3 };
        struct value *x = compose_wide(im->c, n->inputs[0]);
        struct onnx_axes axes;

        if (!onnx_want_float(im, n, 0) ||
            !onnx_axes_read(im, n, -1, "axes", value_rank(n->inputs[0]), &axes) || !x)
                return false;
        if (axes.state == AXES_ABSENT) {
                if (value_rank(x) != 4)
                        return onnx_invalid(im, n, "the axes 0, 2, 3 of a tensor of rank %d",
                                            value_rank(x));
                axes.count = 3;
                for (int i = 0; i < 3; i++)
                        axes.axes[i] = preset[i];
        }
        const double epsilon = 1e-9;    /* added to the root */
        struct value *unit, *mean;
        if (!(x = in_units(im, x, axes.axes, axes.count, epsilon, &unit)))
                return false;
        struct value *deviation = deviations(im, x, axes.axes, axes.count, unit, &mean);
        struct value *root = compose_unary(
                im->c, OP_sqrt, compose_mean(im->c, square(im, deviation), axes.axes, axes.count));
        root = unit ? add(im->c, root, compose_from(im->c, OP_div, epsilon, unit))
                    : compose_with(im->c, OP_add, root, epsilon);
        struct value *y =
                compose_binary(im->c, OP_div, deviation,
                               compose_unreduce(im->c, root, x->type, axes.axes, axes.count));
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

/* ---- LpNormalization, LRN ---- */

struct value *onnx_norm_scale(struct onnx_import *im, struct value *largest)
{
        if (!largest)
                return NULL;
        struct value *usual = compose_with(im->c, OP_gt, largest, 0);
        usual = compose_binary(im->c, OP_and, usual, compose_with(im->c, OP_lt, largest, INFINITY));
        return compose_select(im->c, usual, largest, build_like(&im->b, largest, 1));
}

bool onnx_import_lp_normalization(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = compose_wide(im->c, n->inputs[0]);
        int64_t stated, p;
        int axis;

        if (!onnx_want_float(im, n, 0) || !onnx_int_range(im, n, "p", 2, 1, 2, &p) ||
            !onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, value_rank(n->inputs[0]), &axis) || !x)
                return false;
        const int64_t axes[1] = { axis };
        if (p == 2 && type_elements(x->type)) { /* dividing x by a number first does not change x / norm(x) */
                struct value *scale = onnx_norm_scale(
                        im, compose_reduce(im->c, REDUCE_max, compose_unary(im->c, OP_abs, x), axes,
                                           1, E_COMPUTE));
                x = compose_binary(im->c, OP_div, x,
                                   compose_unreduce(im->c, scale, x->type, axes, 1));
        }
        struct value *norm =
                x ? compose_reduce(im->c, REDUCE_sum,
                                   p == 1 ? compose_unary(im->c, OP_abs, x) : square(im, x), axes,
                                   1, E_COMPUTE)
                  : NULL;
        norm = p == 2 ? compose_unary(im->c, OP_sqrt, norm) : norm;
        /* 0 / 0 is 0 here */
        norm = compose_select(im->c, compose_with(im->c, OP_eq, norm, 0),
                              norm ? build_like(&im->b, norm, 1) : NULL, norm);
        return onnx_output(
                n, 0,
                compose_cast(im->c,
                             compose_binary(im->c, OP_div, x,
                                            compose_unreduce(im->c, norm, x->type, axes, 1)),
                             value_element(n->inputs[0])));
}

/* x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta */
bool onnx_import_lrn(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = compose_wide(im->c, n->inputs[0]);
        int64_t size, window[RANK_MAX], pads[2 * RANK_MAX] = { 0 };
        float alpha, beta, bias;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, RANK_MAX) ||
            !onnx_int_required(im, n, "size", &size) ||
            !onnx_float(im, n, "alpha", 1e-4f, &alpha) ||
            !onnx_float(im, n, "beta", 0.75f, &beta) || !onnx_float(im, n, "bias", 1, &bias) || !x)
                return false;
        if (size < 1 || size > NUMBER_MAX)
                return onnx_invalid(im, n, "size is %lld", (long long)size);
        int rank = value_rank(x);
        for (int d = 0; d < rank; d++)
                window[d] = 1;
        window[1] = size;
        pads[1] = (size - 1) / 2;
        pads[rank + 1] = size - 1 - (size - 1) / 2;
        struct attr *attrs = attrs_new(im->m, OP_reduce_window);
        attr_set(attrs, OP_reduce_window, "kind", REDUCE_sum);
        attr_set_ints(im->m, attrs, OP_reduce_window, "window", window, rank);
        attr_set_ints(im->m, attrs, OP_reduce_window, "pads", pads, 2 * rank);
        struct value *squares = square(im, x);
        if (!squares)
                return false;
        struct value *sum = value_build(&im->b, OP_reduce_window, &squares, 1, attrs, NULL);
        struct value *base =
                compose_with(im->c, OP_add,
                             compose_with(im->c, OP_mul, sum, (double)alpha / (double)size), bias);
        return onnx_output(n, 0,
                           compose_cast(im->c,
                                        compose_binary(im->c, OP_div, x,
                                                       compose_with(im->c, OP_pow, base, beta)),
                                        value_element(n->inputs[0])));
}
