/* SPDX-License-Identifier: MIT */
/* Recurrent operators: RNN, GRU, LSTM, and DynamicQuantizeLSTM of com.microsoft. What the inputs add
 * to the gates is one product for all steps; the steps are a loop, or, when they are few, written
 * one after the other. State beyond a sequence's own length stays as it is, and the output there
 * is 0. */
#include <math.h>
#include <string.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

enum { ACTIVATIONS_MAX = 6 };
enum cell { CELL_RNN, CELL_GRU, CELL_LSTM, CELL_QUANTIZED };      /* the last as a variant: an LSTM */
enum activation {
        ACT_AFFINE,
        ACT_ELU,
        ACT_HARD_SIGMOID,
        ACT_LEAKY_RELU,
        ACT_RELU,
        ACT_SCALED_TANH,
        ACT_SIGMOID,
        ACT_SOFTPLUS,
        ACT_SOFTSIGN,
        ACT_TANH,
        ACT_THRESHOLDED_RELU,
        ACT_COUNT
};

static const struct {
        const char *name;
        int parameters;
        float alpha, beta;
} activation_info[ACT_COUNT] = {
        [ACT_AFFINE] = { "Affine", 2, 1, 0 },
        [ACT_ELU] = { "Elu", 1, 1, 0 },
        [ACT_HARD_SIGMOID] = { "HardSigmoid", 2, 0.2f, 0.5f },
        [ACT_LEAKY_RELU] = { "LeakyRelu", 1, 0.01f, 0 },
        [ACT_RELU] = { "Relu", 0, 0, 0 },
        [ACT_SCALED_TANH] = { "ScaledTanh", 2, 1, 1 },
        [ACT_SIGMOID] = { "Sigmoid", 0, 0, 0 },
        [ACT_SOFTPLUS] = { "Softplus", 0, 0, 0 },
        [ACT_SOFTSIGN] = { "Softsign", 0, 0, 0 },
        [ACT_TANH] = { "Tanh", 0, 0, 0 },
        [ACT_THRESHOLDED_RELU] = { "ThresholdedRelu", 1, 1, 0 },
};

struct activation_use {
        int kind;
        double alpha, beta;
};

struct recurrent {
        enum cell cell;
        int gates, directions;
        bool backward; /* the only direction runs from the end */
        bool quantized; /* weights in 8 bits, [inputs, gates * hidden], and what they multiply */
        int64_t steps, batch, hidden, layout, input_forget, linear_before_reset;
        float clip; /* 0: none */
        enum element e;
        struct activation_use act[ACTIVATIONS_MAX];
        struct value *x; /* <steps x batch x input> */
        struct value *lengths; /* <batch x i64>, or NULL */
};

/* ---- attributes ---- */

/* a list of strings: as indices into activation_info */
static bool activation_names(struct onnx_import *im, struct onnx_node *n, int *kinds, int *count)
{
        const Onnx__AttributeProto *a = onnx_attribute(n, "activations");

        if (!a)
                return true;
        if (a->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS ||
            a->n_strings != (size_t)*count)
                return onnx_invalid(im, n, "activations has %zu names, want %d", a->n_strings,
                                    *count);
        for (int i = 0; i < *count; i++) {
                kinds[i] = -1;
                for (int k = 0; k < ACT_COUNT; k++) {
                        const char *text = activation_info[k].name;
                        if (a->strings[i].len == strlen(text) &&
                            !memcmp(a->strings[i].data, text, strlen(text)))
                                kinds[i] = k;
                }
                if (kinds[i] < 0)
                        return onnx_unsupported(im, n, "activation '%s'",
                                                text_safe(im->arena,
                                                          (const char *)a->strings[i].data,
                                                          a->strings[i].len));
        }
        return true;
}

/* One function per gate group and direction: f; f, g; f, g, h. Parameters are listed for the
 * functions that have some. */
static bool activations_read(struct onnx_import *im, struct onnx_node *n, struct recurrent *r)
{
        static const int presets[3][3] = { { ACT_TANH },
                                           { ACT_SIGMOID, ACT_TANH },
                                           { ACT_SIGMOID, ACT_TANH, ACT_TANH } };
        int each = r->cell == CELL_RNN   ? 1
                   : r->cell == CELL_GRU ? 2
                                         : 3,
            count = each * r->directions;
        int kinds[ACTIVATIONS_MAX], alpha_count, beta_count;
        const float *alpha, *beta;

        for (int i = 0; i < count; i++)
                kinds[i] = presets[r->cell][i % each];
        if (!activation_names(im, n, kinds, &count) ||
            !onnx_floats(im, n, "activation_alpha", &alpha, &alpha_count) ||
            !onnx_floats(im, n, "activation_beta", &beta, &beta_count))
                return false;
        for (int i = 0, a = 0, b = 0; i < count; i++) {
                int parameters = activation_info[kinds[i]].parameters;
                r->act[i].kind = kinds[i];
                r->act[i].alpha = parameters >= 1 && a < alpha_count
                                          ? alpha[a++]
                                          : activation_info[kinds[i]].alpha;
                r->act[i].beta = parameters >= 2 && b < beta_count ? beta[b++]
                                                                   : activation_info[kinds[i]].beta;
        }
        return true;
}

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct recurrent *r)
{
        static const char *const directions[] = { "forward", "reverse", "bidirectional", NULL };
        int64_t sequence;
        int direction;

        if (!onnx_choice(im, n, "direction", directions, 0, &direction) ||
            !onnx_int(im, n, "hidden_size", 0, &r->hidden) ||
            !onnx_float(im, n, "clip", 0, &r->clip) ||
            (n->opset >= 14 && !onnx_int_range(im, n, "layout", 0, 0, 1, &r->layout)) ||
            (n->opset < 7 && !n->domain[0] && !onnx_int(im, n, "output_sequence", 0, &sequence)))
                return false;
        if (r->cell == CELL_LSTM &&
            !onnx_int_range(im, n, "input_forget", 0, 0, 1, &r->input_forget))
                return false;
        if (r->cell == CELL_GRU &&
            !onnx_int_range(im, n, "linear_before_reset", 0, 0, 1, &r->linear_before_reset))
                return false;
        if (onnx_has(n, "hidden_size") && (r->hidden < 1 || r->hidden > NUMBER_MAX))
                return onnx_invalid(im, n, "hidden_size is %lld, want 1 to %lld",
                                    (long long)r->hidden, (long long)NUMBER_MAX);
        if (onnx_has(n, "clip") && !(r->clip > 0))
                return onnx_invalid(im, n, "clip is %g", (double)r->clip);
        r->directions = direction == 2 ? 2 : 1;
        r->backward = direction == 1;
        return activations_read(im, n, r);
}

/* ---- operands ---- */

static bool want_shape(struct onnx_import *im, const struct onnx_node *n, int input,
                       const dim_t *dims, int rank)
{
        const struct value *v = onnx_input(n, input);
        bool fits = true;

        if (!v)
                return true;
        fits = value_rank(v) == rank;
        for (int d = 0; d < rank && fits; d++)
                fits = dim_is(dims[d], value_extent(v, d));
        return fits || onnx_invalid(im, n, "operand %d is %s, want %s", input,
                                    type_text(im->arena, im->m, v->type),
                                    type_text(im->arena, im->m,
                                              type_tensor(im->m, value_element(v), rank, dims)));
}

/* W's and R's scales and zero points: one number, or one per gate and hidden unit, for each
 * direction */
static bool quantization_read(struct onnx_import *im, const struct onnx_node *n,
                              const struct recurrent *r)
{
        const dim_t dims[2] = { dim_of(r->directions), dim_of(r->gates * r->hidden) };

        if (!onnx_want_inputs(im, n, 0xf00))
                return false;
        for (int i = 0; i < 4; i++) {
                const struct value *v = n->inputs[8 + i], *w = n->inputs[1 + i / 2];
                if (!want_shape(im, n, 8 + i, dims, value_rank(v) == 1 ? 1 : 2) ||
                    !onnx_want_element(im, n, 8 + i, i % 2 ? value_element(w) : E_F32))
                        return false;
        }
        return onnx_want_8_bit(im, n, 1) && onnx_want_8_bit(im, n, 2) &&
               onnx_want_element(im, n, 0, E_F32);
}

static bool operands_read(struct onnx_import *im, struct onnx_node *n, struct recurrent *r)
{
        struct value *x = n->inputs[0],
                     *state[3] = { onnx_input(n, 5), r->cell == CELL_LSTM ? onnx_input(n, 6) : NULL,
                                   r->cell == CELL_LSTM ? onnx_input(n, 7) : NULL };
        struct value *same[7] = { x,        r->quantized ? NULL : n->inputs[1],
                                  r->quantized ? NULL : n->inputs[2],
                                  onnx_input(n, 3), state[0], state[1], state[2] };
        const int of_hidden = r->quantized ? 1 : 2; /* dimension of the recurrence */

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_same_element(im, n, same, 7))
                return false;
        r->e = value_element(x);
        if (r->layout)
                x = build_transpose(&im->b, x, (const int64_t[]){ 1, 0, 2 });
        r->x = compose_wide(im->c, x);
        if (!r->x)
                return false;
        r->steps = value_extent(r->x, 0);
        r->batch = value_extent(r->x, 1);
        if (!r->hidden)
                r->hidden =
                        value_rank(n->inputs[2]) == 3 ? value_extent(n->inputs[2], of_hidden) : 0;
        if (r->hidden < 1 || r->hidden > NUMBER_MAX)
                return onnx_invalid(im, n, "hidden_size is missing, and operand 2 is %s",
                                    type_text(im->arena, im->m, n->inputs[2]->type));
        int64_t all = r->gates * r->hidden, d = r->directions;
        const int64_t first = r->layout ? r->batch : d, second = r->layout ? d : r->batch;
        const dim_t inputs = dim_of(value_extent(r->x, 2)),
                    weights[2][3] = { { dim_of(d), dim_of(all), inputs },
                                      { dim_of(d), dim_of(all), dim_of(r->hidden) } },
                    turned[2][3] = { { dim_of(d), inputs, dim_of(all) },
                                     { dim_of(d), dim_of(r->hidden), dim_of(all) } };
        if (!want_shape(im, n, 1, r->quantized ? turned[0] : weights[0], 3) ||
            !want_shape(im, n, 2, r->quantized ? turned[1] : weights[1], 3) ||
            (r->quantized && !quantization_read(im, n, r)) ||
            !want_shape(im, n, 3, (const dim_t[]){ dim_of(d), dim_of(2 * all) }, 2) ||
            !want_shape(im, n, 4, (const dim_t[]){ dim_of(r->batch) }, 1) ||
            !want_shape(im, n, 5,
                        (const dim_t[]){ dim_of(first), dim_of(second), dim_of(r->hidden) }, 3))
                return false;
        if (r->cell == CELL_LSTM &&
            (!want_shape(im, n, 6,
                         (const dim_t[]){ dim_of(first), dim_of(second), dim_of(r->hidden) }, 3) ||
             !want_shape(im, n, 7, (const dim_t[]){ dim_of(d), dim_of(3 * r->hidden) }, 2)))
                return false;
        if (onnx_input(n, 4) && !element_is_integer(value_element(n->inputs[4])))
                return onnx_invalid(im, n, "sequence_lens are of %s",
                                    element_info[value_element(n->inputs[4])].text);
        r->lengths = onnx_input(n, 4) ? compose_cast(im->c, n->inputs[4], E_I64) : NULL;
        return compose_type(im->c, r->e, 4,
                            (const dim_t[]){ dim_of(r->steps), dim_of(d), dim_of(r->batch),
                                             dim_of(r->hidden) }) != NULL;
}

/* direction d of a weight operand, without that dimension, in the wide type; NULL when the operand
 * is absent */
static struct value *weights(struct onnx_import *im, const struct onnx_node *n, int input, int d)
{
        struct value *v = onnx_input(n, input);

        return v ? compose_wide(im->c, build_gather(&im->b, v, compose_integer(im->c, E_I64, d), 0))
                 : NULL;
}

/* the initial state of direction d: <batch x hidden> */
static struct value *initial(struct onnx_import *im, const struct onnx_node *n,
                             const struct recurrent *r, int input, int d)
{
        struct value *v = onnx_input(n, input);

        if (!v)
                return constant_number(
                        im->m,
                        type_tensor(im->m, value_element(r->x), 2,
                                    (const dim_t[]){ dim_of(r->batch), dim_of(r->hidden) }),
                        0);
        return compose_wide(im->c, build_gather(&im->b, v, compose_integer(im->c, E_I64, d),
                                                r->layout ? 1 : 0));
}

/* ---- one step ---- */

static struct value *activate(struct onnx_import *im, const struct recurrent *r,
                              const struct activation_use *use, struct value *x)
{
        double a = use->alpha, b = use->beta;

        if (!x)
                return NULL;
        if (r->clip > 0)
                x = compose_with(im->c, OP_min, compose_with(im->c, OP_max, x, -r->clip), r->clip);
        switch (use->kind) {
        case ACT_AFFINE: return compose_with(im->c, OP_add, compose_with(im->c, OP_mul, x, a), b);
        case ACT_ELU:
                return compose_below_zero(
                        im->c, x,
                        compose_with(im->c, OP_mul, compose_unary(im->c, OP_expm1, x), a));
        case ACT_HARD_SIGMOID:
                x = compose_with(im->c, OP_add, compose_with(im->c, OP_mul, x, a), b);
                return compose_with(im->c, OP_min, compose_with(im->c, OP_max, x, 0), 1);
        case ACT_LEAKY_RELU: return compose_below_zero(im->c, x, compose_with(im->c, OP_mul, x, a));
        case ACT_RELU: return compose_with(im->c, OP_max, x, 0);
        case ACT_SCALED_TANH:
                return compose_with(
                        im->c, OP_mul,
                        compose_unary(im->c, OP_tanh, compose_with(im->c, OP_mul, x, b)), a);
        case ACT_SIGMOID: return compose_unary(im->c, OP_sigmoid, x);
        case ACT_SOFTPLUS: return compose_unary(im->c, OP_softplus, x);
        case ACT_SOFTSIGN:
                return compose_binary(
                        im->c, OP_div, x,
                        compose_with(im->c, OP_add, compose_unary(im->c, OP_abs, x), 1));
        case ACT_THRESHOLDED_RELU:
                return compose_select(im->c, compose_with(im->c, OP_gt, x, a), x,
                                      x ? build_like(&im->b, x, 0) : NULL);
        default: return compose_unary(im->c, OP_tanh, x);
        }
}

/* what one direction computes with, and its state */
struct direction {
        const struct activation_use *act;
        struct value *gates; /* <steps x batch x gates * hidden>: inputs and biases */
        struct value *recurrence; /* <gates * hidden x hidden>; quantized: <hidden x gates * hidden> */
        struct value *scale; /* quantized: of the recurrence, a scalar or <gates * hidden>; or NULL */
        struct value *hidden_bias; /* GRU: the recurrence bias of the last gate, kept apart */
        struct value *peephole; /* LSTM: <3 * hidden>, of i, o, f */
        struct value *h, *c;
};

/* x, quantized here, times integers that are centered, as floats */
static struct value *dynamic_product(struct onnx_import *im, struct value *x, struct value *w,
                                     struct value *scale)
{
        if (!x || !w || !scale)
                return NULL;
        const struct compose_dynamic q = compose_quantize_dynamic(im->c, x);
        struct value *sum = compose_matmul_as(
                im->c, compose_centered(im->c, q.numbers, q.zero, E_I32), w, E_I32);
        return mul(im->c, compose_cast(im->c, sum, E_F32), mul(im->c, q.scale, scale));
}

/* x times rows [from, from + count) of the recurrence; quantized: all */
static struct value *recur(struct onnx_import *im, const struct direction *d, struct value *x,
                           int64_t from, int64_t count)
{
        if (d->scale)
                return dynamic_product(im, x, d->recurrence, d->scale);
        struct value *rows = compose_part(im->c, d->recurrence, 0, from, count);

        return rows && x ? compose_matmul(im->c, x,
                                          build_transpose(&im->b, rows, (const int64_t[]){ 1, 0 }))
                         : NULL;
}

static struct value *gate(struct onnx_import *im, const struct recurrent *r, struct value *gates,
                          int k)
{
        return compose_part(im->c, gates, 1, k * r->hidden, r->hidden);
}

static struct value *peep(struct onnx_import *im, const struct recurrent *r,
                          const struct direction *d, struct value *x, int k, struct value *c)
{
        return d->peephole
                       ? add(im->c, x,
                             mul(im->c,
                                 compose_part(im->c, d->peephole, 0, k * r->hidden, r->hidden), c))
                       : x;
}

static void lstm_step(struct onnx_import *im, const struct recurrent *r, const struct direction *d,
                      struct value *x, struct value **h, struct value **c)
{
        struct value *g = add(im->c, x, recur(im, d, d->h, 0, 4 * r->hidden));
        struct value *in = activate(im, r, &d->act[0], peep(im, r, d, gate(im, r, g, 0), 0, d->c));
        struct value *forget =
                r->input_forget
                        ? compose_from(im->c, OP_sub, 1, in)
                        : activate(im, r, &d->act[0], peep(im, r, d, gate(im, r, g, 2), 2, d->c));
        struct value *candidate = activate(im, r, &d->act[1], gate(im, r, g, 3));
        struct recurrent unclipped = *r;

        *c = add(im->c, mul(im->c, forget, d->c), mul(im->c, in, candidate));
        struct value *out = activate(im, r, &d->act[0], peep(im, r, d, gate(im, r, g, 1), 1, *c));
        unclipped.clip = 0; /* the cell's state is no gate */
        *h = mul(im->c, out, activate(im, &unclipped, &d->act[2], *c));
}

static void gru_step(struct onnx_import *im, const struct recurrent *r, const struct direction *d,
                     struct value *x, struct value **h)
{
        int64_t size = r->hidden;
        struct value *right = recur(im, d, d->h, 0, 2 * size);
        struct value *g = add(im->c, compose_part(im->c, x, 1, 0, 2 * size), right);
        struct value *update = activate(im, r, &d->act[0], gate(im, r, g, 0)),
                     *reset = activate(im, r, &d->act[0], gate(im, r, g, 1));
        struct value *inner = r->linear_before_reset
                                      ? recur(im, d, d->h, 2 * size, size)
                                      : recur(im, d, mul(im->c, reset, d->h), 2 * size, size);

        inner = d->hidden_bias ? add(im->c, inner, d->hidden_bias) : inner;
        inner = r->linear_before_reset ? mul(im->c, reset, inner) : inner;
        struct value *candidate = activate(im, r, &d->act[1], add(im->c, gate(im, r, x, 2), inner));
        *h = add(im->c, mul(im->c, compose_from(im->c, OP_sub, 1, update), candidate),
                 mul(im->c, update, d->h));
}

/* advances the state by step t, whose row of gates is x; gives the step's output */
static struct value *step(struct onnx_import *im, const struct recurrent *r, struct direction *d,
                          struct value *t, struct value *x)
{
        struct value *h = NULL, *c = d->c;

        if (r->cell == CELL_LSTM)
                lstm_step(im, r, d, x, &h, &c);
        else if (r->cell == CELL_GRU)
                gru_step(im, r, d, x, &h);
        else
                h = activate(im, r, &d->act[0], add(im->c, x, recur(im, d, d->h, 0, r->hidden)));
        if (!h || !r->lengths) {
                d->h = h;
                d->c = c;
                return h;
        }
        struct value *runs = compose_spread(im->c, compose_binary(im->c, OP_gt, r->lengths, t),
                                            h->type, (const int64_t[]){ 0 });
        d->h = compose_select(im->c, runs, h, d->h);
        d->c = c ? compose_select(im->c, runs, c, d->c) : NULL;
        return compose_select(im->c, runs, h, build_like(&im->b, h, 0));
}

/* ---- one direction, and the whole ---- */

/* What of the sequences counts: steps that none of them has are 0, which is in any range. */
static struct value *counted_inputs(struct onnx_import *im, const struct recurrent *r)
{
        const struct type *t = type_with_element(im->m, r->x->type, E_I64);

        if (!r->lengths)
                return r->x;
        struct value *most =
                compose_reduce(im->c, REDUCE_max, r->lengths, (const int64_t[]){ 0 }, 1, E_COMPUTE);
        struct value *runs = compose_binary(im->c, OP_lt, build_iota(&im->b, t, 0), most);
        return compose_select(im->c, runs, r->x, build_like(&im->b, r->x, 0));
}

/* what the inputs and weights of a direction make, and the recurrence: both of integers */
static void quantized_new(struct onnx_import *im, struct onnx_node *n, const struct recurrent *r,
                          int number, struct direction *d)
{
        struct value *at = compose_integer(im->c, E_I64, number), *w[2], *scale[2];

        for (int i = 0; i < 2; i++) {
                struct value *zero = build_gather(&im->b, n->inputs[9 + 2 * i], at, 0);
                w[i] = build_gather(&im->b, n->inputs[1 + i], at, 0);
                scale[i] = build_gather(&im->b, n->inputs[8 + 2 * i], at, 0);
                w[i] = w[i] ? compose_centered(im->c, w[i],
                                               compose_along(im->c, zero, w[i]->type, 1), E_I32)
                            : NULL;
        }
        d->gates = dynamic_product(im, counted_inputs(im, r), w[0], scale[0]);
        d->recurrence = w[1];
        d->scale = scale[1];
}

static bool direction_new(struct onnx_import *im, struct onnx_node *n, const struct recurrent *r,
                          int number, struct direction *d)
{
        int64_t all = r->gates * r->hidden;
        struct value *bias = weights(im, n, 3, number);

        *d = (struct direction){ .act = r->act + number * (r->cell == CELL_RNN ? 1 : r->cell == CELL_GRU ? 2 : 3) };
        d->h = initial(im, n, r, 5, number);
        d->c = r->cell == CELL_LSTM ? initial(im, n, r, 6, number) : NULL;
        d->peephole = r->cell == CELL_LSTM ? weights(im, n, 7, number) : NULL;
        if (r->quantized) {
                quantized_new(im, n, r, number, d);
        } else {
                struct value *w = weights(im, n, 1, number);
                w = w ? build_transpose(&im->b, w, (const int64_t[]){ 1, 0 }) : NULL;
                d->recurrence = weights(im, n, 2, number);
                d->gates = w ? compose_matmul(im->c, r->x, w) : NULL;
        }
        if (!d->gates || !d->recurrence || !d->h)
                return false;
        if (!bias)
                return true;
        struct value *of_input = compose_part(im->c, bias, 0, 0, all),
                     *of_state = compose_part(im->c, bias, 0, all, all);
        if (r->cell == CELL_GRU) {
                d->hidden_bias = compose_part(im->c, of_state, 0, 2 * r->hidden, r->hidden);
                struct value *zero = d->hidden_bias ? build_like(&im->b, d->hidden_bias, 0) : NULL;
                of_state = build_concat(
                        &im->b,
                        (struct value *[]){ compose_part(im->c, of_state, 0, 0, 2 * r->hidden),
                                            zero },
                        2, 0);
        }
        d->gates = add(im->c, d->gates, add(im->c, of_input, of_state));
        return d->gates != NULL;
}

/* values[] of shape t stacked along a new first dimension */
static struct value *stacked(struct onnx_import *im, struct value **values, int64_t count,
                             const struct type *t)
{
        dim_t dims[RANK_MAX] = { dim_of(1) };

        for (int d = 0; d < t->rank; d++)
                dims[d + 1] = t->dims[d];
        for (int64_t i = 0; i < count; i++)
                values[i] = compose_reshape(im->c, values[i], t->rank + 1, dims);
        if (count)
                return build_concat(&im->b, values, (int)count, 0);
        dims[0] = dim_of(0);
        return constant_number(im->m, type_tensor(im->m, t->element, t->rank + 1, dims), 0);
}

static bool recurrent_outputs(struct onnx_import *im, struct onnx_node *n,
                              const struct recurrent *r, struct value **y, struct value **h,
                              struct value **c)
{
        const struct type *state = h[0]->type;
        /* <directions x steps x batch x hidden> */
        struct value *all = stacked(im, y, r->directions, y[0]->type);
        struct value *outputs[3] = { NULL, stacked(im, h, r->directions, state),
                                     c[0] ? stacked(im, c, r->directions, state) : NULL };

        if (!all || !outputs[1])
                return false;
        outputs[0] = build_transpose(&im->b, all,
                                     r->layout ? (const int64_t[]){ 2, 1, 0, 3 }
                                               : (const int64_t[]){ 1, 0, 2, 3 });
        for (int i = 0; i < 3; i++) {
                if (i > 0 && r->layout && outputs[i])
                        outputs[i] =
                                build_transpose(&im->b, outputs[i], (const int64_t[]){ 1, 0, 2 });
                if (onnx_wants(n, i) && !onnx_output(n, i, compose_cast(im->c, outputs[i], r->e)))
                        return false;
        }
        return true;
}

/* The steps one after the other, from the last when backward; *y all outputs. */
static bool write_out(struct onnx_import *im, const struct recurrent *r, struct direction *d,
                      bool backward, struct value **y)
{
        const struct type *state = d->h->type;
        struct value **out = arena_array(im->arena, (size_t)r->steps + 1, sizeof *out);

        for (int64_t i = 0; i < r->steps; i++) {
                int64_t t = backward ? r->steps - 1 - i : i;
                struct value *number = compose_integer(im->c, E_I64, t);
                out[t] = step(im, r, d, number, build_gather(&im->b, d->gates, number, 0));
                if (!out[t])
                        return false;
        }
        return (*y = stacked(im, out, r->steps, state)) != NULL;
}

/* The same as a loop that carries the state. */
static bool write_loop(struct onnx_import *im, const struct recurrent *r, struct direction *d,
                       bool backward, struct value **y)
{
        const int64_t direction = backward;
        struct value *first[2] = { d->h, d->c };
        struct compose_loop loop;
        struct compose_loop_parts parts = { .steps = r->steps,
                                            .first = first,
                                            .carried = d->c ? 2 : 1,
                                            .scans = &d->gates,
                                            .scanned = 1,
                                            .stacked = 1,
                                            .scan_backward = &direction,
                                            .stack_backward = &direction };

        if (!compose_loop_open(im->c, &parts, &loop))
                return false;
        struct value *t = backward
                                  ? compose_from(im->c, OP_sub, (double)(r->steps - 1), loop.number)
                                  : loop.number;
        d->h = &loop.held[0];
        d->c = d->c ? &loop.held[1] : NULL;
        struct value *row = step(im, r, d, t, &loop.rows[0]);
        if (!compose_loop_close(im->c, &loop,
                                d->c ? (struct value *[]){ d->h, d->c, row }
                                     : (struct value *[]){ d->h, row }))
                return false;
        d->h = &loop.op->results[0];
        d->c = d->c ? &loop.op->results[1] : NULL;
        *y = &loop.op->results[parts.carried];
        return true;
}

/* A state at the end: of a sequence without steps 0, as in onnxruntime, where the text says
 * nothing. */
static struct value *last_state(struct onnx_import *im, const struct recurrent *r,
                                struct value *state)
{
        if (!state || !r->lengths)
                return state;
        struct value *has_steps = compose_spread(im->c, compose_with(im->c, OP_gt, r->lengths, 0),
                                                 state->type, (const int64_t[]){ 0 });
        return compose_select(im->c, has_steps, state, build_like(&im->b, state, 0));
}

bool onnx_import_recurrent(struct onnx_import *im, struct onnx_node *n)
{
        static const int gates[4] = { 1, 3, 4, 4 };
        const enum cell cell = (enum cell)onnx_variant(n);
        struct recurrent r = { .cell = cell == CELL_QUANTIZED ? CELL_LSTM : cell,
                               .gates = gates[cell],
                               .quantized = cell == CELL_QUANTIZED };
        struct value *y[2] = { NULL, NULL }, *h[2] = { NULL, NULL }, *c[2] = { NULL, NULL };

        if (!attributes_read(im, n, &r) || !operands_read(im, n, &r))
                return false;
        for (int number = 0; number < r.directions; number++) {
                struct direction d;
                bool backward = r.backward || number == 1;
                if (!direction_new(im, n, &r, number, &d) ||
                    !(r.steps > im->context->limits.unrolled_steps ? write_loop : write_out)(
                            im, &r, &d, backward, &y[number]))
                        return false;
                h[number] = last_state(im, &r, d.h);
                c[number] = last_state(im, &r, d.c);
        }
        return recurrent_outputs(im, n, &r, y, h, c);
}
