/* SPDX-License-Identifier: MIT */
/* These com.microsoft operators compute attention: Attention, MultiHeadAttention and a decoder's
 * step of it, RotaryEmbedding, MRotaryEmbedding. */
#include <float.h>
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
                        struct value *bias, dim_t keys, double filter)
{
        const dim_t scores[3] = { a->q->type->dims[0], a->q->type->dims[1], keys };
        struct value *hidden = NULL;

        if (mask && !compose_attention_filter(im->c, mask, scores, filter, &hidden))
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

/* Returns x, [batch, steps, heads * size], as [batch, heads, steps, size]. */
static struct value *of_heads(struct onnx_import *im, struct value *x, int64_t heads)
{
        const dim_t *d = x->type->dims,
                    dims[4] = { d[0], d[1], dim_of(heads), dim_of(dim_extent(d[2]) / heads) };

        x = compose_reshape(im->c, x, 4, dims);
        return compose_transpose(im->c, x, (const int64_t[]){ 0, 2, 1, 3 });
}

/* Puts keys and values of some steps, [batch, steps, columns], behind the first steps of a cache,
 * whose number is the operand `input`, and sets *past [batch] to that number. */
static bool steps_cached(struct onnx_import *im, struct onnx_node *n, int input,
                         struct compose_attention *a, struct value **past)
{
        const dim_t *d = a->past_k->type->dims,
                    want[3] = { d[0], a->q->type->dims[1], dim_of(a->heads * dim_extent(d[3])) };
        const struct type *steps = type_tensor(im->m, value_element(a->q), 3, want);
        struct value *begin = compose_cast(im->c, onnx_scalar(im, n, input), E_I64);

        if (!begin)
                return false;
        if (a->past_v->type != a->past_k->type || !dim_is(d[1], a->heads) ||
            value_element(a->past_k) != steps->element || a->k->type != steps ||
            a->v->type != steps || dim_least(im->m, want[1]) > dim_bound(im->m, d[2]))
                return onnx_invalid(im, n, "caches %s and %s for a key %s",
                                    compose_text(im->c, a->past_k->type),
                                    compose_text(im->c, a->past_v->type),
                                    compose_text(im->c, a->k->type));
        *past = compose_spread(im->c, begin, type_tensor(im->m, E_I64, 1, d), NULL);
        a->lengths = add(im->c, *past, compose_extent(im->c, want[1]));
        a->k = of_heads(im, a->k, a->heads);
        a->v = a->k ? of_heads(im, a->v, a->heads) : NULL;
        if (!a->lengths || !a->v)
                return false;
        a->k = compose_cache_update(im->c, a->past_k, a->k, *past, 2, false);
        a->v = compose_cache_update(im->c, a->past_v, a->v, *past, 2, false);
        a->past_k = a->past_v = NULL;
        return a->k && a->v;
}

/* Makes the first past[batch] keys and values of each beam those of the beams that they came from.
 * Samples are beams, those of a sequence side by side; the operand `input`, i32 [sequences, beams,
 * steps], says for each step which beam of the sequence it is. */
static bool beams_followed(struct onnx_import *im, struct onnx_node *n, int input,
                           struct compose_attention *a, struct value *past)
{
        struct value *from = n->inputs[input];
        const int64_t samples = value_extent(a->k, 0), keys = value_extent(a->k, 2);

        if (!onnx_want_element(im, n, input, E_I32) || !onnx_want_rank(im, n, input, 3, 3))
                return false;
        const int64_t beams = value_extent(from, 1);
        if (value_extent(from, 0) * beams != samples || beams < 1)
                return onnx_invalid(im, n, "beams %s for %lld samples",
                                    compose_text(im->c, from->type), (long long)samples);
        const dim_t flat[2] = { dim_of(samples), from->type->dims[2] },
                    rows[2] = { dim_of(samples), dim_of(keys) };
        const struct type *t = type_tensor(im->m, E_I64, 2, rows);
        const int64_t along[2] = { 0, 2 };
        from = compose_reshape(im->c, compose_cast(im->c, from, E_I64), 2, flat);
        from = from ? compose_fitted(im->c, from, 1, keys) : NULL;
        struct value *own = build_iota(&im->b, t, 0), *step = build_iota(&im->b, t, 1);
        struct value *first =
                times(im->c, compose_with(im->c, OP_div, own, (double)beams), (double)beams);
        from = add(im->c, from, first);
        past = compose_spread(im->c, past, t, along);
        from = compose_select(im->c, compose_binary(im->c, OP_lt, step, past), from, own);
        from = compose_spread(im->c, from, a->k->type, along);
        a->k = from ? compose_gather_elements(im->c, a->k, from, 0) : NULL;
        a->v = a->k ? compose_gather_elements(im->c, a->v, from, 0) : NULL;
        return a->v != NULL;
}

/* Returns scores with the mask added, where hidden keys have the least number, not -inf. */
static struct value *finite_scores(struct onnx_import *im, struct value *scores)
{
        return compose_with(im->c, OP_max, scores, -FLT_MAX);
}

/* Returns how many keys there are with those of the past, which has them in dimension d, where
 * there is one. */
static dim_t keys_behind(struct onnx_import *im, const struct value *past, int d, dim_t keys)
{
        return past ? dim_binary(im->m, DIM_ADD, past->type->dims[d], keys) : keys;
}

/* Says how attention reads a past whose length a run gives: keys where they lie, and a single query
 * sees all of them. */
static void past_read(struct compose_attention *a)
{
        a->scales_queries = true;
        a->causal = a->causal && !dim_is(a->q->type->dims[1], 1);
}

/* Takes apart queries, keys and values that are packed: [batch, steps, heads, 3, size], or keys and
 * values [batch, steps, heads, 2, size]. */
static bool unpacked(struct onnx_import *im, struct onnx_node *n, struct compose_attention *a)
{
        const bool all = !a->k && !a->v;
        struct value *packed = all ? a->q : a->k, **parts[3] = { &a->q, &a->k, &a->v };

        if (a->k && a->v)
                return true;
        if (!packed || a->v || value_rank(packed) != 5 || value_extent(packed, 3) != (all ? 3 : 2))
                return onnx_invalid(im, n, "%s are %s, and no values", all ? "queries" : "keys",
                                    compose_text(im->c, (packed ? packed : a->q)->type));
        const dim_t *d = packed->type->dims,
                    dims[3] = { d[0], d[1], dim_of(dim_extent(d[2]) * dim_extent(d[4])) };
        for (int i = all ? 0 : 1; i < 3; i++) {
                struct value *part = compose_pick(im->c, packed, 3, all ? i : i - 1);
                *parts[i] = compose_reshape(im->c, part, 3, dims);
        }
        return a->q && a->k && a->v;
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
        if (!unpacked(im, n, &a))
                return false;
        const int rank = value_rank(a.k);
        const bool shares = onnx_input(n, 8) && a.past_k;
        if (value_rank(a.q) != 3 || (rank != 3 && rank != 4) || value_rank(a.v) != rank ||
            !a.past_k != !a.past_v || (a.past_k && value_rank(a.past_k) != 4) ||
            (shares && rank != 3))
                return onnx_invalid(im, n, "keys are %s, values %s",
                                    type_text(im->arena, im->m, a.k->type),
                                    type_text(im->arena, im->m, a.v->type));
        if (onnx_input(n, 9) && !shares)
                return onnx_invalid(im, n, "cache_indirection without past_sequence_length");
        if (onnx_wants(n, 3) && shares)
                return onnx_unsupported(im, n, "the result qk of a cache that is a buffer");
        struct value *mask = onnx_input(n, 4), *past = NULL;
        const int64_t of_q = value_extent(a.q, 2), of_k = rank == 3 ? value_extent(a.k, 2) : 0,
                      of_v = rank == 3 ? value_extent(a.v, 2) : 0;
        dim_t keys = shares ? a.past_k->type->dims[2]
                            : keys_behind(im, a.past_k, 2, a.k->type->dims[rank == 3 ? 1 : 2]);
        if (shares && mask && value_rank(mask) > 1)     /* The mask is that of the keys so far, not
                                                         * of the whole cache. */
                keys = dim_binary(im->m, DIM_MIN, keys, mask->type->dims[value_rank(mask) - 1]);
        if (bias && (value_rank(bias) != 1 || value_extent(bias, 0) < of_q + of_k + of_v))
                return onnx_invalid(im, n, "the bias is %s, want %lld numbers",
                                    type_text(im->arena, im->m, bias->type),
                                    (long long)(of_q + of_k + of_v));
        a.q = biased(im, a.q, bias, 0);
        a.k = rank == 3 ? biased(im, a.k, bias, of_q) : a.k;
        a.v = rank == 3 ? biased(im, a.v, bias, of_q + of_k) : a.v;
        if (!a.q || !a.k || !a.v || (shares && !steps_cached(im, n, 8, &a, &past)))
                return false;
        if (!shares && a.past_k && !dim_is_static(a.past_k->type->dims[2]))
                past_read(&a);
        struct value *const kept[2] = { a.k, a.v };
        /* A call of several steps is a first one, before beams part: onnxruntime follows none. */
        const bool follows = shares && onnx_input(n, 9) && value_extent(a.q, 1) == 1;
        if ((follows && !beams_followed(im, n, 9, &a, past)) ||
            !mask_joined(im, &a, mask, scores_bias, keys, filter) ||
            !compose_attention(im->c, &a, &result))
                return false;
        onnx_output(n, 1, shares ? kept[0] : result.k);
        onnx_output(n, 2, shares ? kept[1] : result.v);
        if (onnx_wants(n, 3) && !onnx_output(n, 3, finite_scores(im, result.scores[SCORES_MASKED])))
                return false;
        return onnx_output(n, 0, result.y);
}

/* Finds how many keys of a buffer there are with this step's: as past_sequence_length says, or as
 * the result qk is declared. */
static bool keys_so_far(struct onnx_import *im, struct onnx_node *n, dim_t *keys)
{
        const dim_t room = *keys;
        int64_t past;
        bool known;

        if (!onnx_operand_int(im, n, 7, 0, &past, &known))
                return false;
        const struct type *t =
                known ? NULL : onnx_declared_as(im, n, 3, value_element(n->inputs[0]), 4);
        if (!known && !t)
                return false;
        *keys = known ? dim_of(past < 0 ? 0 : past + 1) : t->dims[3];
        return (dim_least(im->m, *keys) > 0 && dim_bound(im->m, *keys) <= dim_least(im->m, room)) ||
               onnx_invalid(im, n, "%s keys in a cache of %s", dim_text(im->arena, im->m, *keys),
                            dim_text(im->arena, im->m, room));
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
        if (onnx_wants(n, 3) && !scores)
                return onnx_invalid(im, n, "the result qk, where output_qk is 0");
        if (onnx_input(n, 9) && !(shares && a.past_k && onnx_input(n, 7)))
                return onnx_invalid(im, n, "cache_indirection without past_sequence_length");
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
        struct value *mask = onnx_input(n, 3), *past = NULL;
        const bool buffer = a.past_k && shares;
        if (!a.q || !a.k || !a.v || (buffer && !steps_cached(im, n, 7, &a, &past)))
                return false;
        dim_t keys = keys_behind(im, a.past_k, 2, a.past_k ? dim_of(1) : a.k->type->dims[2]),
              seen = keys;
        if (onnx_wants(n, 3) && buffer && !keys_so_far(im, n, &seen))
                return false;
        struct value *const kept[2] = { a.k, a.v };
        if (onnx_input(n, 9) && !beams_followed(im, n, 9, &a, past))
                return false;
        if (mask && value_rank(mask) == 2)      /* The mask is that of the keys so far, not of the
                                                 * whole cache. */
                keys = dim_binary(im->m, DIM_MIN, keys, mask->type->dims[1]);
        if (!mask_joined(im, &a, mask, scores_bias, keys, filter) ||
            !compose_attention(im->c, &a, &result))
                return false;
        onnx_output(n, 1, buffer ? kept[0] : result.k);
        onnx_output(n, 2, buffer ? kept[1] : result.v);
        if (onnx_wants(n, 3)) {
                struct value *all = finite_scores(im, result.scores[SCORES_MASKED]);
                if (!all || !onnx_output(n, 3, compose_span(im->c, all, 3, 0, seen)))
                        return false;
        }
        return onnx_output(n, 0, result.y);
}

/* Returns the keys (0) or values (1) in front, [2, batch, heads, past, size]. */
static struct value *past_of(struct onnx_import *im, struct value *past, int64_t which)
{
        return past ? build_gather(&im->b, past, compose_integer(im->c, E_I64, which), 0) : NULL;
}

/* Returns the keys (0) or values (1) of present, [2, batch, heads, keys, size], as a view. */
static struct value *half_of(struct onnx_import *im, struct value *present, int64_t which)
{
        struct value *half = present ? compose_part(im->c, present, 0, which, 1) : NULL;

        return half ? compose_reshape(im->c, half, 4, half->type->dims + 1) : NULL;
}

/* Puts the keys and values of this call behind those of `past`, whose number a run gives, and reads
 * both where they lie then: so that the past may be state, which grows in place. Returns present,
 * or NULL after an error. */
static struct value *past_grown(struct onnx_import *im, struct compose_attention *a,
                                struct value *past)
{
        const bool divides = value_extent(a->k, 2) % a->heads == 0;
        struct value *k = divides ? of_heads(im, a->k, a->heads) : NULL;
        struct value *v = k && a->v->type == a->k->type ? of_heads(im, a->v, a->heads) : NULL;
        struct value *next = v ? compose_attention_present(im->c, k, v, value_element(past)) : NULL;
        struct value *both[2] = { past, next };
        bool fits = next != NULL;

        for (int d = 0; d < 5 && fits; d++)
                fits = d == 3 || dim_equal(past->type->dims[d], next->type->dims[d]);
        if (!fits) {
                compose_invalid(im->c, "past is %s for keys %s and values %s",
                                compose_text(im->c, past->type), compose_text(im->c, a->k->type),
                                compose_text(im->c, a->v->type));
                return NULL;
        }
        struct value *present = build_concat(&im->b, both, 2, 3);
        a->before = build_extent(&im->b, past, 3);
        a->k = half_of(im, present, 0);
        a->v = half_of(im, present, 1);
        past_read(a);
        return present && a->before && a->k && a->v ? present : NULL;
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
        if (!a.q || !a.k || !a.v)
                return false;
        const dim_t keys = keys_behind(im, past, 3, x->type->dims[1]);
        struct value *present = NULL;
        if (past && dim_is_static(past->type->dims[3])) {
                a.past_k = past_of(im, past, 0);
                a.past_v = past_of(im, past, 1);
                if (!a.past_k || !a.past_v)
                        return false;
        } else if (past && !(present = past_grown(im, &a, past))) {
                return false;
        }
        if (!mask_joined(im, &a, onnx_input(n, 3), scores_bias, keys, filter) ||
            !compose_attention(im->c, &a, &result))
                return false;
        if (onnx_wants(n, 1) && !present)
                present = compose_attention_present(im->c, result.k, result.v, value_element(x));
        return (!onnx_wants(n, 1) || onnx_output(n, 1, present)) && onnx_output(n, 0, result.y);
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
        float scale;                    /* onnxruntime reads neither of these two. */

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 4) ||
            !onnx_want_rank(im, n, 2, 2, 2) || !onnx_same_element(im, n, v, 3) ||
            !onnx_want_integer(im, n, 1) ||
            !onnx_int_range(im, n, "interleaved", 0, 0, 1, &interleaved) ||
            !onnx_int_range(im, n, "is_packed_batching", 0, 0, 1, &packed) ||
            !onnx_float(im, n, "scale", 1, &scale) ||
            !onnx_int_range(im, n, "rotary_embedding_dim", 0, 0, NUMBER_MAX, &r.turned) ||
            !onnx_int_range(im, n, "num_heads", 0, 0, NUMBER_MAX, &r.heads))
                return false;
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
        const int64_t half = value_extent(v[1], 1);
        const dim_t *d = x->type->dims, steps = d[value_rank(x) == 4 ? 2 : 1];
        const dim_t ids[3] = { dim_of(3), d[0], steps }, angles[3] = { d[0], steps, dim_of(half) };
        const dim_t rows[2] = { dim_binary(im->m, DIM_MUL, d[0], steps), dim_of(half) };
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
                v[i] = scale == 1 ? v[i] : times(im->c, v[i], scale);
        }
        r.cosine = v[1];
        r.sine = v[2];
        r.interleaved = interleaved;
        return v[1] && v[2] && onnx_output(n, 0, compose_rotary(im->c, &r));
}
