/* SPDX-License-Identifier: MIT */
/* A search appends words to sequences, step by step: which words may follow, and which of several
 * sequences are kept. */
#ifndef FRONT_COMPOSE_COMPOSE_SEARCH_H
#define FRONT_COMPOSE_COMPOSE_SEARCH_H

#include "front/compose/compose.h"

/* In a transcript with timestamps, words from `first` on are times, and these words have a meaning
 * of their own. */
struct compose_timestamps {
        int64_t first, none, start_of_model, start, translate, transcribe;
};

/* These are the rules for the word that follows. */
struct compose_words {
        int64_t end;                    /* This word ends a sequence. */
        int64_t ngram;                  /* So many words must not come again in a row; 0: any
                                         * may. */
        struct value *penalty;          /* Words that are there already are weakened by it; it is an
                                         * f32 scalar, or NULL. */
        struct value *allowed;          /* It is <words x bool>, or NULL. */
        struct value *allowed_first;    /* It is <batch x words x bool>, of the first step; or
                                         * NULL. */
        struct value *least;            /* It is an i64 scalar, the least length of a sequence; or
                                         * NULL. */
        struct value *temperature;      /* Scores are divided by it; it is an f32 scalar, or
                                         * NULL. */
        const struct compose_timestamps *timestamps; /* It is NULL where no words are times. */
};

/* ---- compose_search.c ---- */

/* Returns the scores x, f32 [rows, words], of the words that follow the sequences, i64 [rows,
 * length], where words that must not come have the least number. `first` says whether it is the
 * first step. */
struct value *compose_word_scores(struct compose *c, const struct compose_words *rules,
                                  struct value *sequences, struct value *x, bool first);

/* ---- compose_beams.c ---- */

/* Returns x, where each index of the axis becomes `times` indices, one behind the other. */
struct value *compose_repeat(struct compose *c, struct value *x, int axis, int64_t times);

/* A beam search keeps `beams` open sequences of each sample, and as many that have ended. */
struct compose_beams {
        int64_t batch, beams;
        int64_t length;                 /* A sequence has at most so many words. */
        int64_t end, pad;               /* One word ends a sequence, the other fills it up. */
        bool stops_early;               /* A sample is done once `beams` sequences have ended; else
                                         * it must be so that none can become better. */
        struct value *penalty;          /* A score is divided by the length to the power of this f32
                                         * scalar. */
        /* The state: */
        struct value *sequences;        /* They are i64 [batch * beams, words so far]. */
        struct value *scores;           /* They are f32 [batch, beams], in falling order. */
        struct value *ended;            /* They are i64 [batch, beams, length], the best first. */
        struct value *ended_scores;     /* They are f32 [batch, beams]. */
        struct value *ended_keys;       /* They are the same, bounded from below, but -inf where
                                         * none has ended yet. */
        struct value *ended_count;      /* It is i64 [batch, 1], how many ended. */
        struct value *done;             /* It is bool [batch, 1]. */
        /* Results of a step: */
        struct value *all;              /* These are the scores of all words, f32 [batch, beams,
                                         * words], 0 once all samples are done. */
        struct value *from;             /* These i64 [batch * beams] are the numbers of the
                                         * sequences that new ones go on from. */
        struct value *words;            /* These i64 [batch * beams, 1] are the words appended. */
};
/* Sets the state behind a prompt, i64 [batch, words], which each beam begins with. */
bool compose_beams_start(struct compose *c, struct compose_beams *s, struct value *prompt);
/* Appends a word to each sequence, by scores x, f32 [batch * beams, words]. */
bool compose_beams_step(struct compose *c, struct compose_beams *s, struct value *x);
/* Returns the best `count` sequences of each sample, i64 [batch, count, length], behind the last
 * step; *scores becomes f32 [batch, count]. */
struct value *compose_beams_end(struct compose *c, struct compose_beams *s, int64_t count,
                                struct value **scores);

#endif
