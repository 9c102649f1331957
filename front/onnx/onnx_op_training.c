/* SPDX-License-Identifier: MIT */
/* This file imports Momentum, Adagrad and Adam of ai.onnx.preview.training. A node has several
 * tensors to optimize: all of these, then all gradients, then all of each state; results are the
 * new tensors, then the new states. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_optimizer.h"

static bool attributes_read(struct onnx_import *im, struct onnx_node *n,
                            struct compose_optimizer *o)
{
        static const char *const modes[] = { "standard", "nesterov", NULL }, *const required[] = {
                "alpha", "beta", "mode", "norm_coefficient"
        };

        for (int k = 0; k < 4 && o->kind == OPTIMIZER_MOMENTUM; k++)
                if (!onnx_has(n, required[k]))
                        return onnx_invalid(im, n, "attribute %s is missing", required[k]);
        if (!onnx_float(im, n, "norm_coefficient", 0, &o->norm))
                return false;
        if (o->kind != OPTIMIZER_ADAGRAD && (!onnx_float(im, n, "alpha", 0.9F, &o->alpha) ||
                                   !onnx_float(im, n, "beta", 0.999F, &o->beta)))
                return false;
        switch (o->kind) {
        case OPTIMIZER_MOMENTUM: return onnx_choice(im, n, "mode", modes, 0, &o->nesterov);
        case OPTIMIZER_ADAGRAD:
                return onnx_float(im, n, "decay_factor", 0, &o->decay) &&
                       onnx_float(im, n, "epsilon", 1e-6F, &o->epsilon);
        default:
                return onnx_float(im, n, "epsilon", 1e-6F, &o->epsilon) &&
                       onnx_float(im, n, "norm_coefficient_post", 0, &o->norm_after);
        }
}

/* The operands are R, T, and for each tensor itself, its gradient and its states; the variant says
 * which optimizer it is. */
bool onnx_import_optimizer(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_optimizer o = { .kind = onnx_variant(n) };
        const int states = o.kind == OPTIMIZER_ADAM ? 2 : 1, parts = 2 + states;
        const int count = (n->input_count - 2) / parts;

        if (n->input_count != 2 + count * parts || n->output_count > count * (1 + states))
                return onnx_invalid(
                        im, n, "%d inputs and %d outputs, want 2 and %d for each tensor, and %d",
                        n->input_count, n->output_count, parts, 1 + states);
        for (int k = 0; k < n->input_count; k++) {
                const struct value *v = n->inputs[k],
                                   *like = k < 2 ? v : n->inputs[2 + (k - 2) % count];
                if (!v)
                        return onnx_invalid(im, n, "input %d is required", k);
                if (!type_same_dims(v->type, like->type) ||
                    value_element(v) != value_element(like) ||
                    (k >= 2 && value_element(v) != E_F32 && value_element(v) != E_F64))
                        return onnx_invalid(im, n, "operand %d is %s, want %s, of f32 or f64", k,
                                            compose_text(im->c, v->type),
                                            compose_text(im->c, like->type));
        }
        struct value *rate = onnx_scalar(im, n, 0), *updates = rate ? onnx_scalar(im, n, 1) : NULL;
        if (!updates || !onnx_want_float(im, n, 0) || !onnx_want_element(im, n, 1, E_I64) ||
            !attributes_read(im, n, &o) || !compose_optimizer_rate(im->c, &o, rate, updates))
                return false;
        for (int k = 0; k < count; k++) {
                struct value *v[4], *made[3];
                for (int part = 0; part < parts; part++)
                        v[part] = n->inputs[2 + part * count + k];
                if (!compose_optimizer_update(im->c, &o, v, made))
                        return false;
                for (int part = 0; part <= states; part++)
                        if (part * count + k < n->output_count &&
                            !onnx_output(n, part * count + k, made[part]))
                                return false;
        }
        return true;
}
