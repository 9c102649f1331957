/* SPDX-License-Identifier: MIT */
/* This is the cost model of convolutions on a machine (ir/target/machine.h): which tiles fit its
 * memories, and how long a stream of them takes.
 *
 *     for each tile of results:
 *             reset its sums; load what is added
 *             for some blocks of inputs at a time:
 *                     load inputs; load weights; multiply
 *             operations; store
 *
 * The three stages load, compute and store run at the same time; with two contexts each memory is
 * two halves that are filled and read alternately, with one the stages wait for each other. What
 * stays loaded from tile to tile is loaded once. */
#ifndef ENGINES_STREAM_STREAM_COST_H
#define ENGINES_STREAM_STREAM_COST_H

#include "base/memory.h"
#include "ir/target/machine.h"
#include "ir/target/schedule.h"

/* This is to be computed. Blocks are of machine->block_in, block_out channels; [0] is rows, [1]
 * columns. */
struct stream_work {
        int64_t inputs, outputs;                /* There are this many blocks. */
        bool apart;                     /* Each block of outputs reads only the block of inputs of
                                         * its number. */
        /* extent is that of the results. */
        int64_t extent[2], window[2], strides[2], dilations[2];
        bool pool;                      /* The results are the largest of windows of sums, of which
                                         * there are `convolved`. */
        int64_t convolved[2], pool_window[2], pool_strides[2], pool_pads[2];
        int64_t read[2], pad[2];        /* x has these extents in memory; loads insert `pad` zeros
                                         * before it. */
        int64_t added;                  /* For each block of outputs of a tile this many elements of
                                         * sums are loaded. */
        int64_t immediates, tensors;    /* Each element of sums takes this many operations with an
                                         * immediate, and with another element. */
        /* For a machine that activates, these count the elements of whole values, and the
         * activations of each element of sums. */
        int64_t held, activations;
        bool single;                            /* All weights are one block. */
        int64_t joined;                 /* This many bytes of other values are multiplied by one
                                         * block each, and added. */
        int64_t joined_blocks;          /* This many of these have a block of their own for each
                                         * block of outputs. */
        int64_t around;                 /* This many elements of sums are held all the time, and
                                         * stored around the result. */
        int64_t fixed;                  /* This many elements are multiplied by a block for each
                                         * block of outputs, and added. */
};

struct stream_cost {
        int64_t cycles, steps;                  /* `steps` counts steps of products. */
        int64_t array, operations, bus, stores; /* The array, the compute stage (with its loads),
                                                 * the read bus and the store stage are busy for
                                                 * this many cycles. */
        int64_t read, written;                  /* The stream reads and writes this many bytes. */
        int64_t instructions, places;           /* It has this many instructions, and places in
                                                 * lists. */
};

/* Returns the sums along a dimension that `results` results are computed from. */
int64_t stream_sums_of(const struct stream_work *w, int d, int64_t results);
/* Does the tile fit the halves of the memories, or with one context the whole memories? */
bool stream_fits(const struct stream_work *w, const struct schedule_stream *s,
                 const struct machine *m);
/* Do all weights, or all inputs, stay loaded from tile to tile? */
bool stream_keeps_weights(const struct stream_work *w, const struct schedule_stream *s,
                          const struct machine *m);
bool stream_keeps_inputs(const struct stream_work *w, const struct schedule_stream *s,
                         const struct machine *m);
/* Returns the cost of a stream with a tile that fits. */
struct stream_cost stream_cost(const struct stream_work *w, const struct schedule_stream *s,
                               const struct machine *m);
/* Finds the tile and order of least predicted cycles, and bytes, of all that fit; *s keeps its
 * other words. Returns false where none fits. */
bool stream_tiles(const struct stream_work *w, const struct machine *m, int contexts,
                  struct schedule_stream *s, struct stream_cost *cost);
/* Returns what most of the cycles go to: "array", "operations", "read bus", "stores"; or
 * "waiting". */
const char *stream_bound(const struct stream_cost *c);

#endif
