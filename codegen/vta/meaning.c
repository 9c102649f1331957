/* SPDX-License-Identifier: MIT */
/* What instructions do, in numbers: stages, tokens, elements, steps. */
#include "codegen/vta/vta.h"

bool vta_moves(const struct vta_instruction *i)
{
        return vta_form_of(i->opcode) == VTA_FORM_MOVE && i->x_size && vta_elements(i);
}

bool vta_works(const struct vta_instruction *i) { return i->opcode == VTA_OPCODE_GEMM || i->opcode == VTA_OPCODE_ALU; }

enum vta_stage vta_stage_of(const struct vta_instruction *i)
{
        static const enum vta_stage loads[VTA_MEMORIES] = {
#define MEMORY(id, name, stage, of) VTA_STAGE_##stage,
#include "codegen/vta/isa.def"
        };
        if (i->opcode == VTA_OPCODE_STORE)
                return VTA_STAGE_STORE;
        return i->opcode == VTA_OPCODE_LOAD && i->memory != VTA_OUT ? loads[i->memory] : VTA_STAGE_COMPUTE;
}

int64_t vta_steps(const struct vta_instruction *i)
{
        return vta_works(i) && i->uop_end > i->uop_begin ? i->iter_out * i->iter_in * (i->uop_end - i->uop_begin) : 0;
}

/* a store has no padding */
static bool pads(const struct vta_instruction *i) { return i->opcode == VTA_OPCODE_LOAD; }

int64_t vta_row(const struct vta_instruction *i) { return i->x_size + (pads(i) ? i->x_pad_0 + i->x_pad_1 : 0); }

int64_t vta_elements(const struct vta_instruction *i)
{
        return (i->y_size + (pads(i) ? i->y_pad_0 + i->y_pad_1 : 0)) * vta_row(i);
}

int64_t vta_row_address(const struct vta *v, const struct vta_instruction *i, int64_t y)
{
        return (i->dram_base + y * i->x_stride) * v->bytes[i->memory];
}

/* ---- tokens ---- */

const char *const vta_queue_names[VTA_QUEUES] = { "load to compute", "compute to store", "compute to load", "store to compute" };

int vta_queue(const struct vta_instruction *i, int flag)
{
        const int64_t set[VTA_FLAGS] = { i->pop_prev, i->pop_next, i->push_prev, i->push_next };
        int stage = (int)vta_stage_of(i), other = flag % 2 ? stage + 1 : stage - 1;
        if (!set[flag])
                return -2;
        if (other < 0 || other == VTA_STAGES)
                return -1;
        int from = flag < VTA_POPS ? other : stage, to = flag < VTA_POPS ? stage : other;
        return from < to ? from : from + 1;     /* the order of their names */
}
