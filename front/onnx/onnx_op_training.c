/* SPDX-License-Identifier: MIT */
/* This file imports Momentum, Adagrad and Adam of ai.onnx.preview.training. A node has several
 * tensors to optimize: all of these, then all gradients, then all of each state; results are the
 * new tensors, then the new states. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

#include <math.h>

enum { MOMENTUM, ADAGRAD, ADAM };

struct optimizer {
        int kind;
        int count, states;              /* They are the number of tensors, and of what each has
                                         * beside its gradient. */
        float alpha, beta, epsilon, decay, norm, norm_after;
        int nesterov;
        struct value *first;            /* It says whether it is the first update. */
        struct value *rate;             /* It is an f64. */
};

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct optimizer *o)
{
        static const char *const modes[] = { "standard", "nesterov", NULL }, *const required[] = {
                "alpha", "beta", "mode", "norm_coefficient"
        };

        for (int k = 0; k < 4 && o->kind == MOMENTUM; k++)
                if (!onnx_has(n, required[k]))
                        return onnx_invalid(im, n, "attribute %s is missing", required[k]);
        if (!onnx_float(im, n, "norm_coefficient", 0, &o->norm))
                return false;
        if (o->kind != ADAGRAD && (!onnx_float(im, n, "alpha", 0.9F, &o->alpha) ||
                                   !onnx_float(im, n, "beta", 0.999F, &o->beta)))
                return false;
        switch (o->kind) {
        case MOMENTUM: return onnx_choice(im, n, "mode", modes, 0, &o->nesterov);
        case ADAGRAD:
                return onnx_float(im, n, "decay_factor", 0, &o->decay) &&
                       onnx_float(im, n, "epsilon", 1e-6F, &o->epsilon);
        default:
                return onnx_float(im, n, "epsilon", 1e-6F, &o->epsilon) &&
                       onnx_float(im, n, "norm_coefficient_post", 0, &o->norm_after);
        }
}

/* Finds the learning rate after T updates; before the first one it is R. */
static bool learning_rate(struct onnx_import *im, const struct onnx_node *n, struct optimizer *o)
{
        struct value *rate = onnx_scalar(im, n, 0), *updates = rate ? onnx_scalar(im, n, 1) : NULL;

        if (!updates || !onnx_want_float(im, n, 0) || !onnx_want_element(im, n, 1, E_I64))
                return false;
        o->first = compose_with(im->c, OP_le, updates, 0);
        updates = compose_cast(im->c, updates, E_F64);
        o->rate = compose_cast(im->c, rate, E_F64);
        if (o->kind == ADAGRAD)
                o->rate = divide(im->c, o->rate, plus(im->c, times(im->c, updates, o->decay), 1));
        if (o->kind == ADAM) {
                struct value *above = compose_from(im->c, OP_sub, 1,
                                                   compose_from(im->c, OP_pow, o->beta, updates)),
                             *below = compose_from(im->c, OP_sub, 1,
                                                   compose_from(im->c, OP_pow, o->alpha, updates));
                struct value *later = divide(
                        im->c, mul(im->c, o->rate, compose_unary(im->c, OP_sqrt, above)), below);
                o->rate = compose_select(im->c, o->first, o->rate, later);
        }
        return o->first && o->rate;
}

/* Makes of v (a tensor, its gradient, its states) the new tensor and its new states. */
static bool update(struct onnx_import *im, const struct optimizer *o, struct value *const *v,
                   struct value **made)
{
        enum element e = value_element(v[0]);
        struct value *rate = compose_cast(im->c, o->rate, e),
                     *gradient = add(im->c, times(im->c, v[0], o->norm), v[1]);

        if (o->kind == MOMENTUM) {
                struct value *beta = compose_select(im->c, o->first, build_scalar(&im->b, e, 1),
                                                    build_scalar(&im->b, e, o->beta));
                made[1] = add(im->c, times(im->c, v[2], o->alpha), mul(im->c, gradient, beta));
                struct value *way = o->nesterov
                                            ? add(im->c, gradient, times(im->c, made[1], o->alpha))
                                            : made[1];
                made[0] = sub(im->c, v[0], mul(im->c, way, rate));
        } else if (o->kind == ADAGRAD) {
                made[1] = add(im->c, v[2], mul(im->c, gradient, gradient));
                struct value *size =
                        plus(im->c, compose_unary(im->c, OP_sqrt, made[1]), o->epsilon);
                made[0] = sub(im->c, v[0], divide(im->c, mul(im->c, gradient, rate), size));
        } else {
                made[1] = add(im->c, times(im->c, v[2], o->alpha),
                              times(im->c, gradient, 1 - (double)o->alpha));
                made[2] = add(im->c, times(im->c, v[3], o->beta),
                              times(im->c, mul(im->c, gradient, gradient), 1 - (double)o->beta));
                struct value *size =
                        plus(im->c, compose_unary(im->c, OP_sqrt, made[2]), o->epsilon);
                made[0] = sub(im->c, v[0], divide(im->c, mul(im->c, made[1], rate), size));
                if (o->norm_after != 0)
                        made[0] = times(im->c, made[0], 1 - (double)o->norm_after);
        }
        return made[0] && made[1];
}

/* The operands are R, T, and for each tensor itself, its gradient and its states; the variant says
 * which optimizer it is. */
bool onnx_import_optimizer(struct onnx_import *im, struct onnx_node *n)
{
        struct optimizer o = { .kind = onnx_variant(n) };

        o.states = o.kind == ADAM ? 2 : 1;
        int parts = 2 + o.states;
        o.count = (n->input_count - 2) / parts;
        if (n->input_count != 2 + o.count * parts || n->output_count > o.count * (1 + o.states))
                return onnx_invalid(
                        im, n, "%d inputs and %d outputs, want 2 and %d for each tensor, and %d",
                        n->input_count, n->output_count, parts, 1 + o.states);
        for (int k = 0; k < n->input_count; k++) {
                const struct value *v = n->inputs[k],
                                   *like = k < 2 ? v : n->inputs[2 + (k - 2) % o.count];
                if (!v)
                        return onnx_invalid(im, n, "input %d is required", k);
                if (!type_same_dims(v->type, like->type) ||
                    value_element(v) != value_element(like) ||
                    (k >= 2 && value_element(v) != E_F32 && value_element(v) != E_F64))
                        return onnx_invalid(im, n, "operand %d is %s, want %s, of f32 or f64", k,
                                            compose_text(im->c, v->type),
                                            compose_text(im->c, like->type));
        }
        if (!attributes_read(im, n, &o) || !learning_rate(im, n, &o))
                return false;
        for (int k = 0; k < o.count; k++) {
                struct value *v[4], *made[3];
                for (int part = 0; part < parts; part++)
                        v[part] = n->inputs[2 + part * o.count + k];
                if (!update(im, &o, v, made))
                        return false;
                for (int part = 0; part <= o.states; part++)
                        if (part * o.count + k < n->output_count &&
                            !onnx_output(n, part * o.count + k, made[part]))
                                return false;
        }
        return true;
}
