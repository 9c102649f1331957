/* SPDX-License-Identifier: MIT */
/* The choices of schedule.c's table, each in a file of its name: a good schedule for an operation,
 * the one of least predicted time; why, in arena, may be part of it. */
#ifndef SCHEDULE_CHOOSE_H
#define SCHEDULE_CHOOSE_H

#include "schedule/schedule.h"

typedef struct schedule (*schedule_choice)(const struct op *op,
                                           const struct schedule_machine *machine,
                                           struct arena *arena);

/* The most positions of a register tile of so many vectors: sums and weights stay in registers, and
 * `inputs` of x; or one of every position, where the multiply takes lanes of them (choose.c). */
int schedule_positions(const struct target *target, const struct multiply *m, int vectors, int inputs);
/* channels of a turn of the innermost loop of `extent` channels */
int schedule_unroll(const struct schedule *s, int64_t extent);

/* convolve_packed: sums in vectors (choose.c), in hardware tiles, by blocks of
 * warps */
struct schedule packed_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
struct schedule tiles_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule warps_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule groups_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
struct schedule lanes_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule winograd_choose(const struct op *op, const struct schedule_machine *machine,
                                struct arena *arena);
struct schedule windows_choose(const struct op *op, const struct schedule_machine *machine,
                               struct arena *arena);
struct schedule blocks_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);

/* Attention by blocks of warps: of the second product. False: nothing fits. */
struct attention;
bool attention_choose(const struct attention *a, const struct target *target, struct arena *arena, struct schedule *best);

/* What the target's machine can compute, with the rest of its fusion; false: it cannot. */
bool stream_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena,
                   struct schedule *s);

#endif
