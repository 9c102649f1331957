/* SPDX-License-Identifier: MIT */
/* Runs the machine's stages one instruction at a time. An instruction is done as a whole: what
 * another stage could see in the middle of it is a race, which machine_check.c finds. */
#include "codegen/machines/simulator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "codegen/machines/machine_check.h"
#include "codegen/machines/machine_walk.h"

struct simulator {
        struct isa isa;
        struct running running;
        uint64_t random;                /* It is the state of the random numbers; 0: instructions
                                         * run in program order. */
};

static void *poisoned(size_t bytes, unsigned char poison)
{
        return bytes ? memset(memory_alloc(bytes), poison, bytes) : NULL;
}

struct simulator *simulator_new(const struct isa *isa, uint64_t seed, unsigned char poison)
{
        struct simulator *s = memory_alloc(sizeof *s);
        *s = (struct simulator){ .isa = *isa, .random = seed * RANDOM_START };
        struct running *r = &s->running;
        *r = (struct running){ .isa = &s->isa, .poison = poison };
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                r->inside[k] = poisoned((size_t)isa->machine.memories[k].bytes, poison);
        r->lists = running_lists(isa, poison);
        r->scratch = poisoned(isa->set->scratch, poison);
        return s;
}

void simulator_free(struct simulator *s)
{
        if (!s)
                return;
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                free(s->running.inside[k]);
        free(s->running.lists);
        free(s->running.scratch);
        free(s);
}

/* Returns the stage that runs next; -1: none can. */
static int pick(struct simulator *s, const struct walk *w)
{
        int ready[MACHINE_STAGES], count = 0;
        for (int k = 0; k < s->isa.machine.stage_count; k++)
                if (walk_start(w, k) >= 0)
                        ready[count++] = k;
        if (!count)
                return -1;
        if (s->random)
                return ready[random_next(&s->random) % (uint64_t)count];
        int first = ready[0];
        for (int k = 1; k < count; k++)
                if (w->next[ready[k]].number < w->next[first].number)
                        first = ready[k];
        return first;
}

static bool run(struct simulator *s, struct walk *w, int64_t bytes, int64_t work, struct diag *diag)
{
        for (int stage; (stage = pick(s, w)) >= 0;) {
                const struct walk_next *next = &w->next[stage];
                const bool first = !next->order.blocks || !w->part;
                work -= first ? isa_work(&s->isa, &next->instruction) : 0;
                if (work < 0) {
                        diag_error(diag, EXIT_BUDGET, WORK_ERROR, next->number);
                        return false;
                }
                if (first && !instruction_can_run(&s->isa, &next->instruction, next->number,
                                                  s->running.lists, bytes, diag))
                        return false;
                s->running.part = next->order.blocks ? w->part : 0;
                s->running.put = w->there.count;
                s->running.take = w->there.first;
                run_instruction(&s->running, &next->instruction);
                struct instruction_times times;
                walk_go(w, stage, 0, NULL, &times);
        }
        return walk_is_done(w, diag) && walk_is_empty(w, diag);
}

bool simulator_launch(struct simulator *s, unsigned char *memory, int64_t bytes, int64_t address,
                      int64_t count, int64_t work, struct diag *diag)
{
        struct walk w;
        if (address < 0 || count < 0 || address > bytes ||
            count > (bytes - address) / s->isa.set->bytes) {
                diag_error(diag, EXIT_INVALID,
                           "the instructions, %" PRId64 " at 0x%" PRIx64 ", are not within memory",
                           count, (uint64_t)address);
                return false;
        }
        s->running.memory = memory;
        const bool fine = walk_begin(&w, &s->isa, memory + address, count, bytes, diag) &&
                          run(s, &w, bytes, work, diag);
        walk_end(&w);
        return fine;
}
