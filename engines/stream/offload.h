/* SPDX-License-Identifier: MIT */
/* The files of the pass offload share this. The pass brings kernels, in Tensor IR, into the form
 * that a machine can run. */
#ifndef ENGINES_STREAM_OFFLOAD_H
#define ENGINES_STREAM_OFFLOAD_H

#include "engines/stream/streams.h"
#include "passes/fuse/join.h"

/* ---- offload_partition.c: what runs on the machine, and what on the processor ---- */

/* op->number identifies the kernel, or the part of a kernel, that an operation outside of fusions
 * is: whole kernels have multiples of PARTS; their parts have the numbers that follow. */
enum { PART_WHOLE, PART_FIRST, PART_BRANCH, PARTS };
struct partition {
        struct pass_context *context;
        bool *stays;                    /* By these numbers: the kernel stays on the processor, in
                                         * the form that is for processors. */
        int count;
};
static inline bool partition_stays(const struct partition *p, const struct op *kernel)
{
        return p->stays[kernel->number];
}

/* partition_number numbers the operations of a function, always in the same way; partition_begin
 * starts with no kernel that stays. */
void partition_number(struct function *f);
void partition_begin(struct partition *p, struct function *f, struct arena *arena);
/* Marks which other kernels should stay, by predicted time, in an f in which all kernels but those
 * that stay have the form for the machine. Returns how many it marked. */
int partition_choose(struct partition *p, struct function *f);
/* Sets the word `processor` in the schedules of contractions that stay. */
void partition_mark(const struct partition *p, struct function *f);

/* ---- block_products.c ---- */

enum { REWRITES = 32 };
struct offloading {
        struct module *m;
        struct pass_context *context;
        struct op *convolve;            /* Values are added to the sums of this convolution. */
        int lanes;
        struct rewrite { struct op *op; int at; struct value *old; } rewrites[REWRITES];
        int count;
};

/* offload_diagonal makes a block with a number on its diagonal; offload_spread broadcasts a block
 * to weights, one block for each of x's; offload_weights returns the type of these;
 * offload_products multiplies each block of x by its own block of w. */
struct value *offload_diagonal(struct offloading *o, int number);
struct value *offload_spread(struct builder *b, const struct type *like, struct value *block);
const struct type *offload_weights(struct offloading *o, const struct type *x);
struct value *offload_products(struct offloading *o, struct builder *b, struct value *x,
                               struct value *w, int limit);
/* Returns the bytes that mul multiplies by a number that fits into a byte; or NULL. */
struct value *offload_multiplied(const struct op *mul, double *number);
/* Rewrites what is added to the sums of convolve as products, where the machine can then compute
 * the whole kernel. Returns how many values were rewritten. */
int offload_sums(struct region *region, struct op *convolve, struct pass_context *context);
/* Erases operations whose results are not read any more, and those that only they read. */
void offload_erase_unused(struct region *region);

/* ---- offload_parts.c ---- */

/* Rewrites a kernel of bytes that are multiplied by numbers, added up and bounded as products,
 * beginning with those of the first number. */
int offload_elements(struct op *kernel, const struct partition *p);
/* Divides a kernel that continues where its sums are bytes into two, of which the machine can
 * compute the first. */
int offload_first(struct op *kernel, struct op *convolve, const struct partition *p);
/* Makes a branch that is rounded to bytes before it is added to the sums a kernel of its own. */
int offload_branches(struct op *kernel, struct op *convolve, const struct partition *p);

/* ---- offload_pools.c ---- */

/* Makes a pool part of the kernel that makes what it reads, or of one that only passes its bytes on
 * by products by 1. */
int offload_pools(struct region *region, const struct partition *p);

/* ---- offload.c ---- */

/* Returns the first blocked contraction of a fusion, or NULL. */
struct op *offload_convolve(const struct op *kernel);
/* Can the machine compute the kernel, and does a tile of it fit? *cost is the cost of the best
 * tile. */
bool offload_fits(const struct op *kernel, struct pass_context *context, struct stream_cost *cost);

#endif
