/* SPDX-License-Identifier: MIT */
/* Words of ONNX's text, and fields of the protobuf that it becomes (onnx_text.c has the grammar).
 * What takes a word and finds another one reports an error, with its line, and returns false. */
#ifndef FRONT_ONNX_ONNX_WORDS_H
#define FRONT_ONNX_ONNX_WORDS_H

#include "front/onnx/onnx_model.h"

struct reader {
        const char *start, *at, *end;
        struct arena *arena;
        struct diag *diag;
        const ProtobufCMessageDescriptor *message;        /* that is being written */
        struct text out;
        int64_t depth, depth_most;
};

/* an error; what: "a name" */
bool word_wanted(struct reader *r, const char *what);

/* ---- words ---- */

char word_peek(struct reader *r);                         /* the next character that is no blank, nor in a comment; 0: the end */
bool word_take(struct reader *r, char c);
bool word_want(struct reader *r, char c);
bool word_want_arrow(struct reader *r);                   /* => */
bool word_more(struct reader *r, char close, bool *fine); /* behind an item: another one follows; else the list is closed, or *fine is false */
bytes_t word_take_identifier(struct reader *r);           /* of length 0: there is none */
bytes_t word_peek_identifier(struct reader *r);
bool word_is(bytes_t w, const char *text);                /* letters of any case */
bool word_string(struct reader *r, bytes_t *s);
bool word_name(struct reader *r, bytes_t *s);             /* an identifier, or a string that stands for one */
bool word_is_integer(struct reader *r);                   /* a number comes next, and it has no point, exponent or letters */
bool word_integer(struct reader *r, bool wide, int64_t *value);     /* wide: of 64 bits without a sign */
bool word_real(struct reader *r, double *value, float *single);

/* ---- fields of r->message, by their names ---- */

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
bool field_tag(struct reader *r, const char *field, int wire);      /* false: dnncc's onnx.proto has no such field, because nothing reads it */
void field_integer(struct reader *r, const char *field, int64_t value);
void field_bytes(struct reader *r, const char *field, bytes_t s);
void number_varint(struct reader *r, uint64_t number);
void number_single(struct reader *r, float value);
void number_double(struct reader *r, double value);
/* A field that is a message, or numbers one after the other: its length is known at its end.
 * field_close is true. */
struct part { const ProtobufCMessageDescriptor *outer; size_t length_at; };
bool field_open(struct reader *r, const char *field, struct part *part);
bool field_close(struct reader *r, const struct part *part);

#endif
