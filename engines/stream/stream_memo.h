/* SPDX-License-Identifier: MIT */
/* The memo holds tiles of convolutions that have been searched, because networks repeat their
 * layers. */
#ifndef ENGINES_STREAM_STREAM_MEMO_H
#define ENGINES_STREAM_STREAM_MEMO_H

#include "engines/stream/stream_cost.h"

/* An entry is a tile that was found; entries never change, so that a list may be continued in
 * several ways. */
struct stream_memo {
        const struct stream_memo *next;
        const struct machine *machine;
        struct stream_work work;
        struct schedule_stream schedule;       /* It contains the tile and contexts; all other words
                                                * are preset. */
        struct stream_cost cost;
        bool fits;
};

/* Finds the tile of least predicted cycles (stream_tiles), for halves of the memories where one
 * fits. Returns false where none fits. memo: the tiles found so far, in which it is looked up, or
 * to which it is added, in `arena`. */
bool stream_tiles_best(const struct stream_work *w, const struct machine *m, struct arena *arena,
                       const struct stream_memo **memo, struct schedule_stream *s,
                       struct stream_cost *cost);

#endif
