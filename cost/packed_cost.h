/* SPDX-License-Identifier: MIT */
/* The cost model of convolve_packed with sums in vectors (packed_cost.c): predicted cycles of
 * one core, and what they are made of. */
#ifndef COST_PACKED_COST_H
#define COST_PACKED_COST_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* what is to be computed */
struct packed_work {
        int spatial;
        int64_t images, groups;
        int64_t channels, blocks, inner;        /* of a group: words of channels, blocks of x, words
                                                 * in a block */
        int64_t word;                           /* bytes of x in a word */
        int64_t outputs, panels, panel; /* of a group: outputs stored, panels; outputs of a panel */
        int64_t weight;                         /* bytes of w in a word */
        int group;                              /* channels of a word */
        enum element sum;
        const struct multiply *multiply;        /* of the target, for such words */
        bool skips;                     /* windows of one position each, which strides set apart; x
                                         * in whole lines of floats */
        /* positions; offsets; positions of x that are read */
        int64_t extent[RANK_MAX], window[RANK_MAX], read[RANK_MAX];
};

struct packed_cost { double cycles, products, loops, results, weights, operand; };

struct packed_work packed_work_of(const struct op *op, const struct target *target);
/* of a group: of an image of x, as far as it is read; of w */
double packed_operand_bytes(const struct packed_work *work);
double packed_weights_bytes(const struct packed_work *work);
/* lines of weights that a row alone fetches of the next panel, of `iteration` lines that an
 * iteration reads: where weights are widened, a line of them takes twice the instructions or
 * more, and fewer lines may be on their way at a time than memory could bring */
int packed_lines_ahead(const struct packed_work *work, int64_t iteration,
                       const struct target *target);
/* of the innermost loop of the sums: channels of a block, or columns of the window where a block is
 * one channel */
int64_t packed_last_extent(const struct packed_work *work);
/* One channel at one offset, added to all sums of a tile: cycles. xs: loads of x, which may be
 * of several channels. */
double packed_step(const struct multiply *m, double positions, double vectors, double xs, int split,
                   const struct target *target);
struct packed_cost packed_cost(const struct packed_work *work, const struct schedule_registers *s,
                               const struct target *target);
/* "812 kcycles: 85 % products 10 % weights 5 % results" */
const char *packed_cost_text(struct arena *arena, const struct packed_cost *cost);

#endif
