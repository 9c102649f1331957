/* What passes that make one kernel of two share. */
#ifndef PASSES_JOIN_H
#define PASSES_JOIN_H

#include "passes/pass.h"

/* A fusion of what `first` and `second` (operations or fusions, of one result) compute, in front of the second: both stay as they
 * are. Inside, the second reads the first's result where it is computed. NULL after an error. */
struct op *kernel_join(struct module *m, struct op *first, struct op *second, struct diag *diag);

#endif
