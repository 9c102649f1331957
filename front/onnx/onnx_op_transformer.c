/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators compute attention: Attention, MultiHeadAttention and a decoder's
 * step of it, GroupQueryAttention, RotaryEmbedding, MRotaryEmbedding. */
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_attention.h"
#include "front/compose/compose_move.h"

/* Reads the attributes that Attention and MultiHeadAttention share. */
static bool attention_read(struct onnx_import *im, struct onnx_node *n, struct compose_attention *a,
                           float *filter)
{
        int64_t causal;
        float scale;

        if (!onnx_int_required(im, n, "num_heads", &a->heads) ||
            !onnx_int_range(im, n, "num_heads", 0, 1, NUMBER_MAX, &a->heads) ||
            !onnx_int_range(im, n, "unidirectional", 0, 0, 1, &causal) ||
            !onnx_float(im, n, "scale", 0, &scale) ||
            !onnx_float(im, n, "mask_filter_value", -10000, filter))
                return false;
        a->groups = a->heads;
        a->causal = causal;
        a->scaled = scale != 0;
        a->scale = scale;
        a->precision = E_F32;
        return true;
}

/* Joins the mask of keys and the bias of scores as one value that is added to scores, in
 * a->mask. */
static bool mask_joined(struct onnx_import *im, struct compose_attention *a, struct value *mask,
                        struct value *bias, int64_t keys, double filter)
{
        struct value *hidden = NULL;

        if (mask && !compose_attention_filter(im->c, mask, value_extent(a->q, 0),
                                              value_extent(a->q, 1), keys, filter, &hidden))
                return false;
        if (bias && value_rank(bias) != 4)
                return compose_invalid(im->c, "the bias of the scores is %s, want rank 4",
                                       type_text(im->arena, im->m, bias->type));
        struct value *both[2] = { compose_cast(im->c, hidden, value_element(a->q)), bias };
        if (hidden && bias && !compose_broadcast(im->c, both, 2))
                return false;
        a->mask = hidden && bias ? add(im->c, both[0], both[1]) : hidden ? both[0] : bias;
        return a->mask || (!hidden && !bias);
}

/* Returns x + bias[start ..], of as many numbers as x has columns. */
static struct value *biased(struct onnx_import *im, struct value *x, struct value *bias,
                            int64_t start)
{
        if (!bias || !x)
                return x;
        struct value *part =
                compose_part(im->c, bias, 0, start, value_extent(x, value_rank(x) - 1));
        return part ? compose_binary(im->c, OP_add, x, part) : NULL;
}

/* The operands are query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value,
 * past_sequence_length, cache_indirection; the results are output, present_key, present_value,
 * qk. */
bool onnx_import_multi_head_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct value *bias = onnx_input(n, 3), *scores_bias = onnx_input(n, 5);
        struct compose_attention a = { .q = n->inputs[0],
                                       .k = onnx_input(n, 1),
                                       .v = onnx_input(n, 2),
                                       .past_k = onnx_input(n, 6),
                                       .past_v = onnx_input(n, 7) };
        struct value *same[7] = { a.q, a.k, a.v, bias, scores_bias, a.past_k, a.past_v };
        struct compose_attended result = { .y = NULL };
        float filter;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, same, 7) ||
            !attention_read(im, n, &a, &filter))
                return false;
        if (!a.k || !a.v || value_rank(a.q) != 3)
                return onnx_unsupported(im, n, "queries, keys and values in one operand");
        if (onnx_input(n, 8) || onnx_input(n, 9) || onnx_wants(n, 3))
                return onnx_unsupported(im, n, "%s",
                                        onnx_wants(n, 3) ? "the result qk"
                                                         : "past and present in one buffer");
        const int rank = value_rank(a.k);
        if ((rank != 3 && rank != 4) || value_rank(a.v) != rank || !a.past_k != !a.past_v ||
            (a.past_k && value_rank(a.past_k) != 4))
                return onnx_invalid(im, n, "keys are %s, values %s",
                                    type_text(im->arena, im->m, a.k->type),
                                    type_text(im->arena, im->m, a.v->type));
        const int64_t of_q = value_extent(a.q, 2), of_k = rank == 3 ? value_extent(a.k, 2) : 0,
                      of_v = rank == 3 ? value_extent(a.v, 2) : 0,
                      keys = value_extent(a.k, rank == 3 ? 1 : 2) +
                             (a.past_k ? value_extent(a.past_k, 2) : 0);
        if (bias && (value_rank(bias) != 1 || value_extent(bias, 0) < of_q + of_k + of_v))
                return onnx_invalid(im, n, "the bias is %s, want %lld numbers",
                                    type_text(im->arena, im->m, bias->type),
                                    (long long)(of_q + of_k + of_v));
        a.q = biased(im, a.q, bias, 0);
        a.k = rank == 3 ? biased(im, a.k, bias, of_q) : a.k;
        a.v = rank == 3 ? biased(im, a.v, bias, of_q + of_k) : a.v;
        if (!a.q || !mask_joined(im, &a, onnx_input(n, 4), scores_bias, keys, filter) ||
            !compose_attention(im->c, &a, &result))
                return false;
        onnx_output(n, 1, result.k);
        onnx_output(n, 2, result.v);
        return onnx_output(n, 0, result.y);
}

/* Puts the key and the value of one step, [batch, 1, columns], behind `past` steps of a cache. */
static bool step_cached(struct onnx_import *im, struct onnx_node *n, struct compose_attention *a)
{
        const dim_t *d = a->past_k->type->dims, rows[4] = { d[0], d[1], dim_of(1), d[3] };
        const struct type *step = type_tensor(im->m, value_element(a->q), 4, rows);
        struct value *past = compose_cast(im->c, onnx_scalar(im, n, 7), E_I64);

        if (!past)
                return false;
        if (a->past_v->type != a->past_k->type || !dim_is(d[1], a->heads) ||
            value_element(a->past_k) != step->element ||
            type_elements(a->k->type) != type_elements(step) ||
            type_elements(a->v->type) != type_elements(step))
                return onnx_invalid(im, n, "caches %s and %s for a key %s",
                                    compose_text(im->c, a->past_k->type),
                                    compose_text(im->c, a->past_v->type),
                                    compose_text(im->c, a->k->type));
        past = compose_spread(im->c, past, type_tensor(im->m, E_I64, 1, rows), NULL);
        a->lengths = plus(im->c, past, 1);
        a->k = compose_reshape(im->c, a->k, 4, rows);
        a->v = compose_reshape(im->c, a->v, 4, rows);
        if (!a->lengths || !a->k || !a->v)
                return false;
        a->k = compose_cache_update(im->c, a->past_k, a->k, past, 2, false);
        a->v = compose_cache_update(im->c, a->past_v, a->v, past, 2, false);
        a->past_k = a->past_v = NULL;
        return a->k && a->v;
}

/* The operands are query, key, value, mask_index, attention_bias, past_key, past_value,
 * past_sequence_length, beam_width, cache_indirection, bias; the results are output, present_key,
 * present_value, qk. It is one step of each sequence, over a cache or (where keys have rank 4)
 * other keys. */
bool onnx_import_decoder_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct value *bias = onnx_input(n, 10), *scores_bias = onnx_input(n, 4);
        struct compose_attention a = { .q = n->inputs[0],
                                       .k = onnx_input(n, 1),
                                       .v = onnx_input(n, 2),
                                       .past_k = onnx_input(n, 5),
                                       .past_v = onnx_input(n, 6) };
        struct value *same[7] = { a.q, a.k, a.v, bias, scores_bias, a.past_k, a.past_v };
        struct compose_attended result = { .y = NULL };
        int64_t shares, scores;
        float filter;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_same_element(im, n, same, 7) || !attention_read(im, n, &a, &filter) ||
            !onnx_int_range(im, n, "past_present_share_buffer", 0, 0, 1, &shares) ||
            !onnx_int_range(im, n, "output_qk", 0, 0, 1, &scores) ||
            !onnx_want_rank(im, n, 5, 4, 4) || !onnx_want_rank(im, n, 6, 4, 4) ||
            (onnx_input(n, 7) && !onnx_want_integer(im, n, 7)))
                return false;
        if (scores || onnx_wants(n, 3) || onnx_input(n, 8) || onnx_input(n, 9))
                return onnx_unsupported(im, n, "%s", onnx_input(n, 9) ? "beams" : "the result qk");
        if (!a.k && !a.v && value_extent(a.q, 2) % 3 == 0) {
                struct value *all = a.q;
                const int64_t width = value_extent(all, 2) / 3;
                a.q = compose_part(im->c, all, 2, 0, width);
                a.k = a.q ? compose_part(im->c, all, 2, width, width) : NULL;
                a.v = a.k ? compose_part(im->c, all, 2, 2 * width, width) : NULL;
                if (!a.v)
                        return false;
        }
        const int rank = a.k ? value_rank(a.k) : 0;
        if (value_extent(a.q, 1) != 1 || !a.v || value_rank(a.v) != rank ||
            rank != (a.past_k ? 3 : 4) || !a.past_k != !a.past_v ||
            (shares && a.past_k && !onnx_input(n, 7)))
                return onnx_invalid(
                        im, n, "queries %s, keys %s %s a cache", compose_text(im->c, a.q->type),
                        a.k ? compose_text(im->c, a.k->type) : "", a.past_k ? "over" : "without");
        const int64_t width = value_extent(a.q, 2);
        const bool even =
                rank == 4 || (value_extent(a.k, 2) == width && value_extent(a.v, 2) == width);
        if (bias && (value_rank(bias) != 1 || value_extent(bias, 0) < 3 * width || !even))
                return onnx_invalid(im, n, "the bias is %s for queries of %lld",
                                    compose_text(im->c, bias->type), (long long)width);
        a.q = biased(im, a.q, bias, 0);
        if (a.past_k) {
                a.k = biased(im, a.k, bias, width);
                a.v = biased(im, a.v, bias, 2 * width);
        }
        if (!a.q || !a.k || !a.v || (a.past_k && shares && !step_cached(im, n, &a)))
                return false;
        struct value *mask = onnx_input(n, 3);
        int64_t keys = a.past_k ? value_extent(a.past_k, 2) + 1 : value_extent(a.k, 2);
        if (mask && value_rank(mask) == 2)      /* The mask is that of the keys so far, not of the
                                                 * whole cache. */
                keys = compose_min(keys, value_extent(mask, 1));
        if (!mask_joined(im, &a, mask, scores_bias, keys, filter) ||
            !compose_attention(im->c, &a, &result))
                return false;
        onnx_output(n, 1, result.k);
        onnx_output(n, 2, result.v);
        return onnx_output(n, 0, result.y);
}

/* Returns the keys (0) or values (1) in front, [2, batch, heads, past, size]. */
static struct value *past_of(struct onnx_import *im, struct value *past, int64_t which)
{
        return past ? build_gather(&im->b, past, compose_integer(im->c, E_I64, which), 0) : NULL;
}

/* Reads the widths of the projections to queries, keys and values: a third of the weights' columns
 * each, or as qkv_hidden_sizes says. */
static bool widths_read(struct onnx_import *im, struct onnx_node *n, int64_t columns,
                        int64_t widths[3])
{
        const int64_t *given;
        int count;

        if (!onnx_ints(im, n, "qkv_hidden_sizes", &given, &count))
                return false;
        if (!count) {
                widths[0] = widths[1] = widths[2] = columns / 3;
                return columns % 3 == 0 ||
                       onnx_invalid(im, n, "%lld columns are no three parts", (long long)columns);
        }
        memcpy(widths, given, (size_t)(count < 3 ? count : 3) * sizeof *given);
        if (count != 3 || widths[0] < 0 || widths[0] > columns / 2 || widths[1] != widths[0] ||
            widths[2] != columns - 2 * widths[0])
                return onnx_invalid(im, n, "qkv_hidden_sizes do not add up to %lld columns",
                                    (long long)columns);
        return true;
}

/* The operands are input, weights, bias, mask_index, past, attention_bias, past_sequence_length;
 * the results are output, present. */
bool onnx_import_fused_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *w = n->inputs[1], *bias = onnx_input(n, 2),
                     *past = onnx_input(n, 4), *scores_bias = onnx_input(n, 5);
        struct value *same[5] = { x, w, bias, past, scores_bias };
        struct compose_attention a = { .heads = 0 };
        struct compose_attended result = { .y = NULL };
        int64_t rotary, shares, turned, widths[3];
        float filter;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_want_rank(im, n, 1, 2, 2) || !onnx_same_element(im, n, same, 5) ||
            !attention_read(im, n, &a, &filter) ||
            !onnx_int_range(im, n, "do_rotary", 0, 0, 1, &rotary) ||
            !onnx_int_range(im, n, "rotary_embedding_dim", 0, 0, NUMBER_MAX, &turned) ||
            !onnx_int_range(im, n, "past_present_share_buffer", 0, 0, 1, &shares))
                return false;
        if (rotary || shares || onnx_input(n, 6))
                return onnx_unsupported(im, n, "%s",
                                        rotary ? "do_rotary" : "past and present in one buffer");
        if (value_extent(x, 2) != value_extent(w, 0))
                return onnx_invalid(im, n, "an input %s by weights %s",
                                    type_text(im->arena, im->m, x->type),
                                    type_text(im->arena, im->m, w->type));
        const int64_t columns = value_extent(w, 1);
        if (!widths_read(im, n, columns, widths))
                return false;
        if (bias && (value_rank(bias) != 1 || value_extent(bias, 0) != columns))
                return onnx_invalid(im, n, "the bias is %s, want %lld numbers",
                                    type_text(im->arena, im->m, bias->type), (long long)columns);
        if (past && (value_rank(past) != 5 || value_extent(past, 0) != 2))
                return onnx_invalid(im, n, "past is %s", type_text(im->arena, im->m, past->type));
        struct value *all = biased(im, compose_matmul(im->c, x, w), bias, 0);
        if (!all)
                return false;
        a.q = compose_part(im->c, all, 2, 0, widths[0]);
        a.k = compose_part(im->c, all, 2, widths[0], widths[1]);
        a.v = compose_part(im->c, all, 2, widths[0] + widths[1], widths[2]);
        a.past_k = past_of(im, past, 0);
        a.past_v = past_of(im, past, 1);
        const int64_t keys = value_extent(x, 1) + (past ? value_extent(past, 3) : 0);
        if (!a.q || !a.k || !a.v || (past && (!a.past_k || !a.past_v)) ||
            !mask_joined(im, &a, onnx_input(n, 3), scores_bias, keys, filter) ||
            !compose_attention(im->c, &a, &result))
                return false;
        if (onnx_wants(n, 1) &&
            !onnx_output(n, 1,
                         compose_attention_present(im->c, result.k, result.v, value_element(x))))
                return false;
        return onnx_output(n, 0, result.y);
}

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
            !grouped_extras(im, n, &a, &scores) || !cache_extent(im, n, &a.keys))
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

/* Returns the positions [batch, length] of x, as given, or from a number on, one after the
 * other. */
static struct value *positions_of(struct onnx_import *im, struct value *ids, const struct type *x)
{
        const dim_t rows[2] = { x->dims[0], x->dims[x->rank == 4 ? 2 : 1] };

        if (value_rank(ids) == 2)
                return ids;
        if (value_rank(ids) > 1 || type_elements(ids->type) != 1) {
                compose_invalid(im->c, "the positions are %s",
                                type_text(im->arena, im->m, ids->type));
                return NULL;
        }
        const struct type *t = type_tensor(im->m, E_I64, 2, rows);
        struct value *first = compose_reshape(im->c, compose_cast(im->c, ids, E_I64), 0, NULL);
        return first ? compose_binary(im->c, OP_add, build_iota(&im->b, t, 1), first) : NULL;
}

/* The operands are input, position_ids, cos_cache, sin_cache. */
bool onnx_import_rotary_positions(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *v[3] = { x, n->inputs[2], n->inputs[3] };
        struct compose_rotary r = { .x = x, .cosine = v[1], .sine = v[2] };
        int64_t interleaved, packed;
        float scale;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 4) ||
            !onnx_want_rank(im, n, 2, 2, 2) || !onnx_same_element(im, n, v, 3) ||
            !onnx_want_integer(im, n, 1) ||
            !onnx_int_range(im, n, "interleaved", 0, 0, 1, &interleaved) ||
            !onnx_int_range(im, n, "is_packed_batching", 0, 0, 1, &packed) ||
            !onnx_float(im, n, "scale", 1, &scale) ||
            !onnx_int_range(im, n, "rotary_embedding_dim", 0, 0, NUMBER_MAX, &r.turned) ||
            !onnx_int_range(im, n, "num_heads", 0, 0, NUMBER_MAX, &r.heads))
                return false;
        if (packed || scale != 1)
                return onnx_unsupported(im, n, "%s", packed ? "is_packed_batching" : "scale");
        const int64_t size = 2 * value_extent(r.cosine, 1);
        if (value_rank(x) == 3 && !r.heads)     /* Whole heads are turned. */
                r.heads = size > 0 ? value_extent(x, 2) / size : 0;
        r.interleaved = interleaved;
        r.positions = positions_of(im, n->inputs[1], x->type);
        return r.positions && onnx_output(n, 0, compose_rotary(im->c, &r));
}

/* Finds which of three streams of positions (time, height, width) each pair of elements is turned
 * by. */
static bool streams_read(struct onnx_import *im, struct onnx_node *n, int64_t half,
                         int64_t *streams)
{
        const int64_t *sections;
        int64_t layout;
        int count;

        if (!onnx_ints(im, n, "mrope_section", &sections, &count) ||
            !onnx_int_range(im, n, "mrope_layout", 0, 0, 1, &layout))
                return false;
        if (count != 3 || sections[0] < 0 || sections[0] > half || sections[1] < 0 ||
            sections[1] > half - sections[0] || sections[2] != half - sections[0] - sections[1])
                return onnx_invalid(im, n, "mrope_section is no three parts of %lld",
                                    (long long)half);
        for (int64_t i = 0; i < half; i++)
                if (layout)
                        streams[i] = i % 3 && i < 3 * sections[i % 3] ? i % 3 : 0;
                else
                        streams[i] = (i >= sections[0]) + (i >= sections[0] + sections[1]);
        return true;
}

/* The operands are input, position_ids [3, batch, length], cos_cache, sin_cache. */
bool onnx_import_rotary_streams(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *v[3] = { x, n->inputs[2], n->inputs[3] };
        struct compose_rotary r = { .x = x };
        int64_t interleaved, packed;
        float scale;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 4) ||
            !onnx_want_rank(im, n, 1, 3, 3) || !onnx_want_rank(im, n, 2, 2, 2) ||
            !onnx_want_rank(im, n, 3, 2, 2) || !onnx_same_element(im, n, v, 3) ||
            !onnx_want_integer(im, n, 1) ||
            !onnx_int_range(im, n, "interleaved", 0, 0, 1, &interleaved) ||
            !onnx_int_range(im, n, "is_packed_batching", 0, 0, 1, &packed) ||
            !onnx_float(im, n, "scale", 1, &scale) ||
            !onnx_int_range(im, n, "rotary_embedding_dim", 0, 0, NUMBER_MAX, &r.turned) ||
            !onnx_int_range(im, n, "num_heads", 0, 0, NUMBER_MAX, &r.heads))
                return false;
        if (packed || scale != 1)
                return onnx_unsupported(im, n, "%s", packed ? "is_packed_batching" : "scale");
        const int64_t half = value_extent(v[1], 1);
        const dim_t *d = x->type->dims, steps = d[value_rank(x) == 4 ? 2 : 1];
        const dim_t ids[3] = { dim_of(3), d[0], steps }, angles[3] = { d[0], steps, dim_of(half) };
        const dim_t rows[2] = { dim_of(dim_extent(d[0]) * dim_extent(steps)), dim_of(half) };
        if (n->inputs[1]->type != type_tensor(im->m, value_element(n->inputs[1]), 3, ids) ||
            v[1]->type != v[2]->type || half < 1)
                return onnx_invalid(im, n, "positions %s and angles %s for an input %s",
                                    compose_text(im->c, n->inputs[1]->type),
                                    compose_text(im->c, v[1]->type), compose_text(im->c, x->type));
        if (!compose_type(im->c, E_I64, 2, rows))
                return false;
        int64_t *streams = constant_room(im->m, (size_t)half * sizeof *streams);
        if (!streams_read(im, n, half, streams))
                return false;
        if (value_rank(x) == 3 && !r.heads)     /* Whole heads are turned. */
                r.heads = value_extent(x, 2) / (2 * half);
        struct value *at = compose_cast(im->c, n->inputs[1], E_I64);
        at = build_gather(&im->b, at,
                          constant_dense(im->m, type_static(im->m, E_I64, 1, &half), streams, NULL),
                          0);
        at = compose_transpose(im->c, at, (const int64_t[]){ 1, 2, 0 });
        at = compose_reshape(im->c, at, 2, rows);
        for (int i = 1; i < 3; i++) {
                v[i] = compose_gather_elements(im->c, v[i], at, 0);
                v[i] = compose_reshape(im->c, v[i], 3, angles);
        }
        r.cosine = v[1];
        r.sine = v[2];
        r.interleaved = interleaved;
        return v[1] && v[2] && onnx_output(n, 0, compose_rotary(im->c, &r));
}
