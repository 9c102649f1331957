/* SPDX-License-Identifier: MIT */
#include "engines/stream/stream_memo.h"

#include <string.h>

enum { CONTEXTS = 2 };

static const struct stream_memo *find(const struct stream_memo *memo, const struct stream_work *w,
                                      const struct machine *m)
{
        /* A difference in padding bytes only makes the search run again. */
        while (memo && (memo->machine != m || memcmp(&memo->work, w, sizeof *w)))
                memo = memo->next;
        return memo;
}

bool stream_tiles_best(const struct stream_work *w, const struct machine *m, struct arena *arena,
                       const struct stream_memo **memo, struct schedule_stream *s,
                       struct stream_cost *cost)
{
        const struct stream_memo *known = find(*memo, w, m);
        if (!known) {
                struct stream_memo *own = ARENA_NEW(arena, struct stream_memo);
                *own = (struct stream_memo){ .next = *memo,
                                             .machine = m,
                                             .schedule = schedule_preset(SCHEDULE_stream).stream };
                memcpy(&own->work, w, sizeof *w);
                for (int contexts = CONTEXTS; contexts && !own->fits; contexts--)
                        own->fits = stream_tiles(w, m, contexts, &own->schedule, &own->cost);
                *memo = known = own;
        }
        *s = known->schedule;
        *cost = known->cost;
        return known->fits;
}
