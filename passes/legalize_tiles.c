/* legalize: sums in hardware tiles, for a target that has none, are vectors and what is done to
 * them. */
#include "ir/loop_vector.h"
#include "passes/legalize.h"

struct expansion { struct arena *arena; int count; };

static void expand_block(struct expansion *x, struct loop_block *block);

/* what stands for s, at the end of the block */
static void expand(struct expansion *x, struct loop_block *block, struct loop_stmt *s)
{
        bool sums = s->kind == STMT_VAR && s->variable->type.tile;
        bool multiplies = s->kind == STMT_MULTIPLY || s->kind == STMT_UNLOAD;
        x->count += sums || multiplies || s->kind == STMT_TILES;
        if (s->kind == STMT_TILES)
                return;
        if (sums)
                s->variable->type.tile = false;
        if (s->body)
                expand_block(x, s->body);
        if (s->other)
                expand_block(x, s->other);
        struct loop_block *plain = multiplies ? loop_tiles_expand(x->arena, s, s->variable) : NULL;
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

int legalize_tiles(struct arena *arena, const struct target *t, struct loop_function *f)
{
        struct expansion x = { arena, 0 };
        if (multiply_registers(t))
                return 0;
        expand_block(&x, f->body);
        if (x.count)
                loop_function_rename(arena, f);
        return x.count;
}
