/* SPDX-License-Identifier: MIT */
/* NumPy keeps arrays in .npy files, and in .npz, which is a zip of them, stored or deflated. Bytes
 * are as hostile as any input.
 *
 * The sources are NumPy's format notes (numpy.lib.format), versions 1 to 3; APPNOTE.TXT of PKWARE
 * with the 64-bit extensions; and RFC 1951 by zlib. */
#ifndef COMPILER_NPZ_H
#define COMPILER_NPZ_H

#include <stdio.h>

#include "ir/tensor/tensor.h"

/* An array is row major; its data are bytes as in the file, little endian, at any address. Texts of
 * NumPy's type S (bytes, u8) or U (code points, u32) are rows of as many elements as the longest of
 * them has, with zeros behind a shorter one. */
struct array {
        enum element element;
        int64_t text;                   /* Texts have so many elements, the last extent; 0: they are
                                         * numbers. */
        int rank;
        int64_t dims[RANK_MAX];
        const unsigned char *data;
        size_t bytes;
};

/* Reads an array of a file's bytes, which it refers to. Returns NULL, or what is wrong with it: a
 * part of a sentence. */
const char *npy_read(const unsigned char *bytes, size_t length, struct array *array);

/* Returns the text "<2 x 3 x f32>". */
const char *array_text(struct arena *arena, const struct array *a);
/* Returns what NumPy has for an element type: the type, or that of its bits. */
enum element npy_element(enum element e);
/* Writes dense data to a file, as texts where is_text says that the last extent is of their bytes;
 * ferror() tells whether that failed. */
void npy_write(FILE *file, enum element e, int rank, const int64_t *dims, const void *data,
               size_t bytes, bool is_text);

/* This is a member of a zip file, which lies in the file's bytes. */
struct zip_member {
        const char *name;               /* It has name_length bytes. */
        size_t name_length;
        const unsigned char *packed;
        size_t packed_size, size;
        unsigned crc, method;           /* The method is 0 where it is stored, 8 where it is
                                         * deflated. */
};
/* Finds all members, in the order of the directory. Returns NULL, or what is wrong: a part of a
 * sentence. */
const char *zip_read(struct arena *arena, const unsigned char *bytes, size_t length,
                     struct zip_member **members, int *count);
/* A stream gives a member's bytes a piece at a time: a member of gigabytes takes no memory. */
struct zip_stream;
/* The member, and the file's bytes, have to stay. */
struct zip_stream *zip_open(const struct zip_member *member);
void zip_close(struct zip_stream *stream);                /* NULL is allowed. */
/* Gets `bytes` of them from `at` on. It is fast in order; behind what was read it begins anew. With
 * the last byte, the checksum is looked at. Returns NULL, or what is wrong. */
const char *zip_get(struct zip_stream *stream, size_t at, void *to, size_t bytes);
/* Reads the array that a member is: its data is NULL, and begins at *start. Returns NULL, or what
 * is wrong. */
const char *zip_array(struct zip_stream *stream, struct array *array, size_t *start);

#endif
