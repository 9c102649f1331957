/* SPDX-License-Identifier: MIT */
/* Orders of steps that need the least memory at once. Knows nothing of programs. */
#ifndef PASSES_MEMORY_ARRANGE_SEARCH_H
#define PASSES_MEMORY_ARRANGE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

/* Bytes in use from the first of their steps to the last. */
struct resident { int64_t bytes; int *steps; int step_count; };

/* What a step may lie on: `dying` (a number of residents) when no step behind it needs that one. */
struct in_place { int dying; int64_t bytes; int result; };  /* result: those of one result are tried
                                                            * in order */

struct step {
        int *before, before_count;      /* steps that come first; their numbers are lower */
        int *residents, resident_count; /* that it touches; each has other steps, too */
        int64_t own;                    /* bytes in use while it runs and never else */
        struct in_place *in_places;
        int in_place_count;
};

struct step_graph {
        struct step *steps;
        int count;
        struct resident *residents;
        int resident_count;
};

/* Building one: `before` comes before a step; bytes are in use from the first of these distinct
 * steps to the last, which takes the array. */
void step_before(struct step_graph *g, struct arena *arena, int step, int before);
void step_graph_resident(struct step_graph *g, struct arena *arena, struct resident resident);

/* The step at `from` of an order goes towards `to`, as far as those around it let it; false: it
 * stays. */
bool step_move(const struct step_graph *g, int *order, int from, int to);

/* the most bytes in use at once; order NULL: 0, 1, 2, ... */
int64_t arrange_peak(const struct step_graph *g, const int *order);

/* Sets order to one of least peak, as far as it finds out; returns its peak. *bound: no order has a
 * lower one. The order given is one to start with; the result is never worse. *work, where not
 * NULL, counts down what the search spends, looks at a step or at what it touches: it ends soon
 * behind 0. */
int64_t arrange_search(const struct step_graph *g, int *order, int64_t *bound, int64_t *work);

#endif
