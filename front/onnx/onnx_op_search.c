/* SPDX-License-Identifier: MIT */
/* GreedySearch and Sampling of com.microsoft: each step appends one word to each sequence. */
#include "front/onnx/onnx_search.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_random.h"
#include "front/compose/compose_softmax.h"
#include "front/compose/compose_sort.h"

struct search {
        struct onnx_search of;
        bool samples;                   /* Words are drawn, not the likeliest. */
        float temperature;              /* Logits are divided by it. */
        float share;                    /* Of a step's words the likeliest are kept that together
                                         * have this share; the logit of others becomes
                                         * `filtered`. */
        float filtered;
        int64_t kept;                   /* At least so many words are kept. */
        struct value *seed;             /* It is an integer, a scalar, or NULL. */
        struct value *sequences;        /* It is i64 [batch, words so far]. */
        struct value *running;          /* It is <batch x 1 x bool>: the sequence has not ended. */
};

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct search *s)
{
        int64_t model;

        if (!onnx_search_attributes(im, n, &s->of) ||
            !onnx_int_range(im, n, "model_type", 0, 0, 2, &model))
                return false;
        if (model)
                return onnx_unsupported(im, n, "model_type = %lld, an encoder and a decoder",
                                        (long long)model);
        return onnx_search_decoder(im, n, &s->of);
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

static bool operands_read(struct onnx_import *im, struct onnx_node *n, struct search *s)
{
        static const struct onnx_search_operands at = { 2, 3, 4, 5, 6 };
        struct value *ids = n->inputs[0];

        if (!onnx_want_element(im, n, 0, E_I32) || !onnx_want_element(im, n, at.mask, E_I32) ||
            !onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, at.mask, 2, 2))
                return false;
        s->of.batch = value_extent(ids, 0);
        s->of.prompt = value_extent(ids, 1);
        if (!onnx_search_length(im, n, &s->of))
                return false;
        if (onnx_input(n, at.mask) && onnx_input(n, at.mask)->type != ids->type)
                return onnx_invalid(im, n, "attention_mask is %s for words %s",
                                    compose_text(im->c, onnx_input(n, at.mask)->type),
                                    compose_text(im->c, ids->type));
        if (!onnx_search_rules(im, n, &at, &s->of))
                return false;
        s->sequences = compose_cast(im->c, ids, E_I64);
        return s->sequences && onnx_search_begin(im, n, &s->of, at.mask);
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
        struct onnx_search *of = &s->of;
        const Onnx__GraphProto *g = first ? of->first : of->next;

        if (!onnx_repeat_graph(im, g, of->values, SEARCH_CACHES + of->caches, of->made,
                               of->caches + 1))
                return false;
        struct value *x = onnx_search_logits(im, n, of, of->made[0], of->batch);
        x = x ? compose_word_scores(c, &of->rules, s->sequences, x, first) : NULL;
        x = !x           ? NULL
            : s->samples ? drawn_words(im, s, x)
                         : compose_arg_reduce(c, x, REDUCE_max, 1, false);
        const dim_t column[2] = { dim_of(of->batch), dim_of(1) };
        struct value *word = compose_reshape(c, compose_cast(c, x, E_I64), 2, column);
        struct value *goes_on = compose_with(c, OP_ne, word, (double)of->rules.end);
        s->running = compose_binary(c, OP_and, s->running, goes_on);
        word = compose_select(c, s->running, word, compose_integer(c, E_I64, of->pad));
        struct value *all[2] = { s->sequences, word };
        s->sequences = word ? compose_concat(c, all, 2, 1) : NULL;
        if (!s->sequences)
                return false;
        of->values[SEARCH_IDS] = compose_cast(c, word, E_I32);
        if (!of->values[SEARCH_IDS] || !onnx_search_advance(im, of, of->batch))
                return false;
        for (int i = 0; i < of->caches; i++)
                of->values[SEARCH_CACHES + i] = of->made[1 + i];
        return true;
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
        const dim_t rows[2] = { dim_of(s.of.batch), dim_of(1) };
        s.running = constant_number(im->m, type_tensor(im->m, E_BOOL, 2, rows), 1);
        for (int64_t i = s.of.prompt; i < s.of.length; i++)
                if (!step(im, n, &s, i == s.of.prompt))
                        return false;
        return onnx_output(n, 0, compose_cast(im->c, s.sequences, E_I32));
}
