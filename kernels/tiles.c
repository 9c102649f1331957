/* The scheduled lowering of convolve_packed on bf16 and on 8-bit integers: hardware tiles.
 *
 *                     V * 16 outputs of a panel
 *                  +---------+---------+
 *      rows * 16   | tile    | tile    |     sums{p, j} += x[position p, 32 channels] * w[32 channels, vector j]
 *      positions   | of sums | of sums |     for every 32 channels (64 of integers) and window offset, in the order
 *                  +---------+---------+     of w's memory
 *
 * (Or, in a first layer, for all channels of each row of the window, which lie side by side.)
 *
 * A tile holds up to 16 positions that follow each other in the last spatial dimension (or, where
 * that has one, in the one before); where that is short, each tile has positions of a row of its
 * own, or, if that takes fewer tiles, rows follow each other with what lies between them in x,
 * whose sums nobody reads (three rows of 7 in a halo of one are 25 positions). The sums leave the
 * tiles through memory that stays in the first cache (a share of `sums` for each task), and a loop
 * over positions makes of them what the fusion says. Loops are those of packed.c. */
#include "kernels/tiles.h"

#include "kernels/stage.h"

enum { WINDOW_LOOPS = 8, BLOCK_SUMS = 1536, LINE_BYTES = 64 };

struct tiles {
        struct stage s;                 /* first: its functions get this */
        int64_t groups, blocks, inner;  /* of x, in a group; channels of a block */
        int64_t outputs;                /* stored, of a group */
        int64_t panel_size;
        int vectors, depth, unit;       /* channels of a row of a tile, of four bytes */
        bool merged;                    /* a row of a tile is all channels of a row of the window */
        bool alike;                     /* all blocks of sums have one shape */
        struct loop_buffer *sums;
        struct loop_expr *group, *panel;
        int live;                       /* outputs of the panel that there are */
};

/* ---- shapes ---- */

struct tile_block tiles_block(int64_t rows, int64_t columns, int64_t pitch)
{
        int64_t joined = (rows - 1) * pitch + columns;
        if (rows <= 1 || columns == 1)
                return (struct tile_block){ rows * columns, divide_up(rows * columns, TILE_ROWS), 0 };
        if (pitch && divide_up(joined, TILE_ROWS) < rows * divide_up(columns, TILE_ROWS))
                return (struct tile_block){ joined, divide_up(joined, TILE_ROWS), pitch };
        /* a row is in one tile, or joined */
        return (struct tile_block){ rows * columns, columns > TILE_ROWS ? INT16_MAX : rows, 0 };
}

bool tiles_take_turns(const struct tile_block *block, int vectors, int registers)
{
        return registers - block->tiles * vectors <= block->tiles;
}

bool tiles_fit(const struct tile_block *block, int vectors, int registers)
{
        return block->positions * vectors * TILE_LANES <= BLOCK_SUMS &&
               block->tiles * vectors + 2 <= registers &&
               (!tiles_take_turns(block, vectors, registers) || block->positions % block->tiles == 0);
}

int64_t tiles_pitch(int64_t row_step, int64_t step)
{
        return step > 0 && row_step % step == 0 ? row_step / step : 0;
}

static struct tile_block block_in(const struct tiles *t, int rows, int columns)
{
        const struct spatial *last = &t->s.spatial[t->s.spatial_count - 1];
        return tiles_block(rows, columns, rows > 1 ? tiles_pitch(last[-1].x_step, last->x_step) : 0);
}

static struct loop_tiles shape_of(const struct tiles *t, int rows, int columns)
{
        const struct spatial *last = &t->s.spatial[t->s.spatial_count - 1];
        struct tile_block block = block_in(t, rows, columns);
        struct loop_tiles shape = { .positions = (int)block.positions,
                                    .vectors = t->vectors,
                                    .depth = t->depth / t->unit };
        shape.rows = (int)divide_up(block.positions, block.tiles);
        shape.step = rows > 1 && columns == 1 ? last[-1].x_step : last->x_step;
        shape.jump =
                rows > 1 && columns > 1 && !block.apart ? last[-1].x_step : shape.rows * shape.step;
        return shape;
}

static void say_shape(struct tiles *t, struct loop_tiles shape)
{
        struct loop_stmt *s = loop_append(t->s.arena, t->s.e->scope->block, STMT_TILES);
        shape.step = shape.jump = 0;
        s->tiles = shape;
}

static void enter(struct stage *s, int rows, int columns)
{
        struct tiles *t = (struct tiles *)s;
        if (!t->alike)
                say_shape(t, shape_of(t, rows, columns));
}

/* ---- the sums ---- */

/* weights of a cache line, and of a step of the sums */
static int line_of(const struct tiles *t)
{
        return LINE_BYTES / element_info[t->s.ws->element].bytes;
}
static int64_t step_of(const struct tiles *t)
{
        return (int64_t)t->depth * t->vectors * TILE_LANES;
}

static void fetch(struct tiles *t, struct loop_expr *next, struct loop_expr *step)
{
        struct emit *e = t->s.e;
        const int line = line_of(t);
        for (int i = 0; i < t->s.schedule.prefetch; i++) {
                struct loop_stmt *s = loop_append(t->s.arena, e->scope->block, STMT_PREFETCH);
                s->buffer = t->s.ws;
                s->a = plus(e,
                            plus(e, next, times(e, step, (int64_t)t->s.schedule.prefetch * line)),
                            number(e, i * line));
                s->code = 1;
        }
}

/* where the next panel is fetched from while this block of sums is added up: its share, from the
 * front to the back */
static struct loop_expr *next_panel(struct tiles *t, struct loop_expr *panel)
{
        struct emit *e = t->s.e;
        if (!t->s.schedule.prefetch)
                return NULL;
        int64_t share = t->panel_size / step_of(t) * t->s.schedule.prefetch * line_of(t);
        int64_t room = t->panel_size > share ? t->panel_size - share : 0;
        struct loop_expr *last = number(e, t->s.panels * t->groups - 1),
                         *next = minimum(e, plus(e, panel, number(e, 1)), last);
        struct loop_expr *skip = minimum(e, times(e, t->s.tile_number, share), number(e, room));
        return emit_let(e, "next", plus(e, times(e, next, t->panel_size), skip));
}

static void add_up(struct tiles *t, struct loop_variable *sums, const struct loop_tiles *shape)
{
        struct emit *e = t->s.e;
        int64_t steps = t->merged
                                ? t->s.spatial[t->s.spatial_count - 1].window * t->inner / t->depth
                                : t->inner / t->depth,
                count = steps;
        int windows = t->s.spatial_count - t->merged;
        for (int d = 0; d < windows; d++)
                count *= t->s.spatial[d].window;
        struct loop_expr *x =
                plus(e, stage_x(&t->s), times(e, t->group, t->blocks * t->s.x.stride[1]));
        struct loop_expr *panel = plus(e, times(e, t->group, t->s.panels), t->panel);
        struct loop_expr *base = times(e, panel, t->panel_size), *next = next_panel(t, panel),
                         *step = number(e, 0);
        if (t->s.first_channel)
                base = plus(e, base,
                            times(e, t->s.first_channel, (int64_t)t->vectors * TILE_LANES));
        base = emit_let(e, "w_at", base);
        x = emit_let(e, "x_at", x);
        struct { const char *name; int64_t extent, x_step; } loops[WINDOW_LOOPS + 2];
        int n = 0, opened = 0;
        loops[n].name = "c", loops[n].extent = t->blocks, loops[n++].x_step = t->s.x.stride[1];
        for (int d = 0; d < windows; d++)
                loops[n].name = "k", loops[n].extent = t->s.spatial[d].window,
                loops[n++].x_step = t->s.spatial[d].x_window;
        loops[n].name = "i", loops[n].extent = steps,
        loops[n++].x_step = t->depth * t->s.x.stride[t->s.rank - 1];
        count *= t->blocks;
        for (int i = 0; i < n; i++) {
                count /= loops[i].extent;
                if (loops[i].extent == 1)
                        continue;
                bool some = i == n - 1 && t->s.channels;
                struct loop_expr *extent =
                        some ? emit_op_int(e, LOOP_DIV,
                                           plus(e, t->s.channels, number(e, t->depth - 1)),
                                           t->depth)
                             : number(e, loops[i].extent);
                struct loop_expr *k = emit_for(e, loops[i].name, number(e, 0), extent);
                x = emit_let(e, "xi", plus(e, x, times(e, k, loops[i].x_step)));
                step = plus(e, step, times(e, k, count));
                opened++;
        }
        struct loop_stmt *s = loop_append(t->s.arena, e->scope->block, STMT_MULTIPLY);
        s->variable = sums;
        s->buffer = t->s.xs;
        s->weights = t->s.ws;
        s->a = x;
        s->b = plus(e, base, times(e, step, step_of(t)));
        s->tiles = *shape;
        if (next)
                fetch(t, next, step);
        while (opened-- > 0)
                emit_end(e);
}

/* ---- what becomes of them ---- */

/* index of vector j of the panel at the stage's position; all but the lane */
static void vector_index(struct tiles *t, int j, struct loop_expr **index,
                         struct loop_expr **first_lane)
{
        struct emit *e = t->s.e;
        int64_t in_block = (op_int(t->s.op, "block") + TILE_LANES - 1) / TILE_LANES;
        int64_t per_group = op_result(t->s.op)->type->dims[1] / t->groups;
        struct loop_expr *n = number(e, j % in_block);
        stage_index(&t->s, 0, 0, index);
        index[1] = times(e, t->group, per_group);
        if (t->vectors % in_block == 0) {         /* panels are whole blocks */
                index[1] = plus(e, index[1],
                                plus(e, times(e, t->panel, t->vectors / in_block),
                                     number(e, j / in_block)));
        } else {
                n = plus(e, times(e, t->panel, t->vectors), number(e, j));
                if (per_group > 1)
                        index[1] = plus(e, index[1], emit_op_int(e, LOOP_DIV, n, in_block));
                n = per_group > 1 ? emit_op_int(e, LOOP_REM, n, in_block) : n;
        }
        *first_lane = times(e, n, TILE_LANES);
}

static bool write_position(struct tiles *t, struct loop_expr *at)
{
        for (int j = 0; j < t->vectors; j++) {
                struct loop_expr *index[RANK_MAX], *first_lane;
                int left = t->live - j * TILE_LANES;
                if (left <= 0)
                        break;
                vector_index(t, j, index, &first_lane);
                struct loop_expr *sum =
                        stage_load(&t->s, "sum", t->sums, at, j * TILE_LANES, TILE_LANES);
                if (t->s.adds)
                        sum = plus(t->s.e,
                                   stage_load(&t->s, "before", t->s.ys,
                                              plus(t->s.e, stage_y(&t->s, index), first_lane), 0,
                                              left),
                                   sum);
                if (!stage_store(&t->s, sum, index, first_lane, left))
                        return false;
        }
        return true;
}

static bool write_results(struct tiles *t, int rows, int columns, struct loop_expr *sums_at)
{
        struct emit *e = t->s.e;
        int last = t->s.spatial_count - 1;
        struct loop_expr *before[2] = { t->s.position[last],
                                        last ? t->s.position[last - 1] : NULL };
        struct loop_expr *row = emit_for(e, "row", number(e, 0), number(e, rows));
        struct loop_expr *column = emit_for(e, "p", number(e, 0), number(e, columns));
        t->s.position[last] = plus(e, before[0], column);
        if (rows > 1)
                t->s.position[last - 1] = plus(e, before[1], row);
        int64_t width = (int64_t)t->vectors * TILE_LANES, apart = block_in(t, rows, columns).apart;
        struct loop_expr *at = plus(e, sums_at,
                                    plus(e, times(e, row, (apart ? apart : columns) * width),
                                         times(e, column, width)));
        bool good = write_position(t, emit_let(e, "sum_at", at));
        emit_end(e);
        emit_end(e);
        t->s.position[last] = before[0];
        if (last)
                t->s.position[last - 1] = before[1];
        return good;
}

static bool write_tile(struct stage *s, int rows, int columns)
{
        struct tiles *t = (struct tiles *)s;
        struct loop_tiles shape = shape_of(t, rows, columns);
        struct loop_type type = LOOP_VECTOR(tile_sums(s->xs->element), TILE_LANES);
        type.tile = true;
        struct loop_variable *sums = emit_var(s->e, "acc", type, NULL);
        sums->rows = shape.positions;
        sums->columns = shape.vectors;
        add_up(t, sums, &shape);
        struct loop_stmt *unload = loop_append(s->arena, s->e->scope->block, STMT_UNLOAD);
        unload->variable = sums;
        unload->buffer = t->sums;
        unload->a = times(s->e, s->task, BLOCK_SUMS);
        unload->tiles = shape;
        return write_results(t, rows, columns, unload->a);
}

/* ---- panels, groups ---- */

static bool write_panels(struct tiles *t, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct emit *e = t->s.e;
        int64_t width = (int64_t)t->vectors * TILE_LANES, whole = t->outputs / width;
        bool good = true;
        for (int part = 0; part < 2 && good; part++) {
                if (part ? whole == t->s.panels : !whole)
                        continue;
                t->live = (int)(part ? t->outputs % width : width);
                struct loop_expr *start = part ? maximum(e, first, number(e, whole)) : first;
                struct loop_expr *stop =
                        !part && whole < t->s.panels ? minimum(e, end, number(e, whole)) : end;
                t->panel = emit_for(e, "panel", start, stop);
                good = stage_each_tile(&t->s, from, to, write_tile);
                emit_end(e);
        }
        return good;
}

static bool write_groups(struct stage *s, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct tiles *t = (struct tiles *)s;
        struct loop_tiles none = { 0 };
        t->sums = t->sums ? t->sums
                          : emit_scratch(s->e, "sums", tile_sums(s->xs->element),
                                         (int64_t)BLOCK_SUMS * s->schedule.row_tasks *
                                                 s->schedule.panel_tasks);
        if (t->alike)
                say_shape(t, shape_of(t, s->row.size, s->column.size));
        t->group = s->group ? s->group
                            : emit_for(s->e, "group", number(s->e, 0), number(s->e, t->groups));
        bool good = write_panels(t, from, to, first, end);
        if (!s->group)
                emit_end(s->e);
        say_shape(t, none);
        return good;
}

/* sums, positions and weights have tiles, in blocks of all sizes that there are */
static bool fits(const struct tiles *t, const struct target *target)
{
        const struct cut *row = &t->s.row, *column = &t->s.column;
        for (int i = 0; i < 4; i++) {
                struct tile_block block = block_in(t, cut_size(row, i / 2), cut_size(column, i % 2));
                bool there = (i / 2 ? row->large : row->count - row->large) &&
                             (i % 2 ? column->large : column->count - column->large);
                if (there && !tiles_fit(&block, t->vectors, multiply_registers(target)))
                        return false;
        }
        return true;
}

/* channels of a row of a tile: all of a block, or of a row of the window, or a whole row's; 0: they
 * fill none */
static int64_t depth_of(const struct op *op, const struct multiply *m, bool *merged)
{
        const struct type *w = op_operand(op, 1)->type;
        int spatial = w->rank - 5;
        int64_t inner = w->dims[w->rank - 3] * m->group, row = (int64_t)m->depth * m->group,
                window = w->dims[1 + spatial], line = window * inner;
        *merged = window > 1 && inner < row && (line < row || line % row == 0) &&
                  op_ints(op, "dilations", NULL)[spatial - 1] == 1;
        if (*merged)
                return line < row ? line : row;
        return inner < row ? inner : inner % row ? 0 : row;
}

const struct multiply *tiles_find_multiply(const struct op *op, const struct target *target)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        return multiply_find(target, (enum element)x->element, (enum element)w->element, true,
                             (int)packed_lanes(x, w), (int)packed_group(x, w));
}

bool tiles_suit(const struct op *contraction, const struct target *target)
{
        const struct multiply *m = tiles_find_multiply(contraction, target);
        bool merged;
        return m && depth_of(contraction, m, &merged);
}

struct stage *tiles_prepare(const struct stage *common)
{
        struct tiles *t = ARENA_NEW(common->arena, struct tiles);
        const struct op *op = common->op;
        const struct target *target = common->e->options->target;
        const struct type *w = op_operand(op, 1)->type;
        t->s = *common;
        t->s.write = write_groups;
        t->s.enter = enter;
        t->groups = op_int(op, "groups");
        t->blocks = w->dims[1];
        const enum element element = (enum element)op_operand(op, 0)->type->element;
        const int depth = tile_depth(element);
        t->unit = tile_group(element);
        t->inner = w->dims[w->rank - 3] * t->unit;
        t->depth = (int)(t->inner < depth ? t->inner : depth);
        t->outputs = op_result(op)->type->dims[1] / t->groups * op_int(op, "block");
        t->vectors = (int)w->dims[w->rank - 2];
        t->s.panels = w->dims[0] / t->groups;
        t->panel_size = type_elements(w) / w->dims[0];
        stage_spatial(&t->s, 2);
        const struct spatial *last = &t->s.spatial[t->s.spatial_count - 1];
        int64_t line = last->window * t->inner;
        t->merged = last->window > 1 && t->inner < depth && last->x_window == t->inner &&
                    (line < depth || line % depth == 0);
        if (t->merged)
                t->depth = (int)(line < depth ? line : depth);
        if (common->prologue || t->s.lanes != TILE_LANES || !multiply_registers(target) ||
            (!t->merged && t->inner % t->depth) || t->depth % t->unit ||
            t->s.x.stride[t->s.rank - 1] != 1 || op_int(op, "channels") != t->blocks * t->inner ||
            t->s.rank - 3 > WINDOW_LOOPS)
                return NULL;
        stage_cut(&t->s);
        t->alike = t->s.row.large == t->s.row.count && t->s.column.large == t->s.column.count;
        return fits(t, target) ? &t->s : NULL;
}
