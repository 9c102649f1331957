/* SPDX-License-Identifier: MIT */
/* A layer chain consists of contractions and pools of one kernel, each reading the result of the
 * one before, that can be computed strip by strip. */
#ifndef KERNELS_LAYER_CHAIN_H
#define KERNELS_LAYER_CHAIN_H

#include "kernels/access.h"

/* LAYER_CHAIN_ROWS is the dimension that is split into strips. */
enum { LAYER_CHAIN_MAX = 4, LAYER_CHAIN_ROWS = 2 };

struct layer_chain_link {
        struct op *op;                  /* This is the contraction or pool. */
        struct value *result;           /* The epilogue of `op` makes this result, as it lies
                                         * between this link and the next. */
        struct op *pad;                 /* The next link reads `result` in this halo; NULL: there is
                                         * none. */
};

/* Every link but the first reads the result of the one before and nothing else of this kernel. All
 * links but at most one are pointwise along the rows: row k of the result needs row k of the
 * operand only. */
struct layer_chain {
        int count;
        struct layer_chain_link links[LAYER_CHAIN_MAX];
        int wide;                       /* This link is not pointwise; 0: all are. */
        struct access y;                /* The last result is stored here. */
};

/* Finds the chain that makes `result`, in a region, or (region NULL) of the contraction op alone.
 * Returns false where there is none. */
bool layer_chain_find(const struct region *region, struct op *op, struct value *result,
                struct layer_chain *chain);
/* Would both be one chain, in which the second reads what the first makes? */
bool layer_chain_joins(const struct layer_chain *first, const struct layer_chain *second);

/* ---- what a link needs along the rows ---- */

int64_t layer_chain_stride(const struct op *op);
/* Returns the rows of x that one row of the result needs, from the first to the last. */
int64_t layer_chain_reach(const struct op *op);
/* Returns the rows before the first row of x that windows reach. */
int64_t layer_chain_low(const struct op *op);

#endif
