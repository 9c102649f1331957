/* quantize: weights and biases of layers.
 *
 *      w of output o:  scale = max |w| / 127, number = round(w / scale), -127 .. 127; no zero point
 *      bias:           a whole number of steps f32(sx * sw), as the sums are
 *
 * A constant that multiplies the sums goes into the weights first. A bias of 2^24 steps or more
 * stays in floats. Weights of nothing but zeros, or so small that their steps have no product with
 * x's, have the step that suits their bias. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/affine_numbers.h"
#include "passes/quantize/quantize.h"
#include "passes/simplify/ranges.h"
#include "passes/simplify/simplify.h"

enum { LARGEST = 127, BIAS_MOST = 1 << 24, BIAS_BITS = 16 };
static const double TINY = 0x1p-64;

static bool is_constant_of_floats(const struct value *v)
{
        return value_is_constant(v) && v->type->element == E_F32 && type_is_static(v->type);
}

static bool all_finite(const struct constant *c)
{
        int64_t count = c->kind == CONSTANT_SPLAT ? 1 : type_elements(c->value.type);
        const float *numbers = c->data;
        for (int64_t i = 0; i < count; i++)
                if (!isfinite(numbers[i]))
                        return false;
        return true;
}

/* sums leave as much room as the rules of simplify want */
static bool sums_fit(const struct op *op, bool both)
{
        enum { ROOM = 1 << 25, BYTE = 255, SIGNED = 128 };
        return (double)whole_products(op) * BYTE * (both ? BYTE : SIGNED) < INT32_MAX - ROOM;
}

const char *quantize_obstacle(const struct layer *l)
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
        if (!l->both && !all_finite(w->constant))
                return "its weights are not all finite";
        if (!type_elements(w->type) || !type_elements(x->type))
                return "it multiplies nothing";
        if (!sums_fit(op, l->both))
                return "a sum of so many products may not fit into i32";
        return NULL;
}

/* ---- what follows the sums ---- */

/* the dimension of the result that outputs are */
static int outputs_of(const struct op *op)
{
        return op->code == OP_convolve ? 1 : op_result(op)->type->rank - 1;
}

/* One number for each of `count` outputs along dimension `along`, from a constant spread over a
 * result; NULL: it is no such. */
static float *numbers_along(struct quantizing *q, struct builder *b, struct value *v, int along,
                            int64_t count)
{
        int64_t onto[RANK_MAX];
        struct value *from = simplify_spread_source(b, v, onto);
        if (!from || !is_constant_of_floats(from))
                return NULL;
        int64_t there = type_elements(from->type);
        for (int d = 0; d < from->type->rank; d++)
                if (from->type->dims[d] != 1 && onto[d] != along)
                        return NULL;
        bool splat = from->constant->kind == CONSTANT_SPLAT || there == 1;
        if (!splat && there != count)
                return NULL;
        float *numbers = arena_array(q->arena, (size_t)count + 1, sizeof *numbers);
        for (int64_t i = 0; i < count; i++)
                numbers[i] = (float)constant_element(from->constant, splat ? 0 : i).f;
        return numbers;
}

/* the one operation that reads v, v *code* a constant for each output: its numbers, and which operand
 * they are */
static struct op *constant_behind(struct quantizing *q, struct builder *b, struct value *v,
                                  enum opcode code, int along, int64_t count, float **numbers,
                                  int *operand)
{
        struct op *op = value_has_one_use(v) ? v->uses->user : NULL;
        if (!op || op->code != code || op->region != &q->f->body)
                return NULL;
        *operand = 1 - v->uses->index;
        *numbers = numbers_along(q, b, op_operand(op, *operand), along, count);
        return *numbers ? op : NULL;
}

/* ---- weights ---- */

struct weights {
        int64_t outputs, count, inner;  /* output of element i: i / inner % outputs */
        int along;                      /* dimension of w; -1: one step for all */
        float *numbers;                 /* [count] */
        float *scales, *biases;         /* [outputs]; biases NULL: none, or none that can be whole */
        signed char *bytes;
};

static struct weights weights_of(struct quantizing *q, const struct op *op)
{
        const struct constant *c = op_operand(op, 1)->constant;
        const struct type *t = c->value.type;
        struct weights w = { .along = whole_outputs(op), .outputs = 1, .inner = 1 };
        w.count = type_elements(t);
        w.numbers = arena_array(q->arena, (size_t)w.count, sizeof *w.numbers);
        if (w.along >= 0)
                w.outputs = t->dims[w.along];
        for (int d = w.along + 1; d < t->rank && w.along >= 0; d++)
                w.inner *= t->dims[d];
        for (int64_t i = 0; i < w.count; i++)
                w.numbers[i] =
                        ((const float *)c->data)[c->kind == CONSTANT_SPLAT ? 0 : i];
        w.scales = arena_array(q->arena, (size_t)w.outputs, sizeof *w.scales);
        w.bytes = constant_room(q->m, (size_t)w.count);
        return w;
}

static int64_t output_of(const struct weights *w, int64_t i) { return i / w->inner % w->outputs; }

static void choose_scales(struct weights *w, float sx)
{
        for (int64_t o = 0; o < w->outputs; o++)
                w->scales[o] = 0;
        for (int64_t i = 0; i < w->count; i++)
                w->scales[output_of(w, i)] =
                        fmaxf(w->scales[output_of(w, i)], fabsf(w->numbers[i]));
        for (int64_t o = 0; o < w->outputs; o++) {
                double scale = (double)w->scales[o] / LARGEST;
                if (!(scale >= FLT_MIN && (scale >= TINY || scale * (double)sx >= FLT_MIN)))     /* they add nothing */
                        scale = w->biases && w->biases[o] != 0
                                        ? ldexp(fabs((double)w->biases[o]) / sx, -BIAS_BITS)
                                        : 1;
                w->scales[o] = (float)scale;
        }
}

static void round_weights_to(struct weights *w)
{
        for (int64_t i = 0; i < w->count; i++) {
                double number = rint((double)w->numbers[i] / w->scales[output_of(w, i)]);
                w->bytes[i] = (signed char)fmin(fmax(number, -LARGEST), LARGEST);
        }
}

/* products of steps are normal numbers, so that quotients of them have all their digits */
static bool scales_fit(const struct weights *w, float sx)
{
        for (int64_t o = 0; o < w->outputs; o++) {
                float s = sx * w->scales[o];
                if (!(w->scales[o] >= FLT_MIN && s >= FLT_MIN && s <= FLT_MAX))
                        return false;
        }
        return true;
}

static struct value *decoded_weights(struct quantizing *q, struct builder *b, const struct op *op,
                                     const struct weights *w)
{
        const struct value *old = op_operand(op, 1);
        struct value *bytes = constant_dense(q->m, type_with_element(q->m, old->type, E_I8),
                                             w->bytes, old->constant->name);
        float *scales = constant_room(q->m, (size_t)w->outputs * sizeof *scales);
        memcpy(scales, w->scales, (size_t)w->outputs * sizeof *scales);
        int64_t dims[RANK_MAX] = { w->along };
        struct value *scale = constant_dense(
                q->m, type_tensor(q->m, E_F32, w->along >= 0, &w->outputs), scales, "scales");
        return build_dequantize(b, bytes, build_broadcast(b, scale, old->type, dims), NULL);
}

/* ---- biases ---- */

/* what the mean of x adds to each output by what rounding takes from its weights */
static void correct(struct quantizing *q, const struct layer *l, const struct weights *w,
                    float *biases)
{
        double mean = l->x->range ? range_mean(l->x->range) : 0;
        double *lost = arena_array(q->arena, (size_t)w->outputs, sizeof *lost);
        for (int64_t i = 0; i < w->count; i++) {
                int64_t o = output_of(w, i);
                lost[o] += (double)w->numbers[i] - (double)w->bytes[i] * w->scales[o];
        }
        for (int64_t o = 0; o < w->outputs; o++)
                biases[o] = (float)(biases[o] + lost[o] * mean);
}

/* biases[o] as whole numbers of steps; false: one has too many */
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

static struct value *spread_biases(struct quantizing *q, struct builder *b, const struct type *to,
                                   int along, const struct weights *w, const float *biases)
{
        float *numbers = constant_room(q->m, (size_t)w->outputs * sizeof *numbers);
        memcpy(numbers, biases, (size_t)w->outputs * sizeof *numbers);
        struct value *v = constant_dense(q->m, type_tensor(q->m, E_F32, 1, &w->outputs), numbers,
                                         "bias");
        return build_broadcast(b, v, to, (const int64_t[]){ along });
}

/* ---- a layer ---- */

/* sums * c: into the weights */
static void take_factor(struct quantizing *q, struct builder *b, struct layer *l,
                        struct weights *w)
{
        float *factors;
        int operand;
        struct op *mul = constant_behind(q, b, op_result(l->op), OP_mul, outputs_of(l->op),
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

bool quantize_layer(struct quantizing *q, struct layer *l)
{
        struct op *op = l->op, *add;
        struct builder b = { .m = q->m, .region = op->region, .before = op,
                             .location = op->location, .diag = q->context->diag };
        float sx = quantize_affine(l->x)->scale, *biases = NULL;
        int operand = 0, along = outputs_of(op);
        struct weights w = weights_of(q, op);
        if (w.along >= 0)
                take_factor(q, &b, l, &w);
        add = w.along < 0 ? NULL : constant_behind(q, &b, op_result(op), OP_add, along, w.outputs, &biases, &operand);
        w.biases = biases;
        choose_scales(&w, sx);
        if (!scales_fit(&w, sx)) {
                l->obstacle = "its steps are too small, or too large, to be multiplied";
                return true;
        }
        round_weights_to(&w);
        struct value *weights = decoded_weights(q, &b, op, &w);
        if (!weights)
                return false;
        op_set_operand(op, 1, weights);
        if (!add)
                return true;
        if (q->policy->steps[STEP_correct])
                correct(q, l, &w, biases);
        make_whole(&w, sx, biases);
        b.before = add;
        struct value *bias = spread_biases(q, &b, op_result(add)->type, along, &w, biases);
        if (bias)
                op_set_operand(add, operand, bias);
        return bias != NULL;
}
