/* SPDX-License-Identifier: MIT */
/* Placing: rectangles of statements by bytes, as low as possible. Knows nothing of programs. */
#ifndef PASSES_MEMORY_PLACE_H
#define PASSES_MEMORY_PLACE_H

#include "passes/memory/lifetimes.h"

/* What is placed as one: spans count from `offset`, which becomes a multiple of STORAGE_ALIGN. */
struct item {
        const struct span *spans;
        int span_count, number;         /* number: equal items are told apart by it */
        int64_t bytes;                  /* where the last span ends, or more */
        int first, last;                /* of all spans */
        int64_t offset;
        int64_t crowd;                  /* most bytes of all items in use while it is: place_items
                                         * finds it */
};

/* How long to look: PLACE_QUICKLY tries several orders and small changes, PLACE_WELL proves what it
 * can. */
enum place_effort { PLACE_QUICKLY, PLACE_WELL };
/* Gives every item an offset so that no two that are in use at the same time overlap. Returns the
 * bytes that all take; *proved: no placing takes less. bound: the largest sum of bytes in use,
 * which none can be below. */
int64_t place_items(struct item *items, int count, int64_t bound, enum place_effort effort,
                    bool *proved);
/* Those that fit below `limit`, each as low as possible beside those before it in the list, or each
 * second one as high as possible, so that what is read and what is made do not hem each other in;
 * the offset of others becomes -1. Returns the bytes taken. */
enum place_side { PLACE_LOW, PLACE_BOTH_ENDS };
int64_t place_within(struct item *const *items, int count, int64_t limit, enum place_side side);

#endif
