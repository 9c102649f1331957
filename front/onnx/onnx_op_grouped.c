/* SPDX-License-Identifier: MIT */
/* This file imports GroupQueryAttention of com.microsoft, with the caches that it may have. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_attention.h"

/* Finds how many keys the present cache has: as total_sequence_length says, if that is known; as it
 * is declared; or as the past one has. */
static bool cache_extent(struct onnx_import *im, struct onnx_node *n, int64_t *keys)
{
        const struct value *past = onnx_input(n, 3);
        bool known;

        if (!onnx_operand_int(im, n, 6, 0, keys, &known))
                return false;
        if (known)
                return *keys >= 0 || onnx_invalid(im, n, "total_sequence_length is negative");
        *keys = past && value_rank(past) == 4 ? value_extent(past, 2) : 0;
        const struct type *t = n->output_count > 1 ? n->declared[1] : NULL;
        if (t && t->kind == TYPE_TENSOR && t->rank == 4 && dim_is_static(t->dims[2]))
                *keys = compose_max(*keys, type_extent(t, 2));
        return *keys > 0 || onnx_unsupported(im, n, "a cache whose extent only a run knows");
}

static bool grouped_attributes(struct onnx_import *im, struct onnx_node *n,
                               struct compose_grouped_attention *a, bool *smooth)
{
        int64_t rotary, interleaved, causal, window, windowed, softened;
        float scale, epsilon;

        if (!onnx_int_required(im, n, "num_heads", &a->heads) ||
            !onnx_int_range(im, n, "num_heads", 0, 1, NUMBER_MAX, &a->heads) ||
            !onnx_int_required(im, n, "kv_num_heads", &a->groups) ||
            !onnx_int_range(im, n, "kv_num_heads", 0, 1, NUMBER_MAX, &a->groups) ||
            !onnx_int_range(im, n, "do_rotary", 0, 0, 1, &rotary) ||
            !onnx_int_range(im, n, "rotary_interleaved", 0, 0, 1, &interleaved) ||
            !onnx_int_range(im, n, "causal", 1, 0, 1, &causal) ||
            !onnx_int_range(im, n, "local_window_size", -1, -1, NUMBER_MAX, &window) ||
            !onnx_int_range(im, n, "sliding_window_cache", 0, 0, 1, &windowed) ||
            !onnx_int_range(im, n, "smooth_softmax", -1, -1, 1, &softened) ||
            !onnx_float(im, n, "qk_norm_epsilon", 1e-6f, &epsilon) ||
            !onnx_float(im, n, "q_norm_epsilon", epsilon, &a->q_epsilon) ||
            !onnx_float(im, n, "k_norm_epsilon", epsilon, &a->k_epsilon) ||
            !onnx_float(im, n, "scale", 0, &scale) || !onnx_float(im, n, "softcap", 0, &a->softcap))
                return false;
        if (rotary && (!onnx_input(n, 7) || !onnx_input(n, 8)))
                return onnx_invalid(im, n, "do_rotary without cos_cache and sin_cache");
        a->cosine = rotary ? n->inputs[7] : NULL;
        a->sine = rotary ? n->inputs[8] : NULL;
        a->positions = onnx_input(n, 9);
        a->interleaved = interleaved;
        a->causal = causal;
        a->window = window > 0 ? window : 0;
        a->scale = scale;
        a->evicts = windowed;
        *smooth = softened == 1;
        if (a->evicts && (!a->window || !a->causal || !a->past_k))
                return onnx_invalid(im, n, "sliding_window_cache without %s",
                                    !a->past_k   ? "past_key"
                                    : !a->causal ? "causal"
                                                 : "local_window_size");
        if (a->evicts && a->bias)
                return onnx_unsupported(im, n, "attention_bias with sliding_window_cache");
        return true;
}

/* Reads how the cache is quantized, and checks the element types of it. */
static bool cache_read(struct onnx_import *im, struct onnx_node *n,
                       struct compose_grouped_attention *a)
{
        static const char *const kinds[] = { "NONE", "PER_TENSOR", "PER_CHANNEL", NULL };
        struct value *same[3] = { a->q, a->past_k, a->past_v };
        const struct value *scales[2] = { onnx_input(n, 12), onnx_input(n, 13) };
        int kind[2];
        int64_t bits;

        if (!onnx_choice(im, n, "k_quant_type", kinds, 0, &kind[0]) ||
            !onnx_choice(im, n, "v_quant_type", kinds, 0, &kind[1]) ||
            !onnx_int_range(im, n, "kv_cache_bit_width", 0, 0, 8, &bits))
                return false;
        if (!kind[0] && !kind[1])
                return onnx_same_element(im, n, same, 3);
        if (!kind[0] != !kind[1])
                return onnx_invalid(im, n, "k_quant_type is %s, v_quant_type is %s", kinds[kind[0]],
                                    kinds[kind[1]]);
        if (bits != 4 && bits != 8)
                return onnx_invalid(im, n, "kv_cache_bit_width is %lld, want 4 or 8",
                                    (long long)bits);
        for (int i = 0; i < 2; i++) {
                const enum element e = same[1 + i] ? value_element(same[1 + i]) : E_I8;
                if (!scales[i] || !onnx_want_element(im, n, 12 + i, E_F32))
                        return onnx_invalid(im, n, "a quantized cache without %s",
                                            i ? "v_scale" : "k_scale");
                if (e == E_F8E4M3)
                        return onnx_unsupported(im, n, "a cache of %s", element_info[e].text);
        }
        a->k_scale = n->inputs[12];
        a->v_scale = n->inputs[13];
        a->bits = (int)bits;
        return true;
}

/* Reads the norms of queries and keys, the numbers of steps, and which scores are a result. */
static bool grouped_extras(struct onnx_import *im, struct onnx_node *n,
                           struct compose_grouped_attention *a, int64_t *scores)
{
        struct value *same[3] = { a->q, onnx_input(n, 14), onnx_input(n, 15) };

        if (!onnx_int_range(im, n, "qk_output", 0, 0, 2, scores) ||
            !onnx_same_element(im, n, same, 3) || !onnx_want_integer(im, n, 16))
                return false;
        if (!same[1] != !same[2])
                return onnx_invalid(im, n, "q_norm_weight and k_norm_weight go together");
        if (!*scores && onnx_wants(n, 3))
                return onnx_invalid(im, n, "output_qk, where qk_output is 0");
        a->q_norm = same[1];
        a->k_norm = same[2];
        a->counts = onnx_input(n, 16);
        a->scores = *scores && onnx_wants(n, 3);
        if (a->counts && (!a->causal || !a->past_k))
                return onnx_invalid(im, n, "query_seqlens without %s",
                                    a->causal ? "past_key" : "causal");
        if (a->scores && (a->evicts || a->counts))
                return onnx_unsupported(im, n, "output_qk with %s",
                                        a->evicts ? "sliding_window_cache" : "query_seqlens");
        return true;
}

/* The operands are query, key, value, past_key, past_value, seqlens_k, total_sequence_length,
 * cos_cache, sin_cache, position_ids, attention_bias, head_sink, k_scale, v_scale, q_norm_weight,
 * k_norm_weight, query_seqlens; the results are output, present_key, present_value, output_qk. */
bool onnx_import_group_query_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_grouped_attention a = { .q = n->inputs[0],
                                               .k = onnx_input(n, 1),
                                               .v = onnx_input(n, 2),
                                               .past_k = onnx_input(n, 3),
                                               .past_v = onnx_input(n, 4),
                                               .last = onnx_input(n, 5),
                                               .bias = onnx_input(n, 10),
                                               .sink = onnx_input(n, 11) };
        struct value *same[5] = { a.q, a.k, a.v, a.bias, a.sink };
        struct compose_attended result = { .y = NULL };
        bool smooth = false;
        int64_t scores = 0;

        if (!onnx_want_inputs(im, n, 1u << 0 | 1u << 5 | 1u << 6) || !onnx_want_float(im, n, 0) ||
            !onnx_want_rank(im, n, 0, 3, 3) || !onnx_same_element(im, n, same, 5) ||
            !grouped_attributes(im, n, &a, &smooth) || !cache_read(im, n, &a) ||
            !grouped_extras(im, n, &a, &scores) ||
            (!compose_grouped_grows(&a) && !cache_extent(im, n, &a.keys)))
                return false;
        const dim_t heads[1] = { dim_of(a.heads) };
        if (a.sink && (value_rank(a.sink) != 1 || value_extent(a.sink, 0) != a.heads))
                return onnx_invalid(im, n, "head_sink is %s for %lld heads",
                                    type_text(im->arena, im->m, a.sink->type), (long long)a.heads);
        if (smooth && !a.sink)
                a.sink =
                        constant_number(im->m, type_tensor(im->m, value_element(a.q), 1, heads), 0);
        if (a.cosine && (value_rank(a.cosine) != 2 || value_rank(a.sine) != 2))
                return onnx_invalid(im, n, "cos_cache is %s",
                                    type_text(im->arena, im->m, a.cosine->type));
        if (!compose_grouped_attention(im->c, &a, &result))
                return false;
        onnx_output(n, 1, result.k);
        onnx_output(n, 2, result.v);
        if (a.scores)
                onnx_output(n, 3, result.scores[scores == 1 ? SCORES_MASKED : SCORES_SHARES]);
        return onnx_output(n, 0, result.y);
}
