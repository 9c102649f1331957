/* SPDX-License-Identifier: MIT */
/* Chains: contractions (and pools) of one kernel, each of what the one before makes, that can be
 * computed strip by strip. */
#ifndef KERNELS_LAYER_CHAIN_H
#define KERNELS_LAYER_CHAIN_H

#include "kernels/access.h"

enum { LAYER_CHAIN_MAX = 4, LAYER_CHAIN_ROWS = 2 };   /* the dimension that strips cut */

struct layer_chain_link {
        struct op *op;                  /* the contraction or pool */
        struct value *result;           /* of the epilogue of `op`, as it lies between this link
                                         * and the next */
        struct op *pad;                 /* the halo that the next link reads around `result`, or
                                         * NULL */
};

/* Every link but the first reads the result of the one before and nothing else of this kernel. All
 * but one of these are pointwise along the rows: row k of what they make needs row k of what they
 * read. */
struct layer_chain {
        int count;
        struct layer_chain_link links[LAYER_CHAIN_MAX];
        int wide;                       /* the link that is not pointwise, or 0 */
        struct access y;                /* where the last result is stored */
};

/* The chain that makes `result`, in a region or (NULL) of the contraction op alone; false when it
 * is none. */
bool layer_chain_find(const struct region *region, struct op *op, struct value *result,
                struct layer_chain *chain);
/* Would both be one chain, the second reading what the first makes? */
bool layer_chain_joins(const struct layer_chain *first, const struct layer_chain *second);

/* ---- along the rows ---- */

int64_t layer_chain_stride(const struct op *op);
int64_t layer_chain_reach(const struct op *op);         /* rows of x that one row needs, with those
                                                   * between */
int64_t layer_chain_low(const struct op *op); /* rows before the first one of x that windows
                                               * reach and leave out */

#endif
