/* SPDX-License-Identifier: MIT */
/* This file imports recurrent operators: RNN, GRU, LSTM, and DynamicQuantizeLSTM and AttnLSTM of
 * com.microsoft. */
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_recurrent.h"

enum { VARIANT_QUANTIZED = 3, VARIANT_ATTENDS }; /* In rows they stand behind enum compose_cell,
                                                  * and are LSTMs. */

static const struct {
        const char *name;
        int parameters;
        float alpha, beta;
} activation_info[] = {
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
enum { KINDS = sizeof activation_info / sizeof *activation_info };

/* ---- attributes ---- */

/* Reads a list of names as indices into activation_info. */
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
                for (int k = 0; k < KINDS; k++) {
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

/* Reads the functions of each direction, which are f, f and g, or f, g and h. Parameters are listed
 * for those functions that have some. */
static bool activations_read(struct onnx_import *im, struct onnx_node *n,
                             struct compose_recurrent *r)
{
        static const int presets[3][3] = { { ACT_TANH },
                                           { ACT_SIGMOID, ACT_TANH },
                                           { ACT_SIGMOID, ACT_TANH, ACT_TANH } };
        int each = r->cell == CELL_RNN   ? 1
                   : r->cell == CELL_GRU ? 2
                                         : 3,
            count = each * r->directions;
        int kinds[RECURRENT_ACTIVATIONS_MAX], alpha_count, beta_count;
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

static bool attributes_read(struct onnx_import *im, struct onnx_node *n,
                            struct compose_recurrent *r)
{
        static const char *const directions[] = { "forward", "reverse", "bidirectional", NULL };
        int64_t sequence, layout = 0, input_forget = 0, linear = 0;
        int direction;

        if (!onnx_choice(im, n, "direction", directions, 0, &direction) ||
            !onnx_int(im, n, "hidden_size", 0, &r->hidden) ||
            !onnx_float(im, n, "clip", 0, &r->clip) ||
            (n->opset >= 14 && !onnx_int_range(im, n, "layout", 0, 0, 1, &layout)) ||
            (n->opset < 7 && !n->domain[0] && !onnx_int(im, n, "output_sequence", 0, &sequence)))
                return false;
        if (r->cell == CELL_LSTM && !onnx_int_range(im, n, "input_forget", 0, 0, 1, &input_forget))
                return false;
        if (r->cell == CELL_GRU && !onnx_int_range(im, n, "linear_before_reset", 0, 0, 1, &linear))
                return false;
        if (onnx_has(n, "hidden_size") && (r->hidden < 1 || r->hidden > NUMBER_MAX))
                return onnx_invalid(im, n, "hidden_size is %lld, want 1 to %lld",
                                    (long long)r->hidden, (long long)NUMBER_MAX);
        if (onnx_has(n, "clip") && !(r->clip > 0))
                return onnx_invalid(im, n, "clip is %g", (double)r->clip);
        r->directions = direction == 2 ? 2 : 1;
        r->backward = direction == 1;
        r->batch_first = layout;
        r->input_forget = input_forget;
        r->linear_before_reset = linear;
        return activations_read(im, n, r);
}

/* ---- operands ---- */

static bool quantization_read(struct onnx_import *im, const struct onnx_node *n,
                              struct compose_recurrent *r)
{
        if (!onnx_want_inputs(im, n, 0xf00))
                return false;
        for (int i = 0; i < 4; i++)
                if (!onnx_want_element(im, n, 8 + i,
                                       i % 2 ? value_element(n->inputs[1 + i / 2]) : E_F32))
                        return false;
        r->w.scale = n->inputs[8];
        r->w.zero = n->inputs[9];
        r->r.scale = n->inputs[10];
        r->r.zero = n->inputs[11];
        return onnx_want_8_bit(im, n, 1) && onnx_want_8_bit(im, n, 2) &&
               onnx_want_element(im, n, 0, E_F32);
}

/* Reads what an LSTM attends to, which stands behind the operands of an LSTM: query, layer, vector,
 * memory, lengths, out. */
static bool memory_read(struct onnx_import *im, const struct onnx_node *n, struct compose_memory *m)
{
        enum { FIRST = 8, NEEDED = 0xf00, LENGTHS = 12 };
        struct value *same[6] = { n->inputs[0] };

        if (!onnx_want_inputs(im, n, NEEDED) || !onnx_want_element(im, n, LENGTHS, E_I32))
                return false;
        *m = (struct compose_memory){ .query = n->inputs[FIRST],
                                      .layer = n->inputs[FIRST + 1],
                                      .vector = n->inputs[FIRST + 2],
                                      .memory = n->inputs[FIRST + 3],
                                      .lengths = onnx_input(n, LENGTHS),
                                      .out = onnx_input(n, LENGTHS + 1) };
        same[1] = m->query;
        same[2] = m->layer;
        same[3] = m->vector;
        same[4] = m->memory;
        same[5] = m->out;
        return onnx_same_element(im, n, same, 6);
}

static bool operands_read(struct onnx_import *im, struct onnx_node *n, bool quantized,
                          struct compose_recurrent *r)
{
        const bool lstm = r->cell == CELL_LSTM;

        r->x = n->inputs[0];
        r->w.numbers = n->inputs[1];
        r->r.numbers = n->inputs[2];
        r->bias = onnx_input(n, 3);
        r->lengths = onnx_input(n, 4);
        r->h = onnx_input(n, 5);
        r->c = lstm ? onnx_input(n, 6) : NULL;
        r->peephole = lstm ? onnx_input(n, 7) : NULL;
        struct value *same[7] = { r->x,
                                  quantized ? NULL : r->w.numbers,
                                  quantized ? NULL : r->r.numbers,
                                  r->bias,
                                  r->h,
                                  r->c,
                                  r->peephole };
        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_same_element(im, n, same, 7) || (quantized && !quantization_read(im, n, r)))
                return false;
        return !r->lengths || element_is_integer(value_element(r->lengths)) ||
               onnx_invalid(im, n, "sequence_lens are of %s",
                            element_info[value_element(r->lengths)].text);
}

bool onnx_import_recurrent(struct onnx_import *im, struct onnx_node *n)
{
        const int variant = onnx_variant(n);
        const bool quantized = variant == VARIANT_QUANTIZED;
        struct compose_recurrent r = { .cell = variant > CELL_LSTM ? CELL_LSTM : variant };
        struct compose_memory memory;
        struct value *results[RECURRENT_RESULTS] = { NULL };
        bool wanted[RECURRENT_RESULTS];

        for (int i = 0; i < RECURRENT_RESULTS; i++)
                wanted[i] = onnx_wants(n, i);
        r.memory = variant == VARIANT_ATTENDS ? &memory : NULL;
        if (!attributes_read(im, n, &r) || !operands_read(im, n, quantized, &r) ||
            (r.memory && !memory_read(im, n, &memory)) ||
            !compose_recurrent(im->c, &r, wanted, results))
                return false;
        for (int i = 0; i < RECURRENT_RESULTS; i++)
                if (wanted[i])
                        onnx_output(n, i, results[i]);
        return true;
}
