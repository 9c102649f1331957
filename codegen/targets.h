/* The table of targets. The struct is ir/target.h; a target is one file in codegen/targets/ and one
 * line in targets.def. */
#ifndef CODEGEN_TARGETS_H
#define CODEGEN_TARGETS_H

#include "ir/target.h"

const struct target *target_find(const char *name);       /* NULL when there is none of that name */
void target_help(void);                                   /* name and doc of each, on standard output */

#endif
