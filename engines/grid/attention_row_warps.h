/* SPDX-License-Identifier: MIT */
/* The choice of a schedule asks this about attention of few rows (attention_row_warps.c). */
#ifndef ENGINES_GRID_ATTENTION_ROW_WARPS_H
#define ENGINES_GRID_ATTENTION_ROW_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "kernels/attention.h"

/* A block's warps do `all` iterations over its keys, of which `some` have their keys in registers
 * at a time, in `times` rounds. */
struct row_iterations { int64_t all, some, times; };
struct row_iterations attention_row_iterations(const struct attention *a,
                                               const struct schedule_grid *s);
/* Can the kernel follow the schedule? */
bool attention_row_fits(const struct attention *a, const struct target *target,
                        const struct schedule_grid *s);

#endif
