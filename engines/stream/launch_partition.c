/* SPDX-License-Identifier: MIT */
/* Chooses by dynamic programming: the next kernel needs to know only the least cycles of all
 * kernels so far, with the last one on either side. */
#include "engines/stream/launch_partition.h"

#include <math.h>

enum side { PROCESSOR, MACHINE, SIDES };

struct state {
        double least[SIDES];            /* With the kernel on that side, all kernels take at least
                                         * these cycles. */
        enum side before[SIDES];        /* The kernel before it is then on this side. */
};

static struct state next(struct state before, const struct launch_times *last,
                         const struct launch_times *t)
{
        const double cycles[SIDES] = { t->processor, t->machine };
        const double change[SIDES] = { before.least[MACHINE] + (last ? last->leave : 0),
                                       before.least[PROCESSOR] + t->enter };
        struct state s;
        for (enum side side = PROCESSOR; side < SIDES; side++) {
                s.before[side] = before.least[side] <= change[side] ? side : (enum side)(1 - side);
                s.least[side] = cycles[side] + fmin(before.least[side], change[side]);
        }
        return s;
}

double launches_choose(const struct launch_times *times, int count, struct arena *arena,
                       bool *machine)
{
        struct state *states = arena_array(arena, (size_t)count + 1, sizeof *states);
        /* No kernel runs before the first. */
        states[0] = (struct state){ .least = { 0, INFINITY } };
        for (int k = 0; k < count; k++)
                states[k + 1] = next(states[k], k ? &times[k - 1] : NULL, &times[k]);
        const double on_machine =
                             states[count].least[MACHINE] + (count ? times[count - 1].leave : 0),
                     on_processor = states[count].least[PROCESSOR];
        enum side side = on_machine < on_processor ? MACHINE : PROCESSOR;
        for (int k = count; k; side = states[k--].before[side])
                machine[k - 1] = side == MACHINE;
        return fmin(on_machine, on_processor);
}
