/* SPDX-License-Identifier: MIT */
/* Text comes from outside, and text goes out.
 *
 * There are exactly two ways for a name of a model to reach an output: text_identifier makes C
 * identifiers, text_safe makes text for comments and messages. There is no third way: text_argument
 * is for the user's own words. (String literals of generated C go through text_literal, which keeps
 * every byte and escapes all but plain ASCII.) */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* Returns text for comments and messages: letters, digits and _.:/-+ stay where no comment mark can
 * arise; any other byte becomes \xHH; it has at most 64 characters, then "..". */
char *text_safe(struct arena *arena, const char *bytes, size_t length);

/* Returns what the user wrote on the command line, whole, for messages to the user alone: printable
 * ASCII as it is, any other byte as \xHH. */
char *text_argument(struct arena *arena, const char *text);
char *text_argument_part(struct arena *arena, const char *text, size_t length);

/* Returns a word of a command for a POSIX shell, in quotes where it needs them. */
char *text_shell_word(struct arena *arena, const char *text);

/* Returns whether a remark (made of text_safe pieces) may stand on one line, in quotes, and in a
 * comment of C. */
bool text_is_remark(const char *text, size_t length);

/* Returns whether a node is among those of a location, "conv1, relu1"; NULL has none. */
bool text_lists(const char *nodes, const char *node);

/* Returns the body of a C string literal (without quotes) that denotes exactly these bytes; it has
 * no trigraphs. */
char *text_literal(struct arena *arena, const char *bytes, size_t length);

/* This is a set of identifiers in use. text_identifier cleans a name (letters, digits, _; at most
 * 31 characters; no leading digit or underscore), avoids C, C++ and library names and everything
 * already in the set, case ignored, by appending _2, _3, ..., and adds the result. Empty names
 * become `fallback`. */
struct names;
struct names *names_new(struct arena *arena);
/* Returns false where it is already in the set. */
bool names_reserve(struct names *names, const char *identifier);
char *text_identifier(struct names *names, const char *bytes, size_t length, const char *fallback);
enum { TEXT_IDENTIFIER_MAX = 31 };      /* A C identifier has at most so many characters. */
/* Does the pattern, in which * stands for any characters, fit the whole name? */
bool text_fits(const char *pattern, const char *name);
bool text_is_identifier(const char *text);                /* Returns whether it is a C identifier,
                                                           * not reserved, at most 31 letters
                                                           * long. */

/* This is a hash map from byte strings to pointers: SipHash with a random key for each map, so that
 * no chosen set of names is slow. It cannot be walked, so nothing depends on the key. Keys are
 * copied. */
struct map;
struct map *map_new(struct arena *arena);
/* It is NULL where the key is absent. */
void *map_get(const struct map *map, const char *key, size_t length);
/* The value is not NULL. */
void map_set(struct map *map, const char *key, size_t length, void *value);
size_t map_count(const struct map *map);
/* Copies a map, with the keys of the first, which must stay. */
struct map *map_copy(struct arena *arena, const struct map *map);

uint64_t text_hash(const void *bytes, size_t length);

/* This text grows, and is NUL-terminated at any time. */
struct text { char *data; size_t length, capacity; };
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);

/* Returns the shortest decimal that reads back as the same double (where is_float, as the same
 * float); "nan", "inf", "-inf". It always holds one of . e n i, so that it reads as a floating
 * number. */
char *text_number(struct arena *arena, double value, bool is_float);

#endif
