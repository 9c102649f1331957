/* SPDX-License-Identifier: MIT */
/* These functions read words of ONNX's text form, and write fields of the protobuf that it becomes;
 * onnx_text.c has the grammar. A function that reads a word and finds another one reports an error,
 * with its line, and returns false. */
#ifndef FRONT_ONNX_ONNX_WORDS_H
#define FRONT_ONNX_ONNX_WORDS_H

#include "front/onnx/onnx_model.h"

struct reader {
        const char *start, *at, *end;   /* These bound the text; `at` is the next character to be
                                         * read. */
        struct arena *arena;
        struct diag *diag;
        const ProtobufCMessageDescriptor *message; /* The message that is being written. */
        struct text out;                /* It is the protobuf, as far as it is written. */
        int64_t depth;                  /* Parts nest so deep now. */
        int64_t depth_most;             /* It is the limit of depth. */
};

/* Reports that `what` ("a name") was wanted. */
bool word_wanted(struct reader *r, const char *what);

/* ---- words ---- */

/* Returns the next character that is neither blank nor in a comment, or 0 at the end. */
char word_peek(struct reader *r);
bool word_take(struct reader *r, char c);
bool word_want(struct reader *r, char c);
/* Reads the arrow =>. */
bool word_want_arrow(struct reader *r);
/* Reads what stands behind an item of a list. Returns true where a comma says that another item
 * follows. Else the list must be closed by `close`; *fine is false where it is not. */
bool word_more(struct reader *r, char close, bool *fine);
/* These read an identifier, whose length is 0 where there is none. */
bytes_t word_take_identifier(struct reader *r);
bytes_t word_peek_identifier(struct reader *r);
/* Returns whether w is this word, in letters of any case. */
bool word_is(bytes_t w, const char *text);
bool word_string(struct reader *r, bytes_t *s);
/* Reads an identifier, or a string in place of one. */
bool word_name(struct reader *r, bytes_t *s);
/* Returns whether a number comes next that has no point, exponent or letters. */
bool word_is_integer(struct reader *r);
/* Reads an integer of 64 bits; where `wide`, it has no sign. */
bool word_integer(struct reader *r, bool wide, int64_t *value);
/* Reads a number as f64, and rounded to f32. */
bool word_real(struct reader *r, double *value, float *single);

/* ---- fields of r->message, by their names ---- */

/* Writes the tag of a field. Returns false where onnx.proto leaves the field out, because nothing
 * reads it. */
bool field_tag(struct reader *r, const char *field, int wire);
void field_integer(struct reader *r, const char *field, int64_t value);
void field_bytes(struct reader *r, const char *field, bytes_t s);
void number_varint(struct reader *r, uint64_t number);
void number_single(struct reader *r, float value);
void number_double(struct reader *r, double value);
/* A part is a field that is a message, or a packed list of numbers. Its length is known when it is
 * closed. field_close returns true. */
struct part {
        const ProtobufCMessageDescriptor *outer;  /* The message that the field stands in. */
        size_t length_at;               /* It is the offset in `out` where the length goes. */
};
bool field_open(struct reader *r, const char *field, struct part *part);
bool field_close(struct reader *r, const struct part *part);

#endif
