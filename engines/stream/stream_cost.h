/* SPDX-License-Identifier: MIT */
/* The cost model of convolutions on a machine (ir/target/machine.h): tiles that fit its memories,
 * and how long a stream of them takes.
 *
 *     for each tile of results: reset its sums; load what is added; for some blocks of inputs at a time: load inputs, load weights,
 *     multiply; operations; store
 *
 * Three stages, load, compute and store, run beside each other; with two contexts each memory is
 * two halves that are filled and read in turn, with one the stages wait for each other. What
 * stays loaded from tile to tile is loaded once. */
#ifndef ENGINES_STREAM_STREAM_COST_H
#define ENGINES_STREAM_STREAM_COST_H

#include "base/memory.h"
#include "ir/target/machine.h"
#include "ir/target/schedule.h"

/* What is to be computed: blocks are of machine->block_in, block_out channels; [0] rows, [1]
 * columns. */
struct stream_work {
        int64_t inputs, outputs;                /* blocks */
        bool apart;                     /* each block of outputs reads the block of inputs of its
                                         * number */
        int64_t extent[2], window[2], strides[2], dilations[2];   /* extent: of the results */
        bool pool;                      /* the results are the largest of windows of sums:
                                         * `convolved` are those */
        int64_t convolved[2], pool_window[2], pool_strides[2], pool_pads[2];
        int64_t read[2], pad[2];        /* of x as it lies in memory; zeros before it that loads put
                                         * there */
        int64_t added;                  /* elements of sums that are loaded for each block of
                                         * outputs of a tile */
        int64_t immediates, tensors;    /* operations on each element of sums; with another one as
                                         * their operand */
        int64_t held, activations;      /* of a machine that activates: elements of whole values; of
                                         * each element of sums */
        bool single;                            /* all weights are one block */
        int64_t joined;                 /* bytes of other values that are multiplied by one block
                                         * each, and added */
        int64_t joined_blocks;          /* ... so many of them by blocks of their own for each block
                                         * of outputs */
        int64_t around;                 /* elements of sums that are held all the time, and stored
                                         * around the result */
        int64_t fixed;                  /* elements that are multiplied by a block for each block of
                                         * outputs, and added */
};

struct stream_cost {
        int64_t cycles, steps;                  /* steps of products */
        int64_t array, operations, bus, stores; /* cycles that each is busy; operations: with loads
                                                 * of the compute stage */
        int64_t read, written;                  /* bytes */
        int64_t instructions, places;           /* places in lists */
};

/* sums that so many results along a dimension are made of */
int64_t stream_sums_of(const struct stream_work *w, int d, int64_t results);
/* The tile fits the halves of the memories, or all of them with one context. */
bool stream_fits(const struct stream_work *w, const struct schedule_stream *s,
                 const struct machine *m);
/* what stays loaded from tile to tile */
bool stream_keeps_weights(const struct stream_work *w, const struct schedule_stream *s,
                          const struct machine *m);
bool stream_keeps_inputs(const struct stream_work *w, const struct schedule_stream *s,
                         const struct machine *m);
/* of a stream with a tile that fits */
struct stream_cost stream_cost(const struct stream_work *w, const struct schedule_stream *s,
                               const struct machine *m);
/* The tile and order of least predicted cycles, and bytes, of all that fit; *s keeps its other
 * words. False: none fits. */
bool stream_tiles(const struct stream_work *w, const struct machine *m, int contexts,
                  struct schedule_stream *s, struct stream_cost *cost);
/* what most of the cycles go to: "array", "operations", "read bus", "stores"; or "waiting" */
const char *stream_bound(const struct stream_cost *c);

#endif
