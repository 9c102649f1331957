/* SPDX-License-Identifier: MIT */
/* Tiles of convolutions on a machine that have been looked for: networks repeat their layers. */
#ifndef ENGINES_STREAM_STREAM_MEMO_H
#define ENGINES_STREAM_STREAM_MEMO_H

#include "engines/stream/stream_cost.h"

/* One that was found; entries are never changed, so that a list may go on in several ways. */
struct stream_memo {
        const struct stream_memo *next;
        const struct machine *machine;
        struct stream_work work;
        struct schedule_stream schedule;       /* its tile and contexts, all else preset */
        struct stream_cost cost;
        bool fits;
};

/* The tile of least predicted cycles (stream_tiles), by halves of the memories where one fits
 * them so. False: none fits. memo: those found so far, where it is looked up, or added in arena. */
bool stream_tiles_best(const struct stream_work *w, const struct machine *m, struct arena *arena,
                       const struct stream_memo **memo, struct schedule_stream *s,
                       struct stream_cost *cost);

#endif
