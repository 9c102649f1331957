/* SPDX-License-Identifier: MIT */
/* Sparse numbers: the positions of some elements of a tensor and their values. All other elements
 * are zero (all bits 0). The tensor is what they mean; sparse_dense makes it, in one place, for
 * whatever does not know this form, and until then memory is bounded by the values.
 *
 *     elements     12:  0 0 7 0 0 0 0 0 -1 0 0 4
 *     positions     3:  2, 8, 11        numbers of elements in row-major order, ascending
 *     values        3:  7, -1, 4 */
#ifndef IR_SPARSE_H
#define IR_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/element.h"

struct store;

struct sparse {
        enum element element;
        int64_t elements; /* The tensor has so many. */
        int64_t count; /* 1 to elements - 1. */
        const int64_t *positions; /* [count] */
        const void *values; /* [count], little endian, at any address. */
        struct store *store; /* The dense tensor gets its memory here. */
        const void *dense; /* NULL: nobody has asked for it. */
};

/* A sparse tensor of so many bytes may be 64 times as large when it is dense, without counting
 * against --limit sparse_bytes. */
enum { SPARSE_FACTOR = 64 };

/* Returns the first i whose position is outside of the tensor or not behind the position before it,
 * or count where there is none. */
int64_t sparse_first_wrong(const int64_t *positions, int64_t count, int64_t elements);
/* Says what is wrong with positions[i]: "outside", "twice" or "out of order". */
const char *sparse_fault(const int64_t *positions, int64_t i, int64_t elements);
/* Returns the bytes of positions and values. */
int64_t sparse_bytes(const struct sparse *s);
/* Are the dense tensor's bytes more than SPARSE_FACTOR times what is held, and `limit` beyond? */
bool sparse_is_too_large(int64_t bytes, int64_t held, int64_t limit);
/* Returns where the value of an element lies, or NULL: it is zero. */
const void *sparse_find(const struct sparse *s, int64_t element);
/* Returns the dense tensor, which is made the first time. It is the store's, as long as a constant
 * of the sparse tensor is kept. */
const void *sparse_dense(struct sparse *s);
/* Keeps its memory in a sweep of the store. */
void sparse_keep(const struct sparse *s, struct store *store);

#endif
