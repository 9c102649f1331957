/* SPDX-License-Identifier: MIT */
#ifndef PASSES_MEMORY_ARRANGE_H
#define PASSES_MEMORY_ARRANGE_H

#include "passes/memory/arrange_search.h"
#include "passes/memory/lifetimes.h"

/* The statements of main as steps, in its order. False: they cannot change places. shares: results
 * may lie on operands. */
bool arrange_graph(struct arena *arena, struct loop_program *p, bool shares, struct step_graph *g);
/* what the best order found needs; *bound: no order needs less */
int64_t arrange_best(struct arena *arena, const struct step_graph *g, int64_t *bound);
struct pass_context;
/* The pass. work: NULL; or not the best order there is, by a search that counts down *work
 * (arrange_search.h). How many statements have another place. */
int arrange_statements(struct loop_program *p, struct pass_context *context, int64_t *work);
/* what no plan is below: of all orders where memory is the goal, else of the one there is */
int64_t arrange_enough(struct loop_program *p, const struct pass_context *context);
/* each step, from the last one on, behind what it needs; of the steps, `before` counts */
void arrange_by_need(const struct step_graph *g, struct arena *arena, int *order);

#endif
