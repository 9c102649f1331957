/* SPDX-License-Identifier: MIT */
/* Holds a program to the rules of rules.def, in one walk in program order. */
#include "codegen/vta/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CHISEL_MICRO_OPS = 2048, SHIFT_MOST = 15, APART = 3 };
enum { IS_THERE = 1, IS_STALE = 2, DETAIL = 96 };
#define NO_DETAIL "%s", ""

struct checker {
        const struct vta_program *p;
        const struct vta *v;
        struct diag *diag;
        int most, found;
        struct vta_instruction now;
        int64_t number;
        bool said[VTA_RULES];                   /* of this instruction */
        struct vta_micro_op *uops;
        unsigned char *state[VTA_MEMORIES];     /* IS_.. of each element */
        int64_t last[VTA_STAGES];               /* 1 + number of the last instruction of each stage */
        struct vta_races *races;                /* NULL: a token was missing, so no order is known */
};

/* Once for each instruction and rule; the format is of what is so here; NO_DETAIL: the rule says all. */
static void report(struct checker *c, enum vta_rule rule, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void report(struct checker *c, enum vta_rule rule, const char *format, ...)
{
        if (c->said[rule])
                return;
        c->said[rule] = true;
        if (c->found++ >= c->most)
                return;
        struct text name = { 0 };
        char detail[DETAIL];
        va_list list;
        va_start(list, format);
        vsnprintf(detail, sizeof detail, format, list);
        va_end(list);
        vta_assembly_instruction(c->v, c->p, vta_program_instruction(c->p, c->number), &name);
        name.data[strcspn(name.data, " ")] = 0;
        diag_error(c->diag, EXIT_INVALID, "instruction %" PRId64 " (%s): %s%s%s [%s]", c->number, name.data, vta_rules[rule].text,
                   *detail ? ": " : "", detail, vta_rules[rule].name);
        text_free(&name);
}

/* ---- what an instruction says by itself ---- */

static void check_move(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        bool y_pads = i->y_pad_0 || i->y_pad_1, x_pads = i->x_pad_0 || i->x_pad_1, load = i->opcode == VTA_OPCODE_LOAD;
        if (load && i->memory == VTA_ACC8)
                report(c, VTA_RULE_acc8, NO_DETAIL);
        if (!i->x_size && (y_pads || x_pads))
                report(c, VTA_RULE_no_x, NO_DETAIL);
        if (!i->y_size && i->x_size)
                report(c, VTA_RULE_no_y, NO_DETAIL);
        if (load && i->memory == VTA_WGT && (y_pads || x_pads))
                report(c, VTA_RULE_wgt_pad, NO_DETAIL);
        if (load && i->memory == VTA_UOP && vta_moves(i) && (i->y_size != 1 || i->x_stride != i->x_size || y_pads || x_pads))
                report(c, VTA_RULE_uop_row, NO_DETAIL);
        if (!load && (y_pads || x_pads))
                report(c, VTA_RULE_store_pad, NO_DETAIL);
}

/* from one segment to the next where a row goes on there */
static void check_row(struct checker *c, int64_t address, int64_t end)
{
        bool store = c->now.opcode == VTA_OPCODE_STORE;
        while (address < end) {
                const struct vta_segment *s = vta_program_segment(c->p, address, 1);
                if (!s || !(store ? vta_kinds[s->kind].written : vta_kinds[s->kind].read)) {
                        report(c, store ? VTA_RULE_written : VTA_RULE_read, "not so at address %" PRId64, address);
                        return;
                }
                if (c->now.memory == VTA_UOP && vta_kinds[s->kind].written)
                        report(c, VTA_RULE_fixed, "not segment '%s'", s->name);
                address = s->address + s->bytes;
        }
}

static void check_segments(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        for (int64_t y = 0; y < i->y_size && vta_moves(i); y++) {
                int64_t address = vta_row_address(c->v, i, y);
                check_row(c, address, address + i->x_size * c->v->bytes[i->memory]);
        }
}

static void check_micro_ops(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        bool alu = i->opcode == VTA_OPCODE_ALU;
        if (alu && i->use_imm && (i->dst_out != i->src_out || i->dst_in != i->src_in))
                report(c, VTA_RULE_same, NO_DETAIL);
        for (int64_t u = i->uop_begin; u < i->uop_end && alu; u++) {
                if (i->use_imm && c->uops[u].dst != c->uops[u].src)
                        report(c, VTA_RULE_same, "not so in micro-op %" PRId64, u);
                if (c->uops[u].wgt)
                        report(c, VTA_RULE_no_wgt, "not so in micro-op %" PRId64, u);
        }
}

static void check_work(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        bool alu = i->opcode == VTA_OPCODE_ALU, shift = alu && i->operation == VTA_OPERATION_SHR;
        if (!vta_steps(i))
                report(c, VTA_RULE_loops, NO_DETAIL);
        if (i->uop_end > CHISEL_MICRO_OPS)
                report(c, VTA_RULE_resident, "the last is %" PRId64, i->uop_end - 1);
        if (shift && i->use_imm && (i->imm < -SHIFT_MOST || i->imm > SHIFT_MOST))
                report(c, VTA_RULE_shift, "not by %" PRId64, i->imm);
        if (shift && !i->use_imm)
                report(c, VTA_RULE_shift_tensor, NO_DETAIL);
        if (alu && i->operation == VTA_OPERATION_MUL)
                report(c, VTA_RULE_mul, NO_DETAIL);
        check_micro_ops(c);
}

/* what the two steps before wrote, while steps go by */
static void check_distance(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        int64_t before[APART - 1] = { -1, -1 };
        bool reads = i->opcode == VTA_OPCODE_ALU && !i->use_imm;
        for (int64_t y = 0; y < i->iter_out && vta_steps(i); y++)
                for (int64_t x = 0; x < i->iter_in; x++)
                        for (int64_t u = i->uop_begin; u < i->uop_end; u++) {
                                int64_t d = c->uops[u].dst + y * i->dst_out + x * i->dst_in;
                                int64_t s = c->uops[u].src + y * i->src_out + x * i->src_in;
                                for (int k = 0; k < APART - 1; k++)
                                        if (d == before[k] || (reads && s == before[k])) {
                                                report(c, VTA_RULE_distance, "element %" PRId64 " of acc at distance %d", before[k], k + 1);
                                                return;
                                        }
                                before[1] = before[0];
                                before[0] = d;
                        }
}

/* ---- what was there before ---- */

static void access_state(struct checker *c, int memory, int64_t first, int64_t count, enum vta_access access)
{
        unsigned char *state = c->state[memory] + first;
        if (access != VTA_READS) {
                memset(state, access == VTA_SPOILS ? IS_STALE : IS_THERE, (size_t)count);
                return;
        }
        for (int64_t k = 0; k < count; k++) {
                if (state[k] == IS_THERE)
                        continue;
                report(c, state[k] == IS_STALE ? VTA_RULE_stale : VTA_RULE_undefined, "element %" PRId64 " of %s", first + k,
                       vta_memory_names[memory]);
                return;
        }
}

static void visit(void *context, int memory, int64_t first, int64_t count, enum vta_access access)
{
        struct checker *c = context;
        if (memory != VTA_DRAM)
                access_state(c, memory, first, count, access);
        if (!c->races || access == VTA_SPOILS)
                return;
        int64_t with, element;
        vta_races_access(c->races, memory, first, count, &with, &element);
        if (with < 0)
                return;
        bool dram = memory == VTA_DRAM;
        report(c, VTA_RULE_race, "not with instruction %" PRId64 ", %s %" PRId64 " of %s", with, dram ? "byte" : "element", element,
               dram ? "memory" : vta_memory_names[memory]);
}

static void load_micro_ops(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        int64_t at = i->sram_base + i->y_pad_0 * vta_row(i);
        for (int64_t k = i->sram_base; k < i->sram_base + vta_elements(i); k++)
                c->uops[k] = (struct vta_micro_op){ .fine = true };
        for (int64_t y = 0; y < i->y_size; y++)
                for (int64_t x = 0; x < i->x_size; x++) {
                        int64_t address = vta_row_address(c->v, i, y) + x * VTA_MICRO_OP_BYTES;
                        const struct vta_segment *s = vta_program_segment(c->p, address, VTA_MICRO_OP_BYTES);
                        uint64_t word = s && s->content ? vta_number(s->content + (address - s->address), VTA_MICRO_OP_BYTES) : 0;
                        struct vta_instruction u;
                        bool fine = vta_decode_micro_op(c->v, (uint32_t)word, &u);
                        c->uops[at + y * vta_row(i) + i->x_pad_0 + x] =
                                (struct vta_micro_op){ (int32_t)u.dst, (int32_t)u.src, (int32_t)u.wgt, fine };
                }
}

/* ---- the walk ---- */

static void end_races(struct checker *c)
{
        if (c->races)
                vta_races_end(c->races);
        c->races = NULL;
}

static void take_tokens(struct checker *c)
{
        if (!c->races || vta_races_start(c->races, &c->now, c->number))
                return;
        report(c, VTA_RULE_taken, "what follows is not looked at for races");
        end_races(c);
}

static void give_tokens(struct checker *c)
{
        if (!c->races)
                return;
        vta_races_finish(c->races);
        for (int f = VTA_POPS; f < VTA_FLAGS; f++) {
                int k = vta_queue(&c->now, f);
                if (k >= 0 && vta_races_tokens(c->races, k) > VTA_TOKENS_MOST)
                        report(c, VTA_RULE_tokens, "not from %s", vta_queue_names[k]);
        }
        bool last = c->number == vta_program_length(c->p) - 1;
        for (int k = 0; k < VTA_QUEUES && last; k++)
                if (vta_races_tokens(c->races, k))
                        report(c, VTA_RULE_left, "%" PRId64 " from %s", vta_races_tokens(c->races, k), vta_queue_names[k]);
}

/* at finish, which is the last */
static void check_pending(struct checker *c)
{
        for (int k = 0; k < VTA_STAGES && c->races; k++)
                if (k != VTA_STAGE_COMPUTE && vta_races_done(c->races, k) < c->last[k])
                        report(c, VTA_RULE_pending, "not of instruction %" PRId64, c->last[k] - 1);
}

static void check_one(struct checker *c)
{
        const struct vta_instruction *i = &c->now;
        bool move = vta_form_of(i->opcode) == VTA_FORM_MOVE;
        enum vta_rule unsafe = vta_unsafe(c->v, i, c->uops, c->p->dram_bytes);
        if (move)
                check_move(c);
        if (unsafe != VTA_RULES)
                report(c, unsafe, NO_DETAIL);
        if (unsafe == VTA_RULE_flags)
                end_races(c);                   /* whose tokens these are nobody knows */
        take_tokens(c);
        c->last[vta_stage_of(i)] = c->number + 1;
        if (i->opcode == VTA_OPCODE_FINISH)
                check_pending(c);
        if (unsafe == VTA_RULES && move)
                check_segments(c);
        if (unsafe == VTA_RULES && vta_works(i)) {
                check_work(c);
                check_distance(c);
        }
        if (unsafe == VTA_RULES)
                vta_accesses(c->v, i, c->uops, &(struct vta_visitor){ visit, c });
        if (unsafe == VTA_RULES && i->opcode == VTA_OPCODE_LOAD && i->memory == VTA_UOP && vta_moves(i))
                load_micro_ops(c);
        give_tokens(c);
}

static bool walk(struct checker *c, int64_t work)
{
        for (c->number = 0; c->number < vta_program_length(c->p); c->number++) {
                const char *why = vta_decode(c->v, vta_program_instruction(c->p, c->number), &c->now);
                memset(c->said, 0, sizeof c->said);
                if (why) {
                        report(c, VTA_RULE_instruction, "%s", why);
                        end_races(c);
                        continue;
                }
                work -= vta_work(&c->now);
                if (work < 0) {
                        diag_error(c->diag, EXIT_BUDGET, "instruction %" PRId64 ": the program takes more steps than --steps allows", c->number);
                        return false;
                }
                check_one(c);
        }
        return true;
}

bool vta_check(const struct vta_program *p, int64_t work, int most, struct diag *diag)
{
        struct checker c = { .p = p, .v = &p->vta, .diag = diag, .most = most };
        c.uops = memory_alloc((size_t)p->vta.depth[VTA_UOP] * sizeof *c.uops);
        for (int64_t k = 0; k < p->vta.depth[VTA_UOP]; k++)
                c.uops[k].fine = true;
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                c.state[k] = memory_alloc((size_t)p->vta.depth[k]);
        c.races = vta_races_begin(&p->vta, p->dram_bytes);
        bool fine = walk(&c, work);
        if (c.found > most)
                diag_error(diag, EXIT_INVALID, "and %d more", c.found - most);
        end_races(&c);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                free(c.state[k]);
        free(c.uops);
        return fine && !c.found;
}
