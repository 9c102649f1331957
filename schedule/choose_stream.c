/* SPDX-License-Identifier: MIT */
/* Convolutions that the target's machine computes: the tile of least predicted cycles. */
#include "kernels/streams.h"
#include "schedule/choose.h"

bool stream_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena, struct schedule *s)
{
        enum { CONTEXTS = 2 };
        const struct machine *m = target_accelerator(machine->target);
        struct stream_work work;
        struct stream_cost cost;
        *s = schedule_preset();
        if (!stream_work_of(op, machine->target, &work))
                return false;
        for (int contexts = CONTEXTS; contexts; contexts--)
                if (stream_tiles(&work, m, contexts, s, &cost)) {
                        s->why = arena_printf(arena, "%lld cycles, %.0f %% products, bound by %s; %lld KB read, %lld KB stored",
                                              (long long)cost.cycles, 100 * (double)cost.steps / (double)cost.cycles,
                                              stream_bound(&cost), (long long)cost.read / 1024, (long long)cost.written / 1024);
                        return true;
                }
        return false;
}
