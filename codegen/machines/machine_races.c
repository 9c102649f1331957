/* SPDX-License-Identifier: MIT */
/* Finds races by vector clocks (Lamport, 1978; Flanagan and Freund, FastTrack, 2009): a stage knows
 * up to which instruction each other stage is done. A token carries what its sender knew, a block
 * for the array what the unit that read it knew, and a unit that waits until a stage has done some
 * number of instructions learns what the last of these knew.
 *
 *     load      0: load inp ----token----> compute knows load <= 0
 *     compute                     2: gemm reads inp, written by 0: ordered
 *
 * Memory outside is watched in granules of 16 bytes, in pages that exist where something is
 * accessed, and only where the program may write. */
#include <stdlib.h>
#include <string.h>

#include "codegen/machines/machine_check.h"

enum { GRANULE = ISA_GRANULE, PAGE = 256 };

/* The instructions of each stage before this one are known to be done. */
struct clock { int64_t done[MACHINE_STAGES]; };
/* This is a queue of clocks; those before `first` have been taken. */
struct clocks { struct clock *at; int64_t first, count, room; };
/* For each stage, 1 + the number of the last instruction that read and wrote the element; 0: none
 * has. */
struct touched { int32_t read[MACHINE_STAGES], wrote[MACHINE_STAGES]; };
/* The block came after this instruction of its stage; `last`: it was the last one of that
 * instruction. */
struct block { int64_t behind; bool last; };

struct races {
        const struct machine_program *p;
        struct order now;
        int64_t number;
        struct clock clocks[MACHINE_STAGES];
        /* `history` has a clock after each instruction of a stage. */
        struct clocks queues[ISA_QUEUES], history[MACHINE_STAGES];
        struct block *blocks;
        int64_t block_count, taken;
        struct touched *elements[ISA_MEMORIES], **pages;
        int64_t page_count;
};

struct races *races_begin(const struct machine_program *p)
{
        struct races *r = memory_alloc(sizeof *r);
        r->p = p;
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                r->elements[k] = memory_alloc((size_t)p->isa.depth[k] * sizeof **r->elements);
        r->page_count = p->dram_bytes / (GRANULE * PAGE) + 1;
        r->pages = memory_alloc((size_t)r->page_count * sizeof *r->pages);
        return r;
}

void races_end(struct races *r)
{
        for (int64_t k = 0; k < r->page_count; k++)
                free(r->pages[k]);
        for (int k = 0; k < ISA_QUEUES; k++)
                free(r->queues[k].at);
        for (int k = 0; k < MACHINE_STAGES; k++)
                free(r->history[k].at);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                free(r->elements[k]);
        free(r->blocks);
        free(r->pages);
        free(r);
}

/* ---- order ---- */

int64_t races_tokens(const struct races *r, int queue)
{
        return r->queues[queue].count - r->queues[queue].first;
}

int64_t races_blocks(const struct races *r) { return r->block_count - r->taken; }

int64_t races_done(const struct races *r, int stage) { return r->clocks[r->now.stage].done[stage]; }

static void add(struct clocks *c, const struct clock *clock)
{
        if (c->first == c->count)
                c->first = c->count = 0;
        if (c->count == c->room)
                c->at = memory_resize(c->at, (size_t)(c->room = 2 * c->room + 64) * sizeof *c->at);
        c->at[c->count++] = *clock;
}

static void learn(struct clock *mine, const struct clock *other)
{
        for (int s = 0; s < MACHINE_STAGES; s++)
                if (other->done[s] > mine->done[s])
                        mine->done[s] = other->done[s];
}

/* Takes the FIFO's next block. A unit that takes the last block of an instruction knows that the
 * instruction is done. */
static bool take_block(struct races *r, struct clock *mine)
{
        if (r->taken == r->block_count)
                return false;
        const struct block *b = &r->blocks[r->taken++];
        const int loader = r->p->isa.machine.memories[r->p->isa.machine.weights].loader;
        if (b->last)
                learn(mine, &r->history[loader].at[b->behind]);
        return true;
}

const char *races_start(struct races *r, const struct order *order, int64_t number)
{
        struct clock *mine = &r->clocks[order->stage];
        r->now = *order;
        r->number = number;
        for (int k = 0; k < 2; k++) {
                if (order->take[k] < 0)
                        continue;
                struct clocks *queue = &r->queues[order->take[k]];
                if (queue->first == queue->count)
                        return "taken";
                learn(mine, &queue->at[queue->first++]);
        }
        mine->done[order->stage] = number + 1;
        if (order->on >= 0 && order->done > r->history[order->on].count)
                return "sync";
        if (order->on >= 0 && order->done)
                learn(mine, &r->history[order->on].at[order->done - 1]);
        if (order->next ? !take_block(r, mine) : order->needs && !r->taken)
                return "fifo";
        return NULL;
}

void races_finish(struct races *r)
{
        const struct clock *mine = &r->clocks[r->now.stage];
        for (int64_t k = 0; k < r->now.blocks; k++) {
                if ((r->block_count & (r->block_count - 1)) == 0)
                        r->blocks = memory_resize(r->blocks, (size_t)(2 * r->block_count + 1) *
                                                                     sizeof *r->blocks);
                r->blocks[r->block_count++] =
                        (struct block){ r->history[r->now.stage].count, k == r->now.blocks - 1 };
        }
        for (int k = 0; k < 2; k++)
                if (r->now.give[k] >= 0)
                        add(&r->queues[r->now.give[k]], mine);
        struct clocks *history = &r->history[r->now.stage];
        if (r->p->isa.machine.awaits)
                add(history, mine);
}

/* ---- accesses ---- */

static void touch_one(struct races *r, struct touched *t, bool writes, int64_t element,
                      int64_t *with, int64_t *where)
{
        const struct clock *mine = &r->clocks[r->now.stage];
        for (int s = 0; s < r->p->isa.machine.stage_count; s++) {
                const int32_t last = writes && t->read[s] > t->wrote[s] ? t->read[s] : t->wrote[s];
                if (s != r->now.stage && last > mine->done[s]) {
                        *with = last - 1;
                        *where = element;
                }
        }
        (writes ? t->wrote : t->read)[r->now.stage] = (int32_t)(r->number + 1);
}

static void touch_outside(struct races *r, int64_t first, int64_t last, bool writes, int64_t *with,
                          int64_t *where)
{
        for (int64_t k = first / GRANULE; k <= last / GRANULE; k++) {
                struct touched **page = &r->pages[k / PAGE];
                if (!*page)
                        *page = memory_alloc(PAGE * sizeof **page);
                touch_one(r, &(*page)[k % PAGE], writes, k * GRANULE, with, where);
        }
}

void races_touch(struct races *r, int memory, int64_t first, int64_t count, bool writes,
                 int64_t *with, int64_t *element)
{
        const int64_t end = first + count;
        *with = -1;
        for (int64_t k = first; k < end && memory != OUTSIDE; k++)
                touch_one(r, &r->elements[memory][k], writes, k, with, element);
        /* Bytes that are only read race with nothing. */
        for (int64_t at = first; at < end && memory == OUTSIDE;) {
                const struct segment *s = program_segment(r->p, at, 1);
                const int64_t next = s && s->address + s->bytes < end ? s->address + s->bytes : end;
                if (s && segment_kinds[s->kind].written)
                        touch_outside(r, at, next - 1, writes, with, element);
                at = next;
        }
}
