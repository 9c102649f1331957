/* SPDX-License-Identifier: MIT */
/* These are the choices of schedules that engines' rows name (engines/), and what they share. Each
 * returns a good schedule for an operation, the one of least predicted time; the schedule may
 * contain the reason, in `arena`. */
#ifndef SCHEDULE_CHOOSE_H
#define SCHEDULE_CHOOSE_H

#include "schedule/schedule_choice.h"

/* Returns the most positions of a register tile of `vectors` vectors: sums and weights stay in
 * registers, and so do `inputs` words of x, or one word of every position where the multiply takes
 * lanes of them (choose_packed.c). */
int schedule_positions(const struct target *target, const struct multiply *m, int vectors,
                       int inputs);
/* Returns the channels of an iteration of the innermost loop, of `extent` channels. */
int schedule_unroll(const struct schedule_registers *s, int64_t extent);

/* Choose the schedule of convolve_packed with sums in vectors (choose_packed.c), and by Winograd's
 * algorithm (choose_winograd.c). */
struct schedule packed_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
struct schedule winograd_choose(const struct op *op, const struct schedule_machine *machine,
                                struct arena *arena);

#endif
