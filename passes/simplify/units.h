/* SPDX-License-Identifier: MIT */
/* Units: the channels that contractions make and read, followed through all that stands between
 * them, as the rules convolve_units and dot_units see them.
 *
 * A member is a dimension of a value whose indices are units. Where an operation's result has the
 * units of an operand, links say which index of the operand is which of the result; indices that
 * are linked leave together or not at all (they are of one class). So each summand of a residual
 * sum keeps what another summand needs. A pinned member keeps all its indices: the caller sees it,
 * or an operation that is not followed reads or makes it.
 *
 *   contraction, by constant weights     reads units of x along what it sums over, makes units of
 *                                        its result; the two are not linked
 *   element-wise, broadcast, transpose,  index for index
 *   gather, reduce, reduce_window
 *   convolve of each channel by itself   result j is of channel j / multiplier
 *   concat, slice, pad along the units   index j + low: other indices of the larger value are free
 *   reshape                              by elements: of C x H x W in a row, j is of channel
 *                                        j / (H * W) */
#ifndef PASSES_SIMPLIFY_UNITS_H
#define PASSES_SIMPLIFY_UNITS_H

#include "passes/simplify/simplify.h"

struct member {
        struct value *v;
        int dim;
        int64_t extent, first;          /* Its indices have the numbers first .. first + extent - 1
                                         * among those of all members. */
        bool pinned;
        int64_t kept;                   /* So many of its indices stay. */
        struct value *fewer;            /* The value without the others, once it is built. */
};

enum number_state { NUMBER_UNSET, NUMBER_KNOWN, NUMBER_VARIES };

struct units {
        struct arena *arena;
        struct module *m;
        struct region *region;          /* All operations that are followed are in this region. */
        struct map *by_place;           /* Members are found here (units_operand). */
        struct map *noted;              /* Operations that touch members are found here. */
        struct member **members;
        int member_count;
        struct op **ops;                /* Those operations are here, in program order. */
        int op_count;
        bool partial;                   /* An operation links some indices of a member alone. */
        bool failed;
        int64_t total;                  /* All members have so many indices. */
        int64_t *parent;                /* [total]: the forest of classes. */
        uint8_t *state;                 /* [total]: enum number_state. */
        uint64_t *bits;                 /* [total]: the number that all elements at a KNOWN index
                                         * are, whatever the inputs are, as its bytes. */
        bool *stays;                    /* [total], for roots of the forest: the class stays. */
};

/* ---- units_follow.c ---- */

/* Finds the members and operations that hang together with what `reader`, a contraction, sums over.
 * Returns false where none of its units can leave: nothing is zero, or they are pinned. */
bool units_follow(struct units *u, struct op *reader);
/* Return the member that an operand, or the result, of a noted operation is, or NULL. */
struct member *units_operand(const struct units *u, const struct op *op, int i);
struct member *units_result(const struct units *u, const struct op *op);
/* Return the member that op sums over, or whose indices are its filters; NULL: there is none. */
struct member *units_read(const struct units *u, const struct op *op);
struct member *units_made(const struct units *u, const struct op *op);
/* Returns the dimension of a contraction's weights that is its filters (made), or the channels that
 * it reads. */
int units_weights_dim(const struct op *op, bool made);
bool units_is_depthwise(const struct op *op);
/* Calls visit with each pair of indices that op links, of operand i and of the result. */
typedef void (*link_visitor)(void *context, int64_t from, int64_t to);
void units_links(const struct units *u, const struct op *op, int i, link_visitor visit,
                 void *context);
/* Marks the indices of dimension d of a constant of f32 at which all elements are zeros. */
void units_zeros(const struct constant *c, int d, bool *zero);
/* Counts the elements of the dimensions in front of d, and of those behind it. */
void units_around(const struct type *t, int d, int64_t *outer, int64_t *inner);

/* ---- units_known.c ---- */

/* Finds state and bits of all indices. */
void units_know(struct units *u, struct builder *b);
/* Is index number `id` known to be this zero, of f32? */
bool units_is_zero(const struct units *u, int64_t id);
/* Returns the number of f32 that index number `id` is known to be, or a NaN. */
float units_number(const struct units *u, int64_t id);
/* Does a window see elements of x alone, no zeros around or between them? */
bool units_sees_inside(const struct op *op);

#endif
