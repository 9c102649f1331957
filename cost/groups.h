/* SPDX-License-Identifier: MIT */
/* The cost model of products of warps together (groups.c): predicted seconds of one launch. */
#ifndef COST_GROUPS_H
#define COST_GROUPS_H

#include "cost/warps.h"

double groups_cost(const struct target *t, const struct multiply *m, const struct warp_work *work);
/* the same of attention (kernels/attention_groups.c) */
double groups_attention_cost(const struct target *t, const struct multiply *m, const struct attention_work *work);
/* Of a product, seconds beside what warms up and waits: as m rounds its extents up; of warps together what few tiles leave idle, and results,
 * too. */
double groups_products(const struct target *t, const struct multiply *m, int64_t positions, int64_t outputs, int64_t channels);

#endif
