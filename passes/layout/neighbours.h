/* SPDX-License-Identifier: MIT */
/* Convolutions of few channels by words of neighbouring elements (neighbours.c). */
#ifndef PASSES_LAYOUT_NEIGHBOURS_H
#define PASSES_LAYOUT_NEIGHBOURS_H

#include "passes/layout/layout.h"

/* The operands of the convolution of words: x is [N, 1, S.., group], and w [M, group, K..]; the
 * last of the strides and dilations count elements of a row. */
struct neighbours {
        struct value *x, *w;
        int64_t strides[RANK_MAX], dilations[RANK_MAX];
};

/* Should a convolution, whose multiply takes words of `group` elements, be one of neighbours? */
bool layout_wants_neighbours(const struct target *target, const struct op *op, int64_t group);
/* Builds the operands; w holds the decoded weights. Returns false after an error. */
bool layout_neighbours(struct layout *l, const struct op *op, struct value *w, int64_t group,
                       struct neighbours *n);

#endif
