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
        bool turned;                    /* Rows of an image are its columns, and so are those of the
                                         * result. */
};

/* Should a convolution, whose multiply takes words of `group` elements, be one of neighbours? */
bool layout_wants_neighbours(const struct target *target, const struct op *op, int64_t group);
/* Builds the operands; w holds the decoded weights. Returns false after an error. */
bool layout_neighbours(struct layout *l, const struct op *op, struct value *w, int64_t group,
                       struct neighbours *n);
/* Returns a result in blocks whose rows are columns as the result of the convolution. */
struct value *layout_turned_back(struct layout *l, struct value *y);
/* Turns such results back behind the element-wise operations on them, in whose kernels they are
 * computed, rather than in front of these. */
void layout_sink_turned(struct layout *l, const struct region *region);

#endif
