/* SPDX-License-Identifier: MIT */
/* Sums in hardware tiles: which positions a tile has, what adds it up, and where its sums go.
 *
 *                     V * m.outputs outputs of a panel
 *                  +---------+---------+
 *      rows *      | tile    | tile    |     sums{p, j} += x[position p, m.depth words]
 *      m.positions | of sums | of sums |                   * w[m.depth words, vector j]
 *      positions   +---------+---------+     for every such row of words and window offset
 *
 * (In a first layer, a row of words may instead hold all channels of a row of the window, which are
 * contiguous.)
 *
 * A tile holds up to m.positions positions that follow each other in the last spatial dimension
 * (or, where that has extent one, in the dimension before). Where that dimension is short, each
 * tile holds positions of one row or, if that takes fewer tiles, consecutive rows together with the
 * positions between them in x, whose sums nobody reads (three rows of 7 positions in a halo of one
 * are 25 positions). The sums leave the tiles through memory that stays in the first-level cache
 * (each task has its part of `sums`), and a loop over positions applies the epilogue to them. */
#include "kernels/contract.h"

enum { LOOPS_MAX = RANK_MAX + 2 };

/* ---- shapes ---- */

struct tile_block tile_block_of(const struct multiply *m, int64_t rows, int64_t columns,
                                int64_t pitch)
{
        const int most = m->positions;
        int64_t joined = (rows - 1) * pitch + columns;
        if (rows <= 1 || columns == 1)
                return (struct tile_block){ rows * columns, divide_up(rows * columns, most), 0 };
        if (pitch && divide_up(joined, most) < rows * divide_up(columns, most))
                return (struct tile_block){ joined, divide_up(joined, most), pitch };
        /* A tile holds positions of one row, or rows are joined; a row of several tiles beside
         * others is neither. */
        return (struct tile_block){ rows * columns, columns > most ? INT16_MAX : rows, 0 };
}

bool tile_block_takes_turns(const struct multiply *m, const struct tile_block *block, int vectors)
{
        return m->registers - block->tiles * vectors <= block->tiles;
}

/* Returns the most sums of a block: two tiles are left for positions and weights. */
static int64_t most_sums(const struct multiply *m)
{
        return (int64_t)(m->registers - 2) * m->positions * m->outputs;
}

bool tile_block_fits(const struct multiply *m, const struct tile_block *block, int vectors)
{
        return block->positions <= TILE_MAX &&
               block->positions * vectors * m->outputs <= most_sums(m) &&
               block->tiles * vectors + 2 <= m->registers &&
               (!tile_block_takes_turns(m, block, vectors) || block->positions % block->tiles == 0);
}

int64_t tile_pitch(int64_t row_step, int64_t step)
{
        return step > 0 && row_step % step == 0 ? row_step / step : 0;
}

static int vectors_of(const struct contract *c) { return c->width / c->s.multiply->outputs; }

static struct tile_block block_in(const struct contract *c, int rows, int columns)
{
        const struct spatial *last = &c->s.spatial[c->s.spatial_count - 1];
        return tile_block_of(c->s.multiply, rows, columns,
                             rows > 1 ? tile_pitch(last[-1].x_step, last->x_step) : 0);
}

static struct loop_tiles shape_of(const struct contract *c, int rows, int columns)
{
        const struct spatial *last = &c->s.spatial[c->s.spatial_count - 1];
        struct tile_block block = block_in(c, rows, columns);
        struct loop_tiles shape = { .positions = (int)block.positions,
                                    .vectors = vectors_of(c),
                                    .depth = (int)c->depth,
                                    .group = c->word };
        shape.rows = (int)divide_up(block.positions, block.tiles);
        shape.step = rows > 1 && columns == 1 ? last[-1].x_step : last->x_step;
        shape.jump =
                rows > 1 && columns > 1 && !block.apart ? last[-1].x_step : shape.rows * shape.step;
        return shape;
}

static void say_shape(struct contract *c, struct loop_tiles shape)
{
        const struct multiply *m = c->s.multiply;
        struct loop_stmt *s = loop_append(c->s.arena, c->s.e->scope->block, STMT_TILES);
        shape.step = shape.jump = shape.group = 0;
        shape.lanes = shape.rows ? m->outputs : 0;
        shape.word = shape.rows ? element_info[m->sum].bytes : 0;
        s->tiles = shape;
}

void contract_tiles_enter(struct kernel_state *s, int rows, int columns)
{
        struct contract *c = (struct contract *)s;
        if (!c->alike)
                say_shape(c, shape_of(c, rows, columns));
}

void contract_tiles_begin(struct contract *c)
{
        const struct kernel_state *s = &c->s;
        int64_t tasks = (int64_t)s->schedule.row_tasks * s->schedule.panel_tasks;
        c->sums = c->sums ? c->sums
                          : emit_scratch(s->e, "sums", s->multiply->sum,
                                         most_sums(s->multiply) * tasks);
        if (c->alike)
                say_shape(c, shape_of(c, s->row.size, s->column.size));
}

void contract_tiles_end(struct contract *c) { say_shape(c, (struct loop_tiles){ 0 }); }

/* ---- what fits ---- */

int64_t contract_depth(const struct multiply *m, int64_t inner, int64_t window, bool *merged)
{
        int64_t line = window * inner, row = m->depth;
        *merged = window > 1 && inner < row && (line < row || line % row == 0);
        if (*merged)
                return line < row ? line : row;
        return inner < row ? inner : inner % row ? 0 : row;
}

bool contract_tiles_read(struct contract *c)
{
        const struct kernel_state *s = &c->s;
        const struct spatial *last = &s->spatial[s->spatial_count - 1];
        bool near = last->x_window == c->inner * c->word;
        c->depth = contract_depth(s->multiply, c->inner, near ? last->window : 1, &c->merged);
        return !s->prologue && c->depth && s->x.stride[s->rank - 1] == 1 &&
               op_int(s->op, "channels") == c->blocks * c->inner * c->word;
}

bool contract_tiles_fit(struct contract *c)
{
        const struct tiling *row = &c->s.row, *column = &c->s.column;
        for (int i = 0; i < 4; i++) {
                struct tile_block block =
                        block_in(c, tiling_size(row, i / 2), tiling_size(column, i % 2));
                bool there = (i / 2 ? row->large : row->count - row->large) &&
                             (i % 2 ? column->large : column->count - column->large);
                if (there && !tile_block_fits(c->s.multiply, &block, vectors_of(c)))
                        return false;
        }
        c->alike = row->large == row->count && column->large == column->count;
        return true;
}

/* ---- the sums ---- */

/* Return the weights of a cache line, and those of a step of the sums. */
static int line_of(const struct contract *c)
{
        return target_line(c->s.target, c->s.ws->element);
}
static int64_t step_of(const struct contract *c)
{
        return c->depth * c->word * c->s.panel_width;
}

static void fetch(struct contract *c, struct loop_expr *next, struct loop_expr *step)
{
        struct emit *e = c->s.e;
        const int line = line_of(c);
        for (int i = 0; i < c->s.schedule.prefetch; i++) {
                struct loop_stmt *s = loop_append(c->s.arena, e->scope->block, STMT_PREFETCH);
                s->buffer = c->s.ws;
                s->a = plus(e,
                            plus(e, next, times(e, step, (int64_t)c->s.schedule.prefetch * line)),
                            number(e, i * line));
                s->code = 1;
        }
}

/* Returns where the next panel is prefetched from while this block of sums is added up: each block
 * fetches its share, from the front to the back of the panel. */
static struct loop_expr *next_panel(struct contract *c, struct loop_expr *panel)
{
        struct emit *e = c->s.e;
        if (!c->s.schedule.prefetch)
                return NULL;
        int64_t share = c->panel_size / step_of(c) * c->s.schedule.prefetch * line_of(c);
        int64_t room = c->panel_size > share ? c->panel_size - share : 0;
        struct loop_expr *skip = minimum(e, times(e, c->s.tile_number, share), number(e, room));
        return emit_let(e, "next", plus(e, times(e, contract_next(c, panel), c->panel_size), skip));
}

/* One loop around the product of tiles goes over blocks, offsets of the window, or words of a
 * block. `count`, where not NULL, is the extent known at run time. */
struct product_loop { const char *name; int64_t extent, x_step; struct loop_expr *count; };

static int find_loops(const struct contract *c, struct product_loop loops[LOOPS_MAX])
{
        const struct kernel_state *s = &c->s;
        const struct spatial *last = &s->spatial[s->spatial_count - 1];
        int64_t words = c->merged ? last->window * c->inner : c->inner;
        int n = 0, row = (int)c->depth * c->word;
        loops[n++] = (struct product_loop){ "c", c->blocks, s->x.stride[1], NULL };
        for (int d = 0; d < s->spatial_count - c->merged; d++)
                loops[n++] = (struct product_loop){ "k", s->spatial[d].window,
                                                    s->spatial[d].x_window, NULL };
        loops[n++] = (struct product_loop){ "i", words / c->depth, row * s->x.stride[s->rank - 1],
                                            contract_units(c, s->channels, row) };
        return n;
}

/* Returns the products in an iteration of the innermost loop. */
static int iteration_of(const struct contract *c, const struct product_loop *loop)
{
        int unroll = c->s.schedule.unroll;
        return loop->count || loop->extent % unroll ? 1 : unroll;
}

static void add_up(struct contract *c, struct loop_variable *sums, const struct loop_tiles *shape)
{
        struct emit *e = c->s.e;
        struct product_loop loops[LOOPS_MAX];
        int n = find_loops(c, loops), opened = 0;
        struct loop_expr *x = contract_x(c), *panel = contract_panel(c);
        struct loop_expr *base = times(e, panel, c->panel_size), *next = next_panel(c, panel),
                         *step = number(e, 0);
        if (c->s.first_channel)
                base = plus(e, base, times(e, c->s.first_channel, c->s.panel_width));
        base = emit_let(e, "w_at", base);
        x = emit_let(e, "x_at", x);
        const int iteration = iteration_of(c, &loops[n - 1]);
        int64_t count = 1;
        for (int i = 0; i < n; i++)
                count *= loops[i].extent;
        for (int i = 0; i < n; i++) {
                count /= loops[i].extent;
                if (loops[i].extent == (i == n - 1 ? iteration : 1))
                        continue;
                struct loop_expr *extent =
                        loops[i].count ? loops[i].count : number(e, loops[i].extent);
                struct loop_expr *k = emit_for(e, loops[i].name, number(e, 0), extent);
                if (i == n - 1)
                        emit_loop(e, iteration, false);
                x = emit_let(e, "xi", plus(e, x, times(e, k, loops[i].x_step)));
                step = plus(e, step, times(e, k, count));
                opened++;
        }
        for (int i = 0; i < iteration; i++) {
                struct loop_stmt *s = loop_append(c->s.arena, e->scope->block, STMT_MULTIPLY);
                s->variable = sums;
                s->buffer = c->s.xs;
                s->weights = c->s.ws;
                s->a = plus(e, x, number(e, i * loops[n - 1].x_step));
                s->b = plus(e, base, times(e, plus(e, step, number(e, i)), step_of(c)));
                s->tiles = *shape;
                s->function = state_product(&c->s);
        }
        if (next)
                fetch(c, next, step);
        while (opened-- > 0)
                emit_end(e);
}

/* ---- the epilogue ---- */

static bool write_position(struct contract *c, struct loop_expr *at)
{
        struct kernel_state *s = &c->s;
        for (int j = 0; j < c->width / s->lanes; j++) {
                struct loop_expr *index[RANK_MAX], *first_lane;
                int left = c->live - j * s->lanes;
                if (left <= 0)
                        break;
                contract_index(c, NULL, 0, 0, j, index, &first_lane);
                struct loop_expr *sum =
                        state_load(s, "sum", c->sums, at, j * s->lanes, s->lanes);
                if (s->adds)
                        sum = plus(s->e,
                                   state_load(s, "before", s->ys,
                                              plus(s->e, state_y(s, index), first_lane), 0, left),
                                   sum);
                if (!state_store(s, sum, index, first_lane, left))
                        return false;
        }
        return true;
}

static bool write_results(struct contract *c, int rows, int columns, struct loop_expr *sums_at)
{
        struct emit *e = c->s.e;
        int last = c->s.spatial_count - 1;
        struct loop_expr *before[2] = { c->s.position[last],
                                        last ? c->s.position[last - 1] : NULL };
        struct loop_expr *row = emit_for(e, "row", number(e, 0), number(e, rows));
        struct loop_expr *column = emit_for(e, "p", number(e, 0), number(e, columns));
        c->s.position[last] = plus(e, before[0], column);
        if (rows > 1)
                c->s.position[last - 1] = plus(e, before[1], row);
        int64_t width = c->width, apart = block_in(c, rows, columns).apart;
        struct loop_expr *at = plus(e, sums_at,
                                    plus(e, times(e, row, (apart ? apart : columns) * width),
                                         times(e, column, width)));
        bool good = write_position(c, emit_let(e, "sum_at", at));
        emit_end(e);
        emit_end(e);
        c->s.position[last] = before[0];
        if (last)
                c->s.position[last - 1] = before[1];
        return good;
}

bool contract_tiles(struct contract *c, int rows, int columns)
{
        struct kernel_state *s = &c->s;
        struct loop_tiles shape = shape_of(c, rows, columns);
        struct loop_type type = LOOP_VECTOR(s->multiply->sum, s->multiply->outputs);
        type.tile = true;
        struct loop_variable *sums = emit_var(s->e, "acc", type, NULL);
        sums->rows = shape.positions;
        sums->columns = shape.vectors;
        add_up(c, sums, &shape);
        struct loop_stmt *unload = loop_append(s->arena, s->e->scope->block, STMT_UNLOAD);
        unload->variable = sums;
        unload->buffer = c->sums;
        unload->a = times(s->e, s->task, most_sums(s->multiply));
        unload->tiles = shape;
        unload->tiles.step = 0;         /* Rows of sums are contiguous. */
        return write_results(c, rows, columns, unload->a);
}
