/* SPDX-License-Identifier: MIT */
/* Measures a launch, as a whole and part by part. Cycles are those of the model (meter.h); a part
 * has the cycles from the end of the part before to its own end, so that parts add up. */
#include <stdlib.h>

#include "codegen/machines/launch_moves.h"
#include "codegen/machines/machine_check.h"
#include "codegen/machines/meter.h"

struct measuring {
        const struct isa *isa;
        struct launch_moves moves;      /* Lists lie at the end of its addresses. */
        struct machine_measure *m;
        int part;                       /* The instruction that is looked at belongs to this
                                         * part. */
        struct cost cost;
};

/* ---- the part of an instruction ---- */

/* A part makes one result: what is stored to one parameter or, on machines that hold values, a
 * layer, which is identified by the first weights that it multiplies by. */
struct parts {
        struct measuring *m;
        const struct machine_code *code;
        struct arena *arena;
        int *of, count;                 /* Each instruction belongs to this part, counted from 1. */
        const struct loop_buffer **results;
        int64_t outside;                /* The instruction that is looked at first touches memory
                                         * outside at this address; -1: it touches none. */
};

static void begin_part(struct parts *p, int64_t from, int64_t to, const struct loop_buffer *result)
{
        ARENA_GROW(p->arena, p->results, p->count);
        p->results[p->count++] = result;
        for (int64_t k = from; k < to; k++)
                p->of[k] = p->count;
}

static void find_outside(void *context, int memory, const struct rows *rows, int64_t count,
                         enum access access)
{
        struct parts *p = context;
        (void)count;
        (void)access;
        if (memory == OUTSIDE && p->outside < 0)
                p->outside = rows->first;
}

/* Returns the parameter that a move touches, or NULL. */
static const struct loop_buffer *moved_by(struct parts *p, const struct instruction *i)
{
        struct running r = { .isa = p->m->isa, .touched = find_outside, .context = p };
        p->outside = -1;
        run_instruction(&r, i);
        return p->outside < 0 ? NULL : launch_moves_parameter(&p->m->moves, p->outside);
}

static void decode(const struct parts *p, int64_t k, struct instruction *i)
{
        isa_decode(p->m->isa, p->code->instructions + k * p->m->isa->set->bytes, i);
}

/* Ends a part with the last store of a result; the instructions after the last store belong to the
 * last part. */
static void find_results(struct parts *p)
{
        const struct loop_buffer *result = NULL;
        int64_t behind = 0;             /* It is the instruction after the last store. */
        begin_part(p, 0, p->code->count, NULL);
        for (int64_t k = 0; k < p->code->count; k++) {
                struct instruction i;
                decode(p, k, &i);
                const struct loop_buffer *now =
                        p->m->isa->set->cost(p->m->isa, &i).stores ? moved_by(p, &i) : NULL;
                if (!now)
                        continue;
                if (result && now != result)
                        begin_part(p, behind, p->code->count, now);
                p->results[p->count - 1] = result = now;
                behind = k + 1;
        }
}

/* Begins a layer after the last instruction of the layer before that makes a value, and where it
 * multiplies by weights that no layer had before it. */
static void find_layers(struct parts *p)
{
        const struct isa *isa = p->m->isa;
        const int64_t block = isa->bytes[isa->machine.weights];
        /* This layer used each parameter first. */
        int *had = arena_array(p->arena, (size_t)p->m->moves.stream->buffer_count + 1, sizeof *had);
        /* These are the addresses of blocks of weights. */
        int64_t behind = 0, taken = 0, count = 0, *blocks = NULL;
        bool made = true;               /* The layer has made a value. */
        struct instruction i;
        for (int64_t k = 0; k < p->code->count; k++) {
                decode(p, k, &i);
                const int64_t put = isa->set->order(&i).blocks;
                for (int64_t b = 0; b < put && moved_by(p, &i); b++) {
                        ARENA_GROW(p->arena, blocks, count);
                        blocks[count++] = p->outside + b * block;
                }
        }
        for (int64_t k = 0; k < p->code->count; k++) {
                decode(p, k, &i);
                if (isa->set->order(&i).next && taken < count) {
                        const struct loop_buffer *weights =
                                launch_moves_parameter(&p->m->moves, blocks[taken++]);
                        if (made && !had[weights->number]) {
                                begin_part(p, behind, k, weights);
                                made = false;
                        }
                        had[weights->number] = p->count;
                }
                if (isa->set->cost(isa, &i).makes) {
                        made = true;
                        behind = k + 1;
                }
                p->of[k] = p->count ? p->count : 1;
        }
        if (!p->count)
                begin_part(p, 0, p->code->count, NULL);
}

/* ---- what a part takes ---- */

static void touched(void *context, int memory, const struct rows *rows, int64_t count,
                    enum access access)
{
        struct measuring *m = context;
        if (memory != OUTSIDE)
                launch_moves_use(&m->moves, m->part, memory,
                                 rows_end(rows, count) * m->isa->bytes[memory]);
        else if (launch_moves_parameter(&m->moves, rows->first))
                launch_moves_add(&m->moves, m->part, m->cost.memory, rows->first, count,
                                 access == WRITES);
}

static void add_bytes(struct machine_part *part, const struct cost *cost)
{
        if (cost->memory >= 0)
                *(cost->stores ? &part->stored : &part->loaded[cost->memory]) += cost->bytes;
}

/* Fills in what the model says of instructions that take `cycles` cycles together. */
static void fill(const struct measuring *m, struct meter *meter, int64_t cycles,
                 struct machine_part *part)
{
        const struct machine *machine = &m->isa->machine;
        const int64_t leaves =
                machine->memories[machine->leaves].bytes ? m->isa->bytes[machine->leaves] : 1;
        meter->cycles = part->cycles = cycles;
        part->serial = meter->serial;
        part->products = meter->classes[m->isa->set->products].steps;
        part->bound = meter_bound(m->isa, meter);
        /* Stored elements lie where the sums that leave the array lay; a FIFO holds no more than it
         * has room for; lists stay. */
        part->used[machine->stored] =
                part->used[machine->leaves] / leaves * m->isa->bytes[machine->stored];
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (machine->memories[k].fifo)
                        part->used[k] = part->loaded[k] < machine->memories[k].bytes
                                ? part->loaded[k] : machine->memories[k].bytes;
        if (machine->lists < 0)
                return;
        part->places = part->loaded[machine->lists] / m->isa->bytes[machine->lists];
        part->least[machine->lists] = part->loaded[machine->lists];
        part->used[machine->lists] = m->m->whole.used[machine->lists];
}

static void add_all(struct measuring *m, const struct parts *parts, struct meter *whole,
                    const struct instruction_times *times)
{
        struct meter *meters = arena_array(parts->arena, (size_t)parts->count, sizeof *meters);
        const struct machine_code *code = parts->code;
        const struct segment lists = { .kind = SEGMENT_MICRO_OPS, .address = m->moves.end,
                                       .content = code->lists,
                                       .bytes = code->list_count * m->isa->set->list_bytes },
                                       *places[] = { &lists };
        const struct machine_program p = { .isa = *m->isa, .places = places, .place_count = 1 };
        struct running r = { .isa = m->isa, .program = &p, .lists = running_lists(m->isa, 0),
                             .touched = touched, .context = m };
        for (int64_t k = 0; k < code->count; k++) {
                struct instruction i;
                isa_decode(m->isa, code->instructions + k * m->isa->set->bytes, &i);
                m->part = parts->of[k];
                m->cost = m->isa->set->cost(m->isa, &i);
                struct machine_part *part = &m->m->parts[m->part - 1];
                part->instructions++;
                m->m->whole.instructions++;
                add_bytes(part, &m->cost);
                add_bytes(&m->m->whole, &m->cost);
                meter_add(m->isa, &i, times[k], &meters[m->part - 1]);
                run_instruction(&r, &i);
        }
        free(r.lists);
        int64_t before = 0;
        for (int k = 0; k < parts->count; k++) {
                const int64_t end = meters[k].cycles > before ? meters[k].cycles : before;
                m->m->parts[k].result = parts->results[k];
                fill(m, &meters[k], end - before, &m->m->parts[k]);
                before = end;
        }
        fill(m, whole, whole->cycles, &m->m->whole);
}

bool machine_measure(const struct loop_function *stream, struct arena *arena,
                     struct machine_measure *measure, struct diag *diag)
{
        const struct machine *machine = stream->machine;
        const struct machine_memory *in = &machine->memories[machine->inputs],
                                    *out = &machine->memories[machine->stored];
        const int64_t unit = machine_element_bytes(
                machine_element_bytes(in) < machine_element_bytes(out) ? in : out);
        struct isa isa;
        struct meter whole;
        struct machine_code code;
        struct measuring m = { .isa = &isa, .m = measure };
        *measure = (struct machine_measure){ .parts = NULL };
        launch_moves_begin(&m.moves, stream, measure, machine_align_most(machine), unit, arena);
        if (!machine_encode(stream, m.moves.addresses, m.moves.end, arena, &code, diag) ||
            isa_begin(&isa, machine_instructions(machine), machine))
                return false;
        struct instruction_times *times = arena_array(arena, (size_t)code.count + 1, sizeof *times);
        if (!meter_run(&isa, code.instructions, code.count, &whole, times, diag))
                return false;
        struct parts parts = { .m = &m, .code = &code, .arena = arena,
                               .of = arena_array(arena, (size_t)code.count + 1, sizeof *parts.of) };
        (machine->activates ? find_layers : find_results)(&parts);
        measure->part_count = parts.count;
        measure->parts = arena_array(arena, (size_t)parts.count, sizeof *measure->parts);
        add_all(&m, &parts, &whole, times);
        return true;
}
