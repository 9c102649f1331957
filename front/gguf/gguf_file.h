/* SPDX-License-Identifier: MIT */
/* This reads GGUF files, little-endian, of versions 2 and 3. Each number of the file is checked
 * before anything is read by it, and an error names the byte at which it stands.
 *
 *      "GGUF"  version u32  tensors u64  keys u64
 *      keys:     name, kind u32, value         an array is: kind u32, count u64, elements
 *      tensors:  name, rank u32, extents u64 (the innermost first), type u32, offset u64
 *      data:     from the next multiple of general.alignment on, to which offsets count
 *
 * Texts are: length u64, bytes. gguf_file.c reads the file, gguf_values.c what keys stand for. */
#ifndef FRONT_GGUF_GGUF_FILE_H
#define FRONT_GGUF_GGUF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

enum { GGUF_RANK = 4, GGUF_ALIGNMENT = 32 };

/* How a product reads a tensor. */
enum gguf_form {
        GGUF_NONE,                      /* It is not supported. */
        GGUF_FLOATS,
        GGUF_BLOCKS                     /* It is whole numbers, blocks of which have scales. */
};
enum gguf_type_id {
#define GGUF_TYPE(id, name, numbers, bytes, form) GGUF_TYPE_##name = id,
#include "front/gguf/gguf_types.def"
};
struct gguf_type {
        const char *name;
        int id, numbers, bytes;
        enum gguf_form form;
};
/* Returns the row of gguf_types.def, or NULL. */
const struct gguf_type *gguf_type_find(uint32_t id);

enum gguf_kind {
        GGUF_U8,
        GGUF_I8,
        GGUF_U16,
        GGUF_I16,
        GGUF_U32,
        GGUF_I32,
        GGUF_F32,
        GGUF_BOOL,
        GGUF_TEXT,
        GGUF_ARRAY,
        GGUF_U64,
        GGUF_I64,
        GGUF_F64,
        GGUF_KINDS
};
struct gguf_text {
        const char *bytes;
        size_t length;
};
struct gguf_key {
        struct gguf_text name;
        enum gguf_kind kind;            /* It is that of an array's elements. */
        bool is_array;
        int64_t count;                  /* It is 1 where this is no array. */
        const unsigned char *data;      /* The elements lie here; all of them lie in the file. */
};
struct gguf_tensor {
        struct gguf_text name;
        const char *safe;               /* It is the name, safe to print. */
        int rank;
        int64_t extents[GGUF_RANK];     /* Extents behind the rank are 1. */
        uint32_t type_id;
        const struct gguf_type *type;   /* NULL: there is no row for it. */
        uint64_t offset;                /* It counts from the first byte of data on, */
        size_t place;                   /* and stands at this byte of the file. */
        const unsigned char *data;
        int64_t bytes;                  /* It is 0 where its type is not known. */
        bool used;                      /* The network has read it. */
};
struct gguf_file {
        const unsigned char *bytes;
        size_t length;
        struct diag *diag;
        struct arena *arena;
        uint32_t version;
        struct gguf_key *keys;
        struct gguf_tensor *tensors;
        int key_count, tensor_count;
        struct map *by_key, *by_tensor; /* These map names to structs. */
};

/* Reads all but the data of tensors. A file has at most `most` keys, and as many tensors. Returns
 * false after one error. */
bool gguf_read(struct gguf_file *f, int64_t most);

/* Returns the little-endian number of so many bytes, which lie at p. */
uint64_t gguf_number(const unsigned char *p, int bytes);
/* Returns the bytes of a number of this kind; 0: it is a text or an array. */
int gguf_kind_bytes(enum gguf_kind kind);
/* Each of these finds a key of this name; it returns false where there is none, or one of another
 * kind. Integers of all kinds are numbers, and a bool is 0 or 1. */
const struct gguf_key *gguf_find(const struct gguf_file *f, const char *name);
bool gguf_integer(const struct gguf_key *k, int64_t i, int64_t *value);
bool gguf_float(const struct gguf_key *k, int64_t i, double *value);
/* Returns the text that begins at *at, an array's element or a value, and sets *at behind it. */
struct gguf_text gguf_text_next(const unsigned char **at);

#endif
