/* SPDX-License-Identifier: MIT */
/* quantize: weights and biases of layers.
 *
 *      w of output o:  scale = max |w| / 127, number = round(w / scale), -127 .. 127; no zero point
 *                      (of weights in 4 bits: 7)
 *      bias:           a whole number of steps f32(sx * sw), as the sums are
 *
 * A constant that multiplies the sums goes into the weights first. A bias of 2^24 steps or more
 * stays in floats. Weights that are all zero, or so small that the product of their step and x's is
 * no normal number, have a step that suits their bias. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/tensor/affine_numbers.h"
#include "passes/quantize/layer_weights.h"
#include "passes/quantize/quantize.h"
#include "passes/quantize/rounding.h"
#include "passes/simplify/ranges.h"
#include "passes/simplify/simplify.h"

enum { BIAS_MOST = 1 << 24, BIAS_BITS = 16 };
static const double TINY = 0x1p-64;

/* Do sums leave as much room as the rules of simplify want? */
static bool sums_fit(const struct op *op, bool both)     /* The limit is about bytes; sums of 16
                                                          * bits may be floats. */
{
        enum { ROOM = 1 << 25, BYTE = 255, SIGNED = 128 };
        return whole_products_most(op) * BYTE * (both ? BYTE : SIGNED) < INT32_MAX - ROOM;
}

const char *quantize_obstacle(const struct layer *l, const struct scheme *g)
{
        const struct op *op = l->op;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        if (value_is_constant(x))
                return "its first operand is constant";
        if (!site_of(x))
                return "what it multiplies is not of f32, or of no known shape";
        if (!site_of(x)->name || (l->both && site_of(w) && !site_of(w)->name))
                return "what it multiplies depends on no input";
        if (l->both ? !site_of(w) : !is_constant_of_floats(w))
                return "its weights are no constant of floats";
        if (!l->both && !constant_is_finite(w->constant))
                return "its weights are not all finite";
        if (type_is_empty(w->type) || type_is_empty(x->type))
                return "it multiplies nothing";
        if (element_info[scheme_stored(g)].bytes == 1 && !sums_fit(op, l->both))
                return "a sum of so many products may not fit into i32";
        return NULL;
}

/* ---- what follows the sums ---- */

/* Returns the one operation that reads v, if it is v `code` a constant with a number for each
 * output; its numbers, and which operand they are. */
static struct op *constant_behind(struct quantizing *q, struct builder *b, struct value *v,
                                  enum opcode code, int along, int64_t count, float **numbers,
                                  int *operand)
{
        struct op *op = value_has_one_use(v) ? v->uses->user : NULL;
        if (!op || op->code != code || op->region != value_region(v))
                return NULL;
        *operand = 1 - v->uses->index;
        *numbers = numbers_along(q->arena, b, op_operand(op, *operand), along, count);
        return *numbers ? op : NULL;
}

/* ---- weights ---- */

struct weights {
        struct weight_places places;    /* along -1: all weights have one step. */
        int largest;                    /* No number is larger than this. */
        int64_t outputs, count;
        float *numbers;                 /* Its shape is [count]. */
        float *scales, *biases;         /* [outputs]; biases NULL: there are none, or none that can
                                         * be whole numbers. */
        signed char *bytes;
};

static struct weights weights_of(struct quantizing *q, const struct op *op)
{
        const struct constant *c = op_operand(op, 1)->constant;
        struct weights w = { .places = weight_places_of(op),
                             .count = type_elements(c->value.type) };
        w.outputs = w.places.outputs;
        w.largest = quantize_largest_weight(q->policy);
        w.numbers = constant_numbers(q->arena, c);
        w.scales = arena_array(q->arena, (size_t)w.outputs, sizeof *w.scales);
        w.bytes = constant_room(q->m, (size_t)w.count);
        return w;
}

static int64_t output_of(const struct weights *w, int64_t i)
{
        return weight_output(&w->places, i);
}

static void choose_scales(struct weights *w, float sx, const struct quantize_policy *p)
{
        for (int64_t o = 0; o < w->outputs; o++)
                w->scales[o] = 0;
        for (int64_t i = 0; i < w->count; i++)
                w->scales[output_of(w, i)] =
                        fmaxf(w->scales[output_of(w, i)], fabsf(w->numbers[i]));
        for (int64_t o = 1; o < w->outputs && p->one_step; o++)
                w->scales[0] = fmaxf(w->scales[0], w->scales[o]);
        for (int64_t o = 1; o < w->outputs && p->one_step; o++)
                w->scales[o] = w->scales[0];
        for (int64_t o = 0; o < w->outputs; o++) {
                double scale = (double)w->scales[o] / w->largest;
                /* Such weights add nothing. */
                if (!(scale >= FLT_MIN && (scale >= TINY || scale * (double)sx >= FLT_MIN)))
                        scale = w->biases && w->biases[o] != 0
                                        ? ldexp(fabs((double)w->biases[o]) / sx, -BIAS_BITS)
                                        : 1;
                w->scales[o] = scheme_scale(scale, &p->scheme);
        }
}

static void round_to_nearest(struct weights *w)
{
        for (int64_t i = 0; i < w->count; i++) {
                double number = rint((double)w->numbers[i] / w->scales[output_of(w, i)]);
                w->bytes[i] = (signed char)fmin(fmax(number, -w->largest), w->largest);
        }
}

/* Rounds weights up or down as the samples show; the outputs of a group see the same rows. */
static void round_to_samples(struct weights *w, const struct moments *m, bool centred)
{
        const int64_t depth = m->depth, outputs = w->outputs / m->groups;
        struct arena *arena = arena_new();
        float *numbers = arena_array(arena, (size_t)(outputs * depth), sizeof *numbers);
        signed char *bytes = arena_array(arena, (size_t)(outputs * depth), 1);
        for (int64_t g = 0; g < m->groups; g++) {
                struct arena *own = arena_new();
                const float *h = rounding_matrix(own, m, g, centred);
                for (int64_t o = 0; o < outputs; o++)
                        for (int64_t k = 0; k < depth; k++)
                                numbers[o * depth + k] =
                                        w->numbers[weight_place(&w->places, g * outputs + o, k)];
                rounding_learn(h, depth, numbers, w->scales + g * outputs, outputs, w->largest,
                               bytes);
                for (int64_t o = 0; o < outputs; o++)
                        for (int64_t k = 0; k < depth; k++)
                                w->bytes[weight_place(&w->places, g * outputs + o, k)] =
                                        bytes[o * depth + k];
                arena_free(own);
        }
        arena_free(arena);
}

/* Are the products of steps normal numbers, so that quotients of them have all their digits? */
static bool scales_fit(const struct weights *w, float sx)
{
        for (int64_t o = 0; o < w->outputs; o++) {
                float s = sx * w->scales[o];
                if (!(w->scales[o] >= FLT_MIN && s >= FLT_MIN && s <= FLT_MAX))
                        return false;
        }
        return true;
}

/* Builds the weights. Those of 4 bits are built as the importer builds INT4: read as bytes, which
 * the model's own writer finds. */
static struct value *whole_weights(struct quantizing *q, struct builder *b, const struct value *old,
                                   const struct weights *w)
{
        const enum element e = q->policy->weights ? q->policy->weights->element : E_I8;
        struct value *bytes = constant_dense(q->m, type_with_element(q->m, old->type, e), w->bytes,
                                             old->constant->name);
        struct attr *attrs = attrs_new(q->m, OP_bitcast);
        attr_set(attrs, OP_bitcast, "to", E_I8);
        return e == E_I8 ? bytes : value_build(b, OP_bitcast, &bytes, 1, attrs, NULL);
}

static struct value *decoded_weights(struct quantizing *q, struct builder *b, const struct op *op,
                                     const struct weights *w)
{
        const struct value *old = op_operand(op, 1);
        struct value *bytes = whole_weights(q, b, old, w);
        float *scales = constant_room(q->m, (size_t)w->outputs * sizeof *scales);
        memcpy(scales, w->scales, (size_t)w->outputs * sizeof *scales);
        int64_t dims[RANK_MAX] = { w->places.along };
        struct value *scale = constant_dense(
                q->m,
                type_static(q->m, E_F32, w->places.along >= 0 && !q->policy->one_step, &w->outputs),
                scales, "scales");
        return build_dequantize(b, bytes, build_broadcast(b, scale, old->type, dims), NULL);
}

/* ---- biases ---- */

/* Corrects biases by what the mean of x adds to each output because of rounded weights. It takes
 * the mean of each feature, where there are samples, else the mean of all of x. */
static void correct(const struct layer *l, const struct weights *w, const struct moments *m,
                    float *biases)
{
        const double all = l->x->range ? range_mean(l->x->range) : 0;
        const int64_t depth = w->places.depth;
        for (int64_t o = 0; o < w->outputs; o++) {
                double lost = 0;
                const double *sums = m ? m->sums + o / (w->outputs / m->groups) * depth : NULL;
                for (int64_t k = 0; k < depth; k++) {
                        int64_t i = weight_place(&w->places, o, k);
                        double mean = sums ? sums[k] / (double)m->rows : all;
                        lost += ((double)w->numbers[i] -
                                 (double)w->bytes[i] * (double)w->scales[o]) *
                                mean;
                }
                biases[o] = (float)(biases[o] + lost);
        }
}

/* Makes biases whole numbers of steps. Returns false if one has too many steps. */
static bool make_whole(const struct weights *w, float sx, float *biases)
{
        for (int64_t o = 0; o < w->outputs; o++)
                if (!(fabsf(rintf(biases[o] / (sx * w->scales[o]))) < BIAS_MOST))
                        return false;
        for (int64_t o = 0; o < w->outputs; o++) {
                float s = sx * w->scales[o];
                biases[o] = rintf(biases[o] / s) * s;
        }
        return true;
}

/* ---- a layer ---- */

/* Takes the factor of sums * c into the weights. */
static void take_factor(struct quantizing *q, struct builder *b, struct layer *l,
                        struct weights *w)
{
        float *factors;
        int operand;
        struct op *mul = constant_behind(q, b, op_result(l->op), OP_mul, layer_outputs(l->op),
                                         w->outputs, &factors, &operand);
        if (!mul || site_of_op(l->op)->cut)
                return;
        for (int64_t i = 0; i < w->count; i++) {
                float scaled = w->numbers[i] * factors[output_of(w, i)];
                if (!isfinite(scaled))
                        return;
        }
        for (int64_t i = 0; i < w->count; i++)
                w->numbers[i] *= factors[output_of(w, i)];
        value_replace(op_result(mul), op_result(l->op));
        op_erase(mul);
}

bool quantize_layer(struct quantizing *q, struct layer *l, const struct moments *m)
{
        struct op *op = l->op, *add;
        struct builder b = { .m = q->m, .region = op->region, .before = op,
                             .location = op->location, .diag = q->context->diag };
        float sx = quantize_affine(l->x)->scale, *biases = NULL;
        int operand = 0, along = layer_outputs(op);
        struct weights w = weights_of(q, op);
        if (w.places.along >= 0)
                take_factor(q, &b, l, &w);
        add = w.places.along < 0 ? NULL
                                 : constant_behind(q, &b, op_result(op), OP_add, along, w.outputs,
                                                   &biases, &operand);
        w.biases = biases;
        choose_scales(&w, sx, q->policy);
        if (!scales_fit(&w, sx)) {
                l->obstacle = "its steps are too small, or too large, to be multiplied";
                return true;
        }
        const bool corrected = add && q->policy->steps[STEP_correct];
        if (m && m->products && m->rows)
                round_to_samples(&w, m, corrected);
        else
                round_to_nearest(&w);
        struct value *weights = decoded_weights(q, &b, op, &w);
        if (!weights)
                return false;
        op_set_operand(op, 1, weights);
        if (!add)
                return true;
        if (corrected)
                correct(l, &w, m, biases);
        make_whole(&w, sx, biases);
        b.before = add;
        struct value *bias =
                spread_along(&b, op_result(add)->type, along, w.outputs, biases, "bias");
        if (bias)
                op_set_operand(add, operand, bias);
        return bias != NULL;
}
