/* Sums in hardware tiles: which tile holds what, and the instructions.
 *
 *     sums of `rows` positions, vector j    tile t * vectors + j
 *     positions                             the tiles behind them, one for each t, or those that
 *                                           there are in turn
 *     weights                               the rest in turn
 *
 * A product needs its shapes to agree, so that tiles in turn must be of one shape. The loads of
 * what stays stand between the products, where the unit has time for them. */
#include <string.h>

#include "codegen/c_writer.h"
#include "ir/spelling.h"

struct plan { int tiles, vectors, first_x, x_count, first_w, w_count; };

/* false after an error: the target has no room for them */
static bool find_plan(struct c_writer *w, const struct loop_tiles *t, struct plan *plan)
{
        struct plan p = { .tiles = divide_up(t->positions, t->rows), .vectors = t->vectors };
        int sums = p.tiles * p.vectors, left = multiply_registers(w->target) - sums;
        p.x_count = left > p.tiles ? p.tiles : left - 1;
        p.w_count = left - p.x_count < p.vectors ? left - p.x_count : p.vectors;
        p.first_x = sums;
        p.first_w = sums + p.x_count;
        *plan = p;
        if (p.x_count < 1 || p.w_count < 1 || (p.x_count < p.tiles && t->positions % t->rows))
                c_fail(w, EXIT_UNSUPPORTED, "%d x %d sums do not fit the hardware tiles of %s",
                       t->positions, t->vectors, w->target->name);
        return !w->failed;
}

static int rows_of(const struct loop_tiles *t, int tile)
{
        int left = t->positions - tile * t->rows;
        return left < t->rows ? left : t->rows;
}

bool c_is_tile(const struct loop_variable *v) { return v->type.tile; }

static void refuse(struct c_writer *w)
{
        c_fail(w, EXIT_UNSUPPORTED, "target %s has no such hardware tiles", w->target->name);
}

static void put_row(struct c_writer *w, const struct spelling *row,
                    const struct c_operand operands[C_OPERANDS_MAX])
{
        if (!row) {
                refuse(w);
                return;
        }
        c_row(w, row, operands);
        c_put(w, ";");
        c_end(w);
}

static void put(struct c_writer *w, enum spelling_op op,
                const struct c_operand operands[C_OPERANDS_MAX])
{
        put_row(w, spelling_of_tiles(w->target, op), operands);
}

static struct c_operand literal(struct c_writer *w, long long n)
{
        return (struct c_operand){ .text = arena_printf(w->arena, "%lld", n) };
}

/* ---- shapes ---- */

/* rows of so many bytes each; false: a tile of the target has not so many */
static bool set_shape(const struct tile_shapes *shapes, unsigned char *said, int tile, int rows,
                      int bytes)
{
        said[shapes->row_bytes_at + 2 * tile] = (unsigned char)(bytes & 0xff);
        said[shapes->row_bytes_at + 2 * tile + 1] = (unsigned char)(bytes >> 8);
        said[shapes->rows_at + tile] = (unsigned char)rows;
        return rows <= shapes->rows && bytes <= shapes->row_bytes;
}

static bool find_shapes(struct c_writer *w, const struct loop_tiles *t, unsigned char *said)
{
        const struct tile_shapes *shapes = target_tile_shapes(w->target);
        struct plan p;
        bool good = true;
        if (!find_plan(w, t, &p))
                return false;
        said[0] = shapes->first;
        for (int i = 0; i < p.tiles; i++)
                for (int j = 0; j < p.vectors; j++)
                        good &= set_shape(shapes, said, i * p.vectors + j, rows_of(t, i),
                                          t->word * t->lanes);
        for (int i = 0; i < p.x_count; i++)
                good &= set_shape(shapes, said, p.first_x + i, rows_of(t, i), t->word * t->depth);
        for (int j = 0; j < p.w_count; j++)
                good &= set_shape(shapes, said, p.first_w + j, t->depth, t->word * t->lanes);
        return good;
}

static void put_shapes(struct c_writer *w, const struct loop_tiles *t)
{
        const struct tile_shapes *shapes = target_tile_shapes(w->target);
        unsigned char said[TILE_SHAPES_MAX] = { 0 };
        w->tiles = *t;
        if (!shapes || !find_shapes(w, t, said)) {
                refuse(w);
                return;
        }
        const char *name = c_local(w, "shape");
        c_put(w, "static const unsigned char %s[%d] = {", name, shapes->bytes);
        for (int i = 0; i < shapes->rows_at + multiply_registers(w->target); i++)
                c_put(w, "%s%d", i ? "," C_SOFT : C_SOFT, said[i]);
        c_put(w, C_SOFT "};");
        c_end(w);
        put(w, SPELL_TILES, (struct c_operand[C_OPERANDS_MAX]){ { .text = name } });
}

/* ---- products ---- */

static void put_load(struct c_writer *w, int tile, struct loop_buffer *b,
                     const struct loop_expr *at, int64_t add, int64_t step)
{
        struct loop_expr *base = (struct loop_expr *)(uintptr_t)at;
        struct loop_expr *from = loop_op(w->arena, LOOP_ADD, base, loop_index(w->arena, add), NULL);
        int bytes = element_info[b->element].bytes;
        put(w, SPELL_TILE_LOAD,
            (struct c_operand[C_OPERANDS_MAX]){ literal(w, tile),
                                                { .address = b, .value = from },
                                                literal(w, bytes * step) });
}

static void put_multiply(struct c_writer *w, const struct loop_stmt *s)
{
        struct plan p;
        if (!find_plan(w, &s->tiles, &p))
                return;
        const int lanes = s->variable->type.lanes, group = s->tiles.group;
        const struct multiply *m = multiply_find(w->target, s->buffer->element,
                                                 s->weights->element, true, lanes, group);
        const struct spelling *row =
                m && m->sum == s->variable->type.element && !strcmp(m->body, s->function->name)
                        ? spelling_of_products(w->target, s->buffer->element, s->weights->element)
                        : NULL;
        int pair = group * lanes;
        for (int j = 0; j < p.vectors; j++)
                for (int t = 0; t < p.tiles; t++) {
                        int x = p.first_x + t % p.x_count, weights = p.first_w + j % p.w_count;
                        if (!t)
                                put_load(w, weights, s->weights, s->b, pair * j, pair * p.vectors);
                        if (!j || p.x_count < p.tiles)
                                put_load(w, x, s->buffer, s->a, s->tiles.jump * t, s->tiles.step);
                        put_row(w, row,
                                (struct c_operand[C_OPERANDS_MAX]){ literal(w, t * p.vectors + j),
                                                                    literal(w, x),
                                                                    literal(w, weights) });
                }
}

static void put_zeros(struct c_writer *w)
{
        const struct loop_tiles *t = &w->tiles;
        for (int i = 0; t->rows && i < divide_up(t->positions, t->rows) * t->vectors; i++)
                put(w, SPELL_TILE_ZERO, (struct c_operand[C_OPERANDS_MAX]){ literal(w, i) });
}

static void put_unload(struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const int bytes = element_info[s->buffer->element].bytes, lanes = s->variable->type.lanes;
        struct plan p;
        if (!find_plan(w, t, &p))
                return;
        for (int i = 0; i < t->positions; i += t->rows)
                for (int j = 0; j < t->vectors; j++) {
                        int64_t first = ((int64_t)i * t->vectors + j) * lanes;
                        struct loop_expr *at = loop_op(w->arena, LOOP_ADD, s->a,
                                                       loop_index(w->arena, first), NULL);
                        put(w, SPELL_TILE_STORE,
                            (struct c_operand[C_OPERANDS_MAX]){
                                    literal(w, i / t->rows * t->vectors + j),
                                    { .address = s->buffer, .value = at },
                                    literal(w, bytes * lanes * t->vectors) });
                }
}

void c_tiles(struct c_writer *w, const struct loop_stmt *s)
{
        if (s->kind == STMT_VAR)
                put_zeros(w);
        else if (s->kind == STMT_MULTIPLY)
                put_multiply(w, s);
        else if (s->kind == STMT_UNLOAD)
                put_unload(w, s);
        else if (s->tiles.positions)
                put_shapes(w, &s->tiles);
        else
                put(w, SPELL_TILES_END, (struct c_operand[C_OPERANDS_MAX]){ { 0 } });
}

/* ---- the system's leave ----
 *
 * Linux gives a process the state of tiles when it asks, once, by a system call: the C library is
 * not needed for that, and asking again costs a tenth of a microsecond. Elsewhere the caller sees
 * to it. */

static void find_tiles(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_TILES;
}

void c_tiles_enable(struct c_writer *w)
{
        bool found = false;
        for (struct loop_function *k = w->p->kernels; k; k = k->next)
                loop_block_walk(k->body, find_tiles, NULL, &found);
        if (!found)
                return;
        w->levels[w->level].uses_tiles = true;
        c_line(w, "if (!enable_tiles())");
        w->indent++;
        c_line(w, "return %s;", c_macro(w, "ERROR_TILES"));
        w->indent--;
}

int c_tiles_level(const struct c_writer *w)
{
        int level = 0;
        while (level < w->level_count && !w->levels[level].uses_tiles)
                level++;
        return level;
}

void c_tiles_top(struct c_writer *w, struct text *out)
{
        int level = c_tiles_level(w);
        if (level == w->level_count)
                return;
        text_add(out, "\n");
        c_level_open(w, out, level);
        text_add(out, "/* Linux lets a process use tiles (AMX) that has asked for them. 0: it does not. */\n"
                              "static int enable_tiles(void)\n"
                              "{\n"
                              "#if defined(__linux__) && defined(__x86_64__)\n"
                              "        enum { SYS_ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };\n"
                              "        long result = SYS_ARCH_PRCTL;\n"
                              "        __asm__ volatile (\"syscall\" : \"+a\" (result) : \"D\" ((long)REQUEST_PERMISSION), \"S\" ((long)TILE_DATA)\n"
                              "                          : \"rcx\", \"r11\", \"memory\");\n"
                              "        return result == 0;\n"
                              "#else\n"
                              "        return 1;\n"
                              "#endif\n"
                              "}\n");
        c_level_close(w, out, level);
}
