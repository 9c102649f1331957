/* SPDX-License-Identifier: MIT */
/* What the files of the pass offload share: kernels, in Tensor IR, in the form that a machine
 * can run. */
#ifndef PASSES_OFFLOAD_H
#define PASSES_OFFLOAD_H

#include "engines/stream/streams.h"
#include "passes/fuse/join.h"

/* ---- partition.c: what runs on the machine, and what on the processor ---- */

/* op->number says which kernel, or part of one, an operation outside of fusions is: the first,
 * whole, has a multiple of PARTS. */
enum { PART_WHOLE, PART_FIRST, PART_BRANCH, PARTS };
struct partition {
        struct pass_context *context;
        bool *stays;                    /* by these numbers: on the processor, in the form that it
                                         * has for one */
        int count;
};
static inline bool partition_stays(const struct partition *p, const struct op *kernel)
{
        return p->stays[kernel->number];
}

/* Numbers the operations of a function, the same ones each time; nothing stays. */
void partition_number(struct function *f);
void partition_begin(struct partition *p, struct function *f, struct arena *arena);
/* Of f with all in the form for the machine, but for what stays: marks what more had better
 * stay, by predicted time; how many. */
int partition_choose(struct partition *p, struct function *f);
/* Contractions that stay say so (the word `processor` of their schedule). */
void partition_mark(const struct partition *p, struct function *f);

/* ---- block_products.c ---- */

enum { REWRITES = 32 };
struct offloading {
        struct module *m;
        struct pass_context *context;
        struct op *convolve;            /* whose sums they are */
        int lanes;
        struct rewrite { struct op *op; int at; struct value *old; } rewrites[REWRITES];
        int count;
};

/* a block with a number on its diagonal; spread to weights, a block for each of x's; their type;
 * each block of x by its own */
struct value *offload_diagonal(struct offloading *o, int number);
struct value *offload_spread(struct builder *b, const struct type *like, struct value *block);
const struct type *offload_weights(struct offloading *o, const struct type *x);
struct value *offload_products(struct offloading *o, struct builder *b, struct value *x,
                               struct value *w, int limit);
/* bytes that mul multiplies by a number that a byte holds; or NULL */
struct value *offload_multiplied(const struct op *mul, double *number);
/* What is added to the sums of convolve becomes products, where the machine can then do all of
 * its kernel; how many. */
int offload_sums(struct region *region, struct op *convolve, struct pass_context *context);
/* operations that nothing reads any more, with what they alone read */
void offload_erase_unused(struct region *region);

/* ---- parts.c ---- */

/* A kernel of bytes that are multiplied by numbers, added up and bounded is products, too: those
 * of the first number. */
int offload_elements(struct op *kernel, const struct partition *p);
/* A kernel that goes on where its sums are bytes becomes two, of which the machine can do the
 * first. */
int offload_first(struct op *kernel, struct op *convolve, const struct partition *p);
/* Bytes that come to the sums and are rounded to bytes on the way: a kernel of their own. */
int offload_branches(struct op *kernel, struct op *convolve, const struct partition *p);

/* ---- pools.c ---- */

/* A pool is part of the kernel that makes what it reads, or of one that hands its bytes on:
 * products by 1. */
int offload_pools(struct region *region, const struct partition *p);

/* ---- offload.c ---- */

/* the first contraction in blocks of a fusion; NULL */
struct op *offload_convolve(const struct op *kernel);
/* The machine can do the kernel, and a tile of it fits; the cost of the best one. */
bool offload_fits(const struct op *kernel, struct pass_context *context, struct stream_cost *cost);

#endif
