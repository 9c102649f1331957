/* SPDX-License-Identifier: MIT */
/* Which elements an instruction reads and writes. */
#include "codegen/vta/check.h"

static void visit(const struct vta_visitor *to, int memory, int64_t first, int64_t count, enum vta_access access)
{
        to->visit(to->context, memory, first, count, access);
}

static void move(const struct vta *v, const struct vta_instruction *i, const struct vta_visitor *to)
{
        bool store = i->opcode == VTA_OPCODE_STORE;
        int memory = i->memory == VTA_ACC8 ? VTA_ACC : (int)i->memory;
        visit(to, memory, i->sram_base, vta_elements(i), store ? VTA_READS : VTA_WRITES);
        if (memory == VTA_ACC)
                visit(to, VTA_OUT, i->sram_base, vta_elements(i), VTA_SPOILS);
        for (int64_t y = 0; y < i->y_size; y++)
                visit(to, VTA_DRAM, vta_row_address(v, i, y), i->x_size * v->bytes[i->memory], store ? VTA_WRITES : VTA_READS);
}

/* ACC belongs to compute alone, so which of its elements are read and written in which order says little: one that a step of the
 * same instruction wrote before is there. */
static void product(const struct vta_visitor *to, const struct vta_instruction *i, int64_t d, int64_t s, int64_t w)
{
        if (!i->reset) {
                visit(to, VTA_INP, s, 1, VTA_READS);
                visit(to, VTA_WGT, w, 1, VTA_READS);
                visit(to, VTA_ACC, d, 1, VTA_READS);
        }
        visit(to, VTA_ACC, d, 1, VTA_WRITES);
        visit(to, VTA_OUT, d, 1, VTA_WRITES);
        if (i->reset)
                visit(to, VTA_OUT, d, 1, VTA_SPOILS);
}

static void combine(const struct vta_visitor *to, const struct vta_instruction *i, int64_t d, int64_t s)
{
        visit(to, VTA_ACC, d, 1, VTA_READS);
        if (!i->use_imm)
                visit(to, VTA_ACC, s, 1, VTA_READS);
        visit(to, VTA_ACC, d, 1, VTA_WRITES);
        visit(to, VTA_OUT, d, 1, VTA_WRITES);
}

void vta_accesses(const struct vta *v, const struct vta_instruction *i, const struct vta_micro_op *uops, const struct vta_visitor *to)
{
        if (vta_moves(i))
                move(v, i, to);
        if (!vta_steps(i))
                return;
        visit(to, VTA_UOP, i->uop_begin, i->uop_end - i->uop_begin, VTA_READS);
        for (int64_t y = 0; y < i->iter_out; y++)
                for (int64_t x = 0; x < i->iter_in; x++)
                        for (int64_t u = i->uop_begin; u < i->uop_end; u++) {
                                int64_t d = uops[u].dst + y * i->dst_out + x * i->dst_in;
                                int64_t s = uops[u].src + y * i->src_out + x * i->src_in;
                                if (i->opcode == VTA_OPCODE_GEMM)
                                        product(to, i, d, s, uops[u].wgt + y * i->wgt_out + x * i->wgt_in);
                                else
                                        combine(to, i, d, s);
                        }
}
