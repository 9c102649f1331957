/* SPDX-License-Identifier: MIT */
/* Finds places for what a stream allocates: one after the other in its memory, for as long as the
 * block runs, and next to each other for `contexts` executions in turn where the block is a loop's.
 * A memory that is too small for that has fewer contexts. */
#include "engines/stream/stream_passes.h"

struct placing {
        struct arena *arena;
        const struct machine *m;
        int contexts[MACHINE_MEMORIES];
        int64_t most[MACHINE_MEMORIES];         /* At most this many elements are in use at a
                                                 * time. */
        bool write;
        int count;
};

static void place_alloc(struct placing *p, struct loop_buffer *b, int64_t *tops, bool repeats)
{
        const struct machine_memory *memory = &p->m->memories[b->memory];
        int64_t elements = memory->fifo ? 0 : b->extent / machine_element_numbers(memory);
        int count = repeats && !memory->fifo ? p->contexts[b->memory] : 1;
        if (b->place_count)
                return;                 /* It has its place already. */
        if (p->write) {
                b->place_count = count;
                b->places = arena_array(p->arena, (size_t)count, sizeof *b->places);
                for (int k = 0; k < count; k++)
                        b->places[k] = tops[b->memory] + k * elements;
                p->count += count > 1;
        }
        tops[b->memory] += count * elements;
        if (tops[b->memory] > p->most[b->memory])
                p->most[b->memory] = tops[b->memory];
}

static void place_block(struct placing *p, struct loop_block *block, const int64_t *outer,
                        bool repeats)
{
        int64_t tops[MACHINE_MEMORIES];
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                tops[k] = outer[k];
        for (struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                if (s->kind == STMT_ALLOC)
                        place_alloc(p, s->buffer, tops, repeats);
                if (s->body)
                        place_block(p, s->body, tops, repeats || s->kind == STMT_FOR);
                if (s->other)
                        place_block(p, s->other, tops, repeats);
        }
}

static void find_unplaced(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_ALLOC && !s->buffer->place_count;
}

bool stream_is_placed(const struct loop_function *f)
{
        bool found = false;
        loop_block_walk(f->body, find_unplaced, NULL, &found);
        return !found;
}

int stream_place(struct arena *arena, struct loop_function *f, int contexts, struct diag *diag)
{
        struct placing p = { .arena = arena, .m = f->machine };
        const int64_t none[MACHINE_MEMORIES] = { 0 };
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                p.contexts[k] = contexts;
        for (bool fits = false; !fits;) {
                fits = true;
                for (int k = 0; k < MACHINE_MEMORIES; k++)
                        p.most[k] = 0;
                place_block(&p, f->body, none, false);
                for (int k = 0; k < MACHINE_MEMORIES; k++) {
                        if (p.most[k] <= machine_depth(&p.m->memories[k]))
                                continue;
                        fits = false;
                        if (--p.contexts[k] < 1) {
                                diag_error(diag, EXIT_UNSUPPORTED,
                                           "stream %s needs %lld elements of %s at a time, and "
                                           "there are %lld",
                                           f->name, (long long)p.most[k], p.m->memories[k].name,
                                           (long long)machine_depth(&p.m->memories[k]));
                                return -1;
                        }
                }
        }
        p.write = true;
        place_block(&p, f->body, none, false);
        return p.count;
}
