/* SPDX-License-Identifier: MIT */
/* How often n-grams of tokens are in rows of tokens. */
#ifndef FRONT_COMPOSE_COMPOSE_NGRAMS_H
#define FRONT_COMPOSE_COMPOSE_NGRAMS_H

#include "front/compose/compose.h"

enum { NGRAM_TOKENS_MAX = 16 * RANK_MAX };      /* An n-gram has at most so many tokens. */

/* A result is the number of times that an n-gram is there; or the n-gram's weight if it is; or both
 * multiplied. */
enum compose_ngrams_mode { NGRAMS_TERM, NGRAMS_INVERSE, NGRAMS_BOTH };

struct compose_ngrams {
        const int64_t *numbers;         /* The pool has the tokens of all n-grams, [count]: those of
                                         * one token, of two, and so on. */
        const int64_t *starts;          /* The n-grams of k + 1 tokens begin at starts[k] in it,
                                         * [lengths]. */
        const int64_t *places;          /* An n-gram has this position in the result, [grams]. */
        const float *weights;           /* An n-gram has this weight, [weight_count]. */
        int count, lengths, grams;
        int weight_count;               /* It is the number of n-grams, or 0: all weigh 1. */
        int64_t least, most;            /* They bound the tokens of the n-grams that count. */
        int64_t skips;                  /* At most so many tokens are left out between two of an
                                         * n-gram, equally many everywhere. */
        int mode;                       /* enum compose_ngrams_mode */
        int64_t outputs;                /* The result has so many positions. */
};

/* Returns how many n-grams of `length` tokens the pool has; *begin is where they begin in it. */
int64_t compose_ngrams_of(const struct compose_ngrams *p, int length, int64_t *begin);
/* Returns <rows x outputs x f32> for x <rows x tokens> of i64. NULL after an error. */
struct value *compose_ngrams(struct compose *c, const struct compose_ngrams *p, struct value *x);

/* Returns scores, f32 [batch, words], with `never` for each word that would end `size` words that
 * are in the row of ids, i64 [batch, length], already. */
struct value *compose_forbid_repeats(struct compose *c, struct value *ids, struct value *scores,
                                     int64_t size, double never);

#endif
