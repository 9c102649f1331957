/* SPDX-License-Identifier: MIT */
/* What the files of the fuse pass share. */
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
/* a contraction or a reduction */
static inline bool fuse_is_anchor(const struct op *op)
{
        return op_info[op->code].traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION);
}

/* ---- halo.c ---- */

/* a pad that only puts zeros around what packed contractions read, directly or through slices */
bool fuse_is_halo(const struct op *op);
/* the same, of zeros around positions, and each reads it directly: where blocks of warps
 * multiply, these know where zeros are, and nothing is stored */
bool fuse_is_border(const struct op *op);
/* around what a reshape and a transpose move on, element by element, and nobody else reads:
 * every element of that has a lane of its own */
bool fuse_is_moved_border(const struct op *op);
/* one halo for each value, and nothing else stored of it; number of rewrites */
int fuse_share_halos(struct region *region, struct diag *diag);

/* ---- fuse_narrow.c ---- */

enum { WIDENING_MAX = 8 };

/* What brings a narrow value, source, to the elements that a contraction, a window or a transpose
 * reads: operations, the last first (none: it reads what it is given), and the halo behind them, or
 * NULL. */
struct widening { struct op *ops[WIDENING_MAX], *pad; int count; struct value *source; };
struct widening fuse_widening(const struct op *reader);
/* What brings bytes to v and nothing else reads, the last operation first: how many, 0 if none. */
int fuse_decoding(struct value *v, const struct region *region, struct op *ops[WIDENING_MAX]);
/* each reader has its own operations, reshapes in front of them; number of rewrites */
int fuse_narrow(struct region *region, struct diag *diag);

#endif
