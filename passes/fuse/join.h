/* SPDX-License-Identifier: MIT */
/* Passes that make one kernel of several share this. */
#ifndef PASSES_FUSE_JOIN_H
#define PASSES_FUSE_JOIN_H

#include "passes/pass.h"

/* Builds a fusion that computes what `kernels` (operations or fusions, in order) do, in front of
 * the last one, whose result it has; the kernels stay as they are. Inside, they read each other's
 * results where these are computed. Returns NULL after an error. */
struct op *kernel_join(struct op *const *kernels, int count, struct diag *diag);
/* Builds the same with several results, which any of the kernels may have. */
struct op *kernel_join_results(struct op *const *kernels, int count, struct value *const *results,
                               int result_count, struct diag *diag);

/* Calls join(op, context) for every operation outside of fusions, those in regions first; join says
 * whether it has joined op to kernels in front of it. Returns how often it has. */
int kernels_join_all(struct region *region,
                     bool (*join)(struct op *op, struct pass_context *context),
                     struct pass_context *context);

#endif
