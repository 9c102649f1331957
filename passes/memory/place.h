/* SPDX-License-Identifier: MIT */
/* Places rectangles of statements by bytes as low as possible. It knows nothing of programs. */
#ifndef PASSES_MEMORY_PLACE_H
#define PASSES_MEMORY_PLACE_H

#include "passes/memory/lifetimes.h"

/* An item is placed as one: its spans count from `offset`, which becomes a multiple of
 * STORAGE_ALIGN. */
struct item {
        const struct span *spans;
        int span_count, number;         /* number: it tells equal items apart. */
        int64_t bytes;                  /* No span ends behind this. */
        int first, last;                /* All spans lie between the first and the last
                                         * statement. */
        int64_t offset;
        int64_t crowd;                  /* At most this many bytes of all items are in use while it
                                         * is; place_items finds it. */
};

/* The effort says how hard to try: PLACE_QUICKLY tries several orders and small changes, PLACE_WELL
 * proves what it can. */
enum place_effort { PLACE_QUICKLY, PLACE_WELL };
/* Gives every item an offset so that no two that are in use at the same time overlap. Returns the
 * bytes that all take; *proved: no placing takes less. bound: the largest sum of bytes in use,
 * which no placing is below. */
int64_t place_items(struct item *items, int count, int64_t bound, enum place_effort effort,
                    bool *proved);
/* Places the items that fit below `limit`, each as low as possible beside those before it in the
 * list, or every second one as high as possible, so that operands and results do not hem each other
 * in; the offset of the others becomes -1. Returns the bytes taken. */
enum place_side { PLACE_LOW, PLACE_BOTH_ENDS };
int64_t place_within(struct item *const *items, int count, int64_t limit, enum place_side side);

#endif
