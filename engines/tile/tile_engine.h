/* SPDX-License-Identifier: MIT */
/* What the row of the tile engine (tile_engine.c) is made of. */
#ifndef ENGINES_TILE_TILE_ENGINE_H
#define ENGINES_TILE_TILE_ENGINE_H

#include "schedule/choose.h"

/* convolve_packed in hardware tiles: the block of positions that takes least time
 * (choose_tiles.c) */
struct schedule tiles_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);

#endif
