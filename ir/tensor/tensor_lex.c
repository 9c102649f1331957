/* SPDX-License-Identifier: MIT */
/* Reads tokens of the text of Tensor IR. */
#include "ir/tensor/tensor_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

/* ---- errors ---- */

const char *reader_place(struct reader *r)
{
        for (; r->counted < r->p; r->counted++) {
                const char *newline = memchr(r->counted, '\n', (size_t)(r->p - r->counted));
                if (!newline)
                        break;
                r->counted = newline;
                r->line++;
        }
        snprintf(r->place, sizeof r->place, "line " DIAG_LINE("%d"), r->line);
        if (r->version && r->version < TENSOR_VERSION) {
                size_t length = strlen(r->place);
                snprintf(r->place + length, sizeof r->place - length,
                         ", in a text of version %d (dnncc now writes version %d)", r->version,
                         TENSOR_VERSION);
        }
        return r->place;
}

bool reader_fail(struct reader *r, const char *format, ...)
{
        if (r->failed)
                return false;
        r->failed = true;
        va_list list;
        va_start(list, format);
        const char *message = arena_vprintf(r->arena, format, list);
        va_end(list);
        const char *place = r->diag->place;
        r->diag->place = reader_place(r);
        diag_error(r->diag, EXIT_INVALID, "%s", message);
        r->diag->place = place;
        return false;
}

/* Returns what stands at the cursor, for a message. */
static const char *seen(struct reader *r)
{
        size_t left = (size_t)(r->end - r->p), n = 1;
        if (!left)
                return "the end of the text";
        while (n < left && n < 24 && is_name_char(r->p[n - 1]) && is_name_char(r->p[n]))
                n++;
        return arena_printf(r->arena, "'%s'", text_safe(r->arena, r->p, n));
}

/* ---- bytes ---- */

/* Returns the length of the UTF-8 sequence at p; 0: it is none, because there are overlong forms or
 * surrogates, for instance. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
        size_t n = p[0] < 0x80                   ? 1
                   : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                   : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                   : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                 : 0;
        if (!n || n > left)
                return 0;
        for (size_t i = 1; i < n; i++)
                if (p[i] >> 6 != 2)
                        return 0;
        bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
        bool outside = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
        return overlong || outside ? 0 : n;
}

/* Are these eight bytes all from 0x20 to 0x7f? They mostly are in long texts. */
static bool plain_word(const char *p)
{
        uint64_t word, ones = UINT64_C(0x0101010101010101);
        memcpy(&word, p, sizeof word);
        return !((word | ((word - ones * ' ') & ~word)) & ones * 0x80);
}

bool reader_check_text(struct reader *r)
{
        const char *start = r->p;
        while (r->p < r->end) {
                while (r->end - r->p >= 8 && plain_word(r->p))
                        r->p += 8;
                if (r->p == r->end)
                        break;
                unsigned char c = (unsigned char)*r->p;
                size_t n = c >= 0x80 ? utf8_length((const unsigned char *)r->p,
                                                   (size_t)(r->end - r->p))
                                     : 1;
                if (!n)
                        return reader_fail(r, "byte 0x%02x: the text is not UTF-8", c);
                if (c < ' ' && c != '\n' && c != '\t' && c != '\r')
                        return reader_fail(r, "byte 0x%02x may not stand in a text", c);
                r->p += n;
        }
        r->p = r->counted = start;
        r->line = 1;
        return true;
}

static void skip_blanks(struct reader *r)
{
        while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
                r->p++;
}

static void skip_line(struct reader *r)
{
        const char *newline = r->p < r->end ? memchr(r->p, '\n', (size_t)(r->end - r->p)) : NULL;
        r->p = newline ? newline : r->end;
}

void reader_skip(struct reader *r)
{
        for (;;) {
                skip_blanks(r);
                if (r->p < r->end && *r->p == ';')
                        skip_line(r);
                if (r->p >= r->end || *r->p != '\n')
                        return;
                r->p++;
        }
}

/* ---- marks and words ---- */

bool reader_at(struct reader *r, const char *mark)
{
        const char *start = r->p;
        size_t length = strlen(mark);
        reader_skip(r);
        if ((size_t)(r->end - r->p) >= length && !memcmp(r->p, mark, length))
                return true;
        r->p = start;                   /* A comment may still be a location. */
        return false;
}

bool reader_accept(struct reader *r, const char *mark)
{
        if (!reader_at(r, mark))
                return false;
        r->p += strlen(mark);
        return true;
}

bool reader_expect(struct reader *r, const char *mark)
{
        if (reader_accept(r, mark))
                return true;
        reader_skip(r);
        return reader_fail(r, "%s stands where '%s' is wanted", seen(r), mark);
}

bool reader_at_word(struct reader *r, const char *word)
{
        const char *start = r->p;
        if (!reader_at(r, word))
                return false;
        const char *behind = r->p + strlen(word);
        if (behind == r->end || !is_name_char(*behind))
                return true;
        r->p = start;
        return false;
}

bool reader_accept_word(struct reader *r, const char *word)
{
        if (!reader_at_word(r, word))
                return false;
        r->p += strlen(word);
        return true;
}

static char *name_chars(struct reader *r, const char *what)
{
        const char *start = r->p;
        while (r->p < r->end && is_name_char(*r->p))
                r->p++;
        size_t length = (size_t)(r->p - start);
        if (length > NAME_LENGTH) {
                reader_fail(r, "%s is longer than %d characters", what, NAME_LENGTH);
                return NULL;
        }
        char *name = arena_alloc(r->arena, length + 1);
        memcpy(name, start, length);
        return name;
}

char *reader_word(struct reader *r, const char *what)
{
        reader_skip(r);
        if (r->p < r->end && is_letter(*r->p))
                return name_chars(r, what);
        reader_fail(r, "%s stands where %s is wanted", seen(r), what);
        return NULL;
}

char *reader_name(struct reader *r, char mark, const char *what)
{
        reader_skip(r);
        if (r->end - r->p > 1 && r->p[0] == mark && (is_letter(r->p[1]) || is_digit(r->p[1]))) {
                r->p++;
                return name_chars(r, what);
        }
        reader_fail(r, "%s stands where %s is wanted", seen(r), what);
        return NULL;
}

/* ---- strings ---- */

const char *reader_quoted(struct reader *r, const char *what, size_t *length)
{
        reader_skip(r);
        if (r->p >= r->end || *r->p != '"') {
                reader_fail(r, "%s stands where %s in quotes is wanted", seen(r), what);
                return NULL;
        }
        const char *start = ++r->p;
        const char *newline = memchr(start, '\n', (size_t)(r->end - start)),
                   *stop = newline ? newline : r->end;
        const char *close = memchr(start, '"', (size_t)(stop - start));
        if (!close) {
                reader_fail(r, "the quotes around %s are not closed", what);
                return NULL;
        }
        r->p = close + 1;
        *length = (size_t)(close - start);
        return start;
}

static int hex_digit(char c)
{
        return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *reader_string(struct reader *r, const char *what)
{
        size_t length, n = 0;
        const char *q = reader_quoted(r, what, &length);
        if (!q)
                return NULL;
        char *out = arena_alloc(r->m->arena, length + 1);
        for (size_t i = 0; i < length; i++) {
                int high = q[i] == '\\' && length - i >= 4 && q[i + 1] == 'x' ? hex_digit(q[i + 2])
                                                                              : -1;
                int low = high >= 0 ? hex_digit(q[i + 3]) : -1;
                if (q[i] != '\\') {
                        out[n++] = q[i];
                } else if (low < 0 || high + low == 0) {
                        reader_fail(r, "an escape in %s is not \\xHH, or zero", what);
                        return NULL;
                } else {
                        out[n++] = (char)(high << 4 | low);
                        i += 3;
                }
        }
        return out;
}

char *reader_remark(struct reader *r, const char *what)
{
        size_t length;
        const char *q = reader_quoted(r, what, &length);
        if (q && !text_is_remark(q, length))
                reader_fail(r, "%s holds what may not stand in a comment of C", what);
        if (!q || r->failed)
                return NULL;
        char *out = arena_alloc(r->m->arena, length + 1);
        memcpy(out, q, length);
        return out;
}

char *reader_location(struct reader *r)
{
        skip_blanks(r);
        if (r->p >= r->end || *r->p != ';')
                return NULL;
        const char *comment = r->p + 1;
        skip_line(r);
        const char *stop = r->p;
        while (comment < stop && (*comment == ' ' || *comment == '\t'))
                comment++;
        while (comment < stop && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
                stop--;
        if (stop - comment < 3 || *comment != '"' || stop[-1] != '"')
                return NULL;
        size_t length = (size_t)(stop - comment) - 2;
        if (!text_is_remark(comment + 1, length))
                return NULL;                    /* The comment is a remark for the reader. */
        char *out = arena_alloc(r->m->arena, length + 1);
        memcpy(out, comment + 1, length);
        return out;
}

/* ---- numbers ---- */

static bool number_token(struct reader *r, char token[LITERAL_LENGTH + 1], const char *what)
{
        reader_skip(r);
        const char *start = r->p;
        while (r->p < r->end &&
               (is_name_char(*r->p) || *r->p == '-' || *r->p == '+' || *r->p == ':'))
                r->p++;
        size_t length = (size_t)(r->p - start);
        if (!length)
                return reader_fail(r, "%s stands where %s is wanted", seen(r), what);
        if (length > LITERAL_LENGTH)
                return reader_fail(r, "%s is longer than %d characters", what, LITERAL_LENGTH);
        memcpy(token, start, length);
        token[length] = 0;
        return true;
}

bool reader_int(struct reader *r, const char *what, int64_t least, int64_t most, int64_t *value)
{
        char token[LITERAL_LENGTH + 1];
        if (!number_token(r, token, what))
                return false;
        enum literal_error error = literal_parse(token, E_I64, value, 0);
        if (error == LITERAL_MALFORMED)
                return reader_fail(r, "%s is %s, want an integer", what,
                                   text_safe(r->arena, token, strlen(token)));
        if (error == LITERAL_RANGE || *value < least || *value > most)
                return reader_fail(r, "%s is %s, want %lld to %lld", what,
                                   text_safe(r->arena, token, strlen(token)), (long long)least,
                                   (long long)most);
        return true;
}

bool reader_literal(struct reader *r, enum element e, void *data, size_t index)
{
        char token[LITERAL_LENGTH + 1];
        if (!number_token(r, token, "a number"))
                return false;
        enum literal_error error = literal_parse(token, e, data, index);
        if (error == LITERAL_MALFORMED)
                return reader_fail(r, "'%s' is no number of type %s",
                                   text_safe(r->arena, token, strlen(token)), element_info[e].text);
        return error == LITERAL_OK ||
               reader_fail(r, "%s is out of range for %s",
                           text_safe(r->arena, token, strlen(token)), element_info[e].text);
}
