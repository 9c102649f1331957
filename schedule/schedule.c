/* SPDX-License-Identifier: MIT */
#include "schedule/schedule.h"

#include "cost/warps.h"
#include "kernels/contract.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

static struct schedule contract_choose(const struct op *op, const struct schedule_machine *machine,
                                       struct arena *arena)
{
        const struct multiply *tiles = contract_multiply(op, machine->target, true);
        return (!tiles                    ? packed_choose
                : multiply_in_groups(tiles) ? groups_choose
                : multiply_in_warps(tiles) ? warps_choose
                                           : tiles_choose)(op, machine, arena);
}

static const struct { enum opcode code; schedule_choice choose; } choices[] = {
        { OP_convolve_packed, contract_choose },
        { OP_convolve_lanes, lanes_choose },
        { OP_convolve_winograd, winograd_choose },
        { OP_dot_blocks, blocks_choose },
        { OP_reduce_window, windows_choose },
};

bool schedule_is_cold(const struct function *f, const struct target *target)
{
        double bytes = 0;
        if (!target_grid(target))
                return false;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *v = op_operand(op, i);
                        bytes += v && v->constant && v->constant->kind == CONSTANT_DENSE ? (double)type_bytes(v->type) : 0;
                }
        return warps_are_cold(target_grid(target), bytes);
}

const struct schedule *schedule_for(const struct op *op, const struct schedule_machine *machine,
                                    struct arena *arena)
{
        struct schedule s;
        if (target_accelerator(machine->target))        /* all else is plain code */
                return stream_choose(op, machine, arena, &s) ? schedule_keep(arena, s) : NULL;
        for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
                if (choices[i].code == op->code && kernels_lowering(op))
                        return schedule_keep(arena, choices[i].choose(op, machine, arena));
        return NULL;
}
