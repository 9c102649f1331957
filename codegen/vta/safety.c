/* SPDX-License-Identifier: MIT */
/* What an instruction must keep so that anything can run it at all: nothing it names lies outside. */
#include "codegen/vta/check.h"

const struct vta_rule_info vta_rules[VTA_RULES] = {
#define RULE(id, must, text) { #id, must, text },
#include "codegen/vta/rules.def"
};

static bool flags_are_good(const struct vta_instruction *i)
{
        for (int f = 0; f < VTA_FLAGS; f++)
                if (vta_queue(i, f) == -1)
                        return false;
        return true;
}

/* rows of DRAM: the first and the last lie within */
static bool dram_is_good(const struct vta *v, const struct vta_instruction *i, int64_t dram_bytes)
{
        if (!i->y_size || !i->x_size)
                return true;
        int64_t end = vta_row_address(v, i, i->y_size - 1) + i->x_size * v->bytes[i->memory];
        return vta_row_address(v, i, 0) >= VTA_PAGE && end <= dram_bytes;
}

enum vta_rule vta_unsafe_move(const struct vta *v, const struct vta_instruction *i, int64_t dram_bytes)
{
        bool store = i->opcode == VTA_OPCODE_STORE;
        if (!vta_moves(i) && store)
                return VTA_RULES;
        if (store != (i->memory == VTA_OUT))
                return VTA_RULE_memory;
        if (!vta_moves(i))
                return VTA_RULES;
        if (i->sram_base + vta_elements(i) > (store ? v->depth[VTA_ACC] : v->depth[i->memory]))
                return VTA_RULE_sram;
        return dram_is_good(v, i, dram_bytes) ? VTA_RULES : VTA_RULE_dram;
}

/* Indices grow with the counters, so the last step of each micro-op has the largest. */
static enum vta_rule unsafe_steps(const struct vta *v, const struct vta_instruction *i, const struct vta_micro_op *uops)
{
        if (i->uop_end > v->depth[VTA_UOP])
                return VTA_RULE_micro_op;
        if (!vta_steps(i))
                return VTA_RULES;
        bool product = i->opcode == VTA_OPCODE_GEMM;
        int64_t out = i->iter_out - 1, in = i->iter_in - 1;
        int64_t dst = v->depth[VTA_ACC] - out * i->dst_out - in * i->dst_in;
        int64_t src = v->depth[product ? VTA_INP : VTA_ACC] - out * i->src_out - in * i->src_in;
        int64_t wgt = product ? v->depth[VTA_WGT] - out * i->wgt_out - in * i->wgt_in : INT64_MAX;
        for (int64_t u = i->uop_begin; u < i->uop_end; u++) {
                if (!uops[u].fine)
                        return VTA_RULE_micro_op;
                if (uops[u].dst >= dst || uops[u].src >= src || uops[u].wgt >= wgt)
                        return VTA_RULE_index;
        }
        return VTA_RULES;
}

enum vta_rule vta_unsafe(const struct vta *v, const struct vta_instruction *i, const struct vta_micro_op *uops, int64_t dram_bytes)
{
        if (!flags_are_good(i))
                return VTA_RULE_flags;
        if (vta_works(i))
                return unsafe_steps(v, i, uops);
        return i->opcode == VTA_OPCODE_FINISH ? VTA_RULES : vta_unsafe_move(v, i, dram_bytes);
}

int64_t vta_work(const struct vta_instruction *i)
{
        return 1 + (vta_works(i) ? vta_steps(i) + i->uop_end : vta_moves(i) ? vta_elements(i) : 0);
}
