/* SPDX-License-Identifier: MIT */
/* A search runs a decoder step by step. Each step's cache is one key longer than the one before, so
 * the steps are copies of the decoder, each with extents of its own. */
#include "front/onnx/onnx_search.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

bool onnx_search_attributes(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s)
{
        return onnx_int_required(im, n, "eos_token_id", &s->rules.end) &&
               onnx_int_required(im, n, "pad_token_id", &s->pad) &&
               onnx_int_range(im, n, "vocab_size", -1, -1, NUMBER_MAX, &s->words) &&
               onnx_int(im, n, "decoder_start_token_id", -1, &s->start) &&
               onnx_int_range(im, n, "no_repeat_ngram_size", 0, 0, NUMBER_MAX, &s->rules.ngram);
}

bool onnx_search_decoder(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s)
{
        s->next = onnx_graph_attribute(im, n, "decoder");
        if (!s->next)
                return false;
        s->first =
                onnx_has(n, "init_decoder") ? onnx_graph_attribute(im, n, "init_decoder") : s->next;
        if (!s->first)
                return false;
        s->caches = (int)s->next->n_input - SEARCH_CACHES;
        if (s->caches < 1 || s->next->n_output != (size_t)s->caches + 1 ||
            s->first->n_input != s->next->n_input || s->first->n_output != s->next->n_output)
                return onnx_invalid(im, n, "a decoder of %zu inputs and %zu outputs",
                                    s->next->n_input, s->next->n_output);
        s->values = arena_array(im->arena, s->next->n_input, sizeof *s->values);
        s->made = arena_array(im->arena, s->next->n_output, sizeof *s->made);
        return true;
}

bool onnx_search_length(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s)
{
        bool known;

        if (!onnx_want_element(im, n, 1, E_I32) ||
            !onnx_operand_int(im, n, 1, 0, &s->length, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "a max_length that only a run knows");
        if (s->prompt < 1 || s->batch < 1 || s->length <= s->prompt || s->length > NUMBER_MAX)
                return onnx_invalid(im, n, "max_length is %lld for words %s", (long long)s->length,
                                    compose_text(im->c, n->inputs[0]->type));
        return true;
}

/* Returns operand i, masks of words in i32, as bool of this shape; an absent one gives NULL. */
static struct value *words_allowed(struct onnx_import *im, const struct onnx_node *n, int i)
{
        struct value *v = onnx_input(n, i);
        return v ? compose_with(im->c, OP_ne, v, 0) : NULL;
}

bool onnx_search_rules(struct onnx_import *im, struct onnx_node *n,
                       const struct onnx_search_operands *at, struct onnx_search *s)
{
        struct value *least = NULL;

        if (!onnx_want_element(im, n, at->least, E_I32) ||
            !onnx_want_element(im, n, at->penalty, E_F32) ||
            !onnx_want_element(im, n, at->allowed, E_I32) ||
            !onnx_want_element(im, n, at->allowed_first, E_I32) ||
            !onnx_want_rank(im, n, at->allowed, 1, 1) ||
            !onnx_want_rank(im, n, at->allowed_first, 2, 2))
                return false;
        if ((onnx_input(n, at->least) && !(least = onnx_scalar(im, n, at->least))) ||
            (onnx_input(n, at->penalty) && !(s->rules.penalty = onnx_scalar(im, n, at->penalty))))
                return false;
        s->rules.least = least ? compose_cast(im->c, least, E_I64) : NULL;
        s->rules.allowed = words_allowed(im, n, at->allowed);
        s->rules.allowed_first = words_allowed(im, n, at->allowed_first);
        return true;
}

/* Returns the empty cache that an input of the decoder declares, [2, batch, heads, 0, size]. */
static struct value *empty_cache(struct onnx_import *im, struct onnx_node *n,
                                 const struct onnx_search *s, const Onnx__ValueInfoProto *port)
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

/* Positions count words that are no padding, which is also the mask where none is given. */
bool onnx_search_begin(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s,
                       int mask_operand)
{
        struct compose *c = im->c;
        struct value *ids = n->inputs[0], *mask = onnx_input(n, mask_operand);

        struct value *counts = compose_cast(c, compose_with(c, OP_ne, ids, (double)s->pad), E_I32);
        struct value *position =
                counts ? compose_cumulate(c, counts, REDUCE_sum, 1, false, false) : NULL;
        position = mul(c, plus(c, position, -1), counts);
        s->values[SEARCH_IDS] = ids;
        s->values[SEARCH_POSITIONS] = position;
        s->values[SEARCH_MASK] = mask ? mask : counts;
        for (int i = 0; i < s->caches; i++)
                if (!(s->values[SEARCH_CACHES + i] =
                              empty_cache(im, n, s, s->first->input[SEARCH_CACHES + i])))
                        return false;
        const dim_t rows[2] = { dim_of(s->batch), dim_of(1) };
        s->place = compose_reduce(c, REDUCE_sum, counts, (const int64_t[]){ 1 }, 1, E_COMPUTE);
        s->place = compose_reshape(c, s->place, 2, rows);
        return position && s->place;
}

struct value *onnx_search_logits(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s,
                                 struct value *logits, int64_t rows)
{
        struct compose *c = im->c;
        const struct compose_words *rules = &s->rules;

        if (value_rank(logits) != 3 || !type_is_static(logits->type) ||
            value_extent(logits, 0) != rows || value_extent(logits, 1) < 1 ||
            !element_is_float(value_element(logits))) {
                onnx_invalid(im, n, "a decoder's logits are %s", compose_text(c, logits->type));
                return NULL;
        }
        int64_t words = value_extent(logits, 2);
        if (s->words > words) {
                onnx_invalid(im, n, "vocab_size is %lld for logits %s", (long long)s->words,
                             compose_text(c, logits->type));
                return NULL;
        }
        if (s->words > 0)               /* Words behind them are none. */
                words = s->words;
        if (rules->allowed && value_extent(rules->allowed, 0) != words) {
                onnx_invalid(im, n, "vocab_mask for %lld words",
                             (long long)value_extent(rules->allowed, 0));
                return NULL;
        }
        if (rules->allowed_first && (value_extent(rules->allowed_first, 0) != s->batch ||
                                     value_extent(rules->allowed_first, 1) != words)) {
                onnx_invalid(im, n, "prefix_vocab_mask is %s",
                             compose_text(c, rules->allowed_first->type));
                return NULL;
        }
        logits = compose_pick(c, logits, 1, value_extent(logits, 1) - 1);
        if (logits && words < value_extent(logits, 1))
                logits = compose_part(c, logits, 1, 0, words);
        return compose_cast(c, logits, E_F32);
}

bool onnx_search_advance(struct onnx_import *im, struct onnx_search *s, int64_t rows)
{
        struct compose *c = im->c;
        const dim_t column[2] = { dim_of(rows), dim_of(1) };

        s->values[SEARCH_POSITIONS] = s->place;
        s->place = plus(c, s->place, 1);
        struct value *mask[2] = { s->values[SEARCH_MASK],
                                  constant_number(im->m, type_tensor(im->m, E_I32, 2, column), 1) };
        s->values[SEARCH_MASK] = compose_concat(c, mask, 2, 1);
        return s->place && s->values[SEARCH_MASK];
}
