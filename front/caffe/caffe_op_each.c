/* SPDX-License-Identifier: MIT */
/* Layers that are element by element. */
#include "front/caffe/caffe_helpers.h"

#include <math.h>

#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"

static bool activated(struct caffe_import *im, struct caffe_layer *n, int kind, double alpha)
{
        const struct compose_activation use = { kind, alpha, 0 };
        return caffe_top(n, compose_activate(im->c, &use, n->bottoms[0]));
}

bool caffe_import_activation(struct caffe_import *im, struct caffe_layer *n)
{
        return activated(im, n, caffe_variant(n), 0);
}

bool caffe_import_absolute(struct caffe_import *im, struct caffe_layer *n)
{
        return caffe_top(n, compose_unary(im->c, OP_abs, n->bottoms[0]));
}

bool caffe_import_relu(struct caffe_import *im, struct caffe_layer *n)
{
        const double slope = (double)n->p->relu_param->negative_slope;
        return activated(im, n, slope == 0 ? ACT_RELU : ACT_LEAKY_RELU, slope);
}

bool caffe_import_elu(struct caffe_import *im, struct caffe_layer *n)
{
        return activated(im, n, ACT_ELU, (double)n->p->elu_param->alpha);
}

bool caffe_import_swish(struct caffe_import *im, struct caffe_layer *n)
{
        return activated(im, n, ACT_SWISH, (double)n->p->swish_param->beta);
}

bool caffe_import_clip(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__ClipParameter *o = n->p->clip_param;
        if (!o->has_min || !o->has_max)
                return caffe_invalid(im, "want both min and max");
        return caffe_top(n, clamp(im->c, n->bottoms[0], (double)o->min, (double)o->max));
}

bool caffe_import_threshold(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const double threshold = (double)n->p->threshold_param->threshold;
        return caffe_top(n, compose_cast(c, compose_with(c, OP_gt, n->bottoms[0], threshold),
                                         E_F32));
}

/* Returns scale * x + shift. */
static struct value *affine(struct compose *c, struct value *x, double scale, double shift)
{
        x = scale == 1 ? x : times(c, x, scale);
        return shift == 0 ? x : plus(c, x, shift);
}

bool caffe_import_power(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__PowerParameter *o = n->p->power_param;
        struct value *x = affine(im->c, n->bottoms[0], (double)o->scale, (double)o->shift);
        return caffe_top(n, o->power == 1 ? x
                                          : compose_with(im->c, OP_pow, x, (double)o->power));
}

/* Returns the logarithm of a base; -1 stands for e. */
static double base_logarithm(double base)
{
        return base == -1 ? 1 : log(base);
}

bool caffe_import_exp(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__ExpParameter *o = n->p->exp_param;
        const double by = base_logarithm((double)o->base_);
        if (!isfinite(by))
                return caffe_invalid(im, "the base is %g", (double)o->base_);
        struct value *x = affine(im->c, n->bottoms[0], by * (double)o->scale,
                                 by * (double)o->shift);
        return caffe_top(n, compose_unary(im->c, OP_exp, x));
}

bool caffe_import_log(struct caffe_import *im, struct caffe_layer *n)
{
        const Caffe__LogParameter *o = n->p->log_param;
        const double by = base_logarithm((double)o->base_);
        if (!isfinite(by) || by == 0)
                return caffe_invalid(im, "the base is %g", (double)o->base_);
        struct value *x = affine(im->c, n->bottoms[0], (double)o->scale, (double)o->shift);
        x = compose_unary(im->c, OP_log, x);
        return caffe_top(n, by == 1 ? x : times(im->c, x, 1 / by));
}

/* ---- of several bottoms ---- */

bool caffe_import_eltwise(struct caffe_import *im, struct caffe_layer *n)
{
        struct compose *c = im->c;
        const Caffe__EltwiseParameter *o = n->p->eltwise_param;
        const bool sum = o->operation == CAFFE__ELTWISE_PARAMETER__ELTWISE_OP__SUM;
        struct value *y = NULL;
        enum opcode code;
        switch (o->operation) {
        case CAFFE__ELTWISE_PARAMETER__ELTWISE_OP__PROD: code = OP_mul; break;
        case CAFFE__ELTWISE_PARAMETER__ELTWISE_OP__SUM: code = OP_add; break;
        case CAFFE__ELTWISE_PARAMETER__ELTWISE_OP__MAX: code = OP_max; break;
        default: return caffe_invalid(im, "operation %d", (int)o->operation);
        }
        if (o->n_coeff && (!sum || o->n_coeff != (size_t)n->bottom_count))
                return caffe_invalid(im, "%zu factors of %d bottoms%s", o->n_coeff,
                                     n->bottom_count, sum ? "" : ", which are not added");
        for (int i = 0; i < n->bottom_count; i++) {
                struct value *x = n->bottoms[i];
                if (x->type != n->bottoms[0]->type)
                        return caffe_invalid(im, "bottoms %s and %s",
                                             compose_text(c, n->bottoms[0]->type),
                                             compose_text(c, x->type));
                if (o->n_coeff && o->coeff[i] != 1)
                        x = times(c, x, (double)o->coeff[i]);
                y = y ? compose_binary(c, code, y, x) : x;
        }
        return caffe_top(n, y);
}
