/* SPDX-License-Identifier: MIT */
/* Inside the scalar engine: the functions of its lowerings (struct lowering of kernels/kernels.h),
 * which stand in choose_sums.c. */
#ifndef ENGINES_SCALAR_SCALAR_ENGINE_H
#define ENGINES_SCALAR_SCALAR_ENGINE_H

#include "kernels/kernels.h"

struct schedule sums_choose(const struct op *op, const struct schedule_machine *machine,
                            struct arena *arena);
bool sums_candidate(const struct op *op, const struct schedule_machine *machine, int n,
                    struct schedule *s);
bool sums_follow(const struct op *op, const struct schedule_machine *machine,
                 const struct schedule *s);

#endif
