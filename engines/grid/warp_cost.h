/* SPDX-License-Identifier: MIT */
/* Predicts what products cost whose sums lie in fragments of warps (warp_cost.c), in seconds of one
 * launch. */
#ifndef ENGINES_GRID_WARP_COST_H
#define ENGINES_GRID_WARP_COST_H

#include <stdbool.h>

#include "ir/target/target.h"

/* The work of one block is counted by iteration of its loop over channels. */
struct warp_work {
        double blocks;                  /* The launch has this many blocks. */
        double iterations;              /* A block has this many iterations. */
        double multiplies;              /* A block executes this many MMA instructions in an
                                         * iteration, as the target's multiply counts them. */
        /* In an iteration, `copied` bytes of operands are copied into shared memory, and the
         * block's warps read `read` bytes from it. */
        double copied, read;
        double copied_w;                /* This many of the copied bytes are weights. */
        double x_copies, w_copies;      /* A lane starts this many copies of 16 bytes in an
                                         * iteration, of x and of weights. */
        double instructions;            /* A warp issues this many instructions in an iteration
                                         * besides MMA and copies. */
        bool windows;                   /* The place where a position's row begins depends on
                                         * offsets of a window, and on a border. */
        double rows;                    /* A warp has the sums of this many positions. */
        double tile;                    /* A block has this many positions, if it processes whole
                                         * rows. */
        double operands, results;       /* The launch reads and writes this many bytes, each counted
                                         * once. */
        double partial;                 /* This many bytes of partial sums are added up after the
                                         * blocks (split-K); 0: there are none. */
        int cluster;                    /* A cluster that keeps the sums in distributed shared
                                         * memory has this many blocks; 0: there is no cluster. */
        int across;                     /* This many blocks of the cluster lie side by side and have
                                         * whole rows, which warps process; 0: there are none. */
        double length;                  /* A row of the results, which the blocks across have, has
                                         * this many elements. */
        double fused_pool;              /* A lane reduces over this many positions, so that results
                                         * are not stored; 0: it stores them. */
        double columns;                 /* Lanes reduce this many outputs of a block in this way. */
        bool cold;                      /* Operands come from memory, not from L2
                                         * (warps_are_cold). */
        int stages;                     /* The operands of this many iterations lie in shared memory
                                         * at a time. */
        int warps, registers;           /* A block has this many warps, and a lane this many
                                         * registers. */
        int64_t shared;                 /* A block has this many bytes of shared memory. */
};

/* Do a program's constants, `bytes` in all, come from memory in every run? L2 also holds
 * intermediate results: half of it keeps constants from one run to the next. */
bool warps_are_cold(const struct gpu *g, double bytes);
/* Returns the blocks that are resident on a multiprocessor at a time (occupancy); 0: not even one
 * fits. */
int warps_resident(const struct gpu *g, const struct warp_work *work);
/* Returns the registers of a lane that nvcc 13 needs for `rows` fragments of positions by `columns`
 * fragments of outputs of m, with `lane` sums of the lane in each fragment, if the lane copies
 * `words` words of 16 bytes in an iteration. */
int warps_registers(const struct multiply *m, int rows, int columns, int lane, int words);
/* Returns the cycles that `blocks` blocks of a multiprocessor spend in their cluster, besides those
 * for the sums: barriers, and reads of each other's shared memory. 0: the blocks are in no
 * cluster. */
double warps_cluster_cost(const struct target *t, const struct warp_work *work, double blocks);
/* Returns the seconds of a separate launch that reduces each of `rows` rows of a product's results,
 * of `length` elements, and stores as many. */
double warps_rows_cost(const struct target *t, double rows, double length);
/* Returns the seconds of a separate launch that reduces over `positions` positions of each of
 * `columns` columns of a product's results. */
double warps_pool_cost(const struct target *t, double positions, double columns);
/* Returns the waves of the launch's blocks: how often the busiest multiprocessor is filled. */
double warps_waves(const struct gpu *g, const struct warp_work *work);
/* Returns the cycles from an instruction of a warp to its next one, with `warps` warps on a
 * multiprocessor: a lone warp waits for its own results; of several warps on a scheduler,
 * instructions are issued one after the other. */
double warps_pace(const struct target *t, double warps);
/* This is the work of attention (engines/grid/attention_warps.c). */
struct attention_work {
        /* This is the work of an iteration, which goes over a block of keys; its instructions are
         * all but loads of operands and MMA. */
        struct warp_work of;
        double once;                    /* A warp executes this many instructions outside of the
                                         * iterations. */
        double first;                   /* A block waits for this many bytes before its first
                                         * iteration. */
        double scores;                  /* This share of an iteration's MMA makes scores, from 0 to
                                         * 1. */
};
/* Returns the seconds of the launch. */
double warps_attention_cost(const struct target *t, const struct multiply *m,
                            const struct attention_work *work);
/* Returns the registers of a lane whose warp has `rows` rows of scores, `keys` keys in an
 * iteration, and `width` channels of values. */
int warps_attention_registers(const struct multiply *m, int rows, int keys, int width);
/* This is the work of attention of few rows, as in a decoder's step
 * (engines/grid/attention_row_warps.c). */
struct row_attention {
        double blocks;                  /* The launch has this many blocks. */
        double keys;                    /* A block has this many keys of a row. */
        double depth, width;            /* Keys have `depth` channels, values `width`. */
        double iterations;              /* A block's warps do this many iterations over its keys. */
        double times;                   /* The block does all of these this often, for one part of
                                         * its keys after the other. */
        int warps;                      /* A block has this many warps. */
        int parts;                      /* A cluster that shares a row has this many blocks; 1:
                                         * there is no cluster. */
};
/* Returns the cycles of a block. */
double warps_row_attention_cost(const struct target *t, const struct row_attention *of);
/* Returns the seconds of a convolution, with a tile like those that are chosen once its weights are
 * packed, and of the launches that bring its input to the form that it reads: one launch, or, if
 * the input is a concatenation of w->copies copies, one for each and two more. */
double warps_window_cost(const struct target *t, const struct multiply *m,
                         const struct window_products *w);
/* Returns the seconds of a launch whose multiprocessors are busy for `cycles`: at least the time of
 * memory for all bytes; with the launch that adds up partial sums, if there is one. */
double warps_launch_cost(const struct gpu *g, const struct warp_work *work, double cycles);
/* Returns the figure by which schedules are compared: predicted seconds, more where a second launch
 * follows, whose costs in the graph the model does not see. behind: the seconds of a launch that
 * reduces rows of the results; 0: there is none. */
double warps_judged(const struct target *t, const struct warp_work *work, double seconds,
                    double behind);
/* Returns the seconds of a product of few rows (engines/grid/row_warps.c): `iterations` iterations,
 * each of which waits for a load, and `bytes` bytes of weights in all, which come from memory. */
double row_warps_cost(const struct target *t, int iterations, double bytes);
/* Returns the seconds of a product by fragments of warps; 0: no block fits on a multiprocessor. */
double warps_cost(const struct target *t, const struct multiply *m, const struct warp_work *work);

#endif
