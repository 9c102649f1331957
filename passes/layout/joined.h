/* SPDX-License-Identifier: MIT */
/* Joined contractions: contractions of the same operand by several constants become one, with their
 * outputs side by side, and so do the element-wise operations that follow all of them alike
 * (joined_sequences.c). Two files decide where: joined_products.c for heads, on targets that launch
 * kernels, and joined_outputs.c by predicted time. */
#ifndef PASSES_LAYOUT_JOINED_H
#define PASSES_LAYOUT_JOINED_H

#include "passes/layout/layout.h"

enum { JOINED_MOST = 8 };               /* At most so many contractions become one. */

/* The struct has the contractions to join. `ends` are the values that each sequence of operations
 * behind a contraction has been followed to; `all` is the value that stands for all of these, NULL
 * as long as it is not known whether there will be one. */
struct joined {
        struct op *ops[JOINED_MOST];
        struct value *ends[JOINED_MOST];
        int count;
        int axis;                       /* Outputs are this dimension of the results, */
        int weights;                    /* and this one of the weights. */
        struct value *all;
};

/* Does the same element-wise operation follow each contraction, with other operands that are
 * constant but along the outputs? */
bool joined_follow(const struct joined *s);
/* Goes on to the results of these operations, and builds one operation for all of them where s->all
 * is set. */
void joined_step(struct layout *l, struct joined *s);
/* Puts dense constants side by side along dimension `at`. */
struct value *joined_constants(struct layout *l, struct value *const *parts, int count, int at);
/* Builds the contraction of all in front of the first one, and all that follows it in `steps`
 * steps: s->all, or NULL. s->ends are the contractions' results before. */
void joined_build(struct layout *l, struct joined *s, int steps);
/* Erases the contractions and the operations behind them, which nobody reads any more. */
void joined_erase(const struct joined *s);

#endif
