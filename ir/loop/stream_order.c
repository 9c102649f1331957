/* SPDX-License-Identifier: MIT */
#include "ir/loop/stream_order.h"

#include <stdlib.h>

enum { GRANULE = 16 };                  /* Accesses outside of the machine are tracked in granules
                                         * of this many bytes. */

struct touched { int32_t last[MACHINE_STAGES]; };
struct ground {
        int64_t elements, unit;         /* unit: how many elements count as one. */
        struct touched *touched;
        bool writes[MACHINE_STAGES];    /* A stage that writes somewhere in it counts as writing
                                         * everywhere in it. */
};

struct stream_grounds {
        const struct machine *m;
        struct ground *grounds;         /* The memories of the machine come first, then
                                         * parameters. */
        int count;
        /* These fields are about the statement that is looked at. */
        int stage;
        int64_t *wanted, number;        /* number: the number that its accesses are marked with; 0:
                                         * its wants are collected. */
};

static struct ground *ground_of(struct stream_grounds *g, const struct loop_buffer *b)
{
        return &g->grounds[b->space == SPACE_MEMORY ? b->memory : MACHINE_MEMORIES + b->number];
}

static void touch(void *context, const struct loop_buffer *b, int64_t first, int64_t count,
                  bool writes)
{
        struct stream_grounds *g = context;
        struct ground *at = ground_of(g, b);
        if (b->space == SPACE_MEMORY && g->m->memories[b->memory].fifo)
                return;                 /* Its order is its own. */
        if (first < 0 || count <= 0 || first + count > at->elements)
                return;                 /* The verifier reports it. */
        for (int64_t k = first / at->unit; k <= (first + count - 1) / at->unit; k++) {
                struct touched *t = &at->touched[k];
                if (g->number)
                        t->last[g->stage] = (int32_t)g->number;
                for (int s = 0; s < g->m->stage_count && !g->number; s++)
                        if (s != g->stage && (writes || at->writes[s]) && t->last[s] > g->wanted[s])
                                g->wanted[s] = t->last[s];
        }
}

static void note_writer(void *context, const struct loop_buffer *b, int64_t first, int64_t count,
                        bool writes)
{
        struct stream_grounds *g = context;
        (void)first, (void)count;
        ground_of(g, b)->writes[g->stage] |= writes;
}

static void visit(struct stream_grounds *g, const struct flat_step *step,
                  void (*each)(void *context, const struct loop_buffer *b, int64_t first,
                               int64_t count, bool writes))
{
        g->stage = loop_stage_of(g->m, step->s);
        flat_step_visit(g->m, step, &(struct flat_visitor){ each, g });
}

void stream_grounds_want(struct stream_grounds *g, const struct flat_step *step,
                         int64_t wanted[MACHINE_STAGES])
{
        for (int s = 0; s < MACHINE_STAGES; s++)
                wanted[s] = 0;
        g->wanted = wanted;
        g->number = 0;
        visit(g, step, touch);
}

void stream_grounds_mark(struct stream_grounds *g, const struct flat_step *step, int64_t number)
{
        g->number = number;
        visit(g, step, touch);
}

static void add_ground(struct stream_grounds *g, int64_t elements, int64_t unit)
{
        g->grounds[g->count++] = (struct ground){
                .elements = elements,
                .unit = unit,
                .touched = memory_alloc((size_t)(elements / unit + 1) * sizeof(struct touched))
        };
}

struct stream_grounds *stream_grounds_new(const struct loop_function *f)
{
        struct stream_grounds *g = memory_alloc(sizeof *g);
        g->m = f->machine;
        g->grounds =
                memory_alloc((size_t)(MACHINE_MEMORIES + f->buffer_count) * sizeof *g->grounds);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                add_ground(g, machine_depth(&g->m->memories[k]), 1);
        for (int k = 0; k < f->buffer_count; k++) {
                int bytes = element_info[f->buffers[k]->element].bytes;
                f->buffers[k]->number = k;
                add_ground(g, f->buffers[k]->extent, bytes > GRANULE ? 1 : GRANULE / bytes);
        }
        for (const struct loop_stmt *s = f->body->first; s; s = s->next) {
                struct flat_step step;
                if (flat_step_read(g->m, s, NULL, &step))
                        visit(g, &step, note_writer);
        }
        return g;
}

void stream_grounds_free(struct stream_grounds *g)
{
        for (int k = 0; k < g->count; k++)
                free(g->grounds[k].touched);
        free(g->grounds);
        free(g);
}
