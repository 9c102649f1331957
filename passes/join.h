/* What passes that make one kernel of several share. */
#ifndef PASSES_JOIN_H
#define PASSES_JOIN_H

#include "passes/pass.h"

/* A fusion of what `kernels` (operations or fusions, of one result, in order) compute, in front of the last one, whose result it has:
 * all stay as they are. Inside, they read each other's results where these are computed. NULL after an error. */
struct op *kernel_join(struct op *const *kernels, int count, struct diag *diag);

#endif
