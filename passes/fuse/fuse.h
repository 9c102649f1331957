/* SPDX-License-Identifier: MIT */
/* The files of the fuse pass share this. */
#ifndef PASSES_FUSE_FUSE_H
#define PASSES_FUSE_FUSE_H

#include "passes/pass.h"

static inline bool fuse_is_packed(const struct op *op)
{
        return op->code == OP_convolve_packed || op->code == OP_convolve_lanes ||
               op->code == OP_convolve_winograd || op->code == OP_dot_blocks;
}
static inline bool fuse_is_elementwise(const struct op *op)
{
        return op_info[op->code].traits & TRAIT_ELEMENTWISE;
}
/* Anchors are contractions and reductions: a candidate has one at most, but for rows. */
static inline bool fuse_is_anchor(const struct op *op)
{
        return op_info[op->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION);
}

/* ---- halo.c ---- */

/* A halo is a pad that only puts zeros around what packed contractions read, directly or through
 * slices. */
bool fuse_is_halo(const struct op *op);
/* A border is a halo around positions that every contraction reads directly: where blocks of warps
 * multiply, they know where zeros are, and nothing is stored. */
bool fuse_is_border(const struct op *op);
/* Does a pad surround only what contractions decode, word by word, into memory of their own
 * (kernels/prologue.c)? Then that memory alone holds what is around it. singles: or what they copy
 * there, where products are added one by one. */
bool fuse_is_decoded(const struct op *op, const struct target *target, bool singles);
/* A moved border surrounds a value that a reshape and a transpose move, element by element, and
 * that nobody else reads: every element of the result has a lane of its own. */
bool fuse_is_moved_border(const struct op *op);
/* Gives each value one halo at most, in which all of it is stored. Returns the number of
 * rewrites. */
int fuse_share_halos(struct region *region, struct diag *diag);

/* ---- fuse_narrow.c ---- */

enum { WIDENING_MAX = 8 };

/* A widening is the way from a narrow value, `source`, to the elements that a contraction, a window
 * or a transpose reads: its operations, the last first (none: the reader takes what it is given),
 * and the halo behind them, or NULL. */
struct widening { struct op *ops[WIDENING_MAX], *pad; int count; struct value *source; };
struct widening fuse_widening(const struct op *reader);
/* Finds the operations that decode bytes to v, which nothing else reads, the last one first.
 * Returns their number, 0 if there are none. */
int fuse_decoding(struct value *v, const struct region *region, struct op *ops[WIDENING_MAX]);
/* Gives each reader of a narrow value operations of its own, with reshapes in front of them.
 * Returns the number of rewrites. */
int fuse_narrow(struct region *region, struct diag *diag);

#endif
