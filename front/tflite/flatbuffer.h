/* SPDX-License-Identifier: MIT */
/* This reads flatbuffers, the format of TFLite files. Whatever the bytes are, nothing outside of
 * them is read: each offset, vector and text is checked where a table is read, and an error names
 * the byte at which the file is wrong.
 *
 * A schema is rows of tables and fields (tflite_schema.def). Each table becomes a C struct with a
 * member for each field, and a descriptor of which flat_read is driven:
 *
 *      file    u32 root, identifier
 *      table   i32 back to its vtable, fields          offsets of others are u32, forward
 *      vtable  u16 its bytes, u16 the table's bytes, u16 place of each field in the table; 0: preset
 *      vector  u32 count, elements                     a text has a NUL behind them
 *
 * Offsets lead forward alone, so no table holds itself; the schema has no table that can hold one
 * of its own kind, so its depth bounds that of the reader. */
#ifndef FRONT_TFLITE_FLATBUFFER_H
#define FRONT_TFLITE_FLATBUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct flatbuffer {
        const unsigned char *bytes;
        size_t length;
        struct diag *diag;
};

enum flat_kind {
        FLAT_BOOL, FLAT_I8, FLAT_U8, FLAT_I32, FLAT_U32, FLAT_U64,        /* Members are int64_t. */
        FLAT_F32,                       /* The member is a float. */
        FLAT_TABLE,                     /* The member is an int64_t, where the table begins; 0: it
                                         * is absent. */
        FLAT_TEXT, FLAT_BYTES, FLAT_U16S, FLAT_I32S, FLAT_I64S, FLAT_F32S,
        FLAT_TABLES                     /* From FLAT_TEXT on members are struct flat_span. */
};
/* The elements of a vector lie in the file, little endian, at any address. */
struct flat_span { const unsigned char *data; int64_t count; };

struct flat_field {
        const char *name;
        enum flat_kind kind;
        int slot;                       /* It is the field's number in the schema. */
        size_t member;                  /* It is the member's offset in the struct. */
        double preset;                  /* A number that the file leaves out has this value. */
};
struct flat_info {
        const char *name;
        const struct flat_field *fields;
        int count;
        size_t bytes;                   /* It is the size of the struct. */
};

/* Sets *at to where the root table begins. The functions return false after one error. */
bool flat_root(const struct flatbuffer *f, int64_t *at);
/* Reads the table at `at` into the struct of its kind. */
bool flat_read(const struct flatbuffer *f, const struct flat_info *info, int64_t at, void *to);
/* Reads the struct of a table that the file leaves out. */
void flat_preset(const struct flat_info *info, void *to);
/* Sets *at to where table i of a vector begins. */
bool flat_element(const struct flatbuffer *f, const struct flat_span *tables, int64_t i,
                  int64_t *at);
int32_t flat_i32(const struct flat_span *v, int64_t i);
int64_t flat_i64(const struct flat_span *v, int64_t i);
float flat_f32(const struct flat_span *v, int64_t i);

#endif
