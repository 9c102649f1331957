/* SPDX-License-Identifier: MIT */
/* Predicts what warp-group MMA costs, by which four warps multiply as one (warp_group_cost.c), in
 * seconds of one launch. */
#ifndef ENGINES_GRID_WARP_GROUP_COST_H
#define ENGINES_GRID_WARP_GROUP_COST_H

#include "engines/grid/warp_cost.h"

/* Returns the seconds of a product; 0: no block fits on a multiprocessor. */
double groups_cost(const struct target *t, const struct multiply *m, const struct warp_work *work);
/* Returns the seconds of attention (engines/grid/attention_warp_groups.c). */
double groups_attention_cost(const struct target *t, const struct multiply *m,
                             const struct attention_work *work);
/* Returns the seconds of a product's MMA alone, with its extents rounded up to those of m; for warp
 * groups also those of multiprocessors without a tile, and of the results. A product gets one
 * multiply or the other by this, before its weights are packed. */
double groups_products(const struct target *t, const struct multiply *m, int64_t positions,
                       int64_t outputs, int64_t channels);

#endif
