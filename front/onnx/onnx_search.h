/* SPDX-License-Identifier: MIT */
/* GreedySearch, Sampling, BeamSearch and WhisperBeamSearch of com.microsoft share this: how a
 * decoder's operands, logits and caches are read (onnx_search.c). */
#ifndef FRONT_ONNX_ONNX_SEARCH_H
#define FRONT_ONNX_ONNX_SEARCH_H

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_search.h"

/* These are the first inputs of a decoder without an encoder; each one behind them is a cache. */
enum { SEARCH_IDS, SEARCH_POSITIONS, SEARCH_MASK, SEARCH_CACHES };

/* These operands have another number in each operator. */
struct onnx_search_operands {
        int least, penalty, allowed, allowed_first, mask;
};

struct onnx_search {
        const Onnx__GraphProto *first, *next; /* They are the decoder of the prompt, and of the
                                               * later steps. */
        int64_t batch, prompt, length, pad;
        int64_t words;                  /* The vocabulary has so many; -1 where no attribute says
                                         * it. */
        int64_t start;                  /* It is decoder_start_token_id, or -1. */
        struct compose_words rules;
        int caches;
        struct value **values;          /* They are a decoder's inputs: i32 words, positions and
                                         * mask, then the caches. */
        struct value **made;            /* They are its outputs: logits, then the caches. */
        struct value *place;            /* It is i32 [batch, 1], the position of the next word. */
};

/* Reads the attributes that all of them have, but for the graphs. */
bool onnx_search_attributes(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s);
/* Reads the decoder, and init_decoder where there is one, of a search without an encoder, and makes
 * room for their values. */
bool onnx_search_decoder(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s);
/* Reads max_length, which must be a constant above the words of the prompt. */
bool onnx_search_length(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s);
/* Reads the operands that are rules. */
bool onnx_search_rules(struct onnx_import *im, struct onnx_node *n,
                       const struct onnx_search_operands *at, struct onnx_search *s);
/* Makes the inputs of the first step of a search without an encoder; the mask is operand `mask`. */
bool onnx_search_begin(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s,
                       int mask);
/* Returns the logits of the last word, f32 [rows, words], of what a decoder made for so many
 * rows. */
struct value *onnx_search_logits(struct onnx_import *im, struct onnx_node *n, struct onnx_search *s,
                                 struct value *logits, int64_t rows);
/* Makes the positions and the mask of the next step, of so many rows. */
bool onnx_search_advance(struct onnx_import *im, struct onnx_search *s, int64_t rows);

#endif
