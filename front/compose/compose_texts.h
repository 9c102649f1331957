/* SPDX-License-Identifier: MIT */
/* Texts are bytes, u8 [shape, width]: the UTF-8 of each, then zeros to the end of the width. A text
 * has no zero within, so two texts are equal where all of their bytes are, and what moves texts
 * moves rows of bytes. Widths differ from tensor to tensor; a text without a zero fills its
 * width. Bytes that are no UTF-8 make other texts, and nothing worse. */
#ifndef FRONT_COMPOSE_COMPOSE_TEXTS_H
#define FRONT_COMPOSE_COMPOSE_TEXTS_H

#include "front/compose/compose.h"

/* ---- all texts (compose_texts.c) ---- */

static inline int64_t compose_texts_width(const struct value *x)
{
        return value_extent(x, value_rank(x) - 1);
}
/* Returns how many bytes each text has, i32 [shape]. */
struct value *compose_texts_length(struct compose *c, struct value *x);
/* Returns whether texts are equal; shapes are broadcast to each other. */
struct value *compose_texts_equal(struct compose *c, struct value *x, struct value *y);
/* Returns texts of x with those of y behind them, broadcast to each other. The width is the sum of
 * both. */
struct value *compose_texts_concat(struct compose *c, struct value *x, struct value *y);
/* Returns, as i64 [shape], which of the constant texts keys [count, width] each text equals: the
 * first of equal keys, or the last one; -1 where none does. One search by bisection among hashes of
 * the keys finds the only key that it can be, whose bytes are then compared. */
struct value *compose_texts_find(struct compose *c, struct value *x, struct value *keys, bool last);
/* Returns the texts of table [count, width] that indices stand for. An index of less than 0 stands
 * for the last one. */
struct value *compose_texts_pick(struct compose *c, struct value *table, struct value *indices);
/* Returns the byte of each text behind byte `at` of it, of the same type as x: those `by` bytes on,
 * or before where it is negative; 0 beyond the ends. */
struct value *compose_texts_shift(struct compose *c, struct value *x, int64_t by);
/* Returns the parts of texts from `start` bytes on, of `length` bytes each; both are i32 [shape,
 * parts]. The result is [shape, parts, width]. A part outside of its text is empty. */
struct value *compose_texts_parts(struct compose *c, struct value *x, struct value *start,
                                  struct value *length);

/* ---- numbers (compose_numbers.c) ---- */

/* Returns texts as numbers of an element, a float, an integer or bool, as C's strtod, strtoll and
 * strtoull read them: behind white space, and what does not belong to the number is left out. A
 * text without a number, or with one that is too large, and hexadecimal digits, end a run with
 * INDEX. A float is read in f64, whose last place may be wrong from 16 digits on, or beyond 10 to
 * the 22. */
struct value *compose_texts_numbers(struct compose *c, struct value *x, enum element to);
/* Returns integers, or bool, as texts of decimal digits. */
struct value *compose_texts_of_integers(struct compose *c, struct value *x);

/* Returns floats as texts, as C's %.8g writes f32; NaN, INF and -INF. */
struct value *compose_texts_of_floats(struct compose *c, struct value *x);

/* ---- automata (compose_automaton.c) ---- */

/* A deterministic automaton over bytes. State 0 is the first. */
struct compose_automaton {
        int states, classes;
        unsigned char class_of[256];    /* Bytes of a class lead to the same states. */
        int *next;                      /* It is [states, classes]. */
        bool *accepts;                  /* It is [states]. */
};
/* Returns whether the automaton accepts each text as a whole, bool [shape]. */
struct value *compose_texts_accepted(struct compose *c, struct value *x,
                                     const struct compose_automaton *a);
/* Returns how many bytes the longest text has that begins at each byte of x and is accepted; i32 of
 * x's shape, 0 where there is none. The automaton asserts nothing of what stands in front of it. */
struct value *compose_texts_match_lengths(struct compose *c, struct value *x,
                                          const struct compose_automaton *a);

/* ---- parts (compose_split.c) ---- */

struct compose_split {
        struct value *texts;            /* These are the parts, [shape, parts, width], and empty
                                         * texts behind them. */
        struct value *counts;           /* It says how many parts each text has, i64 [shape]. */
};
/* Returns the most parts that texts of x may have, split at delimiters of so many bytes, or at
 * white space where that is 0; split `most` times at most, where that is not negative. */
int64_t compose_split_most(const struct value *x, int64_t delimiter, int64_t most);
/* These split texts at white space, and at the delimiter. x has elements. Code that finds more than
 * `parts` parts at run time fails. */
bool compose_texts_words(struct compose *c, struct value *x, int64_t most, int64_t parts,
                         struct compose_split *s);
bool compose_texts_split(struct compose *c, struct value *x, const unsigned char *delimiter,
                         int64_t length, int64_t most, int64_t parts, struct compose_split *s);
/* Returns those of flags [shape, width] that lie behind the end of the one before, where each is as
 * long as `lengths` says (i32 of the same shape); from left to right. */
struct value *compose_texts_apart(struct compose *c, struct value *flags, struct value *lengths);

/* The tokens of texts are what the automaton accepts, the first and longest first, or what lies
 * between that. Tokens of fewer letters are left out. Code that finds more than `parts` tokens in a
 * text fails. */
struct compose_tokens { int64_t least_letters, parts; };
bool compose_texts_matches(struct compose *c, struct value *x, const struct compose_automaton *a,
                           const struct compose_tokens *t, struct compose_split *s);
bool compose_texts_between(struct compose *c, struct value *x, const struct compose_automaton *a,
                           const struct compose_tokens *t, struct compose_split *s);

/* ---- letters (compose_case.c) ---- */

/* Returns texts in lower or upper case, by Unicode's simple case mapping: each letter becomes one
 * letter, whatever the language. The width is larger by half where letters of ASCII alone do not
 * fill it. */
struct value *compose_texts_case(struct compose *c, struct value *x, bool upper);

#endif
