/* SPDX-License-Identifier: MIT */
/* Attention of few rows by blocks of warps (attention_row_warps.c), as far as a choice asks about it. */
#ifndef ENGINES_GRID_ATTENTION_ROW_WARPS_H
#define ENGINES_GRID_ATTENTION_ROW_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "kernels/attention.h"

/* of what fits, turns of a block's warps, each of some keys: all; those whose keys are in registers at a time, and how often */
struct row_turns { int64_t all, some, times; };
struct row_turns attention_row_turns(const struct attention *a, const struct schedule *s);
/* as the schedule has it; false: it cannot be */
bool attention_row_fits(const struct attention *a, const struct target *target, const struct schedule *s);

#endif
