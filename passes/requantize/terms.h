/* SPDX-License-Identifier: MIT */
/* Bytes of several whole numbers that floats scale and add up.
 *
 *      y = cast(round(bound((cast(s) * @a + @b + cast(q) * c) / d)) + zero)
 *        =  bound(round(one + of[0] * s + of[1] * q))             in exact numbers
 *
 * s is the sum of a layer, q bytes of another branch. What is constant may differ along one
 * dimension. (terms.c) */
#ifndef PASSES_REQUANTIZE_TERMS_H
#define PASSES_REQUANTIZE_TERMS_H

#include "ir/tensor/tensor.h"

enum { TERMS_SOURCES = 4 };

/* what is added, the zero point with it, and the factor of each source, at one place of the
 * dimension */
struct line {
        double one, of[TERMS_SOURCES];
};

struct terms {
        const struct type *type; /* of the bytes */
        struct value *sources[TERMS_SOURCES]; /* of integers, of up to 32 bits */
        double zeros[TERMS_SOURCES]; /* what is taken off each first, of bytes; in the lines */
        int source_count, along; /* -1: numbers do not differ */
        int64_t places; /* of that dimension, or 1 */
        struct line *lines; /* at each place */
        double zero, low, high; /* of the byte: its zero point, bounds */
};

/* What op, which makes bytes, is a line of. False: it is none. Lines lie in the arena. */
bool terms_find(struct arena *arena, const struct op *op, struct terms *t);
/* The byte that a whole number becomes, by t's bounds; NULL of NULL, and after an error. */
struct value *terms_byte(struct builder *b, const struct terms *t, struct value *whole);

#endif
