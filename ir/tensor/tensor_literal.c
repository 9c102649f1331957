/* SPDX-License-Identifier: MIT */
/* Reads and prints numbers, names, quoted strings and bytes in the text of Tensor IR. */
#include "ir/tensor/tensor_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- numbers ---- */

static uint64_t element_bits(enum element e, const void *data, size_t index)
{
        size_t bytes = (size_t)element_info[e].bytes;
        const unsigned char *p = (const unsigned char *)data + index * bytes;
        uint64_t bits = 0;
        for (size_t i = 0; i < bytes; i++)
                bits |= (uint64_t)p[i] << 8 * i;
        return bits;
}

static void store_bits(enum element e, void *data, size_t index, uint64_t bits)
{
        size_t bytes = (size_t)element_info[e].bytes;
        unsigned char *p = (unsigned char *)data + index * bytes;
        for (size_t i = 0; i < bytes; i++)
                p[i] = (unsigned char)(bits >> 8 * i);
}

static uint64_t default_nan(enum element e)
{
        switch (e) {
        case E_F64: return UINT64_C(0x7ff8) << 48;
        case E_F32: case E_TF32: return UINT64_C(0x7fc00000);
        case E_F16: return UINT64_C(0x7e00);
        default: return UINT64_C(0x7fc0);       /* The element is bf16. */
        }
}

void literal_print(struct text *out, struct arena *arena, enum element e, const void *data,
                   size_t index)
{
        union scalar s = element_load(e, data, index);
        if (element_is_float(e)) {
                uint64_t bits = element_bits(e, data, index);
                if (isnan(s.f) && bits != default_nan(e)) {
                        text_add(out, "nan:0x%llx", (unsigned long long)bits);
                        return;
                }
                text_add(out, "%s", text_number(arena, s.f, e != E_F64));
        } else if (e == E_BOOL && s.u <= 1) {
                text_add(out, s.u ? "true" : "false");
        } else if (element_info[element_storage(e)].class == CLASS_SINT) {
                text_add(out, "%lld", s.i);
        } else {
                text_add(out, "%llu", s.u);
        }
}

static enum literal_error parse_integer(const char *token, enum element e, void *data, size_t index)
{
        bool negative = *token == '-';
        int bits = 8 * element_info[e].bytes;
        uint64_t value = 0;
        if (e == E_BOOL && (!strcmp(token, "true") || !strcmp(token, "false"))) {
                store_bits(e, data, index, token[0] == 't');
                return LITERAL_OK;
        }
        const char *p = token + negative;
        if (!*p || strspn(p, "0123456789") != strlen(p))
                return LITERAL_MALFORMED;
        for (; *p; p++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
                        return LITERAL_RANGE;
        bool is_signed = element_info[element_storage(e)].class == CLASS_SINT;
        uint64_t most = UINT64_MAX >> (64 - bits + is_signed);
        if (value > most + (negative && is_signed) || (negative && !is_signed && value))
                return LITERAL_RANGE;
        store_bits(e, data, index, negative ? 0 - value : value);
        return LITERAL_OK;
}

static enum literal_error parse_nan_bits(const char *token, enum element e, void *data,
                                         size_t index)
{
        char *end;
        errno = 0;
        unsigned long long bits = strtoull(token, &end, 16);
        if (!*token || *end || errno || strspn(token + 2, "0123456789abcdef") != strlen(token + 2))
                return LITERAL_MALFORMED;
        if (element_info[e].bytes < 8 && bits >> 8 * element_info[e].bytes)
                return LITERAL_RANGE;
        store_bits(e, data, index, bits);
        return isnan(element_load(e, data, index).f) ? LITERAL_OK : LITERAL_RANGE;
}

enum literal_error literal_parse(const char *token, enum element e, void *data, size_t index)
{
        if (!element_is_float(e))
                return parse_integer(token, e, data, index);
        if (!strncmp(token, "nan:0x", 6))
                return parse_nan_bits(token + 4, e, data, index);
        const char *p = token + (*token == '-');
        union scalar s;
        char *end;
        if (!strcmp(p, "inf")) {
                s.f = *token == '-' ? -INFINITY : INFINITY;
        } else if (!strcmp(token, "nan")) {
                store_bits(e, data, index, default_nan(e));
                return LITERAL_OK;
        } else {
                if (!is_digit(*p) || strspn(p, "0123456789.eE+-") != strlen(p))
                        return LITERAL_MALFORMED;
                /* f32 is rounded once from the digits; the short floats are far from double's
                 * rounding errors. */
                s.f = e == E_F32 ? (double)strtof(token, &end) : strtod(token, &end);
                if (*end)
                        return LITERAL_MALFORMED;
                if (isinf(s.f))
                        return LITERAL_RANGE;
        }
        element_store(e, data, index, s);
        return isinf(element_load(e, data, index).f) && !isinf(s.f) ? LITERAL_RANGE : LITERAL_OK;
}

/* ---- names and strings ---- */

bool text_is_name(const char *name)
{
        size_t n = 0;
        if (!is_letter(name[0]))
                return false;
        while (is_letter(name[n]) || is_digit(name[n]) || name[n] == '.')
                n++;
        return !name[n] && n <= NAME_LENGTH;
}

/* Prints a quoted string. A slash stays where it cannot open a comment, so that even these strings
 * are harmless in C. */
void quoted_print(struct text *out, const char *bytes)
{
        text_add(out, "\"");
        for (const char *p = bytes; *p; p++) {
                bool plain = is_letter(*p) || is_digit(*p) || strchr(".:- ", *p) ||
                             (*p == '/' && (p == bytes || p[-1] != '/'));
                if (plain)
                        text_add_bytes(out, p, 1);
                else
                        text_add(out, "\\x%02x", (unsigned char)*p);
        }
        text_add(out, "\"");
}

/* ---- bytes ---- */

void hex_print(struct text *out, const void *data, size_t bytes)
{
        static const char digits[] = "0123456789abcdef";
        const unsigned char *p = data;
        char chunk[4096];
        while (bytes) {
                size_t n = bytes < sizeof chunk / 2 ? bytes : sizeof chunk / 2;
                for (size_t i = 0; i < n; i++) {
                        chunk[2 * i] = digits[p[i] >> 4];
                        chunk[2 * i + 1] = digits[p[i] & 15];
                }
                text_add_bytes(out, chunk, 2 * n);
                p += n;
                bytes -= n;
        }
}

/* Returns the value of a hexadecimal digit; 16 or more: c is none. */
static unsigned nibble(unsigned char c)
{
        unsigned decimal = c - (unsigned)'0', letter = c - (unsigned)'a';
        return decimal < 10 ? decimal : letter < 6 ? letter + 10 : 16;
}

bool hex_parse(const char *hex, size_t bytes, void *data)
{
        unsigned char *p = data;
        unsigned wrong = 0;
        for (size_t i = 0; i < bytes; i++) {
                unsigned high = nibble((unsigned char)hex[2 * i]),
                         low = nibble((unsigned char)hex[2 * i + 1]);
                wrong |= high | low;
                p[i] = (unsigned char)(high << 4 | low);
        }
        return wrong < 16;
}
