/* SPDX-License-Identifier: MIT */
/* tokens: the least pushes and pops that keep a flat stream's stages to the order in which it stands.
 *
 *     transfer %inp[0] = %x[0] ..                     transfer %inp[0] = %x[0] ..
 *                                                     push load to compute
 *                                             ->      pop load to compute
 *     product %acc[0] += %inp[0] * ..                 product %acc[0] += %inp[0] * ..
 *
 * A stage knows up to which statement each other stage is done: by the tokens that it popped, each of which carries what its sender knew
 * (vector clocks, as in Lamport, 1978). A statement asks, of each other stage, for the last that touches what it touches, one of the two
 * writing; if its stage does not know that yet, that statement pushes a token and this one pops it. What lies between stages that
 * are no neighbours, outside of the machine, goes through the one between them, by a statement of it that knows, or by a push right
 * behind a pop. The end of the stream is one more statement of compute that asks for all. Tokens are popped in the order in which they
 * were pushed, as what a stage asks of another only moves on. */
#include "passes/stream/stream_passes.h"

#include <stdlib.h>
#include <string.h>

enum { GRANULE = 16 };                  /* bytes, outside of the machine */

struct item {
        struct loop_stmt *s;            /* NULL: only tokens */
        int stage;
        int64_t known[MACHINE_STAGES];  /* when it is done: items of each stage before this number are */
        bool pops[2], pushes[2];        /* from and to the stage before, behind */
};

/* 1 + the last item of each stage that touched it; whether a stage writes there is the same for all of a memory */
struct touched { int32_t last[MACHINE_STAGES]; };
struct ground {
        const struct loop_buffer *b;    /* outside of the machine; NULL: a memory of it */
        int64_t elements, unit;         /* unit: elements that count as one */
        struct touched *touched;
        bool writes[MACHINE_STAGES];
};

struct ordering {
        struct arena *arena;
        const struct machine *m;
        struct ground *grounds;         /* memories of the machine, then parameters */
        struct item *items;
        int count, room;
        int64_t known[MACHINE_STAGES][MACHINE_STAGES];
        int64_t wanted[MACHINE_STAGES]; /* of the statement that is placed */
        int stage;
        bool marking;                   /* it is placed: its touches count */
        int tokens;
};

/* ---- what is touched ---- */

static struct ground *ground_of(struct ordering *o, const struct loop_buffer *b)
{
        return &o->grounds[b->space == SPACE_MEMORY ? b->memory : MACHINE_MEMORIES + b->number];
}

static void touch(void *context, const struct loop_buffer *b, int64_t first, int64_t count, bool writes)
{
        struct ordering *o = context;
        struct ground *g = ground_of(o, b);
        bool within = first >= 0 && count > 0 && first + count <= g->elements;  /* else it is the verifier's */
        for (int64_t k = first / g->unit; within && k <= (first + count - 1) / g->unit; k++) {
                struct touched *t = &g->touched[k];
                if (o->marking)
                        t->last[o->stage] = o->count;
                for (int s = 0; s < o->m->stage_count && !o->marking; s++)
                        if (s != o->stage && (writes || g->writes[s]) && t->last[s] > o->wanted[s])
                                o->wanted[s] = t->last[s];
        }
}

static void mark_writer(void *context, const struct loop_buffer *b, int64_t first, int64_t count, bool writes)
{
        struct ordering *o = context;
        (void)first, (void)count;
        ground_of(o, b)->writes[o->stage] |= writes;
}

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

/* a token of an item, for the item that is placed next at a neighbouring stage; the popping side is set in pops[] */
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

/* the first item of a stage behind number `wanted` of another one that knows it to be done; -1: none does */
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

static void know(struct ordering *o, int stage, int other, bool pops[2])
{
        int64_t wanted = o->wanted[other];
        if (wanted <= o->known[stage][other])
                return;
        if (abs(stage - other) == 1) {
                take(o, (int)wanted - 1, stage, pops);
                return;
        }
        int between = (stage + other) / 2, knows = who_knows(o, between, other, wanted);
        if (knows < 0) {                /* it pops, and pushes */
                bool own[2] = { false };
                take(o, (int)wanted - 1, between, own);
                struct item *i = add_item(o, NULL, between);
                finish(o, i, own);
                knows = o->count - 1;
        }
        take(o, knows, stage, pops);
}

static void place(struct ordering *o, struct loop_stmt *s, int stage)
{
        bool pops[2] = { false };
        for (int distance = 1; distance < o->m->stage_count; distance++)        /* neighbours may know of others */
                for (int other = 0; other < o->m->stage_count; other++)
                        if (abs(other - stage) == distance)
                                know(o, stage, other, pops);
        finish(o, add_item(o, s, stage), pops);
}

static void place_statement(struct ordering *o, struct loop_stmt *s)
{
        struct flat_step step;
        struct flat_visitor to = { touch, o };
        if (!flat_step_read(o->m, s, NULL, &step))
                return;
        o->stage = loop_stage_of(o->m, step.s);
        memset(o->wanted, 0, sizeof o->wanted);
        o->marking = false;
        flat_step_visit(o->m, &step, &to);
        place(o, s, o->stage);
        o->marking = true;
        flat_step_visit(o->m, &step, &to);
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

/* ---- grounds ---- */

static void add_ground(struct ordering *o, int number, const struct loop_buffer *b, int64_t elements, int64_t unit)
{
        o->grounds[number] = (struct ground){ .b = b, .elements = elements, .unit = unit,
                                              .touched = memory_alloc((size_t)(elements / unit + 1) * sizeof *o->grounds->touched) };
}

static void add_grounds(struct ordering *o, const struct loop_function *f)
{
        o->grounds = memory_alloc((size_t)(MACHINE_MEMORIES + f->buffer_count) * sizeof *o->grounds);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                add_ground(o, k, NULL, machine_depth(&o->m->memories[k]), 1);
        for (int k = 0; k < f->buffer_count; k++) {
                int bytes = element_info[f->buffers[k]->element].bytes;
                f->buffers[k]->number = k;
                add_ground(o, MACHINE_MEMORIES + k, f->buffers[k], f->buffers[k]->extent, bytes > GRANULE ? 1 : GRANULE / bytes);
        }
        for (struct loop_stmt *s = f->body->first; s; s = s->next) {
                struct flat_step step;
                if (!flat_step_read(o->m, s, NULL, &step))
                        continue;
                o->stage = loop_stage_of(o->m, step.s);
                flat_step_visit(o->m, &step, &(struct flat_visitor){ mark_writer, o });
        }
}

/* ---- writing ---- */

static void write_tokens(const struct ordering *o, struct loop_block *out, const struct item *i, enum loop_stmt_kind kind)
{
        const bool *set = kind == STMT_POP ? i->pops : i->pushes;
        for (int k = 0; k < 2; k++) {
                int other = i->stage + (k ? 1 : -1);
                struct loop_queue queue = kind == STMT_POP ? (struct loop_queue){ other, i->stage } : (struct loop_queue){ i->stage, other };
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
        struct ordering o = { .arena = p->arena, .m = f->machine };
        struct loop_block *out = loop_block_new(p->arena);
        add_grounds(&o, f);
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
        f->body = write_items(&o, out);
        for (int k = 0; k < MACHINE_MEMORIES + f->buffer_count; k++)
                free(o.grounds[k].touched);
        free(o.grounds);
        free(o.items);
        return o.tokens;
}

static void find_token(struct loop_stmt *s, void *found) { *(bool *)found |= s->kind == STMT_PUSH || s->kind == STMT_POP; }

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
                        diag_error(context->diag, EXIT_USAGE, "stream %s still has loops: flatten comes before tokens", f->name);
                        return -1;
                }
                count += order_stream(p, f);
        }
        return count;
}
