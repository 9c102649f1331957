/* SPDX-License-Identifier: MIT */
#ifndef PASSES_MEMORY_ARRANGE_H
#define PASSES_MEMORY_ARRANGE_H

#include "passes/memory/arrange_search.h"
#include "passes/memory/lifetimes.h"

/* Makes the statements of main steps, in their order. Returns false if they cannot change places.
 * shares: results may lie on operands. */
bool arrange_graph(struct arena *arena, struct loop_program *p, bool shares, struct step_graph *g);
/* Returns the peak of the best order found, in bytes; no order needs less than *bound. */
int64_t arrange_best(struct arena *arena, const struct step_graph *g, int64_t *bound);
struct pass_context;
/* Runs the pass. work: NULL, or a budget for a search that need not find the best order, which it
 * counts down (arrange_search.h). Returns how many statements have moved. */
int arrange_statements(struct loop_program *p, struct pass_context *context, int64_t *work);
/* Returns the bytes that no plan is below: with any order where memory is the goal, else with the
 * present one. */
int64_t arrange_enough(struct loop_program *p, const struct pass_context *context);
/* Fills `order`: each step, from the last one on, comes behind what it needs. Of the graph's steps
 * only `before` matters. */
void arrange_by_need(const struct step_graph *g, struct arena *arena, int *order);

#endif
