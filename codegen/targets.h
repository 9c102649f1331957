/* SPDX-License-Identifier: MIT */
/* This is the table of targets. The struct is in ir/target/target.h; a target is one file in
 * codegen/targets/ and one line in targets.def. */
#ifndef CODEGEN_TARGETS_H
#define CODEGEN_TARGETS_H

#include "base/diag.h"
#include "base/memory.h"
#include "ir/target/target.h"

/* Returns the target of this name; "native" is the last in the table that is for this processor.
 * Returns NULL where there is none. */
const struct target *target_find(const char *name);
/* Returns the targets of a list "A,B,C", given in any order, in the order of the table, the least
 * first. NULL after an error. */
const struct target **target_list(struct arena *arena, const char *text, int *count,
                                  struct diag *diag);
/* Returns each target, from number 0 on; NULL after the last. */
const struct target *target_at(int number);
bool target_runs_here(const struct target *t);            /* Can this processor run code for the
                                                           * target? */
/* Returns the target itself, or the nearest of its bases that this processor can run code for. */
const struct target *target_nearest(const struct target *t);
/* Returns t with a machine of other sizes, from which the sizes of blocks, and of what multiplies
 * them, follow. NULL after an error. */
const struct target *target_with(struct arena *arena, const struct target *t,
                                 const struct machine *machine, struct diag *diag);
/* Prints the name and doc of each target on standard output. */
void target_help(void);

#endif
