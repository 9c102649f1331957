/* SPDX-License-Identifier: MIT */
/* Attention as one kernel: two products, with operations on rows between them. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include <string.h>

#include "ir/target/target.h"
#include "kernels/access.h"

/* The parts of an attention kernel. Values have G groups, R rows and C columns (keys). */
struct attention {
        /* The two products: queries by keys, and the shares by values. */
        struct op *first, *second;
        /* The result of the first product's epilogue, of shape <1 x G x R x C>. */
        struct value *scores;
        /* The shares are computed from the scores, row by row. */
        struct value *shares;
        /* What the second product reads: the shares, or the shares rounded to bf16 and padded with
         * zeros behind the last column. */
        struct value *multiplied;
        /* A value with one number per row that is also computed from the scores and that the second
         * product's epilogue needs; or NULL. */
        struct value *per_row;
        /* The sum of a row's shares, where the shares are exp(score - largest score of the row) and
         * the result is divided by the sum, as in a softmax; or NULL. */
        struct value *sum;
        /* The result of the second product's epilogue, before the moves at the end of the kernel; y
         * says where these moves store it. */
        struct value *result;
        struct access y;
};

/* Does a kernel with this region and result compute attention? Fills in `attention` then. */
bool attention_find(const struct region *region, struct value *result, struct attention *attention);

/* Returns the concat of the region that joins old and new keys (or values), or NULL where there is
 * none. */
const struct op *attention_concat(const struct region *region, const struct value *keys);

/* Which columns of a row count: of row r, columns r % rows + low .. r % rows + high. The shares of
 * all other columns are known to be 0 (see attention_mask.c). */
struct band { int64_t low, high, rows; };
struct band attention_band(const struct attention *attention);

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
