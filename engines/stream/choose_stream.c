/* SPDX-License-Identifier: MIT */
/* Chooses the tile of least predicted cycles for a convolution that the target's machine
 * computes. */
#include "engines/stream/stream_memo.h"
#include "engines/stream/streams.h"
#include "schedule/choose.h"

bool stream_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena,
                   struct schedule *s)
{
        const struct machine *m = target_accelerator(machine->target);
        const struct stream_memo *none = NULL;
        struct stream_work work;
        struct stream_cost cost;
        *s = schedule_preset(SCHEDULE_stream);
        if (!stream_work_of(op, machine->target, &work) ||
            !stream_tiles_best(&work, m, arena, machine->memo ? machine->memo : &none, &s->stream,
                               &cost))
                return false;
        s->why = arena_printf(
                arena, "%lld cycles, %.0f %% products, bound by %s; %lld KB read, %lld KB stored",
                (long long)cost.cycles, 100 * (double)cost.steps / (double)cost.cycles,
                stream_bound(&cost), (long long)cost.read / 1024, (long long)cost.written / 1024);
        return true;
}
