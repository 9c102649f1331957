/* SPDX-License-Identifier: MIT */
/* BeamSearch and WhisperBeamSearch of com.microsoft. The first step runs once for each sample: the
 * decoder over the prompt, the encoder, which may decode the first words too, or both. The steps
 * behind it run the decoder for each beam. */
#include <limits.h>

#include "front/onnx/onnx_search.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_softmax.h"

enum model { DECODER_ALONE, TEXT_ENCODER, SOUND_ENCODER };

/* These are the outputs of the encoder; caches follow: those of the decoder itself, then those of
 * the encoder's states. */
enum { LOGITS, STATES, ENCODED };

enum { BEAMS_MOST = 128, LENGTH_MOST = 4096 }; /* These are onnxruntime's bounds. */
enum { IDS_OPERAND = 10, PROCESSOR_OPERAND, TEMPERATURE_OPERAND = 14 };

struct beam_search {
        struct onnx_search of;
        struct compose_beams beams;
        enum model model;
        struct value *prompt;           /* It is i64 [batch, words]. */
        int64_t returned;               /* So many sequences of each sample are returned. */
        struct compose_timestamps timestamps;
        int64_t silent;                 /* It is no_speech_token_id, or -1. */
        struct value *silence;          /* It is f32 [batch], the share of that word in the first
                                         * step. */
        /* Of a decoder with an encoder: */
        int fixed;                      /* Its values begin with so many that are no caches: words,
                                         * then mask and states where it takes them. */
        bool whole;                     /* It takes all words, not the last ones alone. */
        int encoded;                    /* Outputs of the encoder before its caches: LOGITS and
                                         * STATES, or none where it decodes no words. */
};

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct beam_search *s)
{
        const bool whisper = onnx_variant(n);
        struct compose_timestamps *t = &s->timestamps;
        int64_t model, early, crossed = 0;

        s->silent = -1;
        if (!onnx_search_attributes(im, n, &s->of) ||
            !onnx_int_range(im, n, "model_type", whisper ? SOUND_ENCODER : DECODER_ALONE,
                            whisper ? SOUND_ENCODER : DECODER_ALONE, SOUND_ENCODER, &model) ||
            !onnx_int(im, n, "early_stopping", 0, &early))
                return false;
        s->model = (enum model)model;
        s->beams.stops_early = early == 1;
        t->start = s->of.start;
        if (!whisper)
                return true;
        if (!onnx_int(im, n, "beginning_timestamp_token_id", -1, &t->first) ||
            !onnx_int(im, n, "no_timestamps_token_id", -1, &t->none) ||
            !onnx_int(im, n, "start_of_lm_token_id", -1, &t->start_of_model) ||
            !onnx_int(im, n, "translate_token_id", -1, &t->translate) ||
            !onnx_int(im, n, "transcribe_token_id", -1, &t->transcribe) ||
            !onnx_int(im, n, "no_speech_token_id", -1, &s->silent) ||
            !onnx_int(im, n, "decoder_output_cross_qk", 0, &crossed))
                return false;
        if (crossed || onnx_wants(n, 3))
                return onnx_unsupported(im, n, "the result cross_qk");
        return true;
}

/* Reads a constant number of the operand, named so, from 1 to `most`. */
static bool count_read(struct onnx_import *im, struct onnx_node *n, int operand, const char *name,
                       int64_t most, int64_t *count)
{
        bool known;
        if (!onnx_want_element(im, n, operand, E_I32) ||
            !onnx_operand_int(im, n, operand, 1, count, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "a %s that only a run knows", name);
        return (*count >= 1 && *count <= most) ||
               onnx_invalid(im, n, "%s is %lld, want 1 to %lld", name, (long long)*count,
                            (long long)most);
}

/* Returns the prompt, i64 [batch, words], of which the importer knows the batch by the first
 * operand. */
static struct value *prompt_read(struct onnx_import *im, struct onnx_node *n, struct beam_search *s)
{
        struct value *ids = onnx_input(n, IDS_OPERAND);

        s->of.batch = value_extent(n->inputs[0], 0);
        if (s->model == DECODER_ALONE) {
                s->of.prompt = value_extent(n->inputs[0], 1);
                return compose_cast(im->c, n->inputs[0], E_I64);
        }
        if (s->model == SOUND_ENCODER && ids) {
                if (value_extent(ids, 0) != s->of.batch) {
                        onnx_invalid(im, n, "decoder_input_ids is %s for %lld samples",
                                     compose_text(im->c, ids->type), (long long)s->of.batch);
                        return NULL;
                }
                s->of.prompt = value_extent(ids, 1);
                return compose_cast(im->c, ids, E_I64);
        }
        if (s->of.start < 0) {
                onnx_unsupported(im, n, "an encoder without decoder_start_token_id");
                return NULL;
        }
        s->of.prompt = 1;
        const struct type *t = compose_type_static(im->c, E_I64, 2,
                                                   (const int64_t[]){ s->of.batch, s->of.prompt });
        return t ? constant_number(im->m, t, (double)s->of.start) : NULL;
}

/* Reads the operands, and sets the state of the search behind the prompt. */
static bool operands_read(struct onnx_import *im, struct onnx_node *n, struct beam_search *s)
{
        static const struct onnx_search_operands at = { 2, 6, 7, 8, 9 };
        struct compose *c = im->c;
        struct value *x = n->inputs[0];
        int64_t processor = 0;
        bool known;

        if (!onnx_want_inputs(im, n, 1U << 0 | 1U << 1 | 1U << 3 | 1U << 4) ||
            (s->model == SOUND_ENCODER ? !onnx_want_float(im, n, 0)
                                       : !onnx_want_element(im, n, 0, E_I32)) ||
            !onnx_want_rank(im, n, 0, s->model == SOUND_ENCODER ? 3 : 2,
                            s->model == SOUND_ENCODER ? 3 : 2) ||
            !onnx_want_element(im, n, at.mask, E_I32) || !onnx_want_rank(im, n, at.mask, 2, 2) ||
            !onnx_want_element(im, n, 5, E_F32) || !onnx_want_element(im, n, IDS_OPERAND, E_I32) ||
            !onnx_want_rank(im, n, IDS_OPERAND, 2, 2) ||
            !onnx_want_element(im, n, TEMPERATURE_OPERAND, E_F32) ||
            !onnx_operand_int(im, n, PROCESSOR_OPERAND, 0, &processor, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "a logits_processor that only a run knows");
        if (!(s->prompt = prompt_read(im, n, s)) || !onnx_search_length(im, n, &s->of))
                return false;
        if (s->of.length > LENGTH_MOST)
                return onnx_invalid(im, n, "max_length is %lld, want at most %d",
                                    (long long)s->of.length, LENGTH_MOST);
        if (!onnx_search_rules(im, n, &at, &s->of) ||
            !count_read(im, n, 3, "num_beams", BEAMS_MOST, &s->beams.beams) ||
            !count_read(im, n, 4, "num_return_sequences", s->beams.beams, &s->returned))
                return false;
        struct value *mask = onnx_input(n, at.mask);
        if (s->model != SOUND_ENCODER && mask && mask->type != x->type)
                return onnx_invalid(im, n, "attention_mask is %s for words %s",
                                    compose_text(c, mask->type), compose_text(c, x->type));
        s->beams.penalty =
                onnx_input(n, 5) ? onnx_scalar(im, n, 5) : build_scalar(&im->b, E_F32, 1);
        if (onnx_input(n, TEMPERATURE_OPERAND) &&
            !(s->of.rules.temperature = onnx_scalar(im, n, TEMPERATURE_OPERAND)))
                return false;
        if (s->model == SOUND_ENCODER && processor == 1)
                s->of.rules.timestamps = &s->timestamps;
        if (onnx_input(n, 12) || onnx_input(n, 13))
                return onnx_unsupported(im, n, "operands of cross_qk");
        s->beams.batch = s->of.batch;
        s->beams.length = s->of.length;
        s->beams.end = s->of.rules.end;
        s->beams.pad = s->of.pad;
        return s->beams.penalty && compose_beams_start(c, &s->beams, s->prompt);
}

/* Returns the mask of an encoder's words: those of padding in front are hidden, others are not. */
static struct value *encoder_mask(struct onnx_import *im, struct onnx_node *n,
                                  const struct beam_search *s)
{
        struct compose *c = im->c;
        if (onnx_input(n, 9))
                return onnx_input(n, 9);
        struct value *word = compose_with(c, OP_ne, n->inputs[0], (double)s->of.pad);
        word = compose_cast(c, word, E_I32);
        word = word ? compose_cumulate(c, word, REDUCE_sum, 1, false, false) : NULL;
        return compose_cast(c, compose_with(c, OP_gt, word, 0), E_I32);
}

/* Reads the graphs of a search with an encoder. */
static bool graphs_read(struct onnx_import *im, struct onnx_node *n, struct beam_search *s)
{
        const int named = s->model == SOUND_ENCODER ? 1 : 2;
        struct onnx_search *of = &s->of;

        of->first = onnx_graph_attribute(im, n, "encoder");
        of->next = of->first ? onnx_graph_attribute(im, n, "decoder") : NULL;
        if (!of->next)
                return false;
        const Onnx__GraphProto *e = of->first, *d = of->next;
        const bool alone = s->model == TEXT_ENCODER && e->n_input == 2;
        const size_t inputs = s->model == SOUND_ENCODER || alone ? 2 : 3;
        const size_t encoded = alone ? 0 : ENCODED, layer = alone ? 2 : 4;
        if (e->n_input != inputs || e->n_output < encoded + layer ||
            (e->n_output - encoded) % layer || e->n_output > INT_MAX / 2)
                return onnx_invalid(im, n, "an encoder of %zu inputs and %zu outputs", e->n_input,
                                    e->n_output);
        s->encoded = (int)encoded;
        of->caches = (int)((e->n_output - encoded) / (layer / 2));
        s->fixed = (int)d->n_input - 2 * of->caches;
        if (s->fixed > named + 1)
                return onnx_unsupported(im, n, "a decoder whose caches are as long as max_length");
        if (s->fixed < named || (alone && s->fixed != named) ||
            d->n_output != (size_t)of->caches + 1)
                return onnx_invalid(im, n, "a decoder of %zu inputs and %zu outputs for %d caches",
                                    d->n_input, d->n_output, of->caches);
        const Onnx__TypeProto *t = d->input[0]->type;
        s->whole = !(t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                     t->tensor_type->shape && t->tensor_type->shape->n_dim == 2 &&
                     t->tensor_type->shape->dim[1]->value_case ==
                             ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                     t->tensor_type->shape->dim[1]->dim_value == 1);
        of->values = arena_array(im->arena, d->n_input, sizeof *of->values);
        of->made = arena_array(im->arena, e->n_output + d->n_output, sizeof *of->made);
        return true;
}

/* Makes the caches of the first words of a decoder whose encoder decodes none: they are empty, and
 * have the heads of the encoder's caches. */
static bool empty_caches(struct onnx_import *im, struct onnx_node *n, struct beam_search *s, int at)
{
        for (int i = 0; i < s->of.caches; i++) {
                const struct type *t = s->of.made[i]->type;
                if (t->rank != 4)
                        return onnx_invalid(im, n, "a cache of the encoder is %s",
                                            compose_text(im->c, t));
                const dim_t dims[4] = { t->dims[0], t->dims[1], dim_of(0), t->dims[3] };
                const struct type *empty = compose_type(im->c, t->element, 4, dims);
                if (!empty)
                        return false;
                s->of.values[at + i] = constant_number(im->m, empty, 0);
        }
        return true;
}

/* Repeats values [first, last) of a decoder with an encoder for each beam. */
static bool spread_values(struct onnx_import *im, struct beam_search *s, int first, int last)
{
        for (int i = first; i < last; i++)
                if (!(s->of.values[i] = compose_repeat(im->c, s->of.values[i], 0, s->beams.beams)))
                        return false;
        return true;
}

/* Runs the encoder, and makes what its decoder reads in the next step, for each sample. */
static bool encode(struct onnx_import *im, struct onnx_node *n, struct beam_search *s)
{
        struct compose *c = im->c;
        struct onnx_search *of = &s->of;
        struct value *inputs[3] = { n->inputs[0] };
        const int caches = s->encoded ? 2 * of->caches : of->caches;
        int count = 1, at = 1;

        if (s->model == TEXT_ENCODER)
                inputs[count++] = encoder_mask(im, n, s);
        of->values[SEARCH_IDS] = compose_cast(c, s->prompt, E_I32);
        if (s->encoded)
                inputs[count++] = of->values[SEARCH_IDS];
        if (!inputs[1] || !of->values[SEARCH_IDS] ||
            !onnx_repeat_graph(im, of->first, inputs, count, of->made, s->encoded + caches))
                return false;
        if (s->model == TEXT_ENCODER)
                of->values[at++] = inputs[1];
        if (at < s->fixed)
                of->values[at++] = of->made[STATES];
        if (!s->encoded && !empty_caches(im, n, s, at))
                return false;
        at += s->encoded ? 0 : of->caches;
        for (int i = 0; i < caches; i++) {
                struct value *v = of->made[s->encoded + i];
                if (value_rank(v) < 1 || !dim_is(v->type->dims[0], s->of.batch))
                        return onnx_invalid(im, n, "a cache of the encoder is %s",
                                            compose_text(c, v->type));
                of->values[at++] = v;
        }
        return true;
}

/* Appends a word to each beam, by the logits of so many rows. */
static bool choose(struct onnx_import *im, struct onnx_node *n, struct beam_search *s,
                   struct value *logits, bool first)
{
        struct compose *c = im->c;
        const int64_t last = 1, rows = first ? s->of.batch : s->of.batch * s->beams.beams;

        struct value *x = onnx_search_logits(im, n, &s->of, logits, rows);
        if (!x)
                return false;
        const int64_t words = value_extent(x, 1);
        if (words < 2)
                return onnx_invalid(im, n, "a decoder of %lld words", (long long)words);
        if (s->of.rules.timestamps && (s->timestamps.first < 1 || s->timestamps.first >= words))
                return onnx_invalid(im, n, "beginning_timestamp_token_id is %lld of %lld words",
                                    (long long)s->timestamps.first, (long long)words);
        x = compose_softmax(c, x, &last, 1, true);
        if (first && s->silent >= 0 && x) {
                if (s->silent >= words)
                        return onnx_invalid(im, n, "no_speech_token_id is %lld of %lld words",
                                            (long long)s->silent, (long long)words);
                s->silence = compose_unary(c, OP_exp, compose_pick(c, x, 1, s->silent));
        }
        x = x ? compose_word_scores(c, &s->of.rules, first ? s->prompt : s->beams.sequences, x,
                                    first)
              : NULL;
        x = first ? compose_repeat(c, x, 0, s->beams.beams) : x;
        return x && compose_beams_step(c, &s->beams, x);
}

/* Makes the caches of the next step out of those that were made, whose samples lie along an axis.
 * Behind the first step of a decoder without an encoder there is one for each sample yet. */
static bool keep_caches(struct onnx_import *im, struct onnx_node *n, struct beam_search *s,
                        bool first, int at, int axis)
{
        struct compose *c = im->c;
        const int64_t rows = first ? s->of.batch : s->of.batch * s->beams.beams;
        for (int i = 0; i < s->of.caches; i++) {
                struct value *v = s->of.made[1 + i];
                if (value_rank(v) <= axis || !dim_is(v->type->dims[axis], rows))
                        return onnx_invalid(im, n, "a cache of the decoder is %s",
                                            compose_text(c, v->type));
                v = first                 ? compose_repeat(c, v, axis, s->beams.beams)
                    : s->beams.beams == 1 ? v
                                          : build_gather(c->b, v, s->beams.from, axis);
                if (!(s->of.values[at + i] = v))
                        return false;
        }
        return true;
}

/* Makes the words that the next step reads. */
static bool next_words(struct onnx_import *im, struct beam_search *s)
{
        s->of.values[SEARCH_IDS] =
                compose_cast(im->c, s->whole ? s->beams.sequences : s->beams.words, E_I32);
        return s->of.values[SEARCH_IDS] != NULL;
}

/* Runs a decoder without an encoder once. */
static bool decode_alone(struct onnx_import *im, struct onnx_node *n, struct beam_search *s,
                         bool first)
{
        struct onnx_search *of = &s->of;
        const int64_t rows = of->batch * s->beams.beams;

        if (!onnx_repeat_graph(im, first ? of->first : of->next, of->values,
                               SEARCH_CACHES + of->caches, of->made, of->caches + 1) ||
            !choose(im, n, s, of->made[0], first))
                return false;
        if (first) {
                struct value **mask = &of->values[SEARCH_MASK];
                *mask = compose_repeat(im->c, *mask, 0, s->beams.beams);
                of->place = compose_repeat(im->c, of->place, 0, s->beams.beams);
                if (!*mask || !of->place)
                        return false;
        }
        return next_words(im, s) && onnx_search_advance(im, of, rows) &&
               keep_caches(im, n, s, first, SEARCH_CACHES, 1);
}

/* Runs a step of a search with an encoder, the first of which is the encoder's. */
static bool decode(struct onnx_import *im, struct onnx_node *n, struct beam_search *s, bool first)
{
        struct onnx_search *of = &s->of;
        const int end = s->fixed + 2 * of->caches;

        if (first && !encode(im, n, s))
                return false;
        if ((!first || !s->encoded) &&
            !onnx_repeat_graph(im, of->next, of->values, end, of->made, 1 + of->caches))
                return false;
        if (!choose(im, n, s, of->made[LOGITS], first) || !next_words(im, s))
                return false;
        if (first && s->encoded)
                return spread_values(im, s, 1, end);
        return keep_caches(im, n, s, first, s->fixed, 0) &&
               (!first || (spread_values(im, s, 1, s->fixed) &&
                           spread_values(im, s, s->fixed + of->caches, end)));
}

/* The operands are input_ids, max_length, min_length, num_beams, num_return_sequences,
 * length_penalty, repetition_penalty, vocab_mask, prefix_vocab_mask, attention_mask,
 * decoder_input_ids, logits_processor, and those of WhisperBeamSearch: cross_qk_layer_head,
 * extra_decoding_ids, temperature. */
bool onnx_import_beam_search(struct onnx_import *im, struct onnx_node *n)
{
        struct beam_search s = { .model = DECODER_ALONE };
        struct compose *c = im->c;

        if (!attributes_read(im, n, &s))
                return false;
        if (s.model == DECODER_ALONE ? !onnx_search_decoder(im, n, &s.of) : !graphs_read(im, n, &s))
                return false;
        if (!operands_read(im, n, &s))
                return false;
        if (s.model == DECODER_ALONE && !onnx_search_begin(im, n, &s.of, 9))
                return false;
        const int64_t steps = s.of.length - s.of.prompt;
        struct value **all =
                onnx_wants(n, 2) ? arena_array(im->arena, (size_t)steps, sizeof *all) : NULL;
        for (int64_t i = 0; i < steps; i++) {
                if (!(s.model == DECODER_ALONE ? decode_alone : decode)(im, n, &s, !i))
                        return false;
                if (all)
                        all[i] = s.beams.all;
        }
        struct value *scores;
        struct value *y = compose_beams_end(c, &s.beams, s.returned, &scores);
        if (!onnx_output(n, 0, compose_cast(c, y, E_I32)) || !onnx_output(n, 1, scores) ||
            (all && !onnx_output(n, 2, compose_stack(c, all, (int)steps, 0))))
                return false;
        if (!onnx_wants(n, 4))
                return true;
        return s.silence ? onnx_output(n, 4, s.silence)
                         : onnx_invalid(im, n, "non_speech_probs without no_speech_token_id");
}
