/* SPDX-License-Identifier: MIT */
/* The cost model of products of warps together (groups.c): predicted seconds of one launch. */
#ifndef ENGINES_GRID_WARP_GROUP_COST_H
#define ENGINES_GRID_WARP_GROUP_COST_H

#include "engines/grid/warp_cost.h"

double groups_cost(const struct target *t, const struct multiply *m, const struct warp_work *work);
/* the same of attention (engines/grid/attention_warp_groups.c) */
double groups_attention_cost(const struct target *t, const struct multiply *m, const struct attention_work *work);
/* Of a product, seconds beside what warms up and waits: as m rounds its extents up; of warps together what few tiles leave idle, and results,
 * too. */
double groups_products(const struct target *t, const struct multiply *m, int64_t positions, int64_t outputs, int64_t channels);

#endif
