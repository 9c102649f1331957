/* SPDX-License-Identifier: MIT */
/* The row of the tile engine (tile_engine.c) consists of these functions. */
#ifndef ENGINES_TILE_TILE_ENGINE_H
#define ENGINES_TILE_TILE_ENGINE_H

#include "schedule/choose.h"

/* Chooses the block of positions that takes the least time, for convolve_packed in hardware tiles
 * (choose_tiles.c). */
struct schedule tiles_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);

#endif
