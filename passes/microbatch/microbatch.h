/* SPDX-License-Identifier: MIT */
/* The files of the pass microbatch share this. An image is one index of the outermost dimension of
 * a batch: of N images, a value of extent N * k in dimension 0 has k rows for each, one image
 * behind the other. */
#ifndef PASSES_MICROBATCH_MICROBATCH_H
#define PASSES_MICROBATCH_MICROBATCH_H

#include "passes/pass.h"

/* ---- which operations compute each image by itself (divide.c) ---- */

/* OPERAND_MIXED: images need others' elements, or it is unknown; OPERAND_SHARED: all images need
 * the operand as it is; OPERAND_DIVIDED: an image needs its own rows of it. */
enum operand_share { OPERAND_MIXED, OPERAND_SHARED, OPERAND_DIVIDED };
enum operand_share microbatch_share(const struct op *op, int operand, int64_t images);
/* Do the rows of an image in op's results depend on the same image's rows of its operands, and on
 * operands that all images share, alone? */
bool microbatch_divides(const struct op *op, int64_t images);
/* Is it a product of batches of matrices, as the two of attention are? */
bool microbatch_is_batched(const struct op *op);
/* Is v equal for all images, and free to be made for some of them alone: a constant, or a broadcast
 * or iota along other dimensions? */
bool microbatch_repeats(const struct value *v, int64_t images);
/* Returns t, of so many images, as it is for `some` of them. */
const struct type *microbatch_type(struct module *m, const struct type *t, int64_t images,
                                   int64_t some);
/* Builds such a v for `some` images. */
struct value *microbatch_repeat(struct builder *b, const struct value *v, int64_t images,
                                int64_t some);

/* ---- how many images go together (choose.c) ---- */

/* A segment is so many of a list's operations, which run over `size` images at a time. */
struct segment { int count; int64_t size; };
/* Divides a list of operations that divide, in their order, into segments of least predicted time.
 * Returns their number; *segments: allocated in `arena`. */
int microbatch_choose(struct arena *arena, struct op *const *ops, int count, int64_t images,
                      const struct pass_context *context, struct segment **segments);

#endif
