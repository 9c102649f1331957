/* SPDX-License-Identifier: MIT */
/* The cost model of convolutions on a machine that activates, whose values are in its memory:
 * blocks of weights come through a FIFO, and are shifted into the array while the block before is
 * multiplied.
 *
 *     for each block of outputs, each tile of positions:
 *             for each block of weights: read it; a product for each position
 *             activations
 *
 * Transfers from and to the host are not counted: which values these are is known only when all
 * layers are. */
#ifndef ENGINES_STREAM_STREAM_WHOLE_H
#define ENGINES_STREAM_STREAM_WHOLE_H

#include "engines/stream/stream_cost.h"

bool stream_whole_fits(const struct stream_work *w, const struct schedule_stream *s,
                       const struct machine *m);
/* Does the same as stream_tiles. */
bool stream_whole_tiles(const struct stream_work *w, const struct machine *m, int contexts,
                        struct schedule_stream *s, struct stream_cost *cost);

#endif
