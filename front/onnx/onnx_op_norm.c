/* SPDX-License-Identifier: MIT */
/* This file imports normalizations and Softmax. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_norm.h"
#include "front/compose/compose_softmax.h"

/* Imports Softmax and LogSoftmax (variant 1) along one axis; before opset 13 they are over all
 * dimensions from axis on. */
bool onnx_import_softmax(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, axes[RANK_MAX];
        int axis, count = 0, rank = value_rank(x);

        if (!onnx_want_float(im, n, 0) || !onnx_int(im, n, "axis", n->opset < 13 ? 1 : -1, &stated))
                return false;
        if (n->opset < 13 && stated == rank) {
                count = 0; /* Rows have one element each. */
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

/* Sets *moment to what earlier nodes of the step made of it, where several share it. */
static void follow_moment(const struct import_training *t, int i, struct value **moment)
{
        for (int k = t->mode_count - 1; k >= 0; k--)
                if (t->modes[k].moments[i] == *moment) {
                        *moment = t->modes[k].next[i];
                        return;
                }
}

/* Imports a node in training, where a step is made: inference has the recorded moments, and a step
 * makes new ones. */
static bool normalize_in_step(struct onnx_import *im, struct onnx_node *n,
                              struct compose_batch_norm b)
{
        struct import_mode m = { .moments = { b.mean, b.variance } };
        if (im->b.region->owner)
                return onnx_unsupported(im, n, "training inside of a branch or loop, whose moments "
                                               "are no state");
        if (!onnx_weight(im, b.mean) || !onnx_weight(im, b.variance))
                return onnx_unsupported(im, n, "training by a mean and a variance that are no "
                                               "initializers of the model");
        b.training = false;
        m.inferred = compose_batch_norm(im->c, n->inputs[0], &b, NULL);
        b.training = true;
        follow_moment(im->options->training, 0, &b.mean);
        follow_moment(im->options->training, 1, &b.variance);
        m.trained = m.inferred ? compose_batch_norm(im->c, n->inputs[0], &b, m.next) : NULL;
        if (!m.trained || !onnx_output(n, 0, onnx_by_mode(im, m)))
                return false;
        for (int i = 0; i < 2; i++)
                if (1 + i < n->output_count && n->wanted[1 + i]) {
                        struct import_mode own = { .inferred = m.moments[i],
                                                   .trained = m.next[i] };
                        if (!onnx_output(n, 1 + i, onnx_by_mode(im, own)))
                                return false;
                }
        return true;
}

bool onnx_import_batch_normalization(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_batch_norm b = { .scale = n->inputs[1],
                                        .bias = n->inputs[2],
                                        .mean = n->inputs[3],
                                        .variance = n->inputs[4] };
        struct value *running[2] = { NULL, NULL };
        int64_t spatial = 1, training = 0;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &b.epsilon) ||
            !onnx_float(im, n, "momentum", 0.9f, &b.momentum) ||
            (n->opset < 9 && !onnx_int_range(im, n, "spatial", 1, 0, 1, &spatial)) ||
            (n->opset < 7 && !onnx_ignore(im, n, "is_test")) ||
            (n->opset < 6 && !onnx_ignore(im, n, "consumed_inputs")) ||
            (n->opset >= 14 && !onnx_int_range(im, n, "training_mode", 0, 0, 1, &training)))
                return false;
        b.each = !spatial;
        b.training = onnx_in_training(im, training);
        if (b.training && im->options->training)
                return normalize_in_step(im, n, b);
        for (int i = 1; i < n->output_count; i++)
                if (!training && n->wanted[i])
                        return onnx_unsupported(im, n,
                                                "statistics as outputs without training_mode");
        struct value *y = compose_batch_norm(im->c, n->inputs[0], &b, running);
        for (int i = 0; y && training && i < 2; i++)
                onnx_output(n, 1 + i, b.training ? running[i] : i ? b.variance : b.mean);
        return onnx_output(n, 0, y);
}

/* ---- LayerNormalization, RMSNormalization and their com.microsoft kin ---- */

struct layer_norm {
        int scale, bias;                /* They are operand numbers; -1 stands for none. */
        bool centered;                  /* The mean is subtracted, but not for RMS. */
        int mean, deviation, sum;       /* They are output numbers of the mean, of 1 / deviation,
                                         * and of the operand as normalized; -1 stands for none. */
};

static bool layer_norm_read(struct onnx_import *im, struct onnx_node *n,
                            const struct layer_norm *form, struct compose_layer_norm *l)
{
        int64_t stated, number;

        *l = (struct compose_layer_norm){ .centered = form->centered, .stash = E_F32 };
        if (!onnx_want_float(im, n, 0) || !onnx_int(im, n, "axis", -1, &stated) ||
            !onnx_axis(im, n, stated, value_rank(n->inputs[0]), &l->axis) ||
            !onnx_float(im, n, "epsilon", n->domain[0] ? 1e-12f : 1e-5f, &l->epsilon) ||
            !onnx_int(im, n, "stash_type", 1, &number) ||
            !onnx_element_number(im, n, "stash_type", number, &l->stash))
                return false;
        if (!element_is_float(l->stash))
                return onnx_invalid(im, n, "stash_type is %s", element_info[l->stash].text);
        l->computed = value_element(n->inputs[0]) == E_F64 ? E_F64 : compose_wide_element(l->stash);
        l->scale = form->scale < 0 ? NULL : onnx_input(n, form->scale);
        l->bias = form->bias < 0 ? NULL : onnx_input(n, form->bias);
        return true;
}

/* Returns the mean that nothing subtracts: 0. */
static struct value *no_mean(struct onnx_import *im, const struct value *x, int axis)
{
        dim_t dims[RANK_MAX];

        for (int d = 0; d < value_rank(x); d++)
                dims[d] = d < axis ? x->type->dims[d] : dim_of(1);
        const struct type *to = compose_type(im->c, value_element(x), value_rank(x), dims);
        const struct type *one = compose_type(im->c, value_element(x), 0, NULL);
        return to && one ? compose_spread(im->c, constant_number(im->m, one, 0), to, NULL) : NULL;
}

static bool layer_norm(struct onnx_import *im, struct onnx_node *n, struct value *x,
                       const struct layer_norm *form)
{
        const enum element e = value_element(n->inputs[0]);
        struct value *mean = NULL, *inverse = NULL;
        struct compose_layer_norm l;

        if (!layer_norm_read(im, n, form, &l) || !(x = compose_cast(im->c, x, l.computed)))
                return false;
        struct value *y = compose_layer_norm(
                im->c, x, &l,
                form->centered && form->mean >= 0 && onnx_wants(n, form->mean) ? &mean : NULL,
                form->deviation >= 0 && onnx_wants(n, form->deviation) ? &inverse : NULL);
        if (!y)
                return false;
        if (!form->centered && form->mean >= 0 && onnx_wants(n, form->mean) &&
            !(mean = no_mean(im, x, l.axis)))
                return false;
        if (mean)
                onnx_output(n, form->mean, mean);
        if (inverse)
                onnx_output(n, form->deviation, inverse);
        if (form->sum >= 0 && onnx_wants(n, form->sum) &&
            !onnx_output(n, form->sum, compose_cast(im->c, x, e)))
                return false;
        return onnx_output(n, 0, compose_cast(im->c, y, e));
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

/* Imports com.microsoft's x + skip (+ bias), which is then normalized. Variant 0, Skip, has gamma,
 * beta and bias; variant 1, SkipSimplified, has gamma and bias, and subtracts no mean. */
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
                            compose_text(im->c, t), (long long)extent);
}

bool onnx_import_instance_normalization(struct onnx_import *im, struct onnx_node *n)
{
        float epsilon;

        return onnx_want_float(im, n, 0) && onnx_want_rank(im, n, 0, 3, RANK_MAX) &&
               onnx_float(im, n, "epsilon", 1e-5f, &epsilon) &&
               (n->opset >= 6 || onnx_ignore(im, n, "consumed_inputs")) &&
               want_vector(im, n, 1, value_extent(n->inputs[0], 1)) &&
               want_vector(im, n, 2, value_extent(n->inputs[0], 1)) &&
               onnx_output(n, 0,
                           compose_instance_norm(im->c, n->inputs[0], n->inputs[1], n->inputs[2],
                                                 epsilon));
}

/* Scale and bias are one for each group at opset 18, and one for each channel from 21 on. */
bool onnx_import_group_normalization(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *t = n->inputs[0]->type;
        struct compose_group_norm g = { .scale = n->inputs[1],
                                        .bias = n->inputs[2],
                                        .of_groups = n->opset < 21 };
        int64_t number = 1;
        enum element stash = E_F32;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !onnx_float(im, n, "epsilon", 1e-5f, &g.epsilon) ||
            !onnx_int_required(im, n, "num_groups", &g.groups) ||
            (n->opset >= 21 && !onnx_int(im, n, "stash_type", 1, &number)) ||
            !onnx_element_number(im, n, "stash_type", number, &stash))
                return false;
        if (g.groups < 1 || type_extent(t, 1) % g.groups || !element_is_float(stash))
                return onnx_invalid(im, n, "%lld channels in %lld groups",
                                    (long long)type_extent(t, 1), (long long)g.groups);
        int64_t parameters = g.of_groups ? g.groups : type_extent(t, 1);
        g.computed = t->element == E_F64 ? E_F64 : compose_wide_element(stash);
        return want_vector(im, n, 1, parameters) && want_vector(im, n, 2, parameters) &&
               onnx_output(n, 0, compose_group_norm(im->c, n->inputs[0], &g));
}

bool onnx_import_mean_variance_normalization(struct onnx_import *im, struct onnx_node *n)
{
        static const int64_t preset[3] = { 0, 2, 3 };
        struct value *x = n->inputs[0];
        struct onnx_axes axes;

        if (!onnx_want_float(im, n, 0) || !onnx_axes_read(im, n, -1, "axes", value_rank(x), &axes))
                return false;
        if (axes.state == AXES_ABSENT) {
                if (value_rank(x) < 4)
                        return onnx_invalid(im, n, "the axes 0, 2, 3 of a tensor of rank %d",
                                            value_rank(x));
                axes.count = 3;
                for (int i = 0; i < 3; i++)
                        axes.axes[i] = preset[i];
        }
        return onnx_output(n, 0, compose_mean_variance_norm(im->c, x, axes.axes, axes.count));
}

/* ---- LpNormalization, LRN ---- */

bool onnx_import_lp_normalization(struct onnx_import *im, struct onnx_node *n)
{
        int64_t stated, p;
        int axis;

        return onnx_want_float(im, n, 0) && onnx_int_range(im, n, "p", 2, 1, 2, &p) &&
               onnx_int(im, n, "axis", -1, &stated) &&
               onnx_axis(im, n, stated, value_rank(n->inputs[0]), &axis) &&
               onnx_output(n, 0, compose_lp_norm(im->c, n->inputs[0], axis, (int)p));
}

bool onnx_import_lrn(struct onnx_import *im, struct onnx_node *n)
{
        float alpha, beta, bias;
        int64_t size;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, RANK_MAX) ||
            !onnx_int_required(im, n, "size", &size) ||
            !onnx_float(im, n, "alpha", 1e-4f, &alpha) ||
            !onnx_float(im, n, "beta", 0.75f, &beta) || !onnx_float(im, n, "bias", 1, &bias))
                return false;
        if (size < 1 || size > NUMBER_MAX)
                return onnx_invalid(im, n, "size is %lld", (long long)size);
        return onnx_output(
                n, 0, compose_local_response_norm(im->c, n->inputs[0], size, alpha, beta, bias));
}
