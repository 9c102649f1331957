/* SPDX-License-Identifier: MIT */
/* Products of few rows by blocks of warps (row_warps.c), as far as a choice asks about them. */
#ifndef ENGINES_GRID_ROW_WARPS_H
#define ENGINES_GRID_ROW_WARPS_H

#include "ir/schedule.h"
#include "ir/target.h"
#include "ir/tensor.h"

enum { ROW_WARPS_MOST = 4 };            /* rows: more are for fragments */

/* Rows of x, warps that share the words of a panel, words that a warp multiplies at a time. */
struct row_tile { int rows, warps, words; const struct multiply *multiply; };

/* as the schedule has it; false: it cannot be */
bool row_tile_of(const struct op *op, const struct target *target, const struct schedule *s, struct row_tile *t);

#endif
