#ifndef PASSES_ARRANGE_H
#define PASSES_ARRANGE_H

#include "passes/arrange_search.h"
#include "passes/lifetimes.h"

/* The statements of main as steps, in its order. False: they cannot change places. shares: results may lie on operands. */
bool arrange_graph(struct arena *arena, struct loop_program *p, bool shares, struct step_graph *g);
/* each step, from the last one on, behind what it needs; of the steps, `before` counts */
void arrange_by_need(const struct step_graph *g, struct arena *arena, int *order);

#endif
