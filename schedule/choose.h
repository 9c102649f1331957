/* The choices of schedule.c's table, each in a file of its name: a good schedule for an operation,
 * the one of least predicted time; why, in arena, may be part of it. */
#ifndef SCHEDULE_CHOOSE_H
#define SCHEDULE_CHOOSE_H

#include "schedule/schedule.h"

typedef struct schedule (*schedule_choice)(const struct op *op,
                                           const struct schedule_machine *machine,
                                           struct arena *arena);

/* convolve_packed: sums in vectors (choose.c), in hardware tiles */
struct schedule packed_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
struct schedule tiles_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule lanes_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule winograd_choose(const struct op *op, const struct schedule_machine *machine,
                                struct arena *arena);
struct schedule windows_choose(const struct op *op, const struct schedule_machine *machine,
                               struct arena *arena);
struct schedule blocks_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);

#endif
