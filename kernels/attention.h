/* Attention: two products of one kernel, with rows between them. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include <string.h>

#include "kernels/access.h"

struct attention {
        struct op *first, *second;      /* convolve_packed: queries by keys, what becomes of that by
                                         * values */
        struct value *scores;           /* what the first one's epilogue makes, <1 x groups x rows x
                                         * columns> */
        struct value *shares;           /* made of the scores, row by row */
        struct value *multiplied;       /* what the second one reads: the shares, or those rounded
                                         * to bf16, with zeros behind them */
        struct value *per_row;          /* also made of them, and needed by the second one's
                                         * epilogue; or NULL */
        struct value *sum;              /* of a row's shares, where they are exp(score - the row's largest) and the result is
                                           divided by it, as a softmax's; or NULL */
        struct value *result;           /* of that epilogue, as it lies before the moves at the
                                         * end */
        struct access y;                /* where those store it */
};

/* Is that what a kernel with this region and result computes? */
bool attention_find(const struct region *region, struct value *result, struct attention *attention);

/* Of row r, no columns count but r % rows + low .. r % rows + high: the shares of the others are
 * known to be 0. (attention_mask.c) */
struct band { int64_t low, high, rows; };
struct band attention_band(const struct attention *attention);

/* dimensions alike but for the columns */
static inline bool attention_same_rows(const struct type *a, const struct type *b)
{
        return a->rank == 4 && b->rank == 4 && !memcmp(a->dims, b->dims, 3 * sizeof *a->dims);
}

/* elements of a whole row of scores in memory */
static inline int64_t attention_columns(const struct attention *a)
{
        return (a->scores->type->dims[3] + 15) / 16 * 16;
}

#endif
