/* SPDX-License-Identifier: MIT */
#include "front/onnx/onnx_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_BYTES = 5, NUMBER_LENGTH_MAX = 63 };

bool word_wanted(struct reader *r, const char *what)
{
        int line = 1;
        for (const char *p = r->start; p < r->at; p++)
                line += *p == '\n';
        const char *found =
                r->at == r->end ? "the end"
                                : arena_printf(r->arena, "'%s'",
                                               text_argument_part(r->arena, r->at,
                                                                  (size_t)(r->end - r->at < 12
                                                                                   ? r->end - r->at
                                                                                   : 12)));
        diag_error(r->diag, EXIT_INVALID,
                   "line " DIAG_LINE("%d") ": want %s, found %s (ONNX's text)", line, what, found);
        return false;
}

/* ---- words ---- */

static void skip(struct reader *r)
{
        while (r->at < r->end && (isspace((unsigned char)*r->at) || *r->at == '#'))
                if (*r->at++ == '#')
                        while (r->at < r->end && *r->at != '\n')
                                r->at++;
}

char word_peek(struct reader *r)
{
        skip(r);
        return r->at < r->end ? *r->at : 0;
}

bool word_take(struct reader *r, char c)
{
        bool found = word_peek(r) == c && r->at < r->end;
        r->at += found;
        return found;
}

bool word_want(struct reader *r, char c)
{
        return word_take(r, c) || word_wanted(r, arena_printf(r->arena, "'%c'", c));
}

/* Reads what stands behind an item: another one follows, or the list is closed; *fine is false
 * where neither is so. */
bool word_more(struct reader *r, char close, bool *fine)
{
        if (word_take(r, ','))
                return true;
        *fine = word_want(r, close);
        return false;
}

bool word_want_arrow(struct reader *r)
{
        if (word_peek(r) != '=' || r->end - r->at < 2 || r->at[1] != '>')
                return word_wanted(r, "'=>'");
        r->at += 2;
        return true;
}

/* Reads an identifier; its length is 0 where there is none. */
bytes_t word_take_identifier(struct reader *r)
{
        skip(r);
        const char *from = r->at;
        if (r->at < r->end && (isalpha((unsigned char)*r->at) || *r->at == '_'))
                while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_'))
                        r->at++;
        return (bytes_t){ (size_t)(r->at - from), (uint8_t *)(uintptr_t)from };
}

bytes_t word_peek_identifier(struct reader *r)
{
        const char *at = r->at;
        bytes_t found = word_take_identifier(r);
        r->at = at;
        return found;
}

bool word_is(bytes_t w, const char *text)
{
        return w.len == strlen(text) && !strncasecmp((const char *)w.data, text, w.len);
}

bool word_string(struct reader *r, bytes_t *s)
{
        if (!word_take(r, '"'))
                return word_wanted(r, "a string in quotes");
        const char *close = r->at;
        while (close < r->end && *close != '"')
                close += *close == '\\' ? 2 : 1;
        if (close >= r->end)
                return word_wanted(r, "the end of a string");
        uint8_t *to = arena_alloc(r->arena, (size_t)(close - r->at) + 1);
        *s = (bytes_t){ 0, to };
        for (; r->at < close; r->at++) {
                r->at += *r->at == '\\';
                to[s->len++] = (uint8_t)*r->at;
        }
        r->at = close + 1;
        return true;
}

/* Reads an identifier, or a string that stands for one. */
bool word_name(struct reader *r, bytes_t *s)
{
        if (word_peek(r) == '"')
                return word_string(r, s);
        *s = word_take_identifier(r);
        return s->len || word_wanted(r, "a name");
}

/* Reads the characters that a number may consist of. *is_float says that it has a point, an
 * exponent, or letters (inf, nan). */
static bool number_text(struct reader *r, char text[NUMBER_LENGTH_MAX + 1], bool *is_float)
{
        skip(r);
        int length = 0;
        *is_float = false;
        const char *from = r->at;
        for (; from + length < r->end && length < NUMBER_LENGTH_MAX; length++) {
                char c = from[length], last = length ? from[length - 1] : 0;
                bool sign = (c == '-' && !length) ||
                            ((c == '-' || c == '+') && (last == 'e' || last == 'E'));
                if (!sign && !isalnum((unsigned char)c) && c != '.')
                        break;
                *is_float |= !sign && !isdigit((unsigned char)c);
                text[length] = c;
        }
        text[length] = 0;
        return length && length < NUMBER_LENGTH_MAX && !strpbrk(text, "xXpP(");
}

bool word_is_integer(struct reader *r)
{
        char text[NUMBER_LENGTH_MAX + 1];
        bool is_float;
        return number_text(r, text, &is_float) && !is_float;
}

bool word_integer(struct reader *r, bool wide, int64_t *value)
{
        char text[NUMBER_LENGTH_MAX + 1], *end;
        bool is_float;
        if (!number_text(r, text, &is_float) || is_float)
                return word_wanted(r, "a whole number");
        errno = 0;
        *value = wide ? (int64_t)strtoull(text, &end, 10) : strtoll(text, &end, 10);
        if (*end || end == text || errno)
                return word_wanted(r, "a whole number of 64 bits");
        r->at += strlen(text);
        return true;
}

bool word_real(struct reader *r, double *value, float *single)
{
        char text[NUMBER_LENGTH_MAX + 1], *end;
        bool is_float;
        if (!number_text(r, text, &is_float))
                return word_wanted(r, "a number");
        *value = strtod(text, &end);
        if (*end || end == text)
                return word_wanted(r, "a number");
        *single = strtof(text, NULL);
        r->at += strlen(text);
        return true;
}

/* ---- fields ---- */

void number_varint(struct reader *r, uint64_t number)
{
        char bytes[10];
        size_t count = 0;
        do
                bytes[count++] = (char)((number & 127) | (number > 127) << 7);
        while (number >>= 7);
        text_add_bytes(&r->out, bytes, count);
}

bool field_tag(struct reader *r, const char *field, int wire)
{
        const ProtobufCFieldDescriptor *f =
                protobuf_c_message_descriptor_get_field_by_name(r->message, field);
        if (f)
                number_varint(r, (uint64_t)f->id << 3 | (uint64_t)wire);
        return f;
}

void field_integer(struct reader *r, const char *field, int64_t value)
{
        if (field_tag(r, field, WIRE_VARINT))
                number_varint(r, (uint64_t)value);
}

void field_bytes(struct reader *r, const char *field, bytes_t s)
{
        if (!field_tag(r, field, WIRE_BYTES))
                return;
        number_varint(r, s.len);
        text_add_bytes(&r->out, (const char *)s.data, s.len);
}

static void put_little(struct reader *r, uint64_t bits, int bytes)
{
        char data[8];
        for (int i = 0; i < bytes; i++)
                data[i] = (char)(bits >> 8 * i & 255);
        text_add_bytes(&r->out, data, (size_t)bytes);
}

void number_single(struct reader *r, float value)
{
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        put_little(r, bits, 4);
}

void number_double(struct reader *r, double value)
{
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        put_little(r, bits, 8);
}

bool field_open(struct reader *r, const char *field, struct part *part)
{
        const ProtobufCFieldDescriptor *f =
                protobuf_c_message_descriptor_get_field_by_name(r->message, field);
        if (!f)
                return word_wanted(r, arena_printf(r->arena, "nothing that is a %s", field));
        if (++r->depth > r->depth_most)
                return word_wanted(
                        r, "fewer messages in each other (" DIAG_HINT("--limit wire_depth=N") ")");
        field_tag(r, field, WIRE_BYTES);
        *part = (struct part){ r->message, r->out.length };
        text_add_bytes(&r->out, "\0\0\0\0", LENGTH_BYTES); /* With the literal's own end there are
                                                            * five. */
        r->message = f->type == PROTOBUF_C_TYPE_MESSAGE ? f->descriptor : r->message;
        return true;
}

bool field_close(struct reader *r, const struct part *part)
{
        size_t length = r->out.length - part->length_at - LENGTH_BYTES;
        for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
                r->out.data[part->length_at + (size_t)i] =
                        (char)((length & 127) | (i + 1 < LENGTH_BYTES) << 7);
        r->message = part->outer;
        r->depth--;
        return true;
}
