/* SPDX-License-Identifier: MIT */
/* The cost model of products whose sums lie in fragments of warps (warp_cost.c): predicted seconds
 * of one launch. */
#ifndef ENGINES_GRID_WARP_COST_H
#define ENGINES_GRID_WARP_COST_H

#include <stdbool.h>

#include "ir/target/target.h"

/* The work of one block, by iteration of its loop over channels, and the number of blocks and
 * iterations. */
struct warp_work {
        double blocks;                  /* of the launch */
        double iterations;              /* iterations of a block */
        double multiplies;              /* MMA instructions of a block in an iteration, as the
                                         * target's multiply counts them */
        double copied, read;            /* bytes of operands in an iteration: copied into shared
                                         * memory; read from it by the block's warps */
        double copied_w;                /* bytes of weights among the copied ones */
        double x_copies, w_copies;      /* copies of 16 bytes that a lane starts in an iteration, of
                                         * x and of weights */
        double instructions;            /* that a warp issues in an iteration besides MMA and copies
                                         * / */
        bool windows;                   /* where a position's row begins depends on offsets of a
                                         * window, and on a border */
        double rows;                    /* positions whose sums a warp has */
        double tile;                    /* positions of a block, if it goes on with whole rows */
        double operands, results;       /* bytes of the launch, each counted once */
        double partial;                 /* bytes of partial sums that are added up behind the blocks
                                         * (split-K); 0: there are none */
        int cluster;                    /* blocks of a cluster that keeps the sums in distributed
                                         * shared memory; 0: no cluster */
        int across;                     /* blocks of the cluster that lie side by side and have
                                         * whole rows, which warps go on with; 0: none */
        double length;                  /* elements of a row of the results, which the blocks across
                                         * have */
        double fused_pool;              /* positions that a lane reduces over, so that results are
                                         * not stored; 0: it stores them */
        double columns;                 /* outputs of a block that lanes reduce so */
        bool cold;                      /* operands come from memory, not from L2
                                         * (warps_are_cold) / */
        int stages;                     /* iterations whose operands lie in shared memory at a time
                                         * / */
        int warps, registers;           /* warps of a block; registers of a lane */
        int64_t shared;                 /* bytes of shared memory of a block */
};

/* Do a program's constants, `bytes` in all, come from memory in every run? L2 also holds
 * intermediate results: half of it keeps constants from one run to the next. */
bool warps_are_cold(const struct gpu *g, double bytes);
/* Blocks that are resident on a multiprocessor at a time (occupancy); 0: not even one fits. */
int warps_resident(const struct gpu *g, const struct warp_work *work);
/* Registers of a lane that nvcc 13 needs for `rows` fragments of positions by `columns` fragments
 * of outputs of m, with `lane` sums of the lane in each fragment, if the lane copies `words` words
 * of 16 bytes in an iteration. */
int warps_registers(const struct multiply *m, int rows, int columns, int lane, int words);
/* Cycles that `blocks` blocks of a multiprocessor spend in their cluster, besides those for the
 * sums: barriers, and reads of each other's shared memory. 0: the blocks are in no cluster. */
double warps_cluster_cost(const struct target *t, const struct warp_work *work, double blocks);
/* Seconds of a separate launch that reduces each of `rows` rows of a product's results, of `length`
 * elements, and stores as many. */
double warps_rows_cost(const struct target *t, double rows, double length);
/* Seconds of a separate launch that reduces over `positions` positions of each of `columns` columns
 * of a product's results. */
double warps_pool_cost(const struct target *t, double positions, double columns);
/* Waves of the launch's blocks: how often the busiest multiprocessor is filled. */
double warps_waves(const struct gpu *g, const struct warp_work *work);
/* Cycles from an instruction of a warp to its next one, with `warps` warps on a multiprocessor: a
 * lone warp waits for its own results; of several warps on a scheduler, instructions are issued one
 * after the other. */
double warps_pace(const struct target *t, double warps);
/* Attention (engines/grid/attention_warps.c). */
struct attention_work {
        struct warp_work of;            /* an iteration goes over a block of keys; its instructions
                                         * are all but loads of operands and MMA */
        double once;                    /* instructions of a warp outside of the iterations */
        double first;                   /* bytes that a block waits for before its first
                                         * iteration / */
        double scores;                  /* share of an iteration's MMA that makes scores, from 0 to
                                         * 1 */
};
/* Seconds of the launch. */
double warps_attention_cost(const struct target *t, const struct multiply *m,
                            const struct attention_work *work);
/* Registers of a lane whose warp has `rows` rows of scores, `keys` keys in an iteration, and
 * `width` channels of values. */
int warps_attention_registers(const struct multiply *m, int rows, int keys, int width);
/* Attention of few rows, as in a decoder's step (engines/grid/attention_row_warps.c). */
struct row_attention {
        double blocks;                  /* of the launch */
        double keys;                    /* of a row that a block has */
        double depth, width;            /* channels of keys; channels of values */
        double iterations;              /* iterations of a block's warps over its keys */
        double times;                   /* how often the block does all of these, for one part of
                                         * its keys after the other */
        int warps;                      /* of a block */
        int parts;                      /* blocks of a cluster that share a row; 1: no cluster */
};
/* Cycles of a block. */
double warps_row_attention_cost(const struct target *t, const struct row_attention *of);
/* Seconds of a convolution, with a tile like those that are chosen once its weights are packed, and
 * of the launches that bring its input to the form that it reads: one, or, if the input is a
 * concatenation of w->copies copies, one for each and two more. */
double warps_window_cost(const struct target *t, const struct multiply *m,
                         const struct window_products *w);
/* Seconds of a launch whose multiprocessors are busy for `cycles`: at least the time of memory for
 * all bytes; with the launch that adds up partial sums, if there is one. */
double warps_launch_cost(const struct gpu *g, const struct warp_work *work, double cycles);
/* The figure by which schedules are compared: predicted seconds, more where a second launch
 * follows, whose costs in the graph the model does not see. behind: seconds of a launch that
 * reduces rows of the results; 0: there is none. */
double warps_judged(const struct target *t, const struct warp_work *work, double seconds,
                    double behind);
/* Seconds of a product of few rows (engines/grid/row_warps.c): `iterations` iterations, each of
 * which waits for a load, and `bytes` bytes of weights in all, which come from memory. */
double row_warps_cost(const struct target *t, int iterations, double bytes);
/* Seconds of a product by fragments of warps; 0: no block fits on a multiprocessor. */
double warps_cost(const struct target *t, const struct multiply *m, const struct warp_work *work);

#endif
