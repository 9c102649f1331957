/* SPDX-License-Identifier: MIT */
/* Writes what sums in hardware tiles mean, in statements on vectors: the function of the multiply,
 * and which sums, positions, words and channels it is called for, by the geometry. The interpreter
 * runs these statements, and so do targets without tiles. */
#include "ir/loop/loop_grid.h"
#include "ir/target/multiply.h"

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

/* The partial sums of this many positions are held at a time, with a part for each channel of a
 * word. */
struct positions { int first, count; };

/* Returns, for each lane, where its word `number` lies in its swizzle line. */
static struct loop_expr *words_of_line(struct arena *arena, struct loop_expr *number, int lanes,
                                       int group)
{
        struct loop_expr *lane =
                loop_ramp(arena, lanes, loop_index(arena, 0), loop_index(arena, 1));
        struct loop_expr *word =
                loop_op(arena, LOOP_XOR, loop_splat(arena, lanes, number), lane, NULL);
        return loop_op(arena, LOOP_MUL, word, loop_splat(arena, lanes, loop_index(arena, group)),
                       NULL);
}

/* Returns the places of the lanes' outputs of vector j, for channel i of that word, in transposed
 * words: a swizzle line has outputs of one channel, and the lines of all channels for the first
 * outputs come first. */
static struct loop_expr *across_lines(struct arena *arena, const struct loop_stmt *s,
                                      struct loop_expr *number, int lanes, int i, int j)
{
        const struct loop_tiles *t = &s->tiles;
        const int64_t line = (int64_t)t->swizzle * lanes;
        struct loop_expr *channel =
                plus(arena, loop_op(arena, LOOP_MUL, number, loop_index(arena, t->group), NULL), i);
        struct loop_expr *at =
                loop_op(arena, LOOP_ADD, s->b,
                        loop_op(arena, LOOP_MUL, channel, loop_index(arena, line), NULL), NULL);
        at = plus(arena, at,
                  j / t->swizzle * t->depth * t->group * line +
                          (j % t->swizzle ^ i % t->swizzle) * lanes);
        return loop_ramp(arena, lanes, at, loop_index(arena, 1));
}

/* Loads the weights of a word: w[i * vectors + j] are those that multiply channel i. They are the
 * same for all positions, so they are read once. */
static void load_weights(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                         struct loop_expr *number, struct loop_type type,
                         struct loop_variable **w)
{
        const struct loop_tiles *t = &s->tiles;
        const int group = t->group, lanes = type.lanes;
        const int64_t line = t->swizzle ? t->swizzle : 1;
        struct loop_expr *k = loop_op(
                arena, LOOP_MUL, number,
                loop_index(arena, t->swizzle ? 0 : (int64_t)group * lanes * t->vectors), NULL);
        struct loop_expr *from = loop_op(arena, LOOP_ADD, s->b, k, NULL);
        for (int i = 0; i < group; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *first =
                                plus(arena, from,
                                     line * group * lanes * j + (t->transposed ? i * lanes : i));
                        struct loop_expr *every =
                                loop_ramp(arena, lanes, first,
                                          loop_index(arena, t->transposed ? 1 : line * group));
                        if (t->swizzle && t->transposed)
                                every = across_lines(arena, s, number, lanes, i, j);
                        else if (t->swizzle)
                                every = loop_op(arena, LOOP_ADD, every,
                                                words_of_line(arena, number, lanes, group), NULL);
                        struct loop_expr *value =
                                loop_cast(arena, type.element,
                                          loop_load(arena, s->weights, every));
                        w[i * t->vectors + j] =
                                declare(arena, block, "weights", value->type, value);
                }
}

/* Adds the products of the channels of a word, in the loop over words. */
static void add_group(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                      struct loop_variable *parts, struct loop_expr *number, struct positions p)
{
        const struct loop_tiles *t = &s->tiles;
        enum element sums = parts->type.element;
        int group = t->group;
        struct loop_variable **w = arena_array(arena, (size_t)(group * t->vectors), sizeof *w);
        load_weights(arena, block, s, number, parts->type, w);
        for (int k = 0; k < p.count * group; k++) {
                int position = p.first + k / group, i = k % group;
                struct loop_expr *word = number;
                if (t->swizzle && !t->transposed)
                        word = loop_op(arena, LOOP_XOR, number,
                                       loop_index(arena, position % t->swizzle), NULL);
                struct loop_expr *c =
                        loop_op(arena, LOOP_MUL, word, loop_index(arena, group), NULL);
                struct loop_expr *start = loop_op(arena, LOOP_ADD, s->a, c, NULL);
                int64_t offset = position / t->rows * t->jump + position % t->rows * t->step;
                struct loop_expr *at = plus(arena, start, offset + i);
                struct loop_expr *x = loop_cast(arena, sums, loop_load(arena, s->buffer, at));
                struct loop_variable *a =
                        declare(arena, block, "a", parts->type,
                                loop_splat(arena, parts->type.lanes, x));
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *const args[] = {
                                loop_tile_entry(arena, parts, k, j), loop_use(arena, a),
                                loop_use(arena, w[i * t->vectors + j])
                        };
                        set(arena, block, parts, k, j, loop_call(arena, s->function, args));
                }
        }
}

static void multiply_positions(struct arena *arena, struct loop_block *block,
                               const struct loop_stmt *s, struct loop_variable *sums,
                               struct positions p)
{
        int group = s->tiles.group;
        struct loop_variable *parts =
                declare(arena, block, "parts",
                        LOOP_VECTOR(sums->type.element, sums->type.lanes), NULL);
        parts->rows = p.count * group;
        parts->columns = s->tiles.vectors;
        struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
        loop->variable = loop_variable_new(arena, "pair", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, s->tiles.depth);
        add_group(arena, loop->body, s, parts, loop_use(arena, loop->variable), p);
        for (int k = 0; k < p.count; k++)
                for (int j = 0; j < s->tiles.vectors; j++) {
                        int first = k * group;
                        struct loop_expr *all = loop_tile_entry(arena, parts, first, j);
                        for (int i = 1; i < group; i++)
                                all = loop_op(arena, LOOP_ADD, all,
                                              loop_tile_entry(arena, parts, first + i, j), NULL);
                        struct loop_expr *sum = loop_tile_entry(arena, sums, p.first + k, j);
                        set(arena, block, sums, p.first + k, j,
                            loop_op(arena, LOOP_ADD, sum, all, NULL));
                }
}

static void multiply(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                     struct loop_variable *sums)
{
        int most = TILE_MAX / s->tiles.group;
        for (int p = 0; p < s->tiles.positions; p += most) {
                int left = s->tiles.positions - p;
                multiply_positions(arena, block, s, sums,
                                   (struct positions){ p, left < most ? left : most });
        }
}

static void unload(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                   struct loop_variable *sums)
{
        const struct loop_tiles *t = &s->tiles;
        int vectors = t->columns ? t->columns : t->vectors;
        int64_t lanes = sums->type.lanes, step = t->step ? t->step : vectors * lanes;
        for (int i = 0; i < t->positions * vectors; i++) {
                struct loop_stmt *store = loop_append(arena, block, STMT_STORE);
                store->buffer = s->buffer;
                store->a = plus(arena, s->a, i / vectors * step + i % vectors * lanes);
                store->b = loop_tile_entry(arena, sums, t->first + i / vectors,
                                           t->column + i % vectors);
        }
}

static void scale(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                  struct loop_variable *sums)
{
        for (int p = 0; p < s->tiles.positions; p++) {
                struct loop_expr *factor = loop_load(arena, s->buffer, plus(arena, s->a, p));
                struct loop_variable *f = declare(arena, block, "factor", factor->type, factor);
                for (int j = 0; j < s->tiles.vectors; j++) {
                        struct loop_expr *all =
                                loop_splat(arena, sums->type.lanes, loop_use(arena, f));
                        set(arena, block, sums, p, j,
                            loop_op(arena, LOOP_MUL, loop_tile_entry(arena, sums, p, j), all,
                                    NULL));
                }
        }
}

/* ---- sums in memory, row by row ---- */

static struct loop_buffer *in_memory(struct arena *arena, struct loop_block *block,
                                     struct loop_variable *sums, enum element element)
{
        const int lanes = sums->type.lanes;
        struct loop_buffer *b = ARENA_NEW(arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = "rows",
                                   .element = element,
                                   .extent = (int64_t)sums->rows * sums->columns * lanes,
                                   .space = SPACE_STACK,
                                   .offset = -1,
                                   .access = ACCESS_INOUT };
        loop_append(arena, block, STMT_ALLOC)->buffer = b;
        for (int i = 0; i < sums->rows * sums->columns; i++) {
                struct loop_stmt *store = loop_append(arena, block, STMT_STORE);
                store->buffer = b;
                store->a = loop_index(arena, (int64_t)i * lanes);
                store->b = loop_cast(
                        arena, element,
                        loop_tile_entry(arena, sums, i / sums->columns, i % sums->columns));
        }
        return b;
}

static void multiply_sums(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                          struct loop_variable *sums, struct loop_variable *x)
{
        struct loop_stmt of = *s;
        of.buffer = in_memory(arena, block, x, s->weights->element);
        of.a = loop_index(arena, 0);
        of.tiles.step = (int64_t)x->columns * x->type.lanes;
        of.tiles.jump = of.tiles.step * s->tiles.rows;
        multiply(arena, block, &of, sums);
}

/* Returns the place in memory of entry i of a lane's own part. */
static struct loop_expr *own_place(struct arena *arena, const struct loop_stmt *s,
                                   const struct loop_variable *sums, int i)
{
        const int64_t width = (int64_t)sums->columns * TILE_OWN_LANES, vector = i / TILE_OWN,
                      half = i / 2 % 2;
        struct loop_expr *of_row = loop_index(arena, TILE_ROW_LANES),
                         *row = loop_op(arena, LOOP_DIV, s->a, of_row, NULL),
                         *pair = loop_op(arena, LOOP_REM, s->a, of_row, NULL);
        struct loop_expr *own = loop_op(
                arena, LOOP_ADD, loop_op(arena, LOOP_MUL, row, loop_index(arena, width), NULL),
                loop_op(arena, LOOP_MUL, pair, loop_index(arena, 2), NULL), NULL);
        return plus(arena, own,
                    (vector / sums->columns * 2 + half) * (TILE_OWN_ROWS / 2) * width +
                            vector % sums->columns * TILE_OWN_LANES + i % 2);
}

static void take_or_give(struct arena *arena, struct loop_block *block, const struct loop_stmt *s,
                         struct loop_variable *sums)
{
        struct loop_buffer *rows = in_memory(arena, block, sums, sums->type.element);
        for (int i = 0; i < sums->rows / TILE_OWN_ROWS * sums->columns * TILE_OWN; i++) {
                struct loop_stmt *store = loop_append(arena, block, STMT_STORE);
                struct loop_expr *place = own_place(arena, s, sums, i), *own = loop_index(arena, i);
                bool takes = s->kind == STMT_TAKE;
                store->buffer = takes ? s->buffer : rows;
                store->a = takes ? own : place;
                store->b = takes ? loop_load(arena, rows, place) : loop_load(arena, s->buffer, own);
        }
        for (int i = 0; s->kind == STMT_GIVE && i < sums->rows * sums->columns; i++)
                set(arena, block, sums, i / sums->columns, i % sums->columns,
                    loop_load_vector(arena, rows, loop_index(arena, (int64_t)i * sums->type.lanes),
                                     sums->type.lanes, NULL));
}

struct loop_block *loop_tiles_expand(struct arena *arena, const struct loop_stmt *s,
                                     struct loop_variable *sums, struct loop_variable *x)
{
        struct loop_block *block = loop_block_new(arena);
        switch (s->kind) {
        case STMT_MULTIPLY:
                if (x)
                        multiply_sums(arena, block, s, sums, x);
                else
                        multiply(arena, block, s, sums);
                break;
        case STMT_SCALE: scale(arena, block, s, sums); break;
        case STMT_UNLOAD: unload(arena, block, s, sums); break;
        default: take_or_give(arena, block, s, sums); break;
        }
        return block;
}

const struct multiply *loop_tile_multiply(const struct loop_stmt *s, const struct target *target)
{
        const struct loop_tiles *t = &s->tiles;
        const enum element x = loop_multiplied_element(s), w = s->weights->element;
        const int lanes = s->variable->type.lanes;
        const struct multiply *row =
                t->rows == 1 ? multiply_find_rows(target, x, w, lanes, t->group) : NULL;
        return row ? row
                   : multiply_find(target, x, w, true, lanes,
                                   t->group * (t->warp_group ? t->swizzle : 1), 0);
}
