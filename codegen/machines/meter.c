/* SPDX-License-Identifier: MIT */
/* This is the cycle model: see meter.h, which is its specification. */
#include "codegen/machines/meter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "codegen/machines/machine_program.h"

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* Returns the stage whose instruction starts first; -1: none can. */
static int first_stage(const struct walk *w, int64_t *start)
{
        const struct machine *m = &w->isa->machine;
        int best = -1;
        for (int k = 0; k < m->stage_count; k++) {
                const int stage = k == 0 ? m->compute : k <= m->compute ? k - 1 : k;
                const int64_t time = walk_start(w, stage);
                if (time >= 0 && (best < 0 || time < *start)) {
                        best = stage;
                        *start = time;
                }
        }
        return best;
}

static bool is_fifo(const struct isa *isa, int memory)
{
        return memory >= 0 && isa->machine.memories[memory].fifo;
}

void meter_add(const struct isa *isa, const struct instruction *i, struct instruction_times times,
               struct meter *m)
{
        const struct cost cost = isa->set->cost(isa, i);
        const struct order order = isa->set->order(i);
        struct meter_class *class = &m->classes[cost.class];
        class->count++;
        class->steps += cost.steps;
        class->bytes += cost.bytes;
        m->moved[cost.stores                 ? METER_STORED
                 : is_fifo(isa, cost.memory) ? METER_WEIGHTS
                                             : METER_LOADED] += cost.bytes;
        class->busy += times.busy;
        m->cycles = later(m->cycles, times.end);
        m->bus += cost.bus;
        m->places = later(m->places, cost.places);
        if (order.on < 0)
                m->serial += times.busy + cost.fill + (order.next ? isa->machine.cycles.change : 0);
}

bool meter_run(const struct isa *isa, const unsigned char *bytes, int64_t count, struct meter *m,
               struct instruction_times *times, struct diag *diag)
{
        struct walk w;
        int64_t start = 0;
        *m = (struct meter){ 0 };
        bool fine = walk_begin(&w, isa, bytes, count, -1, diag);
        for (int stage; fine && (stage = first_stage(&w, &start)) >= 0;) {
                const struct walk_next now = w.next[stage];
                const struct cost cost = isa->set->cost(isa, &now.instruction);
                struct instruction_times all;
                if (!walk_go(&w, stage, start, &cost, &all))
                        continue;
                meter_add(isa, &now.instruction, all, m);
                if (times)
                        times[now.number] = all;
        }
        fine = fine && walk_is_done(&w, diag);
        walk_end(&w);
        return fine;
}

/* ---- what a run comes to ---- */

double meter_utilization(const struct isa *isa, const struct meter *m)
{
        return m->cycles ? (double)m->classes[isa->set->products].steps / (double)m->cycles : 0;
}

static int class_count(const struct instruction_set *set)
{
        return set->classes ? set->class_count : set->opcode_count;
}

static struct isa_class class_of(const struct instruction_set *set, int k)
{
        return set->classes ? set->classes[k]
        : (struct isa_class){ set->opcodes[k].name, set->opcodes[k].stage };
}

const char *meter_bound(const struct isa *isa, const struct meter *m)
{
        const struct instruction_set *set = isa->set;
        const char *bound = "waiting";
        int64_t busy[ISA_BUSY] = { 0 }, most = (m->cycles + 1) / 2;
        for (int k = 0; k < class_count(set); k++)
                if (class_of(set, k).busy >= 0)
                        busy[class_of(set, k).busy] += m->classes[k].busy;
        if (set->bus >= 0)
                busy[set->bus] = m->bus;
        for (int k = 0; k < ISA_BUSY && set->busy[k]; k++)
                if (busy[k] >= most) {
                        most = busy[k] + 1;
                        bound = set->busy[k];
                }
        return bound;
}

/* ---- as a table ---- */

static void add_each(const struct machine_program *p, const struct instruction_times *times,
                     struct text *out)
{
        text_add(out, "%8s  %-8s %12s %12s  %s\n", "number", p->isa.set->stage_word, "start", "end",
                 "instruction");
        for (int64_t k = 0; k < program_length(p); k++) {
                struct instruction i;
                isa_decode(&p->isa, program_instruction(p, k), &i);
                const int stage = p->isa.set->order(&i).stage;
                if (stage < 0)
                        continue;
                text_add(out, "%8" PRId64 "  %-8s %12" PRId64 " %12" PRId64 "  ", k,
                         p->isa.machine.stages[stage], times[k].start,
                         times[k].end);
                assembly_print_instruction(&p->isa, p, program_instruction(p, k), out);
                text_add(out, "\n");
        }
        text_add(out, "\n");
}

static void add_classes(const struct isa *isa, const struct meter *m, struct text *out)
{
        text_add(out, "%-10s %12s %12s %12s %12s %9s\n", "", "instructions", "steps", "bytes",
                 "cycles", "of all");
        for (int k = 0; k < class_count(isa->set); k++) {
                const struct meter_class *c = &m->classes[k];
                if (c->count)
                        text_add(out,
                                 "%-10s %12" PRId64 " %12" PRId64 " %12" PRId64 " %12" PRId64
                                 " %7.1f %%\n",
                                 class_of(isa->set, k).name, c->count, c->steps, c->bytes, c->busy,
                                 meter_share(c->busy, m->cycles));
        }
        if (isa->set->bus >= 0)
                text_add(out, "%-10s %12s %12s %12s %12" PRId64 " %7.1f %%\n",
                         isa->set->busy[isa->set->bus], "", "", "", m->bus,
                         meter_share(m->bus, m->cycles));
}

/* Prints the busy time of stages, where the units that may be busy are the stages. */
static void add_stages(const struct isa *isa, const struct meter *m, struct text *out)
{
        text_add(out, "%-10s %12s %9s\n", isa->set->stage_word, "busy", "of all");
        for (int stage = 0; stage < isa->machine.stage_count; stage++) {
                int64_t busy = 0;
                for (int k = 0; k < class_count(isa->set); k++)
                        busy += class_of(isa->set, k).busy == stage ? m->classes[k].busy : 0;
                text_add(out, "%-10s %12" PRId64 " %7.1f %%\n", isa->machine.stages[stage], busy,
                         meter_share(busy, m->cycles));
        }
}

bool meter_report(const struct machine_program *p, bool each, struct text *out, struct diag *diag)
{
        struct meter m;
        const int64_t length = program_length(p);
        struct instruction_times *times =
                each ? memory_alloc((size_t)length * sizeof *times) : NULL;
        const bool fine = meter_run(&p->isa, p->code->content, length, &m, times, diag);
        if (fine && each)
                add_each(p, times, out);
        free(times);
        if (!fine)
                return false;
        text_add(out, "cycles        %12" PRId64 "\nutilization   %10.1f %%\nbound by      %12s\n",
                 m.cycles,
                 100 * meter_utilization(&p->isa, &m), meter_bound(&p->isa, &m));
        const struct machine *machine = &p->isa.machine;
        text_add(out, "instructions  %12" PRId64 "\n", length);
        if (machine->lists >= 0)
                text_add(out, "micro-ops     %12" PRId64 "\n", m.places);
        else
                text_add(out, "rows          %12" PRId64 "\n",
                         m.classes[p->isa.set->products].steps);
        text_add(out, "bytes read    %12" PRId64 "\n", m.moved[METER_LOADED]);
        if (machine->memories[machine->weights].fifo)
                text_add(out, "bytes weights %12" PRId64 "\n", m.moved[METER_WEIGHTS]);
        text_add(out, "bytes written %12" PRId64 "\n\n", m.moved[METER_STORED]);
        (p->isa.set->classes ? add_classes : add_stages)(&p->isa, &m, out);
        return true;
}
