/* SPDX-License-Identifier: MIT */
/* Which of some kernels a machine computes, by predicted time: each run of them is a launch. */
#ifndef ENGINES_STREAM_LAUNCH_PARTITION_H
#define ENGINES_STREAM_LAUNCH_PARTITION_H

#include <stdbool.h>

#include "base/memory.h"

/* Cycles of a kernel on either side, INFINITY where it cannot be there; of a launch that begins
 * with it, of one that ends with it. */
struct launch_times { double processor, machine, enter, leave; };

/* machine[k]: kernel k, in the order in which they run, is the machine's, so that the sum of all
 * is least; on the processor where both are equal. The sum. */
double launches_choose(const struct launch_times *times, int count, struct arena *arena,
                       bool *machine);

#endif
