/* SPDX-License-Identifier: MIT */
/* The tokens of a language model, in one of two formats: that of llama2.c (the longest length, and
 * for each token a score, a length, and its bytes), or the text that `dnncc --info=tokens` writes of
 * a GGUF file. */
#ifndef SUPPORT_VOCABULARY_H
#define SUPPORT_VOCABULARY_H

enum { VOCABULARY_MOST = 1 << 19 };

struct piece {
        const char *text;               /* It does not end in a zero. */
        int length;
        float score;                    /* Of two pairs that may be joined the higher one is. */
        char kind;                      /* n: normal, b: a byte, c: no part of a text, w: a text
                                         * that no pair is joined to. */
};
struct vocabulary {
        unsigned char *bytes;           /* They are the file's bytes, which the caller frees. */
        int count;
        int begin, end;                 /* Tokens that a text begins and ends with; -1: none. */
        int space;                      /* A blank stands in front of a text. */
        int of_byte[256];               /* The token of each byte, or -1. */
        struct piece pieces[VOCABULARY_MOST];
        int sorted[VOCABULARY_MOST];    /* Tokens that texts have, by their texts, then by their
                                         * numbers. */
        int sorted_count;
};

/* Reads `count` tokens. */
const char *vocabulary_read(struct vocabulary *v, const char *path, int count);
/* Writes a token to standard output at once. One that stands for a byte is written <0x0A>; the blank
 * that begins a word is left out where the text begins. */
void vocabulary_print(const struct vocabulary *v, int token, int first);
/* Writes the tokens of a text, as if a blank stood before it where the vocabulary says so, and
 * returns how many there are, or -1: more than `most`. Characters become tokens, those without one
 * their bytes; then the pair that makes the token of the highest score is joined, until none makes
 * one (byte pair encoding). */
int vocabulary_encode(const struct vocabulary *v, const char *text, int most, int *tokens);

#endif
