/* SPDX-License-Identifier: MIT */
/* Attention of few rows by blocks of warps (attention_row_warps.c), as far as a choice asks about it. */
#ifndef KERNELS_ATTENTION_ROW_WARPS_H
#define KERNELS_ATTENTION_ROW_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "kernels/attention.h"

/* as the schedule has it; false: it cannot be */
bool attention_row_fits(const struct attention *a, const struct target *target, const struct schedule *s);

#endif
