/* SPDX-License-Identifier: MIT */
/* Products of few rows (row_warps.c): what the choice of a schedule asks about them. */
#ifndef ENGINES_GRID_ROW_WARPS_H
#define ENGINES_GRID_ROW_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

enum { ROW_WARPS_MOST = 4 };            /* rows of x; products of more rows use fragments */

/* Rows of x; warps of a block, which share the words of a panel; words that a warp multiplies in an
 * iteration. */
struct row_tile { int rows, warps, words; const struct multiply *multiply; };

/* The tile that the schedule asks for; false: it does not fit the product. */
bool row_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                 struct row_tile *t);

#endif
