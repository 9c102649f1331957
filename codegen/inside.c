/* SPDX-License-Identifier: MIT */
#include "codegen/inside.h"

#include <stdlib.h>

#include "ir/loop/loop_build.h"

enum { PARAMETERS = 12 };               /* A kernel of so many buffers takes all as parameters. */

/* A kernel that may name constants, and its call; calls: there are so many. Or a function that the
 * kernel `by` launches in order, and its launch. */
struct called {
        const struct loop_function *kernel, *by;
        const struct loop_stmt *call;
        int calls;
};
struct inside { struct arena *arena; struct called *items; int count; };

static void find_launch(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_LAUNCH && !s->in_order;
}

static void add_call(struct loop_stmt *s, void *context)
{
        struct inside *in = context;
        if (s->kind != STMT_CALL || s->function->kind != FUNCTION_KERNEL ||
            s->function->buffer_count <= PARAMETERS)
                return;
        ARENA_GROW(in->arena, in->items, in->count);
        in->items[in->count++] = (struct called){ s->function, NULL, s, 1 };
}

struct launches { struct inside *in; const struct loop_function *by; };

static void add_launch(struct loop_stmt *s, void *context)
{
        const struct launches *l = context;
        if (s->kind != STMT_LAUNCH || !s->in_order)
                return;
        ARENA_GROW(l->in->arena, l->in->items, l->in->count);
        l->in->items[l->in->count++] = (struct called){ s->function, l->by, s, 1 };
}

static int by_kernel(const void *x, const void *y)
{
        const struct called *a = x, *b = y;
        return ((uintptr_t)a->kernel > (uintptr_t)b->kernel) -
               ((uintptr_t)a->kernel < (uintptr_t)b->kernel);
}

const struct inside *inside_new(struct arena *arena, const struct loop_program *p)
{
        struct inside *in = ARENA_NEW(arena, struct inside);
        int kept = 0;
        in->arena = arena;
        loop_walk_mains(p, add_call, NULL, in);
        for (int i = 0, calls = in->count; i < calls; i++)
                loop_block_walk(in->items[i].kernel->body, add_launch, NULL,
                                &(struct launches){ in, in->items[i].kernel });
        if (in->count)
                qsort(in->items, (size_t)in->count, sizeof *in->items, by_kernel);
        for (int i = 0; i < in->count; i++) {
                if (kept && in->items[kept - 1].kernel == in->items[i].kernel) {
                        in->items[kept - 1].calls++;
                        continue;
                }
                bool launches = false;  /* Functions of the kernel's own take its buffers. */
                loop_block_walk(in->items[i].kernel->body, find_launch, NULL, &launches);
                in->items[i].calls += launches;
                in->items[kept++] = in->items[i];
        }
        in->count = kept;
        return in;
}

struct loop_buffer *inside_constant(const struct inside *in, const struct loop_function *f, int i)
{
        const struct called wanted = { .kernel = f },
                            *found = !in->count ? NULL
                                                : bsearch(&wanted, in->items, (size_t)in->count,
                                                          sizeof wanted, by_kernel);
        if (!found || (!found->by && found->calls != 1) ||
            (found->call->offsets && found->call->offsets[i]))
                return NULL;
        struct loop_buffer *b = found->call->buffers[i];
        for (int k = 0; found->by && k < found->by->buffer_count; k++)
                if (found->by->buffers[k] == b)
                        return inside_constant(in, found->by, k);
        return b->space == SPACE_CONSTANT ? b : NULL;
}
