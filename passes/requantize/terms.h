/* SPDX-License-Identifier: MIT */
/* Terms describe bytes made of several whole numbers that floats scale and add up.
 *
 *      y = cast(round(bound((cast(s) * @a + @b + cast(q) * c) / d)) + zero)
 *        =  bound(round(one + of[0] * s + of[1] * q))             in exact numbers
 *
 * s is the sum of a layer, q is bytes of another branch. Constants may differ along one dimension
 * (terms.c). */
#ifndef PASSES_REQUANTIZE_TERMS_H
#define PASSES_REQUANTIZE_TERMS_H

#include "ir/tensor/tensor.h"

enum { TERMS_SOURCES = 4 };

/* A line is what is added, with the zero point, and the factor of each source, at one place of the
 * dimension. */
struct line {
        double one, of[TERMS_SOURCES];
};

struct terms {
        const struct type *type; /* The bytes have this type. */
        struct value *sources[TERMS_SOURCES]; /* The sources are integers of up to 32 bits. */
        double zeros[TERMS_SOURCES]; /* This zero point is subtracted first from sources of bytes;
                                      * the lines include it. */
        int source_count, along; /* -1: the numbers do not differ. */
        int64_t places; /* That dimension has this extent; without one, it is 1. */
        struct line *lines; /* There is one at each place. */
        double zero, low, high; /* The byte has this zero point and these bounds. */
};

/* Finds the line that op, which makes bytes, rounds. Returns false if there is none. Lines lie in
 * the arena. */
bool terms_find(struct arena *arena, const struct op *op, struct terms *t);
/* Builds the byte that a whole number becomes, by t's bounds. Returns NULL of NULL, and after an
 * error. */
struct value *terms_byte(struct builder *b, const struct terms *t, struct value *whole);

#endif
