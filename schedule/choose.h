/* SPDX-License-Identifier: MIT */
/* Choices of schedules that engines' rows name (engines/), and what they share: a good schedule for
 * an operation, the one of least predicted time; why, in arena, may be part of it. */
#ifndef SCHEDULE_CHOOSE_H
#define SCHEDULE_CHOOSE_H

#include "schedule/schedule_choice.h"

/* The most positions of a register tile of so many vectors: sums and weights stay in registers, and
 * `inputs` of x; or one of every position, where the multiply takes lanes of them
 * (choose_packed.c). */
int schedule_positions(const struct target *target, const struct multiply *m, int vectors,
                       int inputs);
/* channels of an iteration of the innermost loop of `extent` channels */
int schedule_unroll(const struct schedule_registers *s, int64_t extent);

/* convolve_packed: sums in vectors (choose_packed.c); the same by Winograd's algorithm
 * (choose_winograd.c) */
struct schedule packed_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
struct schedule winograd_choose(const struct op *op, const struct schedule_machine *machine,
                                struct arena *arena);

#endif
