/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of a contraction by words: the register tile as for vectors, and strips of
 * one row of tiles, so that what is decoded takes little memory; where memory is the goal, strips
 * of a part of the row. */
#include "base/size.h"
#include "cost/packed_cost.h"
#include "engines/words/words_engine.h"
#include "ir/target/rates.h"
#include "ir/tensor/packed_multiply.h"

/* Returns the fewest tiles of a row that a strip may have within the percents of time that may be
 * spent: what neighbouring strips both decode, and to begin each panel again. 0: all tiles. */
static int strip_columns(const struct op *op, const struct schedule_registers *s,
                         const struct schedule_machine *machine)
{
        const struct target *target = machine->target;
        enum { PANEL = 60, POSITION = 8 };       /* Instructions, counted. */
        const struct packed_work work = packed_work_of(op, target);
        if (work.spatial != 2 || s->flat)
                return 0;
        const struct multiply *m = work.multiply;
        const int64_t stride = op_ints(op, "strides", NULL)[1],
                      reach = (work.window[1] - 1) * op_ints(op, "dilations", NULL)[1] + 1,
                      tiles = divide_up(work.extent[1], s->columns),
                      again = reach > stride ? reach - stride : 0;
        const double position = packed_cost(&work, s, target).cycles /
                                (double)(work.extent[0] * work.extent[1] * work.images),
                     words = (double)(work.channels * work.blocks),
                     decodes = (double)(again * work.window[0]) *
                               (POSITION + words * (rate_packed_decode(target) + m->channels)),
                     more = decodes + PANEL * (double)work.panels;
        for (int64_t part = 1; part < tiles; part++)
                if (100 * more <= machine->strip_percent * position * (double)(part * s->columns))
                        return (int)part;
        return 0;
}

struct schedule words_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena)
{
        struct schedule chosen = packed_choose(op, machine, arena);
        const struct multiply *m = packed_multiply(op, machine->target, SUMS_IN_VECTORS);
        struct schedule_registers *s = &chosen.registers;
        s->prefetch = 0;
        if (m && m->x.decode) {
                s->pack = 1;
                s->strip = 1;
                s->strip_columns = strip_columns(op, s, machine);
        }
        return chosen;
}
