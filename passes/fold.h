/* SPDX-License-Identifier: MIT */
/* Parts of fold: what is evaluated besides single operations. */
#ifndef PASSES_FOLD_H
#define PASSES_FOLD_H

#include "passes/pass.h"

/* fold_groups.c: folds operations on constants that together replace constants of about as many
 * bytes, in the region and those inside it. Returns how many operations these were. */
int fold_groups(struct region *region, struct pass_context *context);

#endif
