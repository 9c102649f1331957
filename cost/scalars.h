/* The cost model of sums of scalars, side by side (scalars.c): predicted cycles of one core. */
#ifndef COST_SCALARS_H
#define COST_SCALARS_H

#include <stdbool.h>

#include "ir/target.h"

/* One step of all sums of a tile: products, numbers loaded, those of them that go into all lanes of
 * a vector, values that want registers at once. */
struct scalar_step { double sums, loads, spread, held; bool floats; };
double scalars_step_cost(const struct scalar_step *step, const struct target *t);
/* to read a result again, in a loop of its own */
double scalars_again_cost(const struct target *t);

#endif
