/* SPDX-License-Identifier: MIT */
/* Orders steps so that they need the least memory at once. It knows nothing of programs. */
#ifndef PASSES_MEMORY_ARRANGE_SEARCH_H
#define PASSES_MEMORY_ARRANGE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

/* A resident is bytes that are in use from the first of its steps to the last. */
struct resident { int64_t bytes; int *steps; int step_count; };

/* A step may write its result where `dying` (the number of a resident) lies, if no step behind it
 * needs that resident. */
struct in_place { int dying; int64_t bytes; int result; };  /* Entries with the same result are
                                                             * tried in order. */

struct step {
        int *before, before_count;      /* The steps with these numbers, which are lower, come
                                         * before it. */
        int *residents, resident_count; /* The step touches these residents, each of which other
                                         * steps touch, too. */
        int64_t own;                    /* This many bytes are in use while the step runs and never
                                         * else. */
        struct in_place *in_places;
        int in_place_count;
};

struct step_graph {
        struct step *steps;
        int count;
        struct resident *residents;
        int resident_count;
};

/* These functions build a graph: `before` comes before a step; bytes are in use from the first of
 * the resident's distinct steps to the last. The graph keeps the array. */
void step_before(struct step_graph *g, struct arena *arena, int step, int before);
void step_graph_resident(struct step_graph *g, struct arena *arena, struct resident resident);

/* Moves the step at `from` of an order towards `to`, as far as the steps around it allow. Returns
 * false if it stays. */
bool step_move(const struct step_graph *g, int *order, int from, int to);

/* Returns the most bytes in use at once; order NULL: 0, 1, 2, ... */
int64_t arrange_peak(const struct step_graph *g, const int *order);

/* Sets `order`, which it starts from, to an order of least peak, as far as it finds one, and never
 * to a worse one; returns its peak. No order has a lower peak than *bound. *work, where work is not
 * NULL, counts down what the search does, looks at a step or at what it touches; the search ends
 * soon after 0. */
int64_t arrange_search(const struct step_graph *g, int *order, int64_t *bound, int64_t *work);

#endif
