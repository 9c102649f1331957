/* What sums in hardware tiles mean, in statements on vectors: the interpreter runs this, and
 * targets without tiles do. */
#include "ir/loop.h"

static struct loop_expr *plus(struct arena *arena, struct loop_expr *a, int64_t b)
{
        return loop_op(arena, LOOP_ADD, a, loop_index(arena, b), NULL);
}

static struct loop_variable *declare(struct arena *arena, struct loop_block *block,
                                     const char *name, struct loop_type type,
                                     struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(arena, block, value ? STMT_LET : STMT_VAR);
        s->variable = loop_variable_new(arena, name, type, value ? VARIABLE_LET : VARIABLE_VAR);
        s->a = value;
        return s->variable;
}

static void set(struct arena *arena, struct loop_block *block, struct loop_variable *v, int row,
                int column, struct loop_expr *value)
{
        struct loop_stmt *s = loop_append(arena, block, STMT_SET);
        s->variable = v;
        s->row = row;
        s->column = column;
        s->a = value;
}

/* the channels of a group at position p, in the loop over groups */
static void add_group(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                      struct loop_variable *parts, struct loop_expr *number, int p)
{
        const struct loop_tiles *t = &s->tiles;
        enum element sums = (enum element)parts->type.element;
        int group = tile_group(s->buffer->element);
        struct loop_expr *c = loop_op(arena, LOOP_MUL, number, loop_index(arena, group), NULL);
        struct loop_expr *k =
                loop_op(arena, LOOP_MUL, number,
                        loop_index(arena, (int64_t)group * TILE_LANES * t->vectors), NULL);
        struct loop_expr *at = loop_op(arena, LOOP_ADD, s->a, c, NULL),
                         *from = loop_op(arena, LOOP_ADD, s->b, k, NULL);
        at = plus(arena, at, p / t->rows * t->jump + p % t->rows * t->step);
        for (int i = 0; i < group; i++) {
                struct loop_expr *x =
                        loop_cast(arena, sums, loop_load(arena, s->buffer, plus(arena, at, i)));
                struct loop_variable *a =
                        declare(arena, block, "a", parts->type, loop_splat(arena, TILE_LANES, x));
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *first =
                                plus(arena, from, (int64_t)group * TILE_LANES * j + i);
                        struct loop_expr *every =
                                loop_ramp(arena, TILE_LANES, first, loop_index(arena, group));
                        struct loop_expr *w =
                                loop_cast(arena, sums, loop_load(arena, s->weights, every));
                        struct loop_expr *product =
                                loop_op(arena, LOOP_MUL, loop_use(arena, a), w, NULL);
                        struct loop_expr *sum = loop_tile_entry(arena, parts, i, j);
                        set(arena, block, parts, i, j,
                            loop_op(arena, LOOP_ADD, sum, product, NULL));
                }
        }
}

static void multiply(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                     struct loop_variable *sums)
{
        int group = tile_group(s->buffer->element);
        for (int p = 0; p < s->tiles.positions; p++) {
                struct loop_variable *parts =
                        declare(arena, block, "parts",
                                LOOP_VECTOR(sums->type.element, TILE_LANES), NULL);
                parts->rows = group;
                parts->columns = s->tiles.vectors;
                struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
                loop->variable =
                        loop_variable_new(arena, "pair", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
                loop->a = loop_index(arena, 0);
                loop->b = loop_index(arena, s->tiles.depth);
                add_group(arena, loop->body, s, parts, loop_use(arena, loop->variable), p);
                for (int j = 0; j < s->tiles.vectors; j++) {
                        struct loop_expr *all = loop_tile_entry(arena, parts, 0, j);
                        for (int i = 1; i < group; i++)
                                all = loop_op(arena, LOOP_ADD, all,
                                              loop_tile_entry(arena, parts, i, j), NULL);
                        set(arena, block, sums, p, j,
                            loop_op(arena, LOOP_ADD, loop_tile_entry(arena, sums, p, j), all,
                                    NULL));
                }
        }
}

static void unload(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                   struct loop_variable *sums)
{
        for (int i = 0; i < s->tiles.positions * s->tiles.vectors; i++) {
                struct loop_stmt *store = loop_append(arena, block, STMT_STORE);
                store->buffer = s->buffer;
                store->a = plus(arena, s->a, i * TILE_LANES);
                store->b = loop_tile_entry(arena, sums, i / s->tiles.vectors, i % s->tiles.vectors);
        }
}

struct loop_block *loop_tiles_expand(struct arena *arena, const struct loop_stmt *s,
                                     struct loop_variable *sums)
{
        struct loop_block *block = loop_block_new(arena);
        (s->kind == STMT_MULTIPLY ? multiply : unload)(arena, block, s, sums);
        return block;
}
