/* SPDX-License-Identifier: MIT */
/* GreedySearch and Sampling of com.microsoft run a decoder step by step. Each step's cache is one
 * key longer than the one before, so the steps are copies of the decoder, each with extents of its
 * own. */
#include <float.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_ngrams.h"
#include "front/compose/compose_random.h"
#include "front/compose/compose_softmax.h"
#include "front/compose/compose_sort.h"
#include "front/compose/compose_window.h"

/* These are the first inputs of a decoder; each one behind them is a cache. */
enum { IDS, POSITIONS, MASK, CACHES };

struct search {
        const Onnx__GraphProto *first, *next; /* They are the decoder of the prompt, and of the
                                               * later steps. */
        int64_t batch, prompt, length, pad, end, ngram;
        bool samples;                   /* Words are drawn, not the likeliest. */
        float temperature;              /* Logits are divided by it. */
        float share;                    /* Of a step's words the likeliest are kept that together
                                         * have this share; the logit of others becomes
                                         * `filtered`. */
        float filtered;
        int64_t kept;                   /* At least so many words are kept. */
        struct value *seed;             /* It is an integer, a scalar, or NULL. */
        struct value *penalty;          /* It is an f32 scalar, or NULL. */
        struct value *least;            /* It is an i64 scalar, the least length of a sequence; or
                                         * NULL. */
        struct value *allowed;          /* It is <words x bool>, or NULL. */
        struct value *allowed_first;    /* It is <batch x words x bool>, of the first step; or
                                         * NULL. */
        int caches;
        struct value **values;          /* They are a decoder's inputs: i32 words, positions and
                                         * mask, then the caches. */
        struct value **made;            /* They are its outputs: logits, then the caches. */
        struct value *sequences;        /* It is i64 [batch, words so far]. */
        struct value *running;          /* It is <batch x 1 x bool>: the sequence has not ended. */
        struct value *place;            /* It is i32 [batch, 1], the position of the next word. */
};

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct search *s)
{
        int64_t model, words;

        if (!onnx_int_required(im, n, "eos_token_id", &s->end) ||
            !onnx_int_required(im, n, "pad_token_id", &s->pad) ||
            !onnx_int(im, n, "vocab_size", -1, &words) ||
            !onnx_int(im, n, "decoder_start_token_id", -1, &words) ||
            !onnx_int_range(im, n, "model_type", 0, 0, 2, &model) ||
            !onnx_int_range(im, n, "no_repeat_ngram_size", 0, 0, NUMBER_MAX, &s->ngram))
                return false;
        if (model)
                return onnx_unsupported(im, n, "model_type = %lld, an encoder and a decoder",
                                        (long long)model);
        s->next = onnx_graph_attribute(im, n, "decoder");
        if (!s->next)
                return false;
        s->first =
                onnx_has(n, "init_decoder") ? onnx_graph_attribute(im, n, "init_decoder") : s->next;
        if (!s->first)
                return false;
        s->caches = (int)s->next->n_input - CACHES;
        if (s->caches < 1 || s->next->n_output != (size_t)s->caches + 1 ||
            s->first->n_input != s->next->n_input || s->first->n_output != s->next->n_output)
                return onnx_invalid(im, n, "a decoder of %zu inputs and %zu outputs",
                                    s->next->n_input, s->next->n_output);
        return true;
}

/* Reads what Sampling has beyond GreedySearch. */
static bool sampling_read(struct onnx_import *im, struct onnx_node *n, struct search *s)
{
        int64_t custom;
        float presence;

        if (!onnx_float(im, n, "temperature", 1, &s->temperature) ||
            !onnx_float(im, n, "top_p", 0, &s->share) ||
            !onnx_float(im, n, "filter_value", -1e20f, &s->filtered) ||
            !onnx_float(im, n, "presence_penalty", 0, &presence) ||
            !onnx_int_range(im, n, "min_tokens_to_keep", 0, 0, NUMBER_MAX, &s->kept) ||
            !onnx_int_range(im, n, "custom", 0, 0, 1, &custom) ||
            !onnx_want_element(im, n, 7, E_I32) || !onnx_want_element(im, n, 8, E_I32))
                return false;
        if (!(s->temperature > 0) || !(s->share >= 0 && s->share <= 1))
                return onnx_invalid(im, n, "temperature is %g, top_p is %g", (double)s->temperature,
                                    (double)s->share);
        if (custom || onnx_wants(n, 1))
                return onnx_unsupported(im, n, "%s",
                                        custom ? "custom sampling" : "the result filtered_logits");
        return !onnx_input(n, 8) || (s->seed = onnx_scalar(im, n, 8));
}

/* Returns operand i, masks of words in i32, as bool of this shape; an absent one gives NULL. */
static struct value *words_allowed(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);
        return v ? compose_with(im->c, OP_ne, v, 0) : NULL;
}

static bool operands_read(struct onnx_import *im, struct onnx_node *n, struct search *s)
{
        struct value *ids = n->inputs[0];
        bool known;

        for (int i = 0; i < 7; i++)
                if (!onnx_want_element(im, n, i, i == 3 ? E_F32 : E_I32))
                        return false;
        if (!onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, 4, 1, 1) ||
            !onnx_want_rank(im, n, 5, 2, 2) || !onnx_want_rank(im, n, 6, 2, 2) ||
            !onnx_operand_int(im, n, 1, 0, &s->length, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "a max_length that only a run knows");
        s->batch = value_extent(ids, 0);
        s->prompt = value_extent(ids, 1);
        if (s->prompt < 1 || s->batch < 1 || s->length <= s->prompt || s->length > NUMBER_MAX)
                return onnx_invalid(im, n, "max_length is %lld for words %s", (long long)s->length,
                                    compose_text(im->c, ids->type));
        if (onnx_input(n, 6) && onnx_input(n, 6)->type != ids->type)
                return onnx_invalid(im, n, "attention_mask is %s for words %s",
                                    compose_text(im->c, onnx_input(n, 6)->type),
                                    compose_text(im->c, ids->type));
        if ((onnx_input(n, 2) && !(s->least = onnx_scalar(im, n, 2))) ||
            (onnx_input(n, 3) && !(s->penalty = onnx_scalar(im, n, 3))))
                return false;
        s->least = s->least ? compose_cast(im->c, s->least, E_I64) : NULL;
        s->allowed = words_allowed(im, n, 4);
        s->allowed_first = words_allowed(im, n, 5);
        s->sequences = compose_cast(im->c, ids, E_I64);
        return s->sequences != NULL;
}

/* Returns the empty cache that an input of the decoder declares, [2, batch, heads, 0, size]. */
static struct value *empty_cache(struct onnx_import *im, struct onnx_node *n,
                                 const struct search *s, const Onnx__ValueInfoProto *port)
{
        const Onnx__TypeProto__Tensor *t =
                port->type && port->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
                        ? port->type->tensor_type
                        : NULL;
        enum element e;
        int64_t extents[5] = { 2, s->batch, 0, 0, 0 };

        if (!t || !t->shape || t->shape->n_dim != 5) {
                onnx_invalid(im, n, "a decoder whose caches are not declared with 5 dimensions");
                return NULL;
        }
        if (!onnx_element_number(im, n, "a cache", t->elem_type, &e))
                return NULL;
        for (int d = 2; d < 5; d += 2) {
                extents[d] = t->shape->dim[d]->dim_value;
                if (extents[d] < 1 || extents[d] > NUMBER_MAX) {
                        onnx_unsupported(im, n, "caches whose heads only a run knows");
                        return NULL;
                }
        }
        const struct type *type = compose_type_static(im->c, e, 5, extents);
        return type ? constant_number(im->m, type, 0) : NULL;
}

/* Makes the inputs of the first step. Positions count words that are no padding, which is also the
 * mask where none is given. */
static bool first_inputs(struct onnx_import *im, struct onnx_node *n, struct search *s)
{
        struct compose *c = im->c;
        struct value *ids = n->inputs[0], *mask = onnx_input(n, 6);

        struct value *counts = compose_cast(c, compose_with(c, OP_ne, ids, (double)s->pad), E_I32);
        struct value *position =
                counts ? compose_cumulate(c, counts, REDUCE_sum, 1, false, false) : NULL;
        position = mul(c, plus(c, position, -1), counts);
        s->values[IDS] = ids;
        s->values[POSITIONS] = position;
        s->values[MASK] = mask ? mask : counts;
        for (int i = 0; i < s->caches; i++)
                if (!(s->values[CACHES + i] = empty_cache(im, n, s, s->first->input[CACHES + i])))
                        return false;
        const dim_t rows[2] = { dim_of(s->batch), dim_of(1) };
        s->running = constant_number(im->m, type_tensor(im->m, E_BOOL, 2, rows), 1);
        s->place = compose_reduce(c, REDUCE_sum, counts, (const int64_t[]){ 1 }, 1, E_COMPUTE);
        s->place = compose_reshape(c, s->place, 2, rows);
        return position && s->place;
}

/* Returns scores [batch, words], where those of words that are there already are weakened. */
static struct value *penalized(struct onnx_import *im, const struct search *s, struct value *x)
{
        const struct type *t = type_with_element(im->m, s->sequences->type, E_F32);
        struct value *none = build_like(&im->b, x, 0), *one = constant_number(im->m, t, 1);
        struct value *there = compose_scatter(im->c, none, s->sequences, one, 1, SCATTER_REPLACE);
        there = compose_with(im->c, OP_ne, there, 0);
        struct value *weaker = divide(im->c, x, s->penalty);
        struct value *lower = mul(im->c, x, s->penalty);
        weaker = compose_select(im->c, compose_with(im->c, OP_lt, x, 0), lower, weaker);
        return compose_select(im->c, there, weaker, x);
}

/* Returns the scores of a step's words, f32 [batch, words], in which words that must not come have
 * the least number. */
static struct value *scores_of(struct onnx_import *im, const struct search *s, struct value *logits,
                               bool first)
{
        struct compose *c = im->c;
        const int64_t length = value_extent(s->sequences, 1);
        struct value *x = compose_pick(c, logits, 1, value_extent(logits, 1) - 1);
        struct value *never = build_scalar(&im->b, E_F32, -FLT_MAX);

        x = compose_cast(c, x, E_F32);
        if (s->penalty && x)
                x = penalized(im, s, x);
        if (s->ngram && x)
                x = compose_forbid_repeats(c, s->sequences, x, s->ngram, -FLT_MAX);
        if (s->allowed)
                x = compose_select(c, s->allowed, x, never);
        if (s->allowed_first && first)
                x = compose_select(c, s->allowed_first, x, never);
        if (s->least && x) {
                struct value *word = compose_iota(c, E_I64, value_extent(x, 1));
                struct value *ends = compose_with(c, OP_eq, word, (double)s->end);
                struct value *early = compose_with(c, OP_gt, s->least, (double)length);
                x = compose_select(c, compose_binary(c, OP_and, ends, early), never, x);
        }
        return x;
}

/* Returns words [batch] that are drawn by their scores. They are drawn by their place in the order
 * of scores, of which the first are filtered. */
static struct value *drawn_words(struct onnx_import *im, const struct search *s, struct value *x)
{
        struct compose *c = im->c;
        const int64_t words = value_extent(x, 1), last = 1;
        struct compose_draw draw = { .key = onnx_next_key(im) };

        if (s->seed)
                draw.key = compose_key(c, draw.key, s->seed);
        x = compose_with(c, OP_div, x, s->temperature);
        struct value *order = x ? compose_argsort(c, x, 1, 0, words) : NULL;
        x = order ? compose_gather_elements(c, x, order, 1) : NULL;
        struct value *share = x ? compose_softmax(c, x, &last, 1, false) : NULL;
        share = share ? compose_cumulate(c, share, REDUCE_sum, 1, false, false) : NULL;
        struct value *out = compose_with(c, OP_le, share, 1 - (double)s->share);
        struct value *place = compose_iota(c, E_I64, words);
        struct value *free = compose_with(c, OP_lt, place, (double)(words - s->kept));
        out = compose_binary(c, OP_and, out, free);
        x = out ? compose_select(c, out, build_like(c->b, x, s->filtered), x) : NULL;
        struct value *at = x && draw.key ? compose_multinomial(c, &draw, x, 1, E_I64) : NULL;
        /* The sum of all shares may be less than the last number drawn. */
        at = compose_with(c, OP_min, at, (double)(words - 1));
        return at ? compose_gather_elements(c, order, at, 1) : NULL;
}

/* Appends the words that follow, and makes the next step's inputs. Returns false after an error. */
static bool step(struct onnx_import *im, struct onnx_node *n, struct search *s, bool first)
{
        struct compose *c = im->c;
        const Onnx__GraphProto *g = first ? s->first : s->next;

        if (!onnx_repeat_graph(im, g, s->values, CACHES + s->caches, s->made, s->caches + 1))
                return false;
        struct value *logits = s->made[0];
        if (value_rank(logits) != 3 || value_extent(logits, 0) != s->batch ||
            value_extent(logits, 1) < 1 || !element_is_float(value_element(logits)))
                return onnx_invalid(im, n, "a decoder's logits are %s",
                                    compose_text(c, logits->type));
        if (s->allowed && value_extent(s->allowed, 0) != value_extent(logits, 2))
                return onnx_invalid(im, n, "vocab_mask for %lld words",
                                    (long long)value_extent(s->allowed, 0));
        if (s->allowed_first && (value_extent(s->allowed_first, 0) != s->batch ||
                                 value_extent(s->allowed_first, 1) != value_extent(logits, 2)))
                return onnx_invalid(im, n, "prefix_vocab_mask is %s",
                                    compose_text(c, s->allowed_first->type));
        struct value *x = scores_of(im, s, logits, first);
        x = !x           ? NULL
            : s->samples ? drawn_words(im, s, x)
                         : compose_arg_reduce(c, x, REDUCE_max, 1, false);
        const dim_t column[2] = { dim_of(s->batch), dim_of(1) };
        struct value *word = compose_reshape(c, compose_cast(c, x, E_I64), 2, column);
        struct value *goes_on = compose_with(c, OP_ne, word, (double)s->end);
        s->running = compose_binary(c, OP_and, s->running, goes_on);
        word = compose_select(c, s->running, word, compose_integer(c, E_I64, s->pad));
        struct value *all[2] = { s->sequences, word };
        s->sequences = word ? compose_concat(c, all, 2, 1) : NULL;
        if (!s->sequences)
                return false;
        s->values[IDS] = compose_cast(c, word, E_I32);
        s->values[POSITIONS] = s->place;
        s->place = plus(c, s->place, 1);
        struct value *mask[2] = { s->values[MASK],
                                  constant_number(im->m, type_tensor(im->m, E_I32, 2, column), 1) };
        s->values[MASK] = compose_concat(c, mask, 2, 1);
        for (int i = 0; i < s->caches; i++)
                s->values[CACHES + i] = s->made[1 + i];
        return s->values[IDS] && s->place && s->values[MASK];
}

/* The operands are input_ids, max_length, min_length, repetition_penalty, vocab_mask,
 * prefix_vocab_mask, attention_mask, and those of Sampling: presence_mask, which custom sampling
 * alone reads, and seed. */
bool onnx_import_search(struct onnx_import *im, struct onnx_node *n)
{
        struct search s = { .samples = onnx_variant(n) };

        if (!attributes_read(im, n, &s) || !operands_read(im, n, &s) ||
            (s.samples && !sampling_read(im, n, &s)))
                return false;
        s.values = arena_array(im->arena, s.next->n_input, sizeof *s.values);
        s.made = arena_array(im->arena, s.next->n_output, sizeof *s.made);
        if (!first_inputs(im, n, &s))
                return false;
        for (int64_t i = s.prompt; i < s.length; i++)
                if (!step(im, n, &s, i == s.prompt))
                        return false;
        return onnx_output(n, 0, compose_cast(im->c, s.sequences, E_I32));
}
