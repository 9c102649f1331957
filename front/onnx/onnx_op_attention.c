/* SPDX-License-Identifier: MIT */
/* This file imports Attention, FlexAttention and RotaryEmbedding. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_attention.h"
#include "front/compose/compose_softmax.h"

struct attention {
        int64_t causal, q_heads, kv_heads, output_mode;
        float softcap, scale;
        enum element precision;         /* The softmax has this type. */
};

static bool attention_attributes(struct onnx_import *im, struct onnx_node *n, struct attention *a)
{
        int64_t precision;

        if (!onnx_int_range(im, n, "is_causal", 0, 0, 1, &a->causal) ||
            !onnx_int_range(im, n, "q_num_heads", 0, 0, NUMBER_MAX, &a->q_heads) ||
            !onnx_int_range(im, n, "kv_num_heads", 0, 0, NUMBER_MAX, &a->kv_heads) ||
            !onnx_int_range(im, n, "qk_matmul_output_mode", 0, 0, 3, &a->output_mode) ||
            !onnx_float(im, n, "softcap", 0, &a->softcap) ||
            !onnx_float(im, n, "scale", 0, &a->scale) ||
            !onnx_int(im, n, "softmax_precision", 1, &precision) ||
            !onnx_element_number(im, n, "softmax_precision", precision, &a->precision))
                return false;
        if (!element_is_float(a->precision))
                return onnx_invalid(im, n, "softmax_precision is %s",
                                    element_info[a->precision].text);
        if (a->softcap < 0)
                return onnx_invalid(im, n, "softcap is %g", (double)a->softcap);
        for (int i = 0; i < 3; i++)
                if (value_rank(n->inputs[i]) != value_rank(n->inputs[0]) ||
                    (value_rank(n->inputs[i]) != 3 && value_rank(n->inputs[i]) != 4))
                        return onnx_invalid(im, n, "operand %d is of rank %d, want 3 or 4 of all",
                                            i, value_rank(n->inputs[i]));
        return true;
}

bool onnx_import_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct attention a = { .causal = 0 };
        struct compose_attended result = { .y = NULL };

        if (!onnx_want_float(im, n, 0) || !onnx_want_float(im, n, 1) ||
            !onnx_want_float(im, n, 2) || !attention_attributes(im, n, &a))
                return false;
        const struct compose_attention meant = { .q = n->inputs[0],
                                                 .k = n->inputs[1],
                                                 .v = n->inputs[2],
                                                 .heads = a.q_heads,
                                                 .groups = a.kv_heads,
                                                 .mask = onnx_input(n, 3),
                                                 .past_k = onnx_input(n, 4),
                                                 .past_v = onnx_input(n, 5),
                                                 .lengths = onnx_input(n, 6),
                                                 .causal = a.causal,
                                                 .early_text = im->c->exact,
                                                 .scaled = onnx_has(n, "scale"),
                                                 .scale = a.scale,
                                                 .softcap = a.softcap,
                                                 .precision = a.precision };
        if (!compose_attention(im->c, &meant, &result))
                return false;
        onnx_output(n, 1, result.k);
        onnx_output(n, 2, result.v);
        if (onnx_wants(n, 3))
                onnx_output(n, 3, result.scores[a.output_mode]);
        return onnx_output(n, 0, result.y);
}

/* ---- FlexAttention: what is done to scores and to shares is given as graphs ---- */

/* Returns x after the node's graph of this name, if it has that, or NULL after an error. */
static struct value *modified(struct onnx_import *im, struct onnx_node *n, const char *name,
                              struct value *x)
{
        const Onnx__GraphProto *g =
                x && onnx_has(n, name) ? onnx_graph_attribute(im, n, name) : NULL;
        struct value *y = NULL;

        if (!g)
                return x && !onnx_has(n, name) ? x : NULL;
        if (g->n_input != 1 || g->n_output != 1) {
                onnx_invalid(im, n, "%s has %zu inputs and %zu outputs, want one of each", name,
                             g->n_input, g->n_output);
                return NULL;
        }
        if (!onnx_inline_graph(im, g, &x, 1, &y, 1))
                return NULL;
        if (y->type == x->type)
                return y;
        onnx_invalid(im, n, "%s makes %s of %s", name, compose_text(im->c, y->type),
                     compose_text(im->c, x->type));
        return NULL;
}

bool onnx_import_flex_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct value *q = n->inputs[0], *k = n->inputs[1], *v = n->inputs[2];
        const int64_t keys[1] = { 3 };
        enum element e = value_element(q), precision;
        int64_t number;
        float given;

        for (int i = 0; i < 3; i++)
                if (!onnx_want_float(im, n, i) || !onnx_want_rank(im, n, i, 4, 4))
                        return false;
        if (!onnx_same_element(im, n, n->inputs, 3) || !compose_attention_fits(im->c, q, k, v) ||
            !onnx_float(im, n, "scale", 0, &given) ||
            !onnx_int(im, n, "softmax_precision", e == E_F64 ? 11 : 1, &number) ||
            !onnx_element_number(im, n, "softmax_precision", number, &precision))
                return false;
        if (!element_is_float(precision))
                return onnx_invalid(im, n, "softmax_precision is %s", element_info[precision].text);
        enum element computed = e == E_F64 || precision == E_F64 ? E_F64 : E_F32;
        const dim_t result[4] = { dim_of(value_extent(q, 0)), dim_of(value_extent(q, 1)),
                                  dim_of(value_extent(q, 2)), dim_of(value_extent(v, 3)) };
        if (!compose_type(im->c, computed, 4, result))
                return false;
        double scale = onnx_has(n, "scale") ? given : 1 / sqrt((double)value_extent(q, 3));
        struct value *x =
                compose_cast(im->c, compose_attention_scores(im->c, q, k, scale), precision);
        x = compose_softmax(im->c, compose_wide(im->c, modified(im, n, "score_mod", x)), keys, 1,
                            false);
        x = compose_cast(im->c, modified(im, n, "prob_mod", compose_cast(im->c, x, precision)),
                         computed);
        v = compose_for_heads(im->c, compose_cast(im->c, v, computed), dim_extent(result[1]));
        return onnx_output(n, 0, compose_cast(im->c, compose_matmul(im->c, x, v), e));
}

/* ---- RotaryEmbedding ---- */

bool onnx_import_rotary_embedding(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], n->inputs[2] };
        struct compose_rotary r = {
                .x = v[0], .cosine = v[1], .sine = v[2], .positions = onnx_input(n, 3)
        };
        int64_t interleaved;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 4) ||
            !onnx_same_element(im, n, v, 3) ||
            !onnx_int_range(im, n, "interleaved", 0, 0, 1, &interleaved) ||
            !onnx_int_range(im, n, "rotary_embedding_dim", 0, 0, NUMBER_MAX, &r.turned) ||
            !onnx_int_range(im, n, "num_heads", 0, 0, NUMBER_MAX, &r.heads))
                return false;
        r.interleaved = interleaved;
        return onnx_output(n, 0, compose_rotary(im->c, &r));
}

bool onnx_update_rule(struct onnx_import *im, struct onnx_node *n, const struct value *decay,
                      const struct value *beta)
{
        static const char *const rules[] = { "linear", "gated", "delta", "gated_delta", NULL };
        int rule; /* Bit 0 says that there are decays, bit 1 that there are betas. */

        if (!onnx_choice(im, n, "update_rule", rules, 3, &rule))
                return false;
        return ((decay != NULL) == (rule & 1) && (beta != NULL) == rule >> 1) ||
               onnx_invalid(im, n, "update_rule %s %s decay and %s beta", rules[rule],
                            decay ? "with" : "without", beta ? "with" : "without");
}

/* The operands are query, key, value, past_state, decay, beta; the results are output,
 * present_state. */
bool onnx_import_linear_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_linear_attention l = { .q = n->inputs[0],
                                              .k = onnx_input(n, 1),
                                              .v = onnx_input(n, 2),
                                              .past = onnx_input(n, 3),
                                              .decay = onnx_input(n, 4),
                                              .beta = onnx_input(n, 5) };
        struct value *same[5] = { l.q, l.k, l.v, l.decay, l.beta }, *y, *state;
        int64_t window = 0;
        float scale;

        if (n->domain[0] &&
            !onnx_int_range(im, n, "state_window", 0, 0, LINEAR_WINDOW_MAX, &window))
                return false;
        if (!onnx_float(im, n, "scale", 0, &scale) ||
            !onnx_int_required(im, n, "q_num_heads", &l.heads) ||
            !onnx_int_required(im, n, "kv_num_heads", &l.groups) ||
            !onnx_ignore(im, n, "chunk_size") || !onnx_want_float(im, n, 0) ||
            !onnx_same_element(im, n, same, 5) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_want_rank(im, n, 2, 3, 3) || !onnx_update_rule(im, n, l.decay, l.beta))
                return false;
        l.scale = scale;
        return compose_linear_attention_window(im->c, &l, window, &y, &state) &&
               onnx_output(n, 0, y) && onnx_output(n, 1, state);
}
