/* SPDX-License-Identifier: MIT */
/* Attention: two products of one kernel, with rows between them. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include <string.h>

#include "ir/target/target.h"
#include "kernels/access.h"

/* What each value holds of G groups, R rows and C columns (keys). */
struct attention {
        /* convolve_packed: queries by keys, and what becomes of that by values */
        struct op *first, *second;
        /* what the first one's epilogue makes, <1 x G x R x C> */
        struct value *scores;
        /* made of the scores, row by row */
        struct value *shares;
        /* what the second one reads: the shares, or those rounded to bf16, with zeros behind
         * them */
        struct value *multiplied;
        /* also made of the scores, and needed by the second one's epilogue; or NULL */
        struct value *per_row;
        /* of a row's shares, where they are exp(score - the row's largest) and the result is
         * divided by it, as a softmax's; or NULL */
        struct value *sum;
        /* of that epilogue, as it lies before the moves at the end; and where those store it */
        struct value *result;
        struct access y;
};

/* Is that what a kernel with this region and result computes? */
bool attention_find(const struct region *region, struct value *result, struct attention *attention);

/* what puts keys (or values) together behind each other, in the region; NULL: nothing does */
const struct op *attention_concat(const struct region *region, const struct value *keys);

/* Of row r, no columns count but r % rows + low .. r % rows + high: the shares of the others are
 * known to be 0. (attention_mask.c) */
struct band { int64_t low, high, rows; };
struct band attention_band(const struct attention *attention);

/* dimensions alike but for the columns */
static inline bool attention_same_rows(const struct type *a, const struct type *b)
{
        return a->rank == 4 && b->rank == 4 && !memcmp(a->dims, b->dims, 3 * sizeof *a->dims);
}

/* elements of a whole row of scores in memory: whole cache lines */
static inline int64_t attention_columns(const struct attention *a, const struct target *t)
{
        return round_up(type_extent(a->scores->type, 3), target_line(t, a->scores->type->element));
}

#endif
