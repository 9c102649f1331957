/* SPDX-License-Identifier: MIT */
#include "codegen/inside.h"

#include "ir/loop/loop_build.h"

enum { PARAMETERS = 12 };               /* A kernel of so many buffers takes all as parameters. */

struct search {
        const struct loop_function *wanted;
        const struct loop_stmt *call;
        int calls;
};

static void find_call(struct loop_stmt *s, void *context)
{
        struct search *search = context;
        if (s->kind != STMT_CALL || s->function != search->wanted)
                return;
        search->call = s;
        search->calls++;
}

static void find_launch(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_LAUNCH;
}

struct loop_buffer *inside_constant(const struct loop_program *p, const struct loop_function *f,
                                    int i)
{
        struct search search = { .wanted = f };
        bool launches = false;          /* Functions of the kernel's own take its buffers. */
        if (f->kind != FUNCTION_KERNEL || f->buffer_count <= PARAMETERS)
                return NULL;
        loop_block_walk(f->body, find_launch, NULL, &launches);
        loop_walk_mains(p, find_call, NULL, &search);
        if (launches || search.calls != 1 || (search.call->offsets && search.call->offsets[i]) ||
            search.call->buffers[i]->space != SPACE_CONSTANT)
                return NULL;
        return search.call->buffers[i];
}
