/* SPDX-License-Identifier: MIT */
/* tokens: adds the fewest pushes and pops that make a flat stream's stages follow the order in
 * which it stands.
 *
 *     transfer %inp[0] = %x[0] ..                     transfer %inp[0] = %x[0] ..
 *                                                     push load to compute
 *                                             ->      pop load to compute
 *     product %acc[0] += %inp[0] * ..                 product %acc[0] += %inp[0] * ..
 *
 * A stage knows up to which statement each other stage is done: by the tokens that it popped, each
 * of which carries what its sender knew (vector clocks, as in Lamport, 1978). A statement needs, of
 * each other stage, the last statement that touches what it touches, where one of the two writes;
 * if its stage does not know that this one is done, that statement pushes a token and this one pops
 * it. A dependence, through memory outside, between stages that are no neighbours goes through the
 * stage between them: by a statement of it that knows, or by a push directly after a pop. The end
 * of the stream is one more statement of compute that needs everything. Tokens are popped in the
 * order in which they were pushed, because what a stage needs of another only advances. No queue
 * gets more tokens than it holds. */
#include "ir/loop/stream_order.h"
#include "engines/stream/stream_passes.h"

#include <stdlib.h>
#include <string.h>

struct item {
        struct loop_stmt *s;            /* NULL: the item has tokens only. */
        int stage;
        int64_t known[MACHINE_STAGES];  /* When the item is done, items of each stage before this
                                         * number are done. */
        bool pops[2], pushes[2];        /* It pops tokens from, and pushes them to, the stage before
                                         * and the stage after. */
};

struct ordering {
        struct arena *arena;
        const struct machine *m;
        struct stream_grounds *grounds;
        struct item *items;             /* Item number k is statement k + 1. */
        int count, room;
        int64_t known[MACHINE_STAGES][MACHINE_STAGES];
        int64_t wanted[MACHINE_STAGES]; /* The statement that is being placed needs these. */
        int tokens;
};

/* ---- placing ---- */

static struct item *add_item(struct ordering *o, struct loop_stmt *s, int stage)
{
        if (o->count == o->room) {
                o->room = 2 * o->room + 64;
                o->items = memory_resize(o->items, (size_t)o->room * sizeof *o->items);
        }
        struct item *i = &o->items[o->count];
        *i = (struct item){ .s = s, .stage = stage };
        o->count++;
        return i;
}

static void learn(struct ordering *o, int stage, const struct item *from)
{
        for (int s = 0; s < o->m->stage_count; s++)
                if (from->known[s] > o->known[stage][s])
                        o->known[stage][s] = from->known[s];
}

/* Takes a token of an item, for the item that is placed next at a neighbouring stage; the popping
 * side is set in pops[]. */
static void take(struct ordering *o, int item, int stage, bool pops[2])
{
        struct item *from = &o->items[item];
        from->pushes[stage > from->stage] = true;
        pops[from->stage > stage] = true;
        learn(o, stage, from);
        o->tokens++;
}

static void finish(struct ordering *o, struct item *i, const bool pops[2])
{
        memcpy(i->pops, pops, sizeof i->pops);
        o->known[i->stage][i->stage] = o->count;
        memcpy(i->known, o->known[i->stage], sizeof i->known);
}

/* Returns the first item of `stage`, from item number `wanted` on, at which that stage knows that
 * `other` has done its items before number `wanted`; or -1 if there is none. */
static int who_knows(const struct ordering *o, int stage, int other, int64_t wanted)
{
        int found = -1;
        for (int k = o->count - 1; k >= wanted; k--) {
                if (o->items[k].stage != stage)
                        continue;
                if (o->items[k].known[other] < wanted)
                        break;
                found = k;
        }
        return found;
}

/* What a stage that is no neighbour must have done, the stage between them must know; `wanted` of
 * that stage is raised, so that one token covers both. */
static void want_between(struct ordering *o, int stage, int other)
{
        int between = (stage + other) / 2, knows;
        if (o->wanted[other] <= o->known[stage][other])
                return;
        knows = who_knows(o, between, other, o->wanted[other]);
        /* A new item pops a token, and pushes one. */
        if (knows < 0) {
                bool own[2] = { false };
                take(o, (int)o->wanted[other] - 1, between, own);
                finish(o, add_item(o, NULL, between), own);
                knows = o->count - 1;
        }
        if (knows >= o->wanted[between])
                o->wanted[between] = knows + 1;
}

static void place(struct ordering *o, struct loop_stmt *s, int stage)
{
        bool pops[2] = { false };
        for (int other = 0; other < o->m->stage_count; other++)
                if (abs(other - stage) == 2)
                        want_between(o, stage, other);
        for (int other = 0; other < o->m->stage_count; other++)
                if (abs(other - stage) == 1 && o->wanted[other] > o->known[stage][other])
                        take(o, (int)o->wanted[other] - 1, stage, pops);
        finish(o, add_item(o, s, stage), pops);
}

static void place_statement(struct ordering *o, struct loop_stmt *s)
{
        struct flat_step step;
        if (!flat_step_read(o->m, s, NULL, &step))
                return;
        stream_grounds_want(o->grounds, &step, o->wanted);
        place(o, s, loop_stage_of(o->m, step.s));
        stream_grounds_mark(o->grounds, &step, o->count);
}

static void place_end(struct ordering *o)
{
        memset(o->wanted, 0, sizeof o->wanted);
        for (int k = 0; k < o->count; k++)
                if (o->items[k].stage != o->m->compute)
                        o->wanted[o->items[k].stage] = k + 1;
        for (int s = 0; s < o->m->stage_count; s++)
                if (o->wanted[s] > o->known[o->m->compute][s]) {
                        place(o, NULL, o->m->compute);
                        return;
                }
}

/* ---- queues that would overflow ---- */

/* Returns the next item after `k` that pushes to, or pops from, a stage on that side; o->count:
 * there is none. */
static int next_of(const struct ordering *o, int k, int stage, int side, bool pops)
{
        for (k++; k < o->count; k++)
                if (o->items[k].stage == stage &&
                    (pops ? o->items[k].pops : o->items[k].pushes)[side])
                        break;
        return k;
}

/* Removes tokens from a queue that would overflow: where it is full, the newest token is taken
 * back, and the one that would be too many goes to the statement that waited for that. A later
 * token of the same stage covers more, and whoever waits for it stands after its sender. `popped`
 * has room for o->count numbers. */
static void bound_queue(struct ordering *o, int from, int to, int *popped)
{
        const int side = to > from, back = from > to;
        /* These count pairs of push and pop, and how many of them have been popped; `newest` pushed
         * the last. */
        int kept = 0, gone = 0, newest = -1;
        int push = next_of(o, -1, from, side, false), pop = next_of(o, -1, to, back, true);
        for (; push < o->count && pop < o->count;
             push = next_of(o, push, from, side, false), pop = next_of(o, pop, to, back, true)) {
                while (gone < kept && popped[gone] < push)
                        gone++;
                if (kept - gone < o->m->limits.tokens) {
                        popped[kept++] = pop;
                } else {
                        o->items[newest].pushes[side] = false;
                        o->items[pop].pops[back] = false;
                        o->tokens--;
                }
                newest = push;
        }
}

static void bound_queues(struct ordering *o)
{
        int *popped = memory_alloc(((size_t)o->count + 1) * sizeof *popped);
        for (int stage = 0; stage + 1 < o->m->stage_count; stage++) {
                bound_queue(o, stage, stage + 1, popped);
                bound_queue(o, stage + 1, stage, popped);
        }
        free(popped);
}

/* ---- writing ---- */

static void write_tokens(const struct ordering *o, struct loop_block *out, const struct item *i,
                         enum loop_stmt_kind kind)
{
        const bool *set = kind == STMT_POP ? i->pops : i->pushes;
        for (int k = 0; k < 2; k++) {
                int other = i->stage + (k ? 1 : -1);
                struct loop_queue queue = kind == STMT_POP ? (struct loop_queue){ other, i->stage }
                                                           : (struct loop_queue){ i->stage, other };
                if (set[k])
                        loop_token(o->arena, out, kind, queue);
        }
}

static struct loop_block *write_items(const struct ordering *o, struct loop_block *out)
{
        for (int k = 0; k < o->count; k++) {
                write_tokens(o, out, &o->items[k], STMT_POP);
                if (o->items[k].s) {
                        o->items[k].s->next = NULL;
                        *out->end = o->items[k].s;
                        out->end = &o->items[k].s->next;
                }
                write_tokens(o, out, &o->items[k], STMT_PUSH);
        }
        return out;
}

static int order_stream(struct loop_program *p, struct loop_function *f)
{
        struct ordering o = { .arena = p->arena,
                              .m = f->machine,
                              .grounds = stream_grounds_new(f) };
        struct loop_block *out = loop_block_new(p->arena);
        for (struct loop_stmt *s = f->body->first, *next; s; s = next) {
                next = s->next;
                if (s->kind == STMT_ALLOC) {
                        s->next = NULL;
                        *out->end = s;
                        out->end = &s->next;
                } else
                        place_statement(&o, s);
        }
        place_end(&o);
        bound_queues(&o);
        f->body = write_items(&o, out);
        stream_grounds_free(o.grounds);
        free(o.items);
        return o.tokens;
}

static void find_token(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_PUSH || s->kind == STMT_POP || s->kind == STMT_AWAIT;
}

int pass_tokens(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                struct loop_buffer *memories[MACHINE_MEMORIES];
                bool ordered = false;
                if (f->kind != FUNCTION_STREAM)
                        continue;
                loop_block_walk(f->body, find_token, NULL, &ordered);
                if (ordered)
                        continue;
                if (!flat_memories(f, memories)) {
                        diag_error(context->diag, EXIT_USAGE,
                                   "stream %s still has loops: flatten comes before tokens",
                                   f->name);
                        return -1;
                }
                count += f->machine->awaits ? stream_await(p->arena, f) : order_stream(p, f);
        }
        return count;
}
