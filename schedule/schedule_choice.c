/* SPDX-License-Identifier: MIT */
#include "schedule/schedule_choice.h"

#include "ir/target/engine.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

bool schedule_is_cold(const struct function *f, const struct target *target)
{
        double bytes = 0;
        const struct engine *engine = target_engine(target);
        if (!engine->cold)
                return false;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *v = op_operand(op, i);
                        bytes += v && v->constant && v->constant->kind != CONSTANT_SPLAT
                                         ? (double)type_bytes(v->type)
                                         : 0;
                }
        return engine->cold(target, bytes);
}

const struct schedule *schedule_for(const struct op *op, const struct schedule_machine *machine,
                                    struct arena *arena)
{
        struct schedule s;
        const struct engine *engine = target_engine(machine->target);
        const struct lowering *lowering = kernels_lowering(op, machine->target);
        if (lowering && lowering->choose)
                return schedule_keep(arena, lowering->choose(op, machine, arena));
        return engine->schedule && engine->schedule(op, machine, arena, &s)
                       ? schedule_keep(arena, s)
                       : NULL;
}
