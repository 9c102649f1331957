/* SPDX-License-Identifier: MIT */
/* The scalar engine's lowerings have these functions, which choose_sums.c defines (struct lowering
 * of kernels/kernels.h). */
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
