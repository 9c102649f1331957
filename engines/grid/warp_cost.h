/* SPDX-License-Identifier: MIT */
/* The cost model of products by blocks of warps (warps.c): predicted seconds of one launch. */
#ifndef ENGINES_GRID_WARP_COST_H
#define ENGINES_GRID_WARP_COST_H

#include <stdbool.h>

#include "ir/target.h"

/* What a block does in a turn, and how many there are. Bytes: of the operands of a turn, as they are
 * copied and as warps read them from shared memory; of the operands and the result in all, each
 * once. */
struct warp_work {
        double blocks, turns;
        double multiplies;              /* of a turn, by the row of the target */
        double copied, read;
        double copied_w;                /* of what is copied, weights */
        double x_copies, w_copies;      /* of 16 bytes that a lane makes in a turn */
        double instructions;            /* of a warp in a turn, beside products and copies */
        bool windows;                   /* a position's row begins where several offsets of a window, and a border, say */
        double rows, tile;              /* positions whose sums a warp has; a block, where it goes on with rows */
        double operands, results;
        double partial;                 /* bytes of sums of parts, which a second phase adds up; 0: there are none */
        int cluster;                    /* blocks whose sums are in the memory of their cluster; 0: they are not */
        int across;                     /* of these, side by side: they have whole rows, which warps go on with; 0: they have none */
        double length;                  /* of such a row */
        double pooled, columns;         /* positions that each of so many lanes of a block goes over, whose results are not stored; 0: they are */
        bool cold;                      /* operands come from memory (warps_are_cold) */
        int stages;
        int warps, registers;           /* of a block; of a lane */
        int64_t shared;                 /* bytes of a block */
};

/* Do a program's constants, of so many bytes, come from memory in every run? The second cache also holds what is computed: half of it keeps
 * them from one run to the next. */
bool warps_are_cold(const struct grid_machine *g, double bytes);
/* Blocks that a multiprocessor holds at a time; 0: not even one. */
int warps_resident(const struct grid_machine *g, const struct warp_work *work);
/* Registers of a lane that nvcc 13 can do with: `rows` fragments of positions by `columns` of outputs by m, each of so many sums of a lane;
 * `words` that it copies in a turn. */
int warps_registers(const struct multiply *m, int rows, int columns, int lane, int words);
/* cycles beside those of the sums, of so many blocks of clusters on a multiprocessor; 0: they are in none */
double warps_cluster_cost(const struct target *t, const struct warp_work *work, double blocks);
/* seconds of a launch that sums over so many rows of a product's results, and stores as many */
double warps_rows_cost(const struct target *t, double rows, double length);
/* seconds of a launch that reduces over so many positions of each of so many columns of a product's results */
double warps_pool_cost(const struct target *t, double positions, double columns);
/* waves of blocks over all multiprocessors */
double warps_waves(const struct grid_machine *g, const struct warp_work *work);
/* Cycles from an instruction of a warp to its next, of so many warps on a multiprocessor: one alone waits for its own results, of several on a scheduler all are issued
 * one after the other. */
double warps_pace(const struct target *t, double warps);
/* Attention (engines/grid/attention_warps.c). of: of its turns, whose instructions are all but what loads operands of products and multiplies; beside
 * them, instructions of a warp that are of no turn, and bytes that a block waits for before the first one; of a turn's products, the share that
 * are scores'. */
struct attention_work { struct warp_work of; double once, first, scores; };
double warps_attention_cost(const struct target *t, const struct multiply *m, const struct attention_work *work);
/* registers of a lane whose warp has so many rows, keys at a time, and channels of values */
int warps_attention_registers(const struct multiply *m, int rows, int keys, int width);
/* Attention of few rows (engines/grid/attention_row_warps.c): cycles of a block that has `keys` of a row, of `depth` channels and `width` of
 * values, in so many turns of its warps, and these so many times; parts: of a cluster, 1: it is in none. */
struct row_attention { double blocks, keys, depth, width, turns, times; int warps, parts; };
double warps_row_attention_cost(const struct target *t, const struct row_attention *of);
/* Seconds of a convolution, in a tile like those that are chosen for it once its weights are packed: so many results of each output, offsets of a
 * window and channels; `moved` elements are brought to its form by a launch before, or, where they are put together of copies, by one for each and two more. */
double warps_window_cost(const struct target *t, const struct multiply *m, const struct window_products *w);
/* seconds of a launch whose blocks take so many cycles: no less than memory takes, and those of the one that adds up parts */
double warps_launch_cost(const struct grid_machine *g, const struct warp_work *work, double cycles);
/* By which one schedule is better than another: a second launch has costs that the model does not see, of its code and in the graph. behind:
 * seconds of one that sums over rows of the results; 0: there is none. */
double warps_judged(const struct target *t, const struct warp_work *work, double seconds, double behind);
/* Seconds of a product of few rows (engines/grid/row_warps.c): a load in each of so many iterations, one behind the other, of so many bytes of
 * weights in all. */
double row_warps_cost(const struct target *t, int turns, double bytes);
double warps_cost(const struct target *t, const struct multiply *m, const struct warp_work *work);

#endif
