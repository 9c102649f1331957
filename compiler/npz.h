/* SPDX-License-Identifier: MIT */
/* Arrays of NumPy: .npy files, and .npz, which is a zip of them, stored or deflated. Bytes are
 * hostile as any input.
 *
 * Sources: NumPy's format notes (numpy.lib.format), versions 1 to 3; APPNOTE.TXT of PKWARE with the
 * 64-bit extensions; RFC 1951 by zlib. */
#ifndef COMPILER_NPZ_H
#define COMPILER_NPZ_H

#include <stdio.h>

#include "ir/tensor/tensor.h"

/* row major; data: bytes as in the file, little endian, at any address */
struct array {
        enum element element;
        int rank;
        int64_t dims[RANK_MAX];
        const unsigned char *data;
        size_t bytes;
};

/* Of a file's bytes, which the array keeps to. NULL, or what is wrong with it: a part of a
 * sentence. */
const char *npy_read(const unsigned char *bytes, size_t length, struct array *array);

const char *array_text(struct arena *arena, const struct array *a);         /* "<2 x 3 x f32>" */
/* What NumPy has for an element type: the type, or that of its bits. */
enum element npy_element(enum element e);
/* A file of dense data, which ferror() speaks of. */
void npy_write(FILE *file, enum element e, int rank, const int64_t *dims, const void *data,
               size_t bytes);

/* A member of a zip file, which lies in the file's bytes. */
struct zip_member {
        const char *name;               /* name_length bytes */
        size_t name_length;
        const unsigned char *packed;
        size_t packed_size, size;
        unsigned crc, method;           /* 0: stored, 8: deflated */
};
/* All of them, in the order of the directory; NULL, or what is wrong: a part of a sentence. */
const char *zip_read(struct arena *arena, const unsigned char *bytes, size_t length,
                     struct zip_member **members, int *count);
/* Its bytes, a piece at a time: a member of gigabytes takes no memory. */
struct zip_stream;
/* member, and the file's bytes, stay */
struct zip_stream *zip_open(const struct zip_member *member);
void zip_close(struct zip_stream *stream);                /* NULL is fine */
/* `bytes` of them from `at` on. Fast in order; behind what was read it begins anew. With the last
 * byte, the checksum is looked at. NULL, or what is wrong. */
const char *zip_get(struct zip_stream *stream, size_t at, void *to, size_t bytes);
/* The array that a member is: its data is NULL, and begins at *start. NULL, or what is wrong. */
const char *zip_array(struct zip_stream *stream, struct array *array, size_t *start);

#endif
