/* SPDX-License-Identifier: MIT */
/* Sums in hardware tiles: the instructions, on the tiles that the pass `registers` has assigned.
 * Loads of operands that stay are printed between the products, where the unit has time for
 * them. */
#include <string.h>

#include "codegen/c_writer.h"
#include "ir/loop/capability.h"

bool c_is_tile(const struct loop_variable *v) { return v->type.tile; }

static void refuse(struct c_writer *w)
{
        c_fail(w, EXIT_UNSUPPORTED, "target %s has no such hardware tiles", w->target->name);
}

static void put_row(struct c_writer *w, const struct c_spelling *row,
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

static void put(struct c_writer *w, enum capability_op op,
                const struct c_operand operands[C_OPERANDS_MAX])
{
        put_row(w, c_spelling(capability_of_tiles(w->target, op)), operands);
}

static struct c_operand literal(struct c_writer *w, long long n)
{
        return (struct c_operand){ .text = arena_printf(w->arena, "%lld", n) };
}

/* Returns tile number n: its number or, where tiles are vector registers, an entry of the variable
 * of the sums, which has room for all tiles that they need. */
static struct c_operand tile(struct c_writer *w, const struct loop_variable *sums, int n)
{
        return target_tile_shapes(w->target)
                       ? literal(w, n)
                       : (struct c_operand){ .text = arena_printf(w->arena, "%s[%d]",
                                                                  c_use(w, sums), n) };
}

/* ---- shapes ---- */

/* Sets the shape of a tile to `rows` rows of `bytes` bytes each. Returns false where the target has
 * no such tile. */
static bool set_shape(const struct c_writer *w, unsigned char *said, int tile, int rows, int bytes)
{
        const struct tile_shapes *shapes = target_tile_shapes(w->target);
        if (tile >= multiply_registers(w->target))
                return false;
        said[shapes->row_bytes_at + 2 * tile] = (unsigned char)(bytes & 0xff);
        said[shapes->row_bytes_at + 2 * tile + 1] = (unsigned char)(bytes >> 8);
        said[shapes->rows_at + tile] = (unsigned char)rows;
        return rows <= shapes->rows && bytes <= shapes->row_bytes;
}

/* Returns the positions that tile number n of a range holds. */
static int rows_of(const struct loop_tiles *t, int n)
{
        int left = t->positions - n * t->rows;
        return left < t->rows ? left : t->rows;
}

static bool find_shapes(const struct c_writer *w, const struct loop_tiles *t, unsigned char *said)
{
        bool good = true;
        said[0] = target_tile_shapes(w->target)->first;
        for (int i = 0; i < t->sums.count; i++)
                good &= set_shape(w, said, t->sums.first + i, rows_of(t, i / t->vectors),
                                  t->word * t->lanes);
        for (int i = 0; i < t->x.count; i++)
                good &= set_shape(w, said, t->x.first + i, rows_of(t, i), t->word * t->depth);
        for (int j = 0; j < t->w.count; j++)
                good &= set_shape(w, said, t->w.first + j, t->depth, t->word * t->lanes);
        return good;
}

static void put_shapes(struct c_writer *w, const struct loop_tiles *t)
{
        const struct tile_shapes *shapes = target_tile_shapes(w->target);
        unsigned char said[TILE_SHAPES_MAX] = { 0 };
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
        put(w, CAN_TILES, (struct c_operand[C_OPERANDS_MAX]){ { .text = name } });
}

/* ---- products ---- */

/* The rows of a tile lie in memory: `step` elements apart, `size` elements each, `count` of
 * them. */
struct rows { int64_t step, size; int count; };

static void put_load(struct c_writer *w, struct c_operand to, struct loop_buffer *b,
                     const struct loop_expr *at, int64_t add, struct rows rows)
{
        struct loop_expr *base = (struct loop_expr *)(uintptr_t)at;
        struct loop_expr *from = loop_op(w->arena, LOOP_ADD, base, loop_index(w->arena, add), NULL);
        int bytes = element_info[b->element].bytes;
        put(w, CAN_TILE_LOAD,
            (struct c_operand[C_OPERANDS_MAX]){ to,
                                                { .address = b, .value = from },
                                                literal(w, bytes * rows.step),
                                                literal(w, bytes * rows.size),
                                                literal(w, rows.count) });
}

static void put_multiply(struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const struct loop_variable *v = s->variable;
        const int lanes = v->type.lanes, group = t->group, pair = group * lanes;
        const struct multiply *m = loop_tile_multiply(s, w->target);
        const struct c_spelling *row =
                m && m->sum == v->type.element && !strcmp(m->body, s->function->name)
                        ? c_spelling(capability_of_products(w->target, s->buffer->element,
                                                            s->weights->element))
                        : NULL;
        const int tiles = (int)divide_up(t->positions, t->rows);
        if (!row || !t->x.count || !t->w.count) {
                refuse(w);
                return;
        }
        for (int j = 0; j < t->vectors; j++)
                for (int i = 0; i < tiles; i++) {
                        int x = t->x.first + i % t->x.count, weights = t->w.first + j % t->w.count;
                        int sums = v->registers.first + i * t->vectors + j;
                        if (!i)
                                put_load(w, tile(w, v, weights), s->weights, s->b, pair * j,
                                         (struct rows){ pair * t->vectors, pair, t->depth });
                        if (!j || t->x.count < tiles)
                                put_load(w, tile(w, v, x), s->buffer, s->a, t->jump * i,
                                         (struct rows){ t->step, group * t->depth, rows_of(t, i) });
                        put_row(w, row,
                                (struct c_operand[C_OPERANDS_MAX]){
                                        tile(w, v, sums), tile(w, v, x), tile(w, v, weights) });
                }
}

static void put_zeros(struct c_writer *w, struct loop_variable *v)
{
        if (!target_tile_shapes(w->target)) {
                c_name_set(w, v, c_local(w, v->name));
                put(w, CAN_TILES,
                    (struct c_operand[C_OPERANDS_MAX]){
                            { .text = c_use(w, v) }, literal(w, multiply_registers(w->target)) });
        }
        for (int k = 0; k < v->registers.count; k++)
                put(w, CAN_TILE_ZERO,
                    (struct c_operand[C_OPERANDS_MAX]){ tile(w, v, v->registers.first + k) });
}

static void put_unload(struct c_writer *w, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const int bytes = element_info[s->buffer->element].bytes, lanes = s->variable->type.lanes;
        for (int i = 0; i < t->positions; i += t->rows)
                for (int j = 0; j < t->vectors; j++) {
                        int sums = s->variable->registers.first + i / t->rows * t->vectors + j;
                        int64_t first = ((int64_t)i * t->vectors + j) * lanes;
                        struct loop_expr *at = loop_op(w->arena, LOOP_ADD, s->a,
                                                       loop_index(w->arena, first), NULL);
                        put(w, CAN_TILE_STORE,
                            (struct c_operand[C_OPERANDS_MAX]){
                                    tile(w, s->variable, sums),
                                    { .address = s->buffer, .value = at },
                                    literal(w, bytes * lanes * t->vectors),
                                    literal(w, bytes * lanes),
                                    literal(w, t->positions - i < t->rows ? t->positions - i
                                                                          : t->rows) });
                }
}

void c_tiles(struct c_writer *w, const struct loop_stmt *s)
{
        const bool told = target_tile_shapes(w->target);
        if (s->kind == STMT_VAR)
                put_zeros(w, s->variable);
        else if (s->kind == STMT_MULTIPLY)
                put_multiply(w, s);
        else if (s->kind == STMT_UNLOAD)
                put_unload(w, s);
        else if (s->kind == STMT_SCALE)
                c_fail(w, EXIT_INTERNAL, "sums in hardware tiles are scaled");
        else if (told && s->tiles.positions)
                put_shapes(w, &s->tiles);
        else if (told)
                put(w, CAN_TILES_END, (struct c_operand[C_OPERANDS_MAX]){ { 0 } });
}

/* ---- the system's permission ----
 *
 * Linux gives a process the state of tiles when it asks, once, by a system call. The C library is
 * not needed for that, and asking again costs a tenth of a microsecond. On other systems the caller
 * must see to it. */

static void find_tiles(struct loop_stmt *s, void *found)
{
        *(bool *)found |= s->kind == STMT_TILES;
}

void c_tiles_enable(struct c_writer *w)
{
        bool found = false;
        for (struct loop_function *k = w->p->kernels; k; k = k->next)
                loop_block_walk(k->body, find_tiles, NULL, &found);
        if (!found || !target_tile_shapes(w->target))
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
        text_add(out, "/* Linux lets a process use tiles (AMX) once it has asked for them. Returns "
                      "0 if it refuses. */\n"
                      "static int enable_tiles(void)\n"
                      "{\n"
                      "#if defined(__linux__) && defined(__x86_64__)\n"
                      "        enum { SYS_ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA "
                      "= 18 };\n"
                      "        long result = SYS_ARCH_PRCTL;\n"
                      "        __asm__ volatile (\"syscall\" : \"+a\" (result) : \"D\" "
                      "((long)REQUEST_PERMISSION), \"S\" ((long)TILE_DATA)\n"
                      "                          : \"rcx\", \"r11\", \"memory\");\n"
                      "        return result == 0;\n"
                      "#else\n"
                      "        return 1;\n"
                      "#endif\n"
                      "}\n");
        c_level_close(w, out, level);
}
