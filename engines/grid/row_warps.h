/* SPDX-License-Identifier: MIT */
/* This declares the tile of products of few rows (row_warps.c), as the choice of a schedule asks
 * for it. */
#ifndef ENGINES_GRID_ROW_WARPS_H
#define ENGINES_GRID_ROW_WARPS_H

#include "ir/target/schedule.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* x has at most this many rows; products of more rows use fragments. */
enum { ROW_WARPS_MOST = 4 };

/* x has `rows` rows; the `warps` warps of a block share the words of a panel; a warp multiplies
 * `words` words in an iteration. */
struct row_tile { int rows, warps, words; const struct multiply *multiply; };

/* Computes the tile that the schedule asks for. Returns false where it does not fit the product. */
bool row_tile_of(const struct op *op, const struct target *target, const struct schedule_grid *s,
                 struct row_tile *t);

#endif
