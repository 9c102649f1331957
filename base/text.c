/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

static bool is_letter(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* ---- comments and messages ---- */

enum { SAFE_LENGTH = 64 };

char *text_safe(struct arena *arena, const char *bytes, size_t length)
{
        char *out = arena_alloc(arena, SAFE_LENGTH + 8);
        size_t n = 0;
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)bytes[i];
                bool plain = is_letter(c) || is_digit(c) || strchr("_.:-+", c) || c == '/';
                if (!c || (c == '/' && n && out[n - 1] == '/'))
                        plain = false;
                size_t need = plain ? 1 : 4;
                if (n + need > SAFE_LENGTH) {
                        memcpy(out + n, "..", 3);
                        return out;
                }
                if (plain)
                        out[n++] = (char)c;
                else
                        n += (size_t)sprintf(out + n, "\\x%02x", c);
        }
        out[n] = 0;
        return out;
}

/* Returns each byte as it is where it is plain, else by the format, of 4 characters. */
static char *escaped(struct arena *arena, const char *text, size_t length,
                     bool (*is_plain)(unsigned char c), const char *format)
{
        size_t size;
        if (__builtin_mul_overflow(length, 4, &size))
                memory_exhausted();
        char *out = arena_alloc(arena, size + 1), *p = out;
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)text[i];
                if (is_plain(c))
                        *p++ = (char)c;
                else
                        p += sprintf(p, format, c);
        }
        *p = 0;
        return out;
}

static bool is_printable(unsigned char c) { return c >= ' ' && c <= '~'; }

char *text_argument_part(struct arena *arena, const char *text, size_t length)
{
        return escaped(arena, text, length, is_printable, "\\x%02x");
}

char *text_argument(struct arena *arena, const char *text)
{
        return text_argument_part(arena, text, strlen(text));
}

bool text_lists(const char *nodes, const char *node)
{
        size_t length = strlen(node);
        for (const char *p = nodes; p; p = strstr(p, ", ") ? strstr(p, ", ") + 2 : NULL)
                if (!strncmp(p, node, length) && (!p[length] || !strncmp(p + length, ", ", 2)))
                        return true;
        return false;
}

char *text_shell_word(struct arena *arena, const char *text)
{
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
        const char *shown = text_argument(arena, text);
        bool bare = *shown && !shown[strspn(shown, plain)];
        return bare || strchr(shown, '\'') ? arena_string(arena, shown)
                                            : arena_printf(arena, "'%s'", shown);
}

bool text_is_remark(const char *text, size_t length)
{
        if (length && (text[0] == ' ' || text[length - 1] == ' ' || text[length - 1] == '\\'))
                return false;
        for (size_t i = 0; i < length; i++) {
                char c = text[i], next = i + 1 < length ? text[i + 1] : 0;
                if (c < ' ' || c > '~' || c == '"' || (c == '/' && (next == '/' || next == '*')) ||
                    (c == '*' && next == '/') || (c == '?' && next == '?'))
                        return false;
        }
        return true;
}

static bool is_literal(unsigned char c)
{
        return is_letter(c) || is_digit(c) || (c && strchr(" _.:/-+*,;=()[]{}<>#!$%&@^|~'", c));
}

char *text_literal(struct arena *arena, const char *bytes, size_t length)
{
        return escaped(arena, bytes, length, is_literal, "\\%03o");
}

/* ---- identifiers ---- */

static const char *const reserved[] = {
        /* These are C and C++ keywords. */
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "asm",
        "typeof",
        "alignas",
        "alignof",
        "bool",
        "constexpr",
        "false",
        "true",
        "nullptr",
        "static_assert",
        "thread_local",
        "typeof_unqual",
        "catch",
        "class",
        "const_cast",
        "delete",
        "dynamic_cast",
        "explicit",
        "export",
        "friend",
        "mutable",
        "namespace",
        "new",
        "operator",
        "private",
        "protected",
        "public",
        "reinterpret_cast",
        "static_cast",
        "template",
        "this",
        "throw",
        "try",
        "typeid",
        "typename",
        "using",
        "virtual",
        "wchar_t",
        "char8_t",
        "char16_t",
        "char32_t",
        "and",
        "and_eq",
        "bitand",
        "bitor",
        "compl",
        "not",
        "not_eq",
        "or",
        "or_eq",
        "xor",
        "xor_eq",
        "concept",
        "requires",
        "co_await",
        "co_return",
        "co_yield",
        "consteval",
        "constinit",
        "decltype",
        "noexcept",
        "module",
        "import",
        "final",
        "override",
        /* These are macros and types of the headers that the generated code includes, and common
         * predefined macros. */
        "NULL",
        "offsetof",
        "size_t",
        "ptrdiff_t",
        "max_align_t",
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "intptr_t",
        "uintptr_t",
        "intmax_t",
        "uintmax_t",
        "memcpy",
        "memset",
        "memmove",
        "memcmp",
        "strlen",
        "strcpy",
        "main",
        "linux",
        "unix",
        "i386",
        "errno",
        "assert",
        "EOF",
        "stdin",
        "stdout",
        "stderr",
        "NAN",
        "INFINITY",
        "complex",
        "abs",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "sqrt",
        "pow",
        "floor",
        "ceil",
        "round",
        "trunc",
        "erf",
        "tanh",
        "fma",
        "fmax",
        "fmin",
        "malloc",
        "free",
        "exit",
        "abort",
        "printf",
        "div",
        "index",
        "signal",
        "time",
        "read",
        "write",
        "open",
        "close",
        "y0",
        "y1",
        "yn",
        "j0",
        "j1",
        "jn",
        "gamma",
        "labs",
        "ldiv",
        "atoi",
        "rand",
};

/* These are further functions of the headers that generated code includes, and of those that they
 * include (immintrin.h: stdlib.h). No name that is made is one of them; text may have them. */
static const char *const of_headers[] = {
        "a64l", "acos", "acosf", "acosh", "acoshf", "acoshl", "acosl", "alloca", "arc4random",
        "asctime", "asin", "asinf", "asinh", "asinhf", "asinhl", "asinl", "atan", "atan2",
        "atan2f", "atan2l", "atanf", "atanh", "atanhf", "atanhl", "atanl", "atexit", "atof",
        "atol", "atoll", "bcmp", "bcopy", "bsearch", "bzero", "calloc", "cbrt", "cbrtf", "cbrtl",
        "ceilf", "ceill", "clearenv", "clearerr", "clock", "copysign", "copysignf", "copysignl",
        "cosf", "cosh", "coshf", "coshl", "cosl", "ctermid", "ctime", "difftime", "dprintf",
        "drand48", "drem", "dremf", "dreml", "dysize", "ecvt", "erand48", "erfc", "erfcf",
        "erfcl", "erff", "erfl", "exp2", "exp2f", "exp2l", "expf", "expl", "expm1", "expm1f",
        "expm1l", "fabs", "fabsf", "fabsl", "fclose", "fcvt", "fdim", "fdimf", "fdiml", "fdopen",
        "feof", "ferror", "fflush", "ffs", "ffsl", "ffsll", "fgetc", "fgetpos", "fgets", "fileno",
        "finite", "finitef", "finitel", "flockfile", "floorf", "floorl", "fmaf", "fmal", "fmaxf",
        "fmaxl", "fmemopen", "fminf", "fminl", "fmod", "fmodf", "fmodl", "fopen", "fprintf",
        "fputc", "fputs", "fread", "freopen", "frexp", "frexpf", "frexpl", "fscanf", "fseek",
        "fseeko", "fsetpos", "ftell", "ftello", "ftrylockfile", "funlockfile", "fwrite", "gammaf",
        "gammal", "gcvt", "getc", "getchar", "getdelim", "getenv", "getline", "getloadavg",
        "getsubopt", "getw", "gmtime", "hypot", "hypotf", "hypotl", "ilogb", "ilogbf", "ilogbl",
        "initstate", "isinf", "isinff", "isinfl", "isnan", "isnanf", "isnanl", "j0f", "j0l",
        "j1f", "j1l", "jnf", "jnl", "jrand48", "l64a", "lcong48", "ldexp", "ldexpf", "ldexpl",
        "lgamma", "lgammaf", "lgammal", "llabs", "lldiv", "llrint", "llrintf", "llrintl",
        "llround", "llroundf", "llroundl", "localtime", "log10", "log10f", "log10l", "log1p",
        "log1pf", "log1pl", "log2", "log2f", "log2l", "logb", "logbf", "logbl", "logf", "logl",
        "lrand48", "lrint", "lrintf", "lrintl", "lround", "lroundf", "lroundl", "mblen",
        "mbstowcs", "mbtowc", "memccpy", "memchr", "mkdtemp", "mkstemp", "mkstemps", "mktemp",
        "mktime", "modf", "modff", "modfl", "mrand48", "nan", "nanf", "nanl", "nanosleep",
        "nearbyint", "nearbyintf", "nearbyintl", "nextafter", "nextafterf", "nextafterl",
        "nexttoward", "nexttowardf", "nexttowardl", "nrand48", "pclose", "perror", "popen",
        "powf", "powl", "pselect", "putc", "putchar", "putenv", "puts", "putw", "qecvt", "qfcvt",
        "qgcvt", "qsort", "random", "realloc", "reallocarray", "realpath", "remainder",
        "remainderf", "remainderl", "remove", "remquo", "remquof", "remquol", "rename",
        "renameat", "rewind", "rindex", "rint", "rintf", "rintl", "roundf", "roundl", "rpmatch",
        "scalb", "scalbf", "scalbl", "scalbln", "scalblnf", "scalblnl", "scalbn", "scalbnf",
        "scalbnl", "scanf", "seed48", "select", "setbuf", "setbuffer", "setenv", "setlinebuf",
        "setstate", "setvbuf", "significand", "significandf", "significandl", "sinf", "sinh",
        "sinhf", "sinhl", "sinl", "snprintf", "sprintf", "sqrtf", "sqrtl", "srand", "srand48",
        "srandom", "sscanf", "stpcpy", "stpncpy", "strcasecmp", "strcat", "strchr", "strcmp",
        "strcoll", "strcspn", "strdup", "strerror", "strftime", "strncasecmp", "strncat",
        "strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strrchr", "strsep", "strsignal",
        "strspn", "strstr", "strtod", "strtof", "strtok", "strtol", "strtold", "strtoll",
        "strtoq", "strtoul", "strtoull", "strtouq", "strxfrm", "system", "tanf", "tanhf", "tanhl",
        "tanl", "tempnam", "tgamma", "tgammaf", "tgammal", "timegm", "timelocal", "tmpfile",
        "tmpnam", "truncf", "truncl", "tzset", "ungetc", "unsetenv", "valloc", "vdprintf",
        "vfprintf", "vfscanf", "vprintf", "vscanf", "vsnprintf", "vsprintf", "vsscanf",
        "wcstombs", "wctomb", "y0f", "y0l", "y1f", "y1l", "ynf", "ynl",
};

static bool is_among(const char *const *words, size_t count, const char *text)
{
        const int first = text[0] | 32, second = text[1] | 32;  /* Nearly all of the names that are
                                                                 * no such words end here. */
        for (size_t i = 0; i < count; i++)
                if ((words[i][0] | 32) == first && (words[i][1] | 32) == second &&
                    !strcasecmp(words[i], text))
                        return true;
        return false;
}

/* I is a macro of complex.h; i is everyone's loop variable. */
static bool is_reserved(const char *text)
{
        return !strcmp(text, "I") || is_among(reserved, sizeof reserved / sizeof *reserved, text);
}

static bool is_free(const char *text)
{
        return !is_reserved(text) &&
               !is_among(of_headers, sizeof of_headers / sizeof *of_headers, text);
}

bool text_is_identifier(const char *text)
{
        size_t length = strlen(text);
        if (!length || length > TEXT_IDENTIFIER_MAX || !is_letter((unsigned char)text[0]) ||
            is_reserved(text))
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_letter((unsigned char)text[i]) && !is_digit((unsigned char)text[i]) &&
                    text[i] != '_')
                        return false;
        return true;
}

struct names {
        struct arena *arena;
        struct map *used;               /* It maps a folded identifier to itself. */
        struct map *next;               /* It maps a folded stem, as cut, to the number tried last,
                                         * so that many equal stems stay linear. */
};

struct names *names_new(struct arena *arena)
{
        struct names *names = ARENA_NEW(arena, struct names);
        names->arena = arena;
        names->used = map_new(arena);
        names->next = map_new(arena);
        return names;
}

static size_t fold_case(char folded[TEXT_IDENTIFIER_MAX + 33], const char *text)
{
        size_t n = 0;
        for (; text[n] && n < TEXT_IDENTIFIER_MAX + 32; n++)
                folded[n] = (char)tolower((unsigned char)text[n]);
        folded[n] = 0;
        return n;
}

bool names_reserve(struct names *names, const char *identifier)
{
        char folded[TEXT_IDENTIFIER_MAX + 33];
        size_t length = fold_case(folded, identifier);
        if (map_get(names->used, folded, length))
                return false;
        map_set(names->used, folded, length, names);
        return true;
}

/* Returns the counter of the stem as it stands in front of the number: names cut to the same stem
 * count together. */
static size_t *counter_of(struct names *names, const char *stem, size_t start)
{
        char folded[TEXT_IDENTIFIER_MAX + 33];
        size_t length = fold_case(folded, stem);
        size_t *counter = map_get(names->next, folded, length);
        if (!counter) {
                counter = ARENA_NEW(names->arena, size_t);
                *counter = start;
                map_set(names->next, folded, length, counter);
        }
        return counter;
}

char *text_identifier(struct names *names, const char *bytes, size_t length, const char *fallback)
{
        char stem[TEXT_IDENTIFIER_MAX + 1], tried[TEXT_IDENTIFIER_MAX + 1];
        size_t n = 0;
        for (size_t i = 0; i < length && n < TEXT_IDENTIFIER_MAX; i++) {
                unsigned char c = (unsigned char)bytes[i];
                if (is_letter(c) || (n && is_digit(c)))
                        stem[n++] = (char)c;
                else if (is_digit(c)) {                 /* It is a leading digit. */
                        stem[n++] = 'n';
                        stem[n++] = (char)c;
                } else if (n && stem[n - 1] != '_')
                        stem[n++] = '_';
        }
        while (n && stem[n - 1] == '_')
                n--;
        stem[n] = 0;
        if (!n) {
                n = strlen(fallback);
                memcpy(stem, fallback, n + 1);
        }
        memcpy(tried, stem, n + 1);
        if (is_free(tried) && names_reserve(names, tried))
                return arena_string(names->arena, tried);
        for (size_t digits = 1, beyond = 10;;) {        /* Numbers of so many digits are below
                                                         * `beyond`. */
                size_t keep =
                        n + 1 + digits > TEXT_IDENTIFIER_MAX ? TEXT_IDENTIFIER_MAX - 1 - digits : n;
                while (keep && stem[keep - 1] == '_')   /* An identifier made of an identifier is
                                                         * itself. */
                        keep--;
                memcpy(tried, stem, keep);
                tried[keep] = 0;
                size_t *counter = counter_of(names, tried, digits == 1 ? 1 : beyond / 10 - 1);
                if (*counter + 1 >= beyond) {
                        beyond *= 10;
                        digits++;
                        continue;
                }
                snprintf(tried + keep, sizeof tried - keep, "_%zu", ++*counter);
                if (names_reserve(names, tried))
                        return arena_string(names->arena, tried);
        }
}

/* ---- map ---- */

struct entry { const char *key; size_t length; uint64_t hash; void *value; };
struct map {
        struct arena *arena;
        struct entry *entries;
        size_t count, capacity;         /* The capacity is a power of two. */
        uint64_t key[2];                /* It is random, so that nobody can choose names that
                                         * meet. */
};

uint64_t text_hash(const void *bytes, size_t length)
{
        const unsigned char *p = bytes;
        uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ length;
        for (size_t i = 0; i < length; i++) {
                h ^= p[i];
                h *= UINT64_C(0x100000001b3);
                h ^= h >> 29;
        }
        h *= UINT64_C(0xbf58476d1ce4e5b9);
        return h ^ h >> 32;
}

struct map *map_new(struct arena *arena)
{
        struct map *map = ARENA_NEW(arena, struct map);
        map->arena = arena;
        map->capacity = 16;
        map->entries = arena_array(arena, map->capacity, sizeof *map->entries);
        if (getentropy(map->key, sizeof map->key))
                map->key[0] = (uintptr_t)map;
        return map;
}

static inline uint64_t rotate_left(uint64_t x, int n) { return x << n | x >> (64 - n); }

static inline void sip_round(uint64_t v[4])
{
        v[0] += v[1]; v[1] = rotate_left(v[1], 13) ^ v[0]; v[0] = rotate_left(v[0], 32);
        v[2] += v[3]; v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] += v[3]; v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] += v[1]; v[1] = rotate_left(v[1], 17) ^ v[2]; v[2] = rotate_left(v[2], 32);
}

/* Hashes by SipHash-1-3 (Aumasson and Bernstein 2012). */
static uint64_t map_hash(const struct map *map, const char *key, size_t length)
{
        uint64_t v[4] = { map->key[0] ^ UINT64_C(0x736f6d6570736575),
                          map->key[1] ^ UINT64_C(0x646f72616e646f6d),
                          map->key[0] ^ UINT64_C(0x6c7967656e657261),
                          map->key[1] ^ UINT64_C(0x7465646279746573) };
        for (size_t i = 0; i <= length; i += 8) {
                uint64_t word = i + 8 > length ? (uint64_t)length << 56 : 0;
                if (i < length)
                        memcpy(&word, key + i, i + 8 > length ? length - i : 8);
                v[3] ^= word;
                sip_round(v);
                v[0] ^= word;
        }
        v[2] ^= 255;
        for (int i = 0; i < 3; i++)
                sip_round(v);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static struct entry *map_find(const struct map *map, const char *key, size_t length, uint64_t hash)
{
        for (size_t i = hash;; i++) {
                struct entry *e = &map->entries[i & (map->capacity - 1)];
                if (!e->value ||
                    (e->hash == hash && e->length == length && !memcmp(e->key, key, length)))
                        return e;
        }
}

void *map_get(const struct map *map, const char *key, size_t length)
{
        return map_find(map, key, length, map_hash(map, key, length))->value;
}

void map_set(struct map *map, const char *key, size_t length, void *value)
{
        uint64_t hash = map_hash(map, key, length);
        struct entry *e = map_find(map, key, length, hash);
        if (e->value) {
                e->value = value;
                return;
        }
        if (2 * (map->count + 1) > map->capacity) {
                struct entry *old = map->entries;
                size_t capacity = map->capacity;
                map->capacity = 2 * capacity;
                map->entries = arena_array(map->arena, map->capacity, sizeof *map->entries);
                for (size_t i = 0; i < capacity; i++)
                        if (old[i].value)
                                *map_find(map, old[i].key, old[i].length, old[i].hash) = old[i];
                e = map_find(map, key, length, hash);
        }
        *e = (struct entry){ arena_copy(map->arena, key, length), length, hash, value };
        map->count++;
}

struct map *map_copy(struct arena *arena, const struct map *map)
{
        struct map *copy = arena_copy(arena, map, sizeof *map);
        copy->arena = arena;
        copy->entries = arena_copy(arena, map->entries, map->capacity * sizeof *map->entries);
        return copy;
}

size_t map_count(const struct map *map)
{
        return map->count;
}

/* ---- growing text ---- */

static void text_reserve(struct text *text, size_t more)
{
        size_t need;
        if (__builtin_add_overflow(text->length, more, &need) ||
            __builtin_add_overflow(need, 1, &need))
                memory_exhausted();
        if (need <= text->capacity)
                return;
        size_t capacity = text->capacity ? text->capacity : 256;
        while (capacity < need)
                capacity *= 2;
        text->data = memory_resize(text->data, capacity);
        text->capacity = capacity;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
        text_reserve(text, length);
        if (length)
                memcpy(text->data + text->length, bytes, length);
        text->length += length;
        text->data[text->length] = 0;
}

void text_add(struct text *text, const char *format, ...)
{
        va_list list, again;
        va_start(list, format);
        va_copy(again, list);
        text_reserve(text, 80);
        int length =
                vsnprintf(text->data + text->length, text->capacity - text->length, format, list);
        if (length > 0 && (size_t)length >= text->capacity - text->length) {
                text_reserve(text, (size_t)length);
                vsnprintf(text->data + text->length, text->capacity - text->length, format, again);
        }
        text->length += (size_t)(length > 0 ? length : 0);
        va_end(again);
        va_end(list);
}

void text_free(struct text *text)
{
        free(text->data);
        *text = (struct text){ 0 };
}

char *text_number(struct arena *arena, double value, bool is_float)
{
        if (isnan(value))
                return arena_string(arena, "nan");
        if (isinf(value))
                return arena_string(arena, value < 0 ? "-inf" : "inf");
        char digits[40];
        /* So many digits survive always, and %g drops zeros; a subnormal number may need fewer. */
        bool subnormal = fabs(value) < (is_float ? (double)FLT_MIN : DBL_MIN);
        for (int precision = subnormal ? 1 : is_float ? 6 : 15;; precision++) {
                snprintf(digits, sizeof digits, "%.*g", precision, value);
                if (is_float ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value)
                        break;
                if (precision > 17)
                        break;
        }
        if (!strpbrk(digits, ".e"))
                strcat(digits, ".0");
        return arena_string(arena, digits);
}

/* Where the rest does not fit behind a *, the last * reaches a character further; earlier ones need
 * not. */
bool text_fits(const char *pattern, const char *name)
{
        const char *star = NULL, *from = NULL;
        while (*name)
                if (*pattern == '*') {
                        star = pattern++;
                        from = name;
                } else if (*pattern == *name) {
                        pattern++;
                        name++;
                } else if (star) {
                        pattern = star + 1;
                        name = ++from;
                } else {
                        return false;
                }
        while (*pattern == '*')
                pattern++;
        return !*pattern;
}
