/* SPDX-License-Identifier: MIT */
/* This says what instructions wait for, which rules they must keep, and what they cost. */
#include "codegen/machines/machine_check.h"
#include "codegen/vta/vta.h"

enum { CHISEL_MICRO_OPS = 2048, SHIFT_MOST = 15, APART = 3 };
#define NO_DETAIL "%s", ""

/* ---- tokens ---- */

enum { FLAGS = 4, POPS = 2, NO_NEIGHBOUR = -2 };

/* Returns the queue between neighbouring stages that a flag of the instruction takes from or puts
 * to, by the order of vta_set.queues; -1: the flag is not set. Flags are in the order of bits; pops
 * come first. */
static int queue(const struct vta_instruction *i, int flag)
{
        const int64_t set[FLAGS] = { i->pop_prev, i->pop_next, i->push_prev, i->push_next };
        int stage = (int)vta_stage_of(i), other = flag % 2 ? stage + 1 : stage - 1;
        if (!set[flag])
                return -1;
        if (other < 0 || other == VTA_STAGES)
                return NO_NEIGHBOUR;
        int from = flag < POPS ? other : stage, to = flag < POPS ? stage : other;
        return from < to ? from : from + 1;     /* The queues are ordered by their names. */
}

struct order vta_order(const struct instruction *instruction)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        return (struct order){ .stage = (int)vta_stage_of(i), .take = { queue(i, 0), queue(i, 1) },
                               .give = { queue(i, POPS), queue(i, POPS + 1) }, .on = -1 };
}

/* ---- rules without which nothing can run an instruction ---- */

/* Do the first and the last row lie within DRAM? */
static bool dram_is_good(const struct isa *isa, const struct vta_instruction *i, int64_t memory)
{
        if (!i->y_size || !i->x_size || memory < 0)
                return true;
        int64_t end = vta_row_address(isa, i, i->y_size - 1) + i->x_size * isa->bytes[i->memory];
        return vta_row_address(isa, i, 0) >= PROGRAM_PAGE && end <= memory;
}

static const char *breaks_move(const struct isa *isa, const struct vta_instruction *i,
                               int64_t memory)
{
        bool store = i->opcode == VTA_OPCODE_STORE;
        if (!vta_moves(i) && store)
                return NULL;
        if (store != (i->memory == VTA_OUT))
                return "memory";
        if (!vta_moves(i))
                return NULL;
        if (i->sram_base + vta_elements(i) > (store ? isa->depth[VTA_ACC] : isa->depth[i->memory]))
                return "sram";
        return dram_is_good(isa, i, memory) ? NULL : "dram";
}

/* Indices grow with the counters, so the last step of each micro-op has the largest ones. */
static const char *breaks_steps(const struct isa *isa, const struct vta_instruction *i,
                                const struct vta_micro_op *uops)
{
        if (i->uop_end > isa->depth[VTA_UOP])
                return "micro_op";
        if (!vta_steps(i))
                return NULL;
        bool product = i->opcode == VTA_OPCODE_GEMM;
        int64_t out = i->iter_out - 1, in = i->iter_in - 1;
        int64_t dst = isa->depth[VTA_ACC] - out * i->dst_out - in * i->dst_in;
        int64_t src = isa->depth[product ? VTA_INP : VTA_ACC] - out * i->src_out - in * i->src_in;
        int64_t wgt = product ? isa->depth[VTA_WGT] - out * i->wgt_out - in * i->wgt_in : INT64_MAX;
        for (int64_t u = i->uop_begin; u < i->uop_end; u++) {
                if (uops[u].spoiled)
                        return "micro_op";
                if (uops[u].dst >= dst || uops[u].src >= src || uops[u].wgt >= wgt)
                        return "index";
        }
        return NULL;
}

const char *vta_breaks(const struct isa *isa, const struct instruction *instruction,
                       const void *lists, int64_t memory)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        for (int f = 0; f < FLAGS; f++)
                if (queue(i, f) == NO_NEIGHBOUR)
                        return "flags";
        if (vta_works(i))
                return lists ? breaks_steps(isa, i, lists) : NULL;
        return i->opcode == VTA_OPCODE_FINISH ? NULL : breaks_move(isa, i, memory);
}

/* ---- rules for what differs between implementations of VTA ---- */

static void check_move(struct checker *c, const struct vta_instruction *i)
{
        bool y_pads = i->y_pad_0 || i->y_pad_1, x_pads = i->x_pad_0 || i->x_pad_1,
             load = i->opcode == VTA_OPCODE_LOAD;
        if (load && i->memory == VTA_ACC8)
                check_report(c, "acc8", NO_DETAIL);
        if (!i->x_size && (y_pads || x_pads))
                check_report(c, "no_x", NO_DETAIL);
        if (!i->y_size && i->x_size)
                check_report(c, "no_y", NO_DETAIL);
        if (load && i->memory == VTA_WGT && (y_pads || x_pads))
                check_report(c, "wgt_pad", NO_DETAIL);
        if (load && i->memory == VTA_UOP && vta_moves(i) &&
            (i->y_size != 1 || i->x_stride != i->x_size || y_pads || x_pads))
                check_report(c, "uop_row", NO_DETAIL);
        if (!load && (y_pads || x_pads))
                check_report(c, "store_pad", NO_DETAIL);
}

static void check_micro_ops(struct checker *c, const struct vta_instruction *i,
                            const struct vta_micro_op *uops)
{
        if (i->use_imm && (i->dst_out != i->src_out || i->dst_in != i->src_in))
                check_report(c, "same", NO_DETAIL);
        for (int64_t u = i->uop_begin; u < i->uop_end; u++) {
                if (i->use_imm && uops[u].dst != uops[u].src)
                        check_report(c, "same", "not so in micro-op %lld", (long long)u);
                if (uops[u].wgt)
                        check_report(c, "no_wgt", "not so in micro-op %lld", (long long)u);
        }
}

static void check_work(struct checker *c, const struct vta_instruction *i,
                       const struct vta_micro_op *uops)
{
        bool alu = i->opcode == VTA_OPCODE_ALU, shift = alu && i->operation == VTA_OPERATION_SHR;
        if (!vta_steps(i))
                check_report(c, "loops", NO_DETAIL);
        if (i->uop_end > CHISEL_MICRO_OPS)
                check_report(c, "resident", "the last is %lld", (long long)i->uop_end - 1);
        if (shift && i->use_imm && (i->imm < -SHIFT_MOST || i->imm > SHIFT_MOST))
                check_report(c, "shift", "not by %lld", (long long)i->imm);
        if (shift && !i->use_imm)
                check_report(c, "shift_tensor", NO_DETAIL);
        if (alu && i->operation == VTA_OPERATION_MUL)
                check_report(c, "mul", NO_DETAIL);
        if (alu)
                check_micro_ops(c, i, uops);
}

/* Compares each step with what the two steps before it wrote. */
static void check_distance(struct checker *c, const struct vta_instruction *i,
                           const struct vta_micro_op *uops)
{
        int64_t before[APART - 1] = { -1, -1 };
        bool reads = i->opcode == VTA_OPCODE_ALU && !i->use_imm;
        for (int64_t y = 0; y < i->iter_out && vta_steps(i); y++)
                for (int64_t x = 0; x < i->iter_in; x++)
                        for (int64_t u = i->uop_begin; u < i->uop_end; u++) {
                                int64_t d = uops[u].dst + y * i->dst_out + x * i->dst_in;
                                int64_t s = uops[u].src + y * i->src_out + x * i->src_in;
                                for (int k = 0; k < APART - 1; k++)
                                        if (d == before[k] || (reads && s == before[k])) {
                                                check_report(c, "distance",
                                                             "element %lld of acc at distance %d",
                                                             (long long)before[k], k + 1);
                                                return;
                                        }
                                before[1] = before[0];
                                before[0] = d;
                        }
}

void vta_check(struct checker *c, const struct instruction *instruction, const void *lists,
               bool safe)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        if (vta_works(i) && safe) {
                check_work(c, i, lists);
                check_distance(c, i, lists);
        } else if (!vta_works(i) && i->opcode != VTA_OPCODE_FINISH) {
                check_move(c, i);
        }
}

/* ---- cost ----
 *
 *     beats(row)  = ceil((a + n) / B) - floor(a / B)       a: its address, n: its bytes,
 *     bursts(row) = floor((a + n - 1) / 256B)              B: bytes of a beat
 *                   - floor(a / 256B) + 1
 *
 *     load        latency 24, on the bus beats + 2 bursts, busy padding elements + beats
 *     store       8 + 5 bursts + beats + elements
 *     product     steps + 10
 *     operation   steps + 6 with an immediate, 2 steps + 6 with a tensor
 *     else        2 */

static int class_of(const struct vta_instruction *i)
{
        static const int loads[VTA_MEMORIES] = { VTA_CLASS_LOAD_UOP, VTA_CLASS_LOAD_WGT,
                                                 VTA_CLASS_LOAD_INP, VTA_CLASS_LOAD_ACC,
                                                 VTA_CLASS_IDLE,     VTA_CLASS_LOAD_ACC };
        if (i->opcode == VTA_OPCODE_GEMM)
                return i->reset ? VTA_CLASS_RESET : VTA_CLASS_PRODUCT;
        if (i->opcode == VTA_OPCODE_ALU)
                return VTA_CLASS_OPERATION;
        if (i->opcode == VTA_OPCODE_FINISH)
                return VTA_CLASS_FINISH;
        if (!i->x_size || !i->y_size)
                return VTA_CLASS_IDLE;
        return i->opcode == VTA_OPCODE_STORE ? VTA_CLASS_STORE : loads[i->memory];
}

struct cost vta_cost(const struct isa *isa, const struct instruction *instruction)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        const struct machine_cycles *m = &isa->machine.cycles;
        const int64_t beat = m->beat_bytes, burst = beat * m->burst_beats, steps = vta_steps(i);
        struct cost c = { .class = (int)class_of(i), .steps = steps, .memory = -1,
                          .busy = m->idle };
        if (vta_works(i))
                c.busy = i->opcode == VTA_OPCODE_GEMM
                                 ? steps + m->product_fill
                                 : steps * (i->use_imm ? 1 : 2) + m->operation_fill;
        if (vta_works(i) || !i->x_size || !i->y_size || i->opcode == VTA_OPCODE_FINISH)
                return c;
        int64_t beats = 0, bursts = 0;
        for (int64_t y = 0; y < i->y_size; y++) {
                const int64_t a = vta_row_address(isa, i, y), n = i->x_size * isa->bytes[i->memory];
                beats += (a + n + beat - 1) / beat - a / beat;
                bursts += (a + n - 1) / burst - a / burst + 1;
        }
        const int64_t moved = i->x_size * i->y_size;
        c.bytes = moved * isa->bytes[i->memory];
        c.memory = i->memory == VTA_ACC8 ? VTA_ACC : (int)i->memory;
        c.stores = i->opcode == VTA_OPCODE_STORE;
        if (c.stores) {
                c.busy = m->store_latency + m->store_burst * bursts + beats + moved;
                return c;
        }
        c.latency = m->load_latency;
        c.bus = beats + m->load_burst * bursts;
        c.busy = vta_elements(i) - moved + beats;
        c.places = i->memory == VTA_UOP ? i->sram_base + vta_elements(i) : 0;
        return c;
}

int64_t vta_work(const struct instruction *instruction)
{
        const struct vta_instruction *i = vta_instruction(instruction);
        return 1 + (vta_works(i) ? vta_steps(i) + i->uop_end : vta_moves(i) ? vta_elements(i) : 0);
}
