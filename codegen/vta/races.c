/* SPDX-License-Identifier: MIT */
/* Races, by vector clocks (Lamport, 1978; Flanagan and Freund, FastTrack, 2009): a stage knows up to which instruction each other
 * stage is done, a token carries what its sender knew.
 *
 *     load      0: load inp ----token----> compute knows load <= 0
 *     compute                     2: gemm reads inp, written by 0: ordered
 *
 * Within a memory, a stage either reads or writes, so one number for each stage says all of an element: the last instruction that
 * accessed it. DRAM is watched by 16 bytes, in pages that exist where something is accessed. */
#include "codegen/vta/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { GRANULE = 16, PAGE = 256 };

struct clock { int64_t done[VTA_STAGES]; };             /* instructions of each stage before this one are known to be done */
struct queue { struct clock *tokens; int64_t first, count, room; };
struct touched { int32_t last[VTA_STAGES]; };           /* 1 + number of an instruction; 0: none */

struct vta_races {
        struct vta_instruction now;
        int64_t number;
        struct clock clocks[VTA_STAGES];
        struct queue queues[VTA_QUEUES];
        struct touched *elements[VTA_MEMORIES]; /* of memories that two stages share */
        struct touched **dram;                  /* pages */
        int64_t pages;
};

/* who writes; DRAM: store */
static bool writes(int memory, int stage)
{
        if (memory == VTA_DRAM)
                return stage == VTA_STAGE_STORE;
        return stage == (memory == VTA_OUT ? VTA_STAGE_COMPUTE : VTA_STAGE_LOAD);
}

struct vta_races *vta_races_begin(const struct vta *v, int64_t dram_bytes)
{
        static const int shared[] = { VTA_INP, VTA_WGT, VTA_OUT };
        struct vta_races *r = memory_alloc(sizeof *r);
        for (int k = 0; k < 3; k++)
                r->elements[shared[k]] = memory_alloc((size_t)v->depth[shared[k]] * sizeof **r->elements);
        r->pages = dram_bytes / (GRANULE * PAGE) + 1;
        r->dram = memory_alloc((size_t)r->pages * sizeof *r->dram);
        return r;
}

void vta_races_end(struct vta_races *r)
{
        for (int64_t k = 0; k < r->pages; k++)
                free(r->dram[k]);
        for (int k = 0; k < VTA_QUEUES; k++)
                free(r->queues[k].tokens);
        for (int k = 0; k < VTA_MEMORIES; k++)
                free(r->elements[k]);
        free(r->dram);
        free(r);
}

/* ---- tokens ---- */

int64_t vta_races_tokens(const struct vta_races *r, int queue) { return r->queues[queue].count; }

int64_t vta_races_done(const struct vta_races *r, int stage) { return r->clocks[vta_stage_of(&r->now)].done[stage]; }

static void give(struct queue *q, const struct clock *clock)
{
        if (q->first + q->count == q->room) {
                int64_t room = q->count < q->room / 2 ? q->room : 2 * q->room + 8;
                if (q->count)
                        memmove(q->tokens, q->tokens + q->first, (size_t)q->count * sizeof *q->tokens);
                q->first = 0;
                if (room > q->room)
                        q->tokens = memory_resize(q->tokens, (size_t)room * sizeof *q->tokens);
                q->room = room;
        }
        q->tokens[q->first + q->count++] = *clock;
}

bool vta_races_start(struct vta_races *r, const struct vta_instruction *i, int64_t number)
{
        struct clock *mine = &r->clocks[vta_stage_of(i)];
        r->now = *i;
        r->number = number;
        for (int f = 0; f < VTA_POPS; f++) {
                int k = vta_queue(i, f);
                if (k < 0)
                        continue;
                struct queue *q = &r->queues[k];
                if (!q->count)
                        return false;
                const struct clock *token = &q->tokens[q->first++];
                q->count--;
                for (int s = 0; s < VTA_STAGES; s++)
                        if (token->done[s] > mine->done[s])
                                mine->done[s] = token->done[s];
        }
        mine->done[vta_stage_of(i)] = number + 1;
        return true;
}

void vta_races_finish(struct vta_races *r)
{
        for (int f = VTA_POPS; f < VTA_FLAGS; f++) {
                int k = vta_queue(&r->now, f);
                if (k >= 0)
                        give(&r->queues[k], &r->clocks[vta_stage_of(&r->now)]);
        }
}

/* ---- accesses ---- */

static struct touched *dram_granule(struct vta_races *r, int64_t granule)
{
        struct touched **page = &r->dram[granule / PAGE];
        if (!*page)
                *page = memory_alloc(PAGE * sizeof **page);
        return &(*page)[granule % PAGE];
}

void vta_races_access(struct vta_races *r, int memory, int64_t first, int64_t count, int64_t *with, int64_t *element)
{
        int me = (int)vta_stage_of(&r->now), unit = memory == VTA_DRAM ? GRANULE : 1;
        *with = -1;
        if (memory != VTA_DRAM && !r->elements[memory])
                return;
        for (int64_t k = first / unit; k <= (first + count - 1) / unit; k++) {
                struct touched *t = memory == VTA_DRAM ? dram_granule(r, k) : &r->elements[memory][k];
                for (int s = 0; s < VTA_STAGES; s++)
                        if (s != me && t->last[s] > r->clocks[me].done[s] && (writes(memory, s) || writes(memory, me))) {
                                *with = t->last[s] - 1;
                                *element = k * unit;
                        }
                t->last[me] = (int32_t)(r->number + 1);
        }
}
