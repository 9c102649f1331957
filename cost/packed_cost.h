/* SPDX-License-Identifier: MIT */
/* This is the cost model of convolve_packed with sums in vectors (packed_cost.c): predicted cycles
 * of one core, and the parts that they consist of. */
#ifndef COST_PACKED_COST_H
#define COST_PACKED_COST_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* This is to be computed. */
struct packed_work {
        int spatial;
        int64_t images, groups;
        int64_t channels, blocks, inner;        /* A group has this many words of channels and
                                                 * blocks of x; a block has `inner` words. */
        int64_t word;                           /* A word has this many bytes of x. */
        int64_t step;                           /* Neighbouring positions of a row begin this many
                                                 * bytes apart in x. */
        int64_t outputs, panels, panel; /* For a group: the outputs stored, and the panels; `panel`
                                         * is the outputs of a panel. */
        int64_t weight;                         /* A word has this many bytes of w. */
        int group;                              /* A word has this many channels. */
        enum element sum;
        const struct multiply *multiply;        /* The target multiplies such words by this. */
        bool skips;                     /* The windows have one position each, strides leave gaps
                                         * between them, and x is in whole lines of floats. */
        /* For each dimension, these are the positions, the offsets of the window, and the positions
         * of x that are read. */
        int64_t extent[RANK_MAX], window[RANK_MAX], read[RANK_MAX];
};

struct packed_cost { double cycles, products, loops, results, weights, operand; };

/* Where a run gives extents, the work is that of their bounds. */
struct packed_work packed_work_of(const struct op *op, const struct target *target);
/* Return the bytes, for a group, of an image of x, as far as it is read, and of w. */
double packed_operand_bytes(const struct packed_work *work);
double packed_weights_bytes(const struct packed_work *work);
/* Do tiles read a panel's weights from the second-level cache, since the first one does not hold
 * them until the next tile? */
bool packed_streams(const struct packed_work *work, const struct target *target);
/* Returns how many lines of weights of the next panel a single row of tiles fetches, where an
 * iteration reads `iteration` lines: where weights are widened, a line of them takes at least twice
 * the instructions, and fewer lines may be under way at a time than memory could deliver. */
int packed_lines_ahead(const struct packed_work *work, int64_t iteration,
                       const struct target *target);
/* Returns the extent of the innermost loop of the sums: the channels of a block, or the columns of
 * the window where a block is one channel. */
int64_t packed_last_extent(const struct packed_work *work);
/* Returns the cycles to add one channel at one offset to all sums of a tile. xs is the loads of x,
 * each of which may serve several channels. */
double packed_step(const struct multiply *m, double positions, double vectors, double xs, int split,
                   const struct target *target);
/* Returns the cycles that a strip of part of a row takes besides its share of the row's: `again`
 * columns of positions are decoded by its neighbour, too, and each panel is begun once more. */
double packed_strip(const struct packed_work *work, int64_t again, const struct target *target);
struct packed_cost packed_cost(const struct packed_work *work, const struct schedule_registers *s,
                               const struct target *target);
/* Returns the cost as text: "812 kcycles: 85 % products 10 % weights 5 % results". */
const char *packed_cost_text(struct arena *arena, const struct packed_cost *cost);

#endif
