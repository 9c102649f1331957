/* SPDX-License-Identifier: MIT */
/* The reader of protobuf's text format goes over the text once, with an explicit stack of the
 * messages that are open:
 *
 *      name: "net"  # a comment
 *      layer { type: "Power" bottom: 'x' power_param { scale: -1.5e2 } }
 *
 * Fields go by their names in the descriptors. A number, word or string is checked against the type
 * of its field; a field that is not repeated is given once. The lengths of messages are written
 * when they are closed. */
#include "front/text_format.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 5, WORD_MAX = 63, UNKNOWN_MAX = 64 };

struct open {
        const ProtobufCMessageDescriptor *message;
        size_t length_at;               /* It is the offset in `out` where its length goes. */
        uint64_t seen;                  /* It has a bit for each field of the descriptor. */
        char close;                     /* It is '}' or '>'. */
        const char *unknown[UNKNOWN_MAX];         /* These fields are to be noted in it. */
        int unknown_count;
};

struct scanner {
        const char *at, *end;
        const char *counted;            /* This is in line `line`. */
        int line;
        const struct text_format *format;
        struct arena *arena;
        struct diag *diag;
        struct text *out;
        int64_t depth_most;
        int depth;                      /* It is the index of the innermost open message. */
        struct open *stack;             /* It has WIRE_DEPTH_MAX + 1 entries. */
};

/* ---- errors ---- */

/* Lines are counted from where they were counted last, so that a file of errors takes no longer. */
static int line_of(struct scanner *s)
{
        for (; s->counted < s->at; s->counted++)
                s->line += *s->counted == '\n';
        while (s->counted > s->at)
                s->line -= *--s->counted == '\n';
        return s->line;
}

static bool wrong(struct scanner *s, const char *what)
{
        diag_error(s->diag, EXIT_INVALID, "line " DIAG_LINE("%d") ": %s", line_of(s), what);
        return false;
}

static bool wanted(struct scanner *s, const char *what)
{
        enum { SHOWN = 16 };
        const size_t left = (size_t)(s->end - s->at), shown = left < SHOWN ? left : SHOWN;
        const char *found =
                left ? arena_printf(s->arena, "'%s'", text_argument_part(s->arena, s->at, shown))
                     : "the end";
        return wrong(s, arena_printf(s->arena, "want %s, found %s", what, found));
}

/* ---- words ---- */

static void skip_blanks(struct scanner *s)
{
        while (s->at < s->end && (isspace((unsigned char)*s->at) || *s->at == '#'))
                if (*s->at++ == '#')
                        while (s->at < s->end && *s->at != '\n')
                                s->at++;
}

static char peek(struct scanner *s)
{
        skip_blanks(s);
        return s->at < s->end ? *s->at : 0;
}

static bool take(struct scanner *s, char c)
{
        const bool found = peek(s) == c && s->at < s->end;
        s->at += found;
        return found;
}

/* Reads a name, a word or a number; where there is none, or a very long one, the word is empty. */
static void read_word(struct scanner *s, char word[WORD_MAX + 1])
{
        int length = 0;
        skip_blanks(s);
        const char *p = s->at;
        for (; p < s->end && length < WORD_MAX; length++, p++) {
                const bool sign = (*p == '-' && !length) ||
                                  ((*p == '-' || *p == '+') && length && tolower(p[-1]) == 'e' &&
                                   !isalpha((unsigned char)word[0]));
                if (!sign && !isalnum((unsigned char)*p) && *p != '_' && *p != '.')
                        break;
                word[length] = *p;
        }
        word[length == WORD_MAX ? 0 : length] = 0;
        s->at = length == WORD_MAX ? s->at : p;
}

static int hex_digit(char c)
{
        return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Reads what stands behind a backslash at s->at. */
static bool read_escape(struct scanner *s, char *to)
{
        static const char letters[] = "abfnrtv\\'\"?", meant[] = "\a\b\f\n\r\t\v\\'\"?";
        const char *letter = s->at < s->end && *s->at ? strchr(letters, *s->at) : NULL;
        int value = 0, digits = 0;
        if (letter) {
                *to = meant[letter - letters];
                s->at++;
                return true;
        }
        if (s->at < s->end && (*s->at == 'x' || *s->at == 'X')) {
                for (s->at++; s->at < s->end && digits < 2 && isxdigit((unsigned char)*s->at);
                     digits++)
                        value = value * 16 + hex_digit(*s->at++);
        } else {
                for (; s->at < s->end && digits < 3 && *s->at >= '0' && *s->at <= '7'; digits++)
                        value = value * 8 + *s->at++ - '0';
        }
        *to = (char)value;
        return (digits && value < 256) || wrong(s, "a string has a wrong escape");
}

/* Reads strings, which may stand side by side, as one. */
static bool read_string(struct scanner *s, struct text *string)
{
        if (peek(s) != '"' && peek(s) != '\'')
                return wanted(s, "a string in quotes");
        while (peek(s) == '"' || peek(s) == '\'') {
                const char quote = *s->at++;
                while (s->at < s->end && *s->at != quote) {
                        char c = *s->at++;
                        if (c == '\n') {
                                s->at--;
                                return wrong(s, "a string has no end");
                        }
                        if (c == '\\' && !read_escape(s, &c))
                                return false;
                        text_add_bytes(string, &c, 1);
                }
                if (s->at == s->end)
                        return wrong(s, "a string has no end");
                s->at++;
        }
        return true;
}

/* ---- fields as bytes ---- */

static void put_varint(struct scanner *s, uint64_t number)
{
        char bytes[10];
        size_t count = 0;
        do
                bytes[count++] = (char)((number & 127) | (number > 127) << 7);
        while (number >>= 7);
        text_add_bytes(s->out, bytes, count);
}

static void put_little(struct scanner *s, uint64_t bits, int bytes)
{
        char data[8];
        for (int i = 0; i < bytes; i++)
                data[i] = (char)(bits >> 8 * i & 255);
        text_add_bytes(s->out, data, (size_t)bytes);
}

static void put_tag(struct scanner *s, const ProtobufCFieldDescriptor *field, enum wire_type wire)
{
        put_varint(s, (uint64_t)field->id << 3 | (uint64_t)wire);
}

static void put_bytes(struct scanner *s, const ProtobufCFieldDescriptor *field, const char *bytes,
                      size_t length)
{
        put_tag(s, field, WIRE_BYTES);
        put_varint(s, length);
        text_add_bytes(s->out, bytes, length);
}

/* ---- values ---- */

static bool read_bool(struct scanner *s, const ProtobufCFieldDescriptor *field, const char *word)
{
        static const char *const words[] = { "false", "False", "f", "0", "true", "True", "t", "1" };
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (!strcmp(word, words[i])) {
                        put_tag(s, field, WIRE_VARINT);
                        put_varint(s, i >= sizeof words / sizeof *words / 2);
                        return true;
                }
        return false;
}

static bool read_enum(struct scanner *s, const ProtobufCFieldDescriptor *field, const char *word)
{
        const ProtobufCEnumDescriptor *values = field->descriptor;
        const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value_by_name(values, word);
        char *end;
        const long number = strtol(word, &end, 10);
        if (!v && end != word && !*end && number >= INT32_MIN && number <= INT32_MAX)
                v = protobuf_c_enum_descriptor_get_value(values, (int)number);
        if (!v)
                return false;
        put_tag(s, field, WIRE_VARINT);
        put_varint(s, (uint64_t)(int64_t)v->value);
        return true;
}

static bool read_integer(struct scanner *s, const ProtobufCFieldDescriptor *field,
                         const char *word)
{
        const bool negative = *word == '-', wide = field->type == PROTOBUF_C_TYPE_INT64 ||
                                                   field->type == PROTOBUF_C_TYPE_UINT64,
                   no_sign = field->type == PROTOBUF_C_TYPE_UINT32 ||
                             field->type == PROTOBUF_C_TYPE_UINT64;
        const char *digits = word + negative;
        char *end;
        if (!isdigit((unsigned char)*digits) || (negative && no_sign))
                return false;
        errno = 0;
        const unsigned long long number = strtoull(digits, &end, 0);
        const unsigned long long most = no_sign ? (wide ? UINT64_MAX : UINT32_MAX)
                                                : (wide ? INT64_MAX : INT32_MAX);
        if (*end || errno || number > most + negative)
                return false;
        put_tag(s, field, WIRE_VARINT);
        put_varint(s, negative ? UINT64_C(0) - number : number);
        return true;
}

static bool read_real(struct scanner *s, const ProtobufCFieldDescriptor *field, const char *word)
{
        char *end;
        const double number = strtod(word, &end);
        const float single = strtof(word, NULL);
        uint32_t narrow;
        uint64_t bits;
        if (end == word || (*end && (strcmp(end, "f") != 0 && strcmp(end, "F") != 0)) ||
            strpbrk(word, "xXpP_"))
                return false;
        if (field->type == PROTOBUF_C_TYPE_FLOAT) {
                memcpy(&narrow, &single, sizeof narrow);
                put_tag(s, field, WIRE_FIXED32);
                put_little(s, narrow, sizeof narrow);
        } else {
                memcpy(&bits, &number, sizeof bits);
                put_tag(s, field, WIRE_FIXED64);
                put_little(s, bits, sizeof bits);
        }
        return true;
}

/* Reads one value of a field that is no message. */
static bool read_value(struct scanner *s, const ProtobufCFieldDescriptor *field)
{
        char word[WORD_MAX + 1];
        const char *what, *from;
        bool fine;
        if (field->type == PROTOBUF_C_TYPE_BYTES || field->type == PROTOBUF_C_TYPE_STRING) {
                struct text string = { 0 };
                fine = read_string(s, &string);
                if (fine)
                        put_bytes(s, field, string.length ? string.data : "", string.length);
                text_free(&string);
                return fine;
        }
        skip_blanks(s);
        from = s->at;
        read_word(s, word);
        switch (field->type) {
        case PROTOBUF_C_TYPE_BOOL:
                what = "true or false";
                fine = read_bool(s, field, word);
                break;
        case PROTOBUF_C_TYPE_ENUM:
                what = "a word of its list";
                fine = read_enum(s, field, word);
                break;
        case PROTOBUF_C_TYPE_FLOAT: case PROTOBUF_C_TYPE_DOUBLE:
                what = "a number";
                fine = read_real(s, field, word);
                break;
        case PROTOBUF_C_TYPE_UINT32: case PROTOBUF_C_TYPE_UINT64:
                what = "a whole number that is not negative";
                fine = read_integer(s, field, word);
                break;
        default:
                what = "a whole number";
                fine = read_integer(s, field, word);
                break;
        }
        if (fine)
                return true;
        s->at = from;
        return wanted(s, arena_printf(s->arena, "%s for %s", what, field->name));
}

/* Reads the values of a field that is no message: one, or [a, list]. */
static bool read_values(struct scanner *s, const ProtobufCFieldDescriptor *field)
{
        if (field->label != PROTOBUF_C_LABEL_REPEATED || !take(s, '['))
                return read_value(s, field);
        if (take(s, ']'))
                return true;
        do
                if (!read_value(s, field))
                        return false;
        while (take(s, ','));
        return take(s, ']') || wanted(s, "']'");
}

/* ---- fields that nobody knows ---- */

/* Skips the value of a field: a word, strings, a list, or a message. */
static bool skip_value(struct scanner *s)
{
        char word[WORD_MAX + 1];
        int64_t depth = 0;
        const char *from;
        do {
                const char c = peek(s);
                if (c == '{' || c == '<' || c == '[') {
                        if (++depth + s->depth > s->depth_most)
                                return wrong(s, "messages are nested too deep "
                                                "(" DIAG_HINT("--limit wire_depth=N") ")");
                        s->at++;
                } else if (depth && (c == '}' || c == '>' || c == ']')) {
                        depth--;
                        s->at++;
                } else if (c == '"' || c == '\'') {
                        struct text string = { 0 };
                        const bool fine = read_string(s, &string);
                        text_free(&string);
                        if (!fine)
                                return false;
                } else if (depth && (c == ':' || c == ',' || c == ';' || c == '/')) {
                        s->at++;
                } else {
                        from = s->at;
                        read_word(s, word);
                        if (s->at == from)
                                return wanted(s, "a value");
                }
        } while (depth);
        return true;
}

static bool is_ignored(const struct scanner *s, const char *name)
{
        for (const char *const *p = s->format->ignored; *p; p++)
                if (!strcmp(*p, name))
                        return true;
        return false;
}

static const ProtobufCFieldDescriptor *note_field(const struct open *o)
{
        return protobuf_c_message_descriptor_get_field_by_name(o->message, "unknown");
}

static bool unknown_field(struct scanner *s, const char *name)
{
        const struct open *inner = &s->stack[s->depth];
        if (!is_ignored(s, name)) {
                int at = s->depth;
                while (at >= 0 && !note_field(&s->stack[at]))
                        at--;
                if (at < 0)
                        return wrong(s, arena_printf(s->arena, "%s has no field '%s'",
                                                     inner->message->short_name,
                                                     text_argument(s->arena, name)));
                struct open *o = &s->stack[at];
                if (o->unknown_count < UNKNOWN_MAX)
                        o->unknown[o->unknown_count++] =
                                arena_printf(s->arena, "line %d: field '%s'", line_of(s),
                                             text_argument(s->arena, name));
        }
        take(s, ':');
        return skip_value(s);
}

/* ---- messages ---- */

static bool open_message(struct scanner *s, const ProtobufCFieldDescriptor *field)
{
        const char close = take(s, '{') ? '}' : take(s, '<') ? '>' : 0;
        if (!close)
                return wanted(s, arena_printf(s->arena, "'{' after %s", field->name));
        if (s->depth + 1 > s->depth_most)
                return wrong(s, arena_printf(s->arena,
                                             "messages are nested more than %" PRId64
                                             " deep (" DIAG_HINT("--limit wire_depth=N, at most %d") ")",
                                             s->depth_most, WIRE_DEPTH_MAX));
        put_tag(s, field, WIRE_BYTES);
        struct open *o = &s->stack[++s->depth];
        o->message = field->descriptor;
        o->length_at = s->out->length;
        o->seen = 0;
        o->close = close;
        o->unknown_count = 0;
        text_add_bytes(s->out, "\0\0\0\0", LENGTH_BYTES); /* With the literal's own end there are
                                                           * five. */
        return true;
}

static void close_message(struct scanner *s)
{
        const struct open *o = &s->stack[s->depth--];
        for (int i = 0; i < o->unknown_count; i++)
                put_bytes(s, note_field(o), o->unknown[i], strlen(o->unknown[i]));
        size_t length = s->out->length - o->length_at - LENGTH_BYTES;
        char *to = s->out->data + o->length_at;
        for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
                to[i] = (char)((length & 127) | (i + 1 < LENGTH_BYTES) << 7);
}

/* Checks that a field which is not repeated comes once. */
static bool once(struct scanner *s, const ProtobufCFieldDescriptor *field)
{
        struct open *o = &s->stack[s->depth];
        const uint64_t bit = UINT64_C(1) << (field - o->message->fields);
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
                return true;
        if (o->seen & bit)
                return wrong(s, arena_printf(s->arena, "%s is given twice", field->name));
        o->seen |= bit;
        return true;
}

static bool read_field(struct scanner *s)
{
        char name[WORD_MAX + 1];
        const struct open *o = &s->stack[s->depth];
        const char *from = s->at;
        read_word(s, name);
        if (!isalpha((unsigned char)*name) && *name != '_') {
                s->at = from;
                return wanted(s, s->depth ? arena_printf(s->arena, "a field or '%c'", o->close)
                                          : "a field");
        }
        const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field_by_name(o->message, name);
        if (!strcmp(name, "base"))      /* protobuf-c has a member of its own of this name. */
                field = protobuf_c_message_descriptor_get_field_by_name(o->message, "base_");
        if (field && field->id >= LONG_DATA - 1)
                field = NULL;
        if (!field)
                return unknown_field(s, name);
        if (!once(s, field))
                return false;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
                take(s, ':');
                return open_message(s, field);
        }
        if (!take(s, ':'))
                return wanted(s, arena_printf(s->arena, "':' after %s", field->name));
        return read_values(s, field);
}

static bool read_text(struct scanner *s)
{
        for (;;) {
                const char c = peek(s);
                if (s->at == s->end)
                        return !s->depth ||
                               wanted(s, arena_printf(s->arena, "'%c'", s->stack[s->depth].close));
                if (s->depth && c == s->stack[s->depth].close) {
                        s->at++;
                        close_message(s);
                } else if (!read_field(s)) {
                        return false;
                }
                if (!take(s, ','))
                        take(s, ';');
        }
}

bool text_format_read(const unsigned char *bytes, size_t length, const struct text_format *format,
                      const struct limits *limits, struct text *wire, struct diag *diag)
{
        struct scanner s = { .at = (const char *)bytes,
                             .counted = (const char *)bytes,
                             .line = 1,
                             .end = (const char *)bytes + length,
                             .format = format,
                             .arena = arena_new(),
                             .diag = diag,
                             .out = wire,
                             .depth_most = limits->wire_depth < WIRE_DEPTH_MAX
                                                   ? limits->wire_depth
                                                   : WIRE_DEPTH_MAX };
        *wire = (struct text){ 0 };
        s.stack = memory_alloc((WIRE_DEPTH_MAX + 1) * sizeof *s.stack);
        s.stack[0] = (struct open){ .message = format->message };
        const bool fine = read_text(&s);
        if (!fine)
                text_free(wire);
        free(s.stack);
        arena_free(s.arena);
        return fine;
}

bool text_format_begins(const unsigned char *bytes, size_t length,
                        const ProtobufCMessageDescriptor *message)
{
        char name[WORD_MAX + 1];
        struct scanner s = { .at = (const char *)bytes, .end = (const char *)bytes + length };
        read_word(&s, name);
        const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field_by_name(message, name);
        const char c = peek(&s);
        return field && (c == ':' || (c == '{' && field->type == PROTOBUF_C_TYPE_MESSAGE));
}
