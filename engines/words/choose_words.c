/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of a contraction by words: the register tile as for vectors, and strips of
 * one row of tiles, so that what is decoded takes little memory. */
#include "engines/words/words_engine.h"
#include "ir/tensor/packed_multiply.h"

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
        }
        return chosen;
}
