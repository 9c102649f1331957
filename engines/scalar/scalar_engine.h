/* SPDX-License-Identifier: MIT */
/* Inside the scalar engine: the choice of schedules of its row (choose_sums.c); as in struct
 * lowering (kernels/kernels.h). */
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
