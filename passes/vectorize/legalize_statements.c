/* SPDX-License-Identifier: MIT */
/* legalize: for a target without hardware tiles, sums in these become vectors, and their statements
 * become statements on vectors; a prefetch that the target cannot do is dropped. */
#include "ir/loop/loop_vector.h"
#include "passes/vectorize/legalize.h"

struct expansion {
        struct arena *arena;
        const struct target *target;
        bool tiles;                     /* The target has no hardware tiles, so they are
                                         * expanded. */
        int count;
};

static void expand_block(struct expansion *x, struct loop_block *block);

/* Appends to the block what stands for s. */
static void expand(struct expansion *x, struct loop_block *block, struct loop_stmt *s)
{
        bool sums = x->tiles && s->kind == STMT_VAR && s->variable->type.tile;
        bool multiplies = x->tiles && loop_is_of_tiles(s);
        bool nothing = s->kind == STMT_PREFETCH ? !capability_of_prefetch(x->target, s->code)
                                                : x->tiles && s->kind == STMT_TILES;
        x->count += sums || multiplies || nothing;
        if (nothing)
                return;
        if (sums) {
                s->variable->type.tile = false;
                s->variable->registers = (struct tile_range){ 0 };
        }
        if (s->body)
                expand_block(x, s->body);
        if (s->other)
                expand_block(x, s->other);
        struct loop_block *plain =
                multiplies ? loop_tiles_expand(x->arena, s, s->variable, loop_multiplied(s)) : NULL;
        *block->end = plain ? plain->first : s;
        block->end = plain ? plain->end : &s->next;
}

static void expand_block(struct expansion *x, struct loop_block *block)
{
        struct loop_stmt *s = block->first, *next;
        *block = (struct loop_block){ .end = &block->first };
        for (; s; s = next) {
                next = s->next;
                s->next = NULL;
                expand(x, block, s);
        }
}

int legalize_statements(struct arena *arena, const struct target *t, struct loop_function *f)
{
        struct expansion x = { arena, t, !target_engine(t)->hardware_tiles, 0 };
        expand_block(&x, f->body);
        if (x.count)
                loop_function_rename(arena, f);
        return x.count;
}
