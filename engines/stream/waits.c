/* SPDX-License-Identifier: MIT */
/* tokens, for machines whose stages wait for a number of statements of another one: adds the fewest
 * awaits that make a flat stream's stages follow the order in which it stands.
 *
 *     transfer %ub[0] = %x[0] ..                      transfer %ub[0] = %x[0] ..
 *     product %acc[0] = %ub[0] * ..           ->      await host 1 in multiply
 *                                                     product %acc[0] = %ub[0] * ..
 *
 * A stage knows up to which statement each other one is done, by what it waited for, and by what
 * that had waited for. A statement needs, of each other stage, the last statement that touches what
 * it touches, where one of the two writes. The latest of these is waited for first, because it
 * often knows the rest. */
#include "ir/loop/stream_order.h"
#include "engines/stream/stream_passes.h"

#include <stdlib.h>
#include <string.h>

/* `turn` is the statement's number in its stage. */
struct done { int64_t known[MACHINE_STAGES], turn; int stage; };
struct waiting {
        struct arena *arena;
        const struct machine *m;
        struct loop_block *out;
        struct done *done;              /* Entry k is for statement k + 1. */
        int64_t count, room, turns[MACHINE_STAGES];
        int64_t known[MACHINE_STAGES][MACHINE_STAGES];
        int awaits;
};

static void await(struct waiting *w, int stage, const struct done *d)
{
        loop_await(w->arena, w->out, (struct loop_queue){ d->stage, stage }, d->turn);
        w->awaits++;
        for (int s = 0; s < w->m->stage_count; s++)
                if (d->known[s] > w->known[stage][s])
                        w->known[stage][s] = d->known[s];
}

/* Returns the latest statement that the stage needs and does not know to be done; 0: there is
 * none. */
static int64_t latest_unknown(const struct waiting *w, int stage,
                              const int64_t wanted[MACHINE_STAGES])
{
        int64_t latest = 0;
        for (int s = 0; s < w->m->stage_count; s++)
                if (wanted[s] > w->known[stage][s] && wanted[s] > latest)
                        latest = wanted[s];
        return latest;
}

static void note(struct waiting *w, int stage)
{
        if (w->count == w->room) {
                w->room = 2 * w->room + 64;
                w->done = memory_resize(w->done, (size_t)w->room * sizeof *w->done);
        }
        struct done *d = &w->done[w->count++];
        w->known[stage][stage] = w->count;
        *d = (struct done){ .stage = stage, .turn = ++w->turns[stage] };
        memcpy(d->known, w->known[stage], sizeof d->known);
}

int stream_await(struct arena *arena, struct loop_function *f)
{
        struct waiting w = { .arena = arena, .m = f->machine, .out = loop_block_new(arena) };
        struct stream_grounds *grounds = stream_grounds_new(f);
        for (struct loop_stmt *s = f->body->first, *next; s; s = next) {
                struct flat_step step;
                next = s->next;
                const bool is_step = flat_step_read(w.m, s, NULL, &step);
                const int stage = is_step ? loop_stage_of(w.m, step.s) : 0;
                if (is_step) {
                        int64_t wanted[MACHINE_STAGES], latest;
                        stream_grounds_want(grounds, &step, wanted);
                        while ((latest = latest_unknown(&w, stage, wanted)))
                                await(&w, stage, &w.done[latest - 1]);
                }
                s->next = NULL;
                *w.out->end = s;
                w.out->end = &s->next;
                if (is_step) {
                        note(&w, stage);
                        stream_grounds_mark(grounds, &step, w.count);
                }
        }
        f->body = w.out;
        stream_grounds_free(grounds);
        free(w.done);
        return w.awaits;
}
