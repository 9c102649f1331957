/* SPDX-License-Identifier: MIT */
/* Chooses by predicted time which of the kernels that could be offloaded a machine computes;
 * kernels of the machine that follow each other are one launch. */
#ifndef ENGINES_STREAM_LAUNCH_PARTITION_H
#define ENGINES_STREAM_LAUNCH_PARTITION_H

#include <stdbool.h>

#include "base/memory.h"

/* A kernel takes these cycles on either side, INFINITY where it cannot run there; `enter` is the
 * cost of starting a launch with it, `leave` that of ending one. */
struct launch_times { double processor, machine, enter, leave; };

/* Sets machine[k] where kernel k, in the order in which they run, is computed by the machine, so
 * that the sum of all is least; kernels stay on the processor where both are equal. Returns the
 * sum. */
double launches_choose(const struct launch_times *times, int count, struct arena *arena,
                       bool *machine);

#endif
