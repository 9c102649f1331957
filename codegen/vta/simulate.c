/* SPDX-License-Identifier: MIT */
/* The machine's stages one instruction at a time. An instruction is done as a whole: what another stage may see of it in the
 * middle is a race, which codegen/vta/check.c finds. */
#include "codegen/vta/simulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "codegen/vta/check.h"
#include "codegen/vta/stream.h"

struct vta_simulator {
        struct vta v;
        uint64_t random;                /* 0: in program order */
        unsigned char poison;
        struct vta_micro_op *uops;
        int8_t *inp, *wgt, *out;        /* elements one after the other */
        uint32_t *acc;
        int64_t tokens[VTA_QUEUES];
};

struct vta_simulator *vta_simulator_new(const struct vta *v, uint64_t seed, unsigned char poison)
{
        struct vta_simulator *s = memory_alloc(sizeof *s);
        const struct machine_memory *m = v->machine.memories;
        uint32_t word = poison * UINT32_C(0x01010101);
        *s = (struct vta_simulator){ .v = *v, .random = seed * RANDOM_START, .poison = poison };
        s->uops = memory_alloc((size_t)v->depth[VTA_UOP] * sizeof *s->uops);
        for (int64_t k = 0; k < v->depth[VTA_UOP]; k++) {
                struct vta_instruction u;
                bool fine = vta_decode_micro_op(v, word, &u);
                s->uops[k] = (struct vta_micro_op){ (int32_t)u.dst, (int32_t)u.src, (int32_t)u.wgt, fine };
        }
        s->inp = memory_alloc((size_t)m[VTA_INP].bytes);
        s->wgt = memory_alloc((size_t)m[VTA_WGT].bytes);
        s->out = memory_alloc((size_t)m[VTA_OUT].bytes);
        s->acc = memory_alloc((size_t)m[VTA_ACC].bytes);
        memset(s->inp, poison, (size_t)m[VTA_INP].bytes);
        memset(s->wgt, poison, (size_t)m[VTA_WGT].bytes);
        memset(s->out, poison, (size_t)m[VTA_OUT].bytes);
        memset(s->acc, poison, (size_t)m[VTA_ACC].bytes);
        return s;
}

void vta_simulator_free(struct vta_simulator *s)
{
        if (!s)
                return;
        free(s->uops);
        free(s->inp);
        free(s->wgt);
        free(s->out);
        free(s->acc);
        free(s);
}

/* numbers of an element of ACC and OUT */
static int64_t lanes(const struct vta *v) { return (int64_t)v->machine.batch * v->machine.block_out; }

/* ---- load and store ---- */

/* count elements at `at`; from NULL: zeros */
static void fill(struct vta_simulator *s, int64_t memory, int64_t at, const unsigned char *from, int64_t count)
{
        const struct vta *v = &s->v;
        int64_t bytes = v->bytes[memory], n = lanes(v);
        if (memory == VTA_INP || memory == VTA_WGT) {
                int8_t *to = (memory == VTA_INP ? s->inp : s->wgt) + at * bytes;
                if (from)
                        memcpy(to, from, (size_t)(count * bytes));
                else
                        memset(to, 0, (size_t)(count * bytes));
        } else if (memory == VTA_UOP) {
                for (int64_t k = 0; k < count; k++) {
                        struct vta_instruction u;
                        bool fine = vta_decode_micro_op(v, from ? (uint32_t)vta_number(from + k * bytes, VTA_MICRO_OP_BYTES) : 0, &u);
                        s->uops[at + k] = (struct vta_micro_op){ (int32_t)u.dst, (int32_t)u.src, (int32_t)u.wgt, fine };
                }
        } else {
                int wide = memory == VTA_ACC8 ? 1 : 4;
                for (int64_t k = 0; k < count * n; k++) {
                        uint32_t word = from ? (uint32_t)vta_number(from + k * wide, wide) : 0;
                        s->acc[at * n + k] = wide == 1 ? (uint32_t)(int32_t)(int8_t)(unsigned char)word : word;
                }
        }
}

static void load(struct vta_simulator *s, const struct vta_instruction *i, const unsigned char *memory)
{
        int64_t at = i->sram_base, row = vta_row(i);
        fill(s, i->memory, at, NULL, i->y_pad_0 * row);
        at += i->y_pad_0 * row;
        for (int64_t y = 0; y < i->y_size; y++, at += row) {
                fill(s, i->memory, at, NULL, i->x_pad_0);
                fill(s, i->memory, at + i->x_pad_0, memory + vta_row_address(&s->v, i, y), i->x_size);
                fill(s, i->memory, at + i->x_pad_0 + i->x_size, NULL, i->x_pad_1);
        }
        fill(s, i->memory, at, NULL, i->y_pad_1 * row);
}

static void store(struct vta_simulator *s, const struct vta_instruction *i, unsigned char *memory)
{
        int64_t n = lanes(&s->v);
        for (int64_t y = 0; y < i->y_size; y++)
                memcpy(memory + vta_row_address(&s->v, i, y), s->out + (i->sram_base + y * i->x_size) * n, (size_t)(i->x_size * n));
}

/* ---- compute ---- */

/* acc[b][o] += sum over c of inp[b][c] * wgt[o][c]; out: the low bytes. Sums wrap. */
static inline void multiply(uint32_t *acc, int8_t *out, const int8_t *inp, const int8_t *wgt, int batch, int block_out, int block_in)
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

/* what OUT holds then differs from machine to machine */
static void clear(struct vta_simulator *s, int64_t d)
{
        int64_t n = lanes(&s->v);
        memset(s->acc + d * n, 0, (size_t)n * sizeof *s->acc);
        memset(s->out + d * n, s->poison, (size_t)n);
}

static void product(struct vta_simulator *s, const struct vta_instruction *i, int64_t d, int64_t x, int64_t w)
{
        const struct machine *m = &s->v.machine;
        int64_t n = lanes(&s->v);
        uint32_t *acc = s->acc + d * n;
        int8_t *out = s->out + d * n;
        const int8_t *inp = s->inp + x * s->v.bytes[VTA_INP], *wgt = s->wgt + w * s->v.bytes[VTA_WGT];
        if (i->reset)
                clear(s, d);
        else if (m->batch == 1 && m->block_out == 16 && m->block_in == 16)
                multiply(acc, out, inp, wgt, 1, 16, 16);        /* the usual machine: loops of known length */
        else
                multiply(acc, out, inp, wgt, m->batch, m->block_out, m->block_in);
}

/* shifts past the width: all bits are gone, or the sign is all there is */
static int32_t shifted(int32_t a, int32_t by)
{
        if (by >= 0)
                return a < 0 ? ~(~a >> (by > 31 ? 31 : by)) : a >> (by > 31 ? 31 : by);
        return by < -31 ? 0 : (int32_t)((uint32_t)a << -by);
}

static int32_t combined(int64_t operation, int32_t a, int32_t b)
{
        switch ((enum vta_operation)operation) {
        case VTA_OPERATION_MIN: return a < b ? a : b;
        case VTA_OPERATION_MAX: return a > b ? a : b;
        case VTA_OPERATION_ADD: return (int32_t)((uint32_t)a + (uint32_t)b);
        case VTA_OPERATION_SHR: return shifted(a, b);
        case VTA_OPERATION_MUL: return (int32_t)((uint32_t)a * (uint32_t)b);
        case VTA_OPERATIONS: break;
        }
        return 0;
}

static void combine(struct vta_simulator *s, const struct vta_instruction *i, int64_t d, int64_t from)
{
        int64_t n = lanes(&s->v);
        for (int64_t k = 0; k < n; k++) {
                int32_t b = i->use_imm ? (int32_t)i->imm : (int32_t)s->acc[from * n + k];
                uint32_t result = (uint32_t)combined(i->operation, (int32_t)s->acc[d * n + k], b);
                s->acc[d * n + k] = result;
                s->out[d * n + k] = (int8_t)(unsigned char)result;
        }
}

static void compute(struct vta_simulator *s, const struct vta_instruction *i)
{
        for (int64_t y = 0; y < i->iter_out; y++)
                for (int64_t x = 0; x < i->iter_in; x++)
                        for (int64_t k = i->uop_begin; k < i->uop_end; k++) {
                                const struct vta_micro_op *u = &s->uops[k];
                                int64_t d = u->dst + y * i->dst_out + x * i->dst_in, from = u->src + y * i->src_out + x * i->src_in;
                                if (i->opcode == VTA_OPCODE_GEMM)
                                        product(s, i, d, from, u->wgt + y * i->wgt_out + x * i->wgt_in);
                                else
                                        combine(s, i, d, from);
                        }
}

/* ---- a launch ---- */

static bool is_ready(const struct vta_simulator *s, const struct vta_instruction *i)
{
        for (int f = 0; f < VTA_POPS; f++)
                if (vta_queue(i, f) >= 0 && !s->tokens[vta_queue(i, f)])
                        return false;
        return true;
}

/* the stage that goes on; -1: none can */
static int pick(struct vta_simulator *s, const struct vta_stream *stream)
{
        int ready[VTA_STAGES], count = 0;
        for (int k = 0; k < VTA_STAGES; k++)
                if (stream->next[k].number >= 0 && is_ready(s, &stream->next[k].instruction))
                        ready[count++] = k;
        if (!count)
                return -1;
        if (s->random)
                return ready[random_next(&s->random) % (uint64_t)count];
        int first = ready[0];
        for (int k = 1; k < count; k++)
                if (stream->next[ready[k]].number < stream->next[first].number)
                        first = ready[k];
        return first;
}

static bool run(struct vta_simulator *s, const struct vta_instruction *i, int64_t number, unsigned char *memory, int64_t bytes,
                struct diag *diag)
{
        enum vta_rule unsafe = vta_unsafe(&s->v, i, s->uops, bytes);
        if (unsafe != VTA_RULES) {
                diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " (%s) cannot run: %s [%s]", number, vta_opcode_names[i->opcode],
                           vta_rules[unsafe].text, vta_rules[unsafe].name);
                return false;
        }
        for (int f = 0; f < VTA_POPS; f++)
                if (vta_queue(i, f) >= 0)
                        s->tokens[vta_queue(i, f)]--;
        if (vta_works(i) && vta_steps(i))
                compute(s, i);
        else if (vta_moves(i) && i->opcode == VTA_OPCODE_LOAD)
                load(s, i, memory);
        else if (vta_moves(i))
                store(s, i, memory);
        for (int f = VTA_POPS; f < VTA_FLAGS; f++)
                if (vta_queue(i, f) >= 0)
                        s->tokens[vta_queue(i, f)]++;
        return true;
}

static bool is_at_end(const struct vta_simulator *s, const struct vta_stream *stream, struct diag *diag)
{
        for (int k = 0; k < VTA_STAGES; k++)
                if (stream->next[k].number >= 0) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " (%s) waits for a token that never comes", stream->next[k].number,
                                   vta_opcode_names[stream->next[k].instruction.opcode]);
                        return false;
                }
        for (int k = 0; k < VTA_QUEUES; k++)
                if (s->tokens[k]) {
                        diag_error(diag, EXIT_INVALID, "%" PRId64 " tokens from %s are left at the end", s->tokens[k], vta_queue_names[k]);
                        return false;
                }
        return true;
}

bool vta_launch(struct vta_simulator *s, unsigned char *memory, int64_t bytes, int64_t address, int64_t count, int64_t work,
                struct diag *diag)
{
        struct vta_stream stream;
        if (address < 0 || count < 0 || address > bytes || count > (bytes - address) / VTA_BYTES) {
                diag_error(diag, EXIT_INVALID, "the instructions, %" PRId64 " at 0x%" PRIx64 ", are not within memory", count, (uint64_t)address);
                return false;
        }
        memset(s->tokens, 0, sizeof s->tokens);
        if (!vta_stream_begin(&stream, &s->v, memory + address, count, diag))
                return false;
        for (int stage; (stage = pick(s, &stream)) >= 0;) {
                const struct vta_next *next = &stream.next[stage];
                work -= vta_work(&next->instruction);
                if (work < 0) {
                        diag_error(diag, EXIT_BUDGET, "instruction %" PRId64 ": the program takes more steps than --steps allows", next->number);
                        return false;
                }
                if (!run(s, &next->instruction, next->number, memory, bytes, diag))
                        return false;
                vta_stream_advance(&stream, stage);
        }
        return is_at_end(s, &stream, diag);
}
