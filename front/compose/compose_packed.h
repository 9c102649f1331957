/* SPDX-License-Identifier: MIT */
/* Packed sequences have different lengths, and lie one behind the other as rows of one matrix. Only
 * a run knows the lengths; how many rows and how many sequences there are is known here. */
#ifndef FRONT_COMPOSE_COMPOSE_PACKED_H
#define FRONT_COMPOSE_COMPOSE_PACKED_H

#include "front/compose/compose.h"

struct compose_packed {
        int64_t rows, sequences;
        struct value *begins, *lengths; /* They are i64 [sequences], the first row of each, and its
                                         * number of rows. */
        struct value *sequence, *place; /* They are i64 [rows], the sequence that a row is of, and
                                         * its place there. */
};
/* Reads limits [sequences + 1], of i32: sequence i has the rows from limits[i] up to limits[i + 1].
 * Returns false after an error. */
bool compose_packed_read(struct compose *c, struct value *limits, int64_t rows,
                         struct compose_packed *p);
/* Returns x [rows, columns] with each row replaced by the one that stands `distance` rows before it
 * in its sequence, which goes on in front with past [sequences, length, columns]. */
struct value *compose_packed_before(struct compose *c, const struct compose_packed *p,
                                    struct value *x, struct value *past, int64_t distance);
/* Returns what past is once the first `counts` (i64 [sequences]) rows of each sequence of x have
 * been put behind it, and as many rows have been taken from its front. */
struct value *compose_packed_append(struct compose *c, const struct compose_packed *p,
                                    struct value *x, struct value *past, struct value *counts);

/* Returns the first `counts` (i64 [sequences]) rows of each sequence of x, at most `places` of
 * them, as [sequences, places, columns]; places that none of these rows has are 0. */
struct value *compose_packed_apart(struct compose *c, const struct compose_packed *p,
                                   struct value *x, struct value *counts, int64_t places);
/* Returns x [sequences, places, columns] as rows, each from its place in its sequence. */
struct value *compose_packed_joined(struct compose *c, const struct compose_packed *p,
                                    struct value *x);

#endif
