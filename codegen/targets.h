/* SPDX-License-Identifier: MIT */
/* The table of targets. The struct is ir/target/target.h; a target is one file in
 * codegen/targets/ and one line in targets.def. */
#ifndef CODEGEN_TARGETS_H
#define CODEGEN_TARGETS_H

#include "base/diag.h"
#include "base/memory.h"
#include "ir/target/target.h"

/* "native": the last in the table that is for this processor; NULL when there is none of that
 * name */
const struct target *target_find(const char *name);
/* "A,B,C", in any order: in that of the table, the least first. NULL after an error. */
const struct target **target_list(struct arena *arena, const char *text, int *count,
                                  struct diag *diag);
const struct target *target_at(int number);               /* all of them, from 0; NULL behind the
                                                           * last */
bool target_runs_here(const struct target *t);            /* this processor can run code for it */
/* itself, or the nearest of its bases that this processor can run code for */
const struct target *target_nearest(const struct target *t);
/* t, whose machine has other sizes now: so have blocks, and what multiplies them. NULL after an
 * error. */
const struct target *target_with(struct arena *arena, const struct target *t,
                                 const struct machine *machine, struct diag *diag);
void target_help(void);                                   /* name and doc of each, on standard
                                                           * output */

#endif
