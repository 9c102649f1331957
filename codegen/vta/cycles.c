/* SPDX-License-Identifier: MIT */
/* The cycle model: see codegen/vta/cycles.h, which is its specification. */
#include "codegen/vta/cycles.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "codegen/vta/stream.h"

const char *const vta_class_names[VTA_CLASS_COUNT] = {
#define CLASS(id, name) name,
        VTA_CLASSES(CLASS)
#undef CLASS
};

static enum vta_class vta_class_of(const struct vta_instruction *i)
{
        static const enum vta_class loads[VTA_MEMORIES] = { VTA_CLASS_LOAD_UOP, VTA_CLASS_LOAD_WGT, VTA_CLASS_LOAD_INP,
                                                            VTA_CLASS_LOAD_ACC, VTA_CLASS_IDLE, VTA_CLASS_LOAD_ACC };
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

/* ---- the bus ---- */

struct bus { int64_t beats, bursts; };

static struct bus bus_of(const struct vta *v, const struct vta_instruction *i)
{
        int64_t beat = v->machine.cycles.beat_bytes, burst = beat * v->machine.cycles.burst_beats;
        struct bus bus = { 0, 0 };
        for (int64_t y = 0; y < i->y_size; y++) {
                int64_t a = vta_row_address(v, i, y), n = i->x_size * v->bytes[i->memory];
                bus.beats += (a + n + beat - 1) / beat - a / beat;
                bus.bursts += (a + n - 1) / burst - a / burst + 1;
        }
        return bus;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* when it ends; *channel moves on */
static int64_t end_of(const struct vta *v, const struct vta_instruction *i, int64_t start, int64_t *channel, struct vta_cycles *c)
{
        const struct machine_cycles *m = &v->machine.cycles;
        int64_t moved = i->x_size * i->y_size, steps = vta_steps(i);
        struct bus bus;
        switch (vta_class_of(i)) {
        case VTA_CLASS_LOAD_UOP: case VTA_CLASS_LOAD_WGT: case VTA_CLASS_LOAD_INP: case VTA_CLASS_LOAD_ACC:
                bus = bus_of(v, i);
                c->channel += bus.beats + m->load_burst * bus.bursts;
                *channel = later(start + m->load_latency, *channel) + bus.beats + m->load_burst * bus.bursts;
                return later(*channel, start + vta_elements(i) - moved + bus.beats);
        case VTA_CLASS_STORE:
                bus = bus_of(v, i);
                return start + m->store_latency + m->store_burst * bus.bursts + bus.beats + moved;
        case VTA_CLASS_PRODUCT: case VTA_CLASS_RESET:
                return start + steps + m->product_fill;
        case VTA_CLASS_OPERATION:
                return start + steps * (i->use_imm ? 1 : 2) + m->operation_fill;
        case VTA_CLASS_IDLE: case VTA_CLASS_FINISH: case VTA_CLASS_COUNT:
                break;
        }
        return start + m->idle;
}

/* ---- stages and tokens ---- */

struct queue { int64_t *times, first, count, room; };
struct model {
        struct vta_stream stream;
        struct queue queues[VTA_QUEUES];
        int64_t free[VTA_STAGES];       /* the stage's last instruction has ended */
        int64_t channel;
};

static void push(struct queue *q, int64_t time)
{
        if (q->first == q->count)
                q->first = q->count = 0;
        if (q->count == q->room)
                q->times = memory_resize(q->times, (size_t)(q->room = 2 * q->room + 64) * sizeof *q->times);
        q->times[q->count++] = time;
}

/* when the stage's next instruction can start; -1: it has none, or its tokens are not there */
static int64_t start_of(const struct model *m, int stage)
{
        const struct vta_next *next = &m->stream.next[stage];
        const struct machine_cycles *c = &m->stream.v->machine.cycles;
        if (next->number < 0)
                return -1;
        int64_t start = later(m->free[stage], c->fetch_latency + VTA_BYTES / c->beat_bytes * (next->number + 1));
        for (int f = 0; f < VTA_POPS; f++) {
                int k = vta_queue(&next->instruction, f);
                if (k < 0)
                        continue;
                if (m->queues[k].first == m->queues[k].count)
                        return -1;
                start = later(start, m->queues[k].times[m->queues[k].first]);
        }
        return start;
}

static int first_stage(const struct model *m, int64_t *start)
{
        static const int order[VTA_STAGES] = { VTA_STAGE_COMPUTE, VTA_STAGE_LOAD, VTA_STAGE_STORE };
        int best = -1;
        for (int k = 0; k < VTA_STAGES; k++) {
                int64_t time = start_of(m, order[k]);
                if (time >= 0 && (best < 0 || time < *start)) {
                        best = order[k];
                        *start = time;
                }
        }
        return best;
}

static void count(const struct vta *v, const struct vta_instruction *i, struct vta_times times, struct vta_cycles *c)
{
        enum vta_class k = vta_class_of(i);
        c->count[k]++;
        c->steps[k] += vta_steps(i);
        c->busy[k] += times.end - times.start;
        c->cycles = later(c->cycles, times.end);
        if (vta_form_of(i->opcode) == VTA_FORM_MOVE)
                c->bytes[k] += i->x_size * i->y_size * v->bytes[i->memory];
        if (k == VTA_CLASS_LOAD_UOP)
                c->most_micro_ops = later(c->most_micro_ops, i->sram_base + vta_elements(i));
}

void vta_cycles_add(const struct vta *v, const struct vta_instruction *i, struct vta_times times, struct vta_cycles *c)
{
        const enum vta_class k = vta_class_of(i);
        count(v, i, times, c);
        if (k <= VTA_CLASS_LOAD_ACC) {
                const struct bus bus = bus_of(v, i);
                c->channel += bus.beats + v->machine.cycles.load_burst * bus.bursts;
        }
}

static void run(struct model *m, struct vta_cycles *c, struct vta_times *all)
{
        int64_t start = 0;
        for (int stage; (stage = first_stage(m, &start)) >= 0;) {
                const struct vta_next *next = &m->stream.next[stage];
                for (int f = 0; f < VTA_POPS; f++)
                        if (vta_queue(&next->instruction, f) >= 0)
                                m->queues[vta_queue(&next->instruction, f)].first++;
                struct vta_times times = { start, end_of(m->stream.v, &next->instruction, start, &m->channel, c) };
                for (int f = VTA_POPS; f < VTA_FLAGS; f++)
                        if (vta_queue(&next->instruction, f) >= 0)
                                push(&m->queues[vta_queue(&next->instruction, f)], times.end);
                m->free[stage] = times.end;
                count(m->stream.v, &next->instruction, times, c);
                if (all)
                        all[next->number] = times;
                vta_stream_advance(&m->stream, stage);
        }
}

bool vta_cycles(const struct vta *v, const unsigned char *bytes, int64_t length, struct vta_cycles *c, struct vta_times *times,
                struct diag *diag)
{
        struct model m = { .channel = 0 };
        *c = (struct vta_cycles){ 0 };
        if (!vta_stream_begin(&m.stream, v, bytes, length, diag))
                return false;
        run(&m, c, times);
        bool fine = true;
        for (int k = 0; k < VTA_STAGES && fine; k++)
                if (m.stream.next[k].number >= 0) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " (%s) waits for a token that never comes",
                                   m.stream.next[k].number, vta_opcode_names[m.stream.next[k].instruction.opcode]);
                        fine = false;
                }
        for (int k = 0; k < VTA_QUEUES; k++)
                free(m.queues[k].times);
        return fine;
}

/* ---- what it comes to ---- */

double vta_utilization(const struct vta_cycles *c)
{
        return c->cycles ? (double)c->steps[VTA_CLASS_PRODUCT] / (double)c->cycles : 0;
}

const char *vta_bound(const struct vta_cycles *c)
{
        const struct { const char *name; int64_t busy; } parts[] = {
                { "array", c->busy[VTA_CLASS_PRODUCT] + c->busy[VTA_CLASS_RESET] },
                { "operations", c->busy[VTA_CLASS_OPERATION] },
                { "loads of compute", c->busy[VTA_CLASS_LOAD_UOP] + c->busy[VTA_CLASS_LOAD_ACC] },
                { "read bus", c->channel },
                { "stores", c->busy[VTA_CLASS_STORE] } };
        const char *bound = "waiting";
        int64_t most = (c->cycles + 1) / 2;
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
                if (parts[k].busy >= most) {
                        most = parts[k].busy + 1;
                        bound = parts[k].name;
                }
        return bound;
}
