/* SPDX-License-Identifier: MIT */
/* This says what instructions do: their sizes in numbers, and their effect on memory. */
#include "codegen/vta/vta.h"

bool vta_works(const struct vta_instruction *i)
{
        return i->opcode == VTA_OPCODE_GEMM || i->opcode == VTA_OPCODE_ALU;
}

static bool is_move(const struct vta_instruction *i)
{
        return i->opcode == VTA_OPCODE_LOAD || i->opcode == VTA_OPCODE_STORE;
}

bool vta_moves(const struct vta_instruction *i)
{
        return is_move(i) && i->x_size && vta_elements(i);
}

int vta_stage_of(const struct vta_instruction *i)
{
        static const int loads[VTA_MEMORIES] = {
#define MEMORY(id, name, stage) VTA_STAGE_##stage,
#include "codegen/vta/vta_isa.def"
        };
        if (i->opcode == VTA_OPCODE_STORE)
                return VTA_STAGE_STORE;
        return i->opcode == VTA_OPCODE_LOAD && i->memory != VTA_OUT ? loads[i->memory]
                                                                    : VTA_STAGE_COMPUTE;
}

int64_t vta_steps(const struct vta_instruction *i)
{
        return vta_works(i) && i->uop_end > i->uop_begin
                       ? i->iter_out * i->iter_in * (i->uop_end - i->uop_begin)
                       : 0;
}

/* A store has no padding. */
static bool pads(const struct vta_instruction *i) { return i->opcode == VTA_OPCODE_LOAD; }

int64_t vta_row(const struct vta_instruction *i)
{
        return i->x_size + (pads(i) ? i->x_pad_0 + i->x_pad_1 : 0);
}

int64_t vta_elements(const struct vta_instruction *i)
{
        return (i->y_size + (pads(i) ? i->y_pad_0 + i->y_pad_1 : 0)) * vta_row(i);
}

int64_t vta_row_address(const struct isa *isa, const struct vta_instruction *i, int64_t y)
{
        return (i->dram_base + y * i->x_stride) * isa->bytes[i->memory];
}

/* ---- load and store ---- */

static void load_micro_ops(struct running *r, int64_t at, int64_t from, int64_t count)
{
        struct vta_micro_op *uops = r->lists;
        for (int64_t k = 0; k < count; k++) {
                const uint32_t word = from < 0 ? 0 : running_word(r, from + k * VTA_MICRO_OP_BYTES);
                const unsigned char bytes[] =
                        { (unsigned char)word, (unsigned char)(word >> 8),
                          (unsigned char)(word >> 16),
                                                (unsigned char)(word >> 24) };
                struct instruction place;
                const bool fine = isa_decode_place(r->isa, bytes, &place);
                const struct vta_instruction *u = vta_instruction(&place);
                uops[at + k] = (struct vta_micro_op){ (int32_t)u->dst, (int32_t)u->src,
                                                      (int32_t)u->wgt, !fine };
        }
}

/* Fills count elements at `at` from an address; -1: with zeros. */
static void fill(struct running *r, int64_t memory, int64_t at, int64_t from, int64_t count)
{
        const int64_t bytes = r->isa->bytes[memory];
        const unsigned char *source =
                from < 0 ? NULL : touch(r, OUTSIDE, from, count * bytes, READS);
        if (memory == VTA_UOP) {
                load_micro_ops(r, at, from, count);
        } else if (r->memory && (memory == VTA_INP || memory == VTA_WGT)) {
                unsigned char *to = r->inside[memory] + at * bytes;
                if (source)
                        memcpy(to, source, (size_t)(count * bytes));
                else
                        memset(to, 0, (size_t)(count * bytes));
        } else if (r->memory) {
                const int wide = memory == VTA_ACC8 ? 1 : 4;
                int32_t *to = (int32_t *)(void *)r->inside[VTA_ACC] + at * (bytes / wide);
                for (int64_t k = 0; k < count * (bytes / wide); k++) {
                        const uint32_t word =
                                source ? (uint32_t)code_word(source + k * wide, wide) : 0;
                        to[k] = wide == 1 ? (int8_t)(unsigned char)word : (int32_t)word;
                }
        }
}

void vta_load(struct running *r, const struct instruction *instruction)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        const int64_t row = vta_row(i);
        int64_t at = i->sram_base;
        if (!vta_moves(i))
                return;
        touch(r, i->memory == VTA_ACC8 ? VTA_ACC : (int)i->memory, at, vta_elements(i), WRITES);
        if (i->memory == VTA_ACC || i->memory == VTA_ACC8)
                touch(r, VTA_OUT, at, vta_elements(i), SPOILS);
        fill(r, i->memory, at, -1, i->y_pad_0 * row);
        at += i->y_pad_0 * row;
        for (int64_t y = 0; y < i->y_size; y++, at += row) {
                fill(r, i->memory, at, -1, i->x_pad_0);
                fill(r, i->memory, at + i->x_pad_0, vta_row_address(r->isa, i, y), i->x_size);
                fill(r, i->memory, at + i->x_pad_0 + i->x_size, -1, i->x_pad_1);
        }
        fill(r, i->memory, at, -1, i->y_pad_1 * row);
}

void vta_store(struct running *r, const struct instruction *instruction)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        const int64_t bytes = i->x_size * r->isa->bytes[VTA_OUT];
        if (!vta_moves(i))
                return;
        const unsigned char *from = touch(r, VTA_OUT, i->sram_base, vta_elements(i), READS);
        for (int64_t y = 0; y < i->y_size; y++) {
                unsigned char *to = touch(r, OUTSIDE, vta_row_address(r->isa, i, y), bytes, WRITES);
                if (to)
                        memcpy(to, from + y * bytes, (size_t)bytes);
        }
}

/* ---- compute ---- */

/* A step has these operands. ACC belongs to compute alone, so the order in which its elements are
 * read and written within an instruction says little: an element that a step of the same
 * instruction wrote before counts as defined. */
struct step { int64_t dst, src, wgt; };

static void each_step(struct running *r, const struct vta_instruction *i,
                      void (*step)(struct running *r, const struct vta_instruction *i,
                                   const struct step *s))
{
        const struct vta_micro_op *uops = r->lists;
        if (!vta_steps(i))
                return;
        touch(r, VTA_UOP, i->uop_begin, i->uop_end - i->uop_begin, READS);
        for (int64_t y = 0; y < i->iter_out; y++)
                for (int64_t x = 0; x < i->iter_in; x++)
                        for (int64_t u = i->uop_begin; u < i->uop_end; u++)
                                step(r, i,
                                     &(struct step){ uops[u].dst + y * i->dst_out + x * i->dst_in,
                                                     uops[u].src + y * i->src_out + x * i->src_in,
                                                     uops[u].wgt + y * i->wgt_out +
                                                             x * i->wgt_in });
}

/* Computes acc[b][o] += sum over c of inp[b][c] * wgt[o][c]; `out` gets the low bytes. Sums
 * wrap. */
static inline void multiply(uint32_t *acc, int8_t *out, const int8_t *inp, const int8_t *wgt,
                            int batch, int block_out, int block_in)
{
        for (int b = 0; b < batch; b++)
                for (int o = 0; o < block_out; o++) {
                        int32_t sum = 0;
                        for (int c = 0; c < block_in; c++)
                                sum += inp[b * block_in + c] * wgt[o * block_in + c];
                        acc[b * block_out + o] += (uint32_t)sum;
                        out[b * block_out + o] = (int8_t)(unsigned char)acc[b * block_out + o];
                }
}

/* Sets sums to 0; what OUT holds then differs from machine to machine. */
static void reset(struct running *r, const struct step *s)
{
        void *acc = touch(r, VTA_ACC, s->dst, 1, WRITES),
             *out = touch(r, VTA_OUT, s->dst, 1, WRITES);
        touch(r, VTA_OUT, s->dst, 1, SPOILS);
        if (!r->memory)
                return;
        memset(acc, 0, (size_t)r->isa->bytes[VTA_ACC]);
        memset(out, r->poison, (size_t)r->isa->bytes[VTA_OUT]);
}

static void product(struct running *r, const struct vta_instruction *i, const struct step *s)
{
        const struct machine *m = &r->isa->machine;
        if (i->reset) {
                reset(r, s);
                return;
        }
        const int8_t *inp = touch(r, VTA_INP, s->src, 1, READS),
                     *wgt = touch(r, VTA_WGT, s->wgt, 1, READS);
        touch(r, VTA_ACC, s->dst, 1, READS);
        uint32_t *acc = touch(r, VTA_ACC, s->dst, 1, WRITES);
        int8_t *out = touch(r, VTA_OUT, s->dst, 1, WRITES);
        if (!r->memory)
                return;
        if (m->batch == 1 && m->block_out == 16 && m->block_in == 16)
                /* In the usual machine the loops have constant lengths. */
                multiply(acc, out, inp, wgt, 1, 16, 16);
        else
                multiply(acc, out, inp, wgt, m->batch, m->block_out, m->block_in);
}

/* Shifts; past the width all bits are gone, or only the sign is left. */
static int32_t shifted(int32_t a, int32_t by)
{
        if (by >= 0)
                return a < 0 ? ~(~a >> (by > 31 ? 31 : by)) : a >> (by > 31 ? 31 : by);
        return by < -31 ? 0 : (int32_t)((uint32_t)a << -by);
}

static int32_t combined(int64_t operation, int32_t a, int32_t b)
{
        switch (operation) {
        case VTA_OPERATION_MIN: return a < b ? a : b;
        case VTA_OPERATION_MAX: return a > b ? a : b;
        case VTA_OPERATION_ADD: return (int32_t)((uint32_t)a + (uint32_t)b);
        case VTA_OPERATION_SHR: return shifted(a, b);
        case VTA_OPERATION_MUL: return (int32_t)((uint32_t)a * (uint32_t)b);
        default: return 0;
        }
}

static void combine(struct running *r, const struct vta_instruction *i, const struct step *s)
{
        touch(r, VTA_ACC, s->dst, 1, READS);
        const int32_t *from = i->use_imm ? NULL : touch(r, VTA_ACC, s->src, 1, READS);
        int32_t *acc = touch(r, VTA_ACC, s->dst, 1, WRITES);
        int8_t *out = touch(r, VTA_OUT, s->dst, 1, WRITES);
        for (int64_t k = 0, n = r->memory ? r->isa->bytes[VTA_OUT] : 0; k < n; k++) {
                acc[k] = combined(i->operation, acc[k], from ? from[k] : (int32_t)i->imm);
                out[k] = (int8_t)(unsigned char)acc[k];
        }
}

void vta_multiply(struct running *r, const struct instruction *i)
{
        each_step(r, vta_instruction(i), product);
}
void vta_combine(struct running *r, const struct instruction *i)
{
        each_step(r, vta_instruction(i), combine);
}
