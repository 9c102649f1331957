/* SPDX-License-Identifier: MIT */
/* Attention is computed as one kernel: two products, with operations on rows between them. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include <string.h>

#include "ir/target/target.h"
#include "kernels/access.h"

/* An attention kernel has these parts. Values have G groups, R rows and C columns (keys). */
struct attention {
        /* The first product multiplies queries by keys, the second one the shares by values. */
        struct op *first, *second;
        /* The first product's epilogue makes the scores, <1 x G x R x C>. */
        struct value *scores;
        /* The shares are computed from the scores, row by row. */
        struct value *shares;
        /* The second product reads this: the shares, or the shares rounded to bf16 and padded with
         * zeros after the last column. */
        struct value *multiplied;
        /* This value has one number per row. It is also computed from the scores, and the second
         * product's epilogue needs it; NULL: there is none. */
        struct value *per_row;
        /* This is the sum of a row's shares, where the shares are exp(score - largest score of the
         * row) and the result is divided by the sum, as in a softmax; or NULL. */
        struct value *sum;
        /* These are exp(score - largest score of the row), where the shares are these divided by
         * their sum, or times its reciprocal; or NULL. */
        struct value *powers;
        /* The result of the second product's epilogue, before the moves at the end of the kernel; y
         * says where these moves store it. */
        struct value *result;
        struct access y;
};

struct emit;
struct kernel_request;
struct loop_buffer;

/* From so many rows on, attention of as many keys as a run gives is one kernel. */
enum { ATTENTION_OPEN_ROWS = 4 };

/* Does a kernel with this region and result compute attention? Fills in `attention` then. */
bool attention_find(const struct region *region, struct value *result, struct attention *attention);

/* Returns the concat of the region that joins old and new keys (or values), or NULL where there is
 * none. */
const struct op *attention_concat(const struct region *region, const struct value *keys);

/* Of row r, columns shift + r % turn + low .. shift + r % turn + high count. The shares of all
 * other columns are known to be 0 (see attention_mask.c). shift and turn may be what a run gives,
 * as the number of keys in front of the rows' own, and of rows that share a mask, are; rows is
 * turn, or its bound. */
enum { ATTENTION_FAR = INT32_MAX };     /* A band without such a bound has this one. */
struct band { int64_t low, high, rows; dim_t turn, shift; };
struct band attention_band_open(const struct attention *attention);
/* Returns a band of shift 0 whose turn is a number, or all rows: all columns where it is
 * another. */
struct band attention_band(const struct attention *attention);

/* Writes attention of products of matrices whose rows or keys a run gives (attention_open.c). */
bool attention_open(struct emit *e, const struct kernel_request *request,
                    const struct attention *attention, struct loop_buffer *buffer);

/* Do both types have the same dimensions, columns left out? */
static inline bool attention_same_rows(const struct type *a, const struct type *b)
{
        return a->rank == 4 && b->rank == 4 && !memcmp(a->dims, b->dims, 3 * sizeof *a->dims);
}

/* Returns the elements that a row of scores takes in memory: it is rounded up to whole cache
 * lines. */
static inline int64_t attention_columns(const struct attention *a, const struct target *t)
{
        return round_up(type_extent(a->scores->type, 3), target_line(t, a->scores->type->element));
}

#endif
