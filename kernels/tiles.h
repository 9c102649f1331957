/* Hardware tiles of sums (tiles.c), as far as the choice of a schedule asks about them. */
#ifndef KERNELS_TILES_H
#define KERNELS_TILES_H

#include "ir/target.h"
#include "ir/tensor.h"

/* the target's multiply of such operands in tiles, or NULL */
const struct multiply *tiles_find_multiply(const struct op *op, const struct target *target);
/* Do the channels of the operands fill them? */
bool tiles_suit(const struct op *contraction, const struct target *target);

/* A block of positions in tiles; apart: from a row to the next one among them, 0 where rows have
 * tiles of their own. */
struct tile_block { int64_t positions, tiles, apart; };

/* pitch: positions from a row to the next one in x; 0: no whole number of them */
struct tile_block tiles_block(int64_t rows, int64_t columns, int64_t pitch);
int64_t tiles_pitch(int64_t row_step, int64_t step);
/* Tiles of positions may be loaded in turn, where all have one shape: then two are enough beside
 * those of sums. */
bool tiles_take_turns(const struct tile_block *block, int vectors, int registers);
bool tiles_fit(const struct tile_block *block, int vectors, int registers);

#endif
