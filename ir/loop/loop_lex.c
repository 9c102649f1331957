/* SPDX-License-Identifier: MIT */
/* Reads tokens, numbers and strings of Loop IR text. */
#include "ir/loop/loop_parser.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { NUMBER_LENGTH = 63 };

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* ---- errors ---- */

bool loop_lex_error(struct loop_parser *p, const char *format, ...)
{
        if (p->failed)
                return false;
        va_list list;
        va_start(list, format);
        const char *message = arena_vprintf(p->arena, format, list);
        va_end(list);
        int line = 1;
        for (const char *c = p->text; c < p->token.start && c < p->end; c++)
                line += *c == '\n';
        if (p->kind == TEXT_PROGRAM)
                diag_error(p->diag, EXIT_INVALID, "line " DIAG_LINE("%d") ": %s", line, message);
        else if (p->kind == TEXT_LIBRARY)
                diag_error(p->diag, EXIT_INTERNAL, "bug in the library, line %d: %s", line,
                           message);
        else
                diag_error(p->diag, EXIT_INTERNAL, "bug in formula '%.*s': %s",
                           (int)(p->end - p->text), p->text, message);
        p->failed = true;
        p->cursor = p->end;
        p->token = (struct loop_token){ TOKEN_END, p->end, 0, false };
        return false;
}

const char *loop_lex_shown(struct loop_parser *p)
{
        const struct loop_token *t = &p->token;
        if (t->kind == TOKEN_END)
                return "the end";
        if (t->kind == TOKEN_MARK)
                return arena_printf(p->arena, "'%.*s'", (int)t->length, t->start);
        return arena_printf(p->arena, "'%s'",
                            text_safe(p->arena, t->start, t->length < 80 ? t->length : 80));
}

/* ---- tokens ---- */

bool loop_name_is_good(const char *name, enum loop_text kind)
{
        if (kind == TEXT_PROGRAM)
                return text_is_identifier(name);
        size_t length = 0;
        while (is_letter(name[length]) || (length && is_digit(name[length])))
                length++;
        return length && length <= 31 && !name[length] && name[0] != '_';
}

static size_t number_length(const char *c, const char *end, bool *is_float)
{
        const char *start = c;
        *is_float = false;
        while (c < end && is_digit(*c))
                c++;
        if (c + 1 < end && *c == '.' && is_digit(c[1])) {
                *is_float = true;
                for (c++; c < end && is_digit(*c); c++)
                        ;
        }
        const char *e = c;
        if (e < end && (*e == 'e' || *e == 'E')) {
                e++;
                if (e < end && (*e == '+' || *e == '-'))
                        e++;
                if (e < end && is_digit(*e)) {
                        *is_float = true;
                        for (c = e; c < end && is_digit(*c); c++)
                                ;
                }
        }
        return (size_t)(c - start);
}

static size_t mark_length(const char *c, const char *end)
{
        static const char *const pairs[] = { "<<", ">>", "<=", ">=", "==", "!=", "->" };
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
                if (c + 1 < end && c[0] == pairs[i][0] && c[1] == pairs[i][1])
                        return 2;
        return *c && strchr("(){}[]<>,:;=+-*/%&^|~@", *c) ? 1 : 0;
}

static void lex_string(struct loop_parser *p)
{
        const char *c = ++p->token.start;
        while (c < p->end && *c != '"' && *c != '\n')
                c += *c == '\\' && c + 1 < p->end ? 2 : 1;
        if (c >= p->end || *c != '"') {
                loop_lex_error(p, "the string does not end on its line");
                return;
        }
        p->token.kind = TOKEN_STRING;
        p->token.length = (size_t)(c - p->token.start);
        p->cursor = c + 1;
}

void loop_lex_next(struct loop_parser *p)
{
        const char *c = p->cursor;
        while (c < p->end && (is_space(*c) || (*c == ';' && !p->semicolon_is_mark)))
                if (*c++ == ';')
                        while (c < p->end && *c != '\n')
                                c++;
        p->token = (struct loop_token){ TOKEN_END, c, 0, false };
        if (c >= p->end) {
                p->cursor = c;
                return;
        }
        if (*c == '"') {
                lex_string(p);
                return;
        }
        if (is_letter(*c)) {
                p->token.kind = TOKEN_WORD;
                while (c < p->end && (is_letter(*c) || is_digit(*c)))
                        c++;
        } else if (is_digit(*c)) {
                p->token.kind = TOKEN_NUMBER;
                c += number_length(c, p->end, &p->token.is_float);
        } else {
                p->token.kind = TOKEN_MARK;
                c += mark_length(c, p->end);
                if (c == p->token.start) {
                        loop_lex_error(p, "unexpected byte %s", text_safe(p->arena, c, 1));
                        return;
                }
        }
        p->token.length = (size_t)(c - p->token.start);
        p->cursor = c;
}

void loop_lex_start(struct loop_parser *p, const char *text, size_t length)
{
        p->text = p->cursor = text;
        p->end = text + length;
        p->token = (struct loop_token){ TOKEN_END, text, 0, false };
        loop_lex_next(p);
}

bool loop_lex_is(const struct loop_parser *p, const char *text)
{
        size_t length = strlen(text);
        return (p->token.kind == TOKEN_WORD || p->token.kind == TOKEN_MARK) &&
               p->token.length == length && !memcmp(p->token.start, text, length);
}

bool loop_lex_accept(struct loop_parser *p, const char *text)
{
        if (!loop_lex_is(p, text))
                return false;
        loop_lex_next(p);
        return true;
}

bool loop_lex_expect(struct loop_parser *p, const char *text)
{
        if (!loop_lex_is(p, text))
                return loop_lex_error(p, "want '%s', found %s", text, loop_lex_shown(p));
        loop_lex_next(p);
        return !p->failed;
}

char *loop_lex_word(struct loop_parser *p, const char *what)
{
        if (p->token.kind != TOKEN_WORD) {
                loop_lex_error(p, "want %s, found %s", what, loop_lex_shown(p));
                return NULL;
        }
        char *word = arena_alloc(p->arena, p->token.length + 1);
        memcpy(word, p->token.start, p->token.length);
        loop_lex_next(p);
        return p->failed ? NULL : word;
}

static int hex_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads what follows a backslash: "xHH", or a quote or backslash itself. Returns how many
 * characters it took. */
static int escape(const char *c, const char *end, int *byte)
{
        *byte = -1;
        if (c < end && (*c == '\\' || *c == '"')) {
                *byte = *c;
                return 1;
        }
        if (end - c < 3 || *c != 'x' || hex_digit(c[1]) < 0 || hex_digit(c[2]) < 0)
                return 0;
        *byte = 16 * hex_digit(c[1]) + hex_digit(c[2]);
        return 3;
}

char *loop_lex_string(struct loop_parser *p, const char *what)
{
        if (p->token.kind != TOKEN_STRING) {
                loop_lex_error(p, "want %s in quotes, found %s", what, loop_lex_shown(p));
                return NULL;
        }
        const char *c = p->token.start, *end = c + p->token.length;
        char *string = arena_alloc(p->arena, p->token.length + 1), *out = string;
        while (c < end) {
                int byte = (unsigned char)*c++;
                if (byte == '\\')
                        c += escape(c, end, &byte);
                if (byte <= 0) {
                        loop_lex_error(p, "%s has a bad escape or a NUL", what);
                        return NULL;
                }
                *out++ = (char)byte;
        }
        loop_lex_next(p);
        return p->failed ? NULL : string;
}

/* ---- numbers ---- */

static bool read_magnitude(const struct loop_token *t, uint64_t *magnitude)
{
        *magnitude = 0;
        for (size_t i = 0; i < t->length; i++)
                if (__builtin_mul_overflow(*magnitude, 10, magnitude) ||
                    __builtin_add_overflow(*magnitude, (uint64_t)(t->start[i] - '0'), magnitude))
                        return false;
        return true;
}

bool loop_lex_int(struct loop_parser *p, const char *what, int64_t low, int64_t high,
                  int64_t *value)
{
        bool negative = low < 0 && loop_lex_accept(p, "-");
        uint64_t magnitude;
        if (p->token.kind != TOKEN_NUMBER || p->token.is_float)
                return loop_lex_error(p, "want %s, found %s", what, loop_lex_shown(p));
        bool fits = read_magnitude(&p->token, &magnitude) && magnitude <= (uint64_t)INT64_MAX;
        *value = !fits ? 0 : negative ? -(int64_t)magnitude : (int64_t)magnitude;
        if (!fits || *value < low || *value > high)
                return loop_lex_error(p, "%s is out of range: %s", what, loop_lex_shown(p));
        loop_lex_next(p);
        return !p->failed;
}

static bool read_float(struct loop_parser *p, const struct loop_token *t, bool negative,
                       enum element e, double *value)
{
        char digits[NUMBER_LENGTH + 1];
        if (t->kind == TOKEN_WORD) {
                if (*t->start != 'n' && *t->start != 'i')
                        return loop_lex_error(p, "true and false are not numbers");
                double word = *t->start == 'n' ? (double)NAN : (double)INFINITY;
                *value = negative ? -word : word;
                return true;
        }
        if (t->length > NUMBER_LENGTH)
                return loop_lex_error(p, "a number has more than %d characters", NUMBER_LENGTH);
        memcpy(digits, t->start, t->length);
        digits[t->length] = 0;
        /* The number is rounded once. */
        double read = e == E_F64 ? strtod(digits, NULL) : (double)strtof(digits, NULL);
        if (element_is_small(e)) {
                uint64_t storage;
                union scalar rounded = { .f = read };
                element_store(e, &storage, 0, rounded);
                rounded = element_load(e, &storage, 0);
                read = rounded.f;
        }
        *value = negative ? -read : read;
        return true;
}

bool loop_lex_literal(struct loop_parser *p, const struct loop_token *t, bool negative,
                      enum element e, union scalar *value)
{
        value->u = 0;
        if (element_is_float(e))
                return read_float(p, t, negative, e, &value->f);
        const char *text = element_info[e].text;
        if (e == E_BOOL && t->kind == TOKEN_WORD && (*t->start == 't' || *t->start == 'f') &&
            !negative) {
                value->u = *t->start == 't';
                return true;
        }
        uint64_t magnitude;
        if (!element_is_integer(e) && e != E_BOOL)
                return loop_lex_error(p, "there are no numbers of type %s", text);
        if (t->kind != TOKEN_NUMBER || t->is_float)
                return loop_lex_error(p, "'%.*s' is not of type %s",
                                      (int)(t->length < 40 ? t->length : 40), t->start, text);
        bool fits = read_magnitude(t, &magnitude);
        if (fits) {
                *value = element_wrap(e, negative ? 0 - magnitude : magnitude);
                bool below = element_info[e].class == CLASS_SINT && value->i < 0;
                uint64_t back = below ? 0 - value->u : value->u;
                fits = back == magnitude && (magnitude == 0 || below == negative);
        }
        if (!fits)
                return loop_lex_error(p, "a number does not fit %s", text);
        return true;
}

/* ---- remarks ---- */

/* Copies a remark. Text written by hand may hold anything: what could end or splice a comment of C
 * becomes a point. */
static char *remark_copy(struct loop_parser *p, const char *start, const char *end)
{
        while (start < end && is_space(*start))
                start++;
        while (start < end && is_space(end[-1]))
                end--;
        if (start == end)
                return NULL;
        char *copy = arena_alloc(p->arena, (size_t)(end - start) + 1);
        memcpy(copy, start, (size_t)(end - start));
        char before = ' ';
        for (char *c = copy; c < copy + (end - start); before = *c++)
                if (*c < ' ' || *c > '~' || *c == '"' ||
                    (before == '/' && (*c == '/' || *c == '*')) || (before == '*' && *c == '/') ||
                    (before == '?' && *c == '?'))
                        *c = '.';
        if (copy[end - start - 1] == '\\')
                copy[end - start - 1] = '.';
        return copy;
}

char *loop_lex_name(struct loop_parser *p)
{
        if (p->token.kind != TOKEN_STRING) {
                loop_lex_error(p, "want a name in quotes, found %s", loop_lex_shown(p));
                return NULL;
        }
        char *name = arena_alloc(p->arena, p->token.length + 1);
        memcpy(name, p->token.start, p->token.length);
        if (strlen(name) != p->token.length || !text_is_remark(name, strlen(name))) {
                loop_lex_error(p, "the name is no plain text");
                return NULL;
        }
        loop_lex_next(p);
        return name;
}

char *loop_lex_remark(struct loop_parser *p, char **location)
{
        const char *c = p->cursor;
        *location = NULL;
        while (c < p->end && (*c == ' ' || *c == '\t'))
                c++;
        if (c >= p->end || *c != ';')
                return NULL;
        c++;
        while (c < p->end && (*c == ' ' || *c == '\t'))
                c++;
        const char *end = c < p->end ? memchr(c, '\n', (size_t)(p->end - c)) : NULL;
        if (!end)
                end = p->end;
        const char *quote = c < end && *c == '"' ? memchr(c + 1, '"', (size_t)(end - c - 1)) : NULL;
        if (quote) {
                *location = remark_copy(p, c + 1, quote);
                c = quote + 1;
        }
        p->cursor = end;
        return remark_copy(p, c, end);
}
