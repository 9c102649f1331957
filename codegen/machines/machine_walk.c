/* SPDX-License-Identifier: MIT */
#include "codegen/machines/machine_walk.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/size.h"
#include "codegen/machines/machine_check.h"

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static void push(struct walk_times *t, int64_t time)
{
        if (t->count == t->room)
                t->at = memory_resize(t->at, (size_t)(t->room = 2 * t->room + 64) * sizeof *t->at);
        t->at[t->count++] = time;
}

static bool is_empty(const struct walk_times *t) { return t->first == t->count; }

static int64_t fifo_depth(const struct walk *w) { return w->isa->depth[w->isa->machine.weights]; }

static void find(struct walk *w, int stage, int64_t from)
{
        struct walk_next *next = &w->next[stage];
        for (next->number = from; next->number < w->count; next->number++) {
                const unsigned char *bytes = w->bytes + next->number * w->isa->set->bytes;
                if (isa_decode(w->isa, bytes, &next->instruction))
                        continue;
                next->order = w->isa->set->order(&next->instruction);
                if (next->order.stage == stage)
                        return;
        }
        next->number = -1;
}

bool walk_begin(struct walk *w, const struct isa *isa, const unsigned char *bytes, int64_t count,
                int64_t memory, struct diag *diag)
{
        *w = (struct walk){ .isa = isa, .bytes = bytes, .count = count };
        for (int64_t k = 0; k < count; k++) {
                struct instruction i;
                const char *why = isa_decode(isa, bytes + k * isa->set->bytes, &i);
                if (why) {
                        diag_error(diag, EXIT_INVALID, "instruction %" PRId64 " cannot run: %s", k,
                                   why);
                        return false;
                }
                if (!instruction_can_run(isa, &i, k, NULL, memory, diag))
                        return false;
        }
        for (int stage = 0; stage < isa->machine.stage_count; stage++)
                find(w, stage, 0);
        return true;
}

void walk_end(struct walk *w)
{
        for (int k = 0; k < ISA_QUEUES; k++)
                free(w->tokens[k].at);
        for (int k = 0; k < MACHINE_STAGES; k++)
                free(w->ends[k].at);
        free(w->there.at);
        free(w->room.at);
}

/* Returns when the FIFO's next block is in the array: after it has arrived, after the block before
 * it, and after the first product of that one. */
static int64_t shifted(const struct walk *w)
{
        return later(w->there.at[w->there.first], later(w->shifted, w->begun)) +
               w->isa->machine.cycles.change;
}

int64_t walk_start(const struct walk *w, int stage)
{
        const struct walk_next *n = &w->next[stage];
        const struct order *o = &n->order;
        const struct machine_cycles *c = &w->isa->machine.cycles;
        if (n->number < 0)
                return -1;
        int64_t start = w->free[stage];
        if (c->fetch_latency)
                start = later(start, c->fetch_latency +
                                             w->isa->set->bytes / c->beat_bytes * (n->number + 1));
        for (int k = 0; k < 2; k++) {
                if (o->take[k] < 0)
                        continue;
                const struct walk_times *queue = &w->tokens[o->take[k]];
                if (is_empty(queue))
                        return -1;
                start = later(start, queue->at[queue->first]);
        }
        if (o->on >= 0 && w->ends[o->on].count < o->done)
                return -1;
        if (o->blocks && w->there.count >= fifo_depth(w)) {
                const int64_t before = w->there.count - fifo_depth(w);
                if (before >= w->room.count)
                        return -1;
                start = later(start, w->room.at[before]);
        }
        if (o->next ? is_empty(&w->there) : o->needs && !w->room.count)
                return -1;
        return o->next ? later(start, shifted(w)) : start;
}

/* Records that what other stages wait for is done at `end`. */
static void finish(struct walk *w, int stage, int64_t end)
{
        const struct walk_next *n = &w->next[stage];
        struct walk_times *ends = &w->ends[stage];
        for (int k = 0; k < 2; k++)
                if (n->order.give[k] >= 0)
                        push(&w->tokens[n->order.give[k]], end);
        push(ends, ends->count ? later(end, ends->at[ends->count - 1]) : end);
        find(w, stage, n->number + 1);
}

bool walk_go(struct walk *w, int stage, int64_t start, const struct cost *cost,
             struct instruction_times *times)
{
        struct walk_next *n = &w->next[stage];
        const struct order o = n->order;
        int64_t free = start + (cost ? cost->busy : 0);
        for (int k = 0; k < 2; k++)
                if (o.take[k] >= 0)
                        w->tokens[o.take[k]].first++;
        if (o.on >= 0 && o.done)
                free = later(free, w->ends[o.on].at[o.done - 1]);
        if (cost && cost->bus) {
                w->bus = later(start + cost->latency, w->bus) + cost->bus;
                free = later(w->bus, free);
        }
        if (o.next) {
                w->shifted = shifted(w);
                w->there.first++;
                push(&w->room, w->shifted);
                w->begun = start;
        }
        w->free[stage] = free;
        const bool first = !o.blocks || !w->part;
        n->times = (struct instruction_times){ first ? start : n->times.start,
                                               free + (cost ? cost->fill : 0),
                                               free - start + (first ? 0 : n->times.busy) };
        if (o.blocks) {
                push(&w->there, free);
                if (++w->part < o.blocks)
                        return false;
                w->part = 0;
        }
        *times = n->times;
        finish(w, stage, times->end);
        return true;
}

bool walk_is_done(const struct walk *w, struct diag *diag)
{
        const struct walk_next *first = NULL;
        for (int stage = 0; stage < w->isa->machine.stage_count; stage++) {
                const struct walk_next *n = &w->next[stage];
                if (n->number >= 0 && (!first || n->number < first->number))
                        first = n;
        }
        if (first) {
                diag_error(diag, EXIT_INVALID,
                           "instruction %" PRId64 " (%s) waits for %s that never comes",
                           first->number,
                           isa_name(w->isa, &first->instruction),
                           first->order.on >= 0                         ? "an instruction"
                           : first->order.blocks                        ? "room in the FIFO"
                           : first->order.next || first->order.needs    ? "a block"
                                                                        : "a token");
        }
        return !first;
}

bool walk_is_empty(const struct walk *w, struct diag *diag)
{
        for (int k = 0; k < ISA_QUEUES; k++)
                if (!is_empty(&w->tokens[k])) {
                        diag_error(diag, EXIT_INVALID,
                                   "%" PRId64 " tokens from %s are left at the end",
                                   w->tokens[k].count - w->tokens[k].first, w->isa->set->queues[k]);
                        return false;
                }
        if (!is_empty(&w->there))
                diag_error(diag, EXIT_INVALID, "%" PRId64 " blocks of weights are left in the FIFO",
                           w->there.count - w->there.first);
        return is_empty(&w->there);
}
