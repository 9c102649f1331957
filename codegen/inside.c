/* SPDX-License-Identifier: MIT */
#include "codegen/inside.h"

#include <stdlib.h>

#include "ir/loop/loop_build.h"

enum { PARAMETERS = 12 };               /* A kernel of so many buffers takes all as parameters. */

/* A kernel that may name constants, and its call; calls: there are so many. */
struct called { const struct loop_function *kernel; const struct loop_stmt *call; int calls; };
struct inside { struct arena *arena; struct called *items; int count; };

static void find_launch(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_LAUNCH;
}

static void add_call(struct loop_stmt *s, void *context)
{
        struct inside *in = context;
        if (s->kind != STMT_CALL || s->function->kind != FUNCTION_KERNEL ||
            s->function->buffer_count <= PARAMETERS)
                return;
        ARENA_GROW(in->arena, in->items, in->count);
        in->items[in->count++] = (struct called){ s->function, s, 1 };
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
        if (!found || found->calls != 1 || (found->call->offsets && found->call->offsets[i]) ||
            found->call->buffers[i]->space != SPACE_CONSTANT)
                return NULL;
        return found->call->buffers[i];
}
