/* The scheduled lowering of convolve_packed: GEMM and convolution by one register tile.
 *
 *                    V * lanes outputs of a panel
 *                  +--------+--------+
 *      positions   | acc    | acc    |     acc{p, j} += splat(x[position p, word k]) * w[k, vector j]
 *      rows *      | {0,0}  | {0,1}  |
 *      columns     | acc    | acc    |     for every word of channels and window offset k, in the order of w's memory:
 *                  | {1,0}  | {1,1}  |     a panel is read from front to back
 *                  +--------+--------+
 *
 * A word is a channel of floats, or as many as the multiply takes at once (ir/multiply.h).
 *
 * The loops from outside: tasks, images, outer spatial dimensions, groups, strips of rows, panels,
 * rows of tiles, tiles; then the sums; then the epilogue on each vector of the tile, as the element
 * functions of the fusion say it. A dimension that tiles do not divide is cut into tiles of two
 * sizes that differ by one, so no edge is slow. The blocking is that of Goto and van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication" (2008), applied to direct convolution as in
 * Georganas et al., arXiv 1808.05567. */
#include "kernels/tile.h"

enum { WINDOW_MAX = 8, SUMS_MAX = WINDOW_MAX + 2, LINE = 16 };

struct packed {
        struct stage s;                 /* first: its functions get this */
        int64_t groups, blocks, channels, inner;          /* in a group: blocks of x, words that
                                                           * count, words of a block */
        int word;                       /* channels of a word */
        int64_t outputs;                /* stored, of a group: with those that pad a block */
        int64_t line, panel_size;       /* outputs that tiles and blocks have whole numbers of;
                                         * elements of w in a panel */
        /* where the loops are; panels are those of a group */
        struct loop_expr *group, *panel, *part, *x_at;
        int live;                       /* outputs of the tile that there are */
};

/* ---- the sums ---- */

/* channels that are known when it runs, in words */
static struct loop_expr *words_of(const struct packed *p, struct loop_expr *channels)
{
        return channels && p->word > 1
                       ? emit_op_int(p->s.e, LOOP_DIV,
                                     plus(p->s.e, channels, number(p->s.e, p->word - 1)), p->word)
                       : channels;
}

/* blocks from..from + count of x, each `inner` words; total: of all of them where the last has
 * fewer, else 0 */
static void write_sums_of(struct packed *p, const struct tile *t, int64_t from, int64_t count,
                          int64_t inner, int64_t total)
{
        struct sum_loop loops[SUMS_MAX];
        int n = 0;
        int64_t step = p->inner;
        for (int d = p->s.spatial_count - 1; d >= 0; d--)
                step *= p->s.spatial[d].window;
        int64_t block_step = step;
        if (count > 1)
                loops[n++] = (struct sum_loop){ "c", count, p->s.x.stride[1], step, 0, NULL };
        for (int d = 0; d < p->s.spatial_count; d++) {
                const struct spatial *s = &p->s.spatial[d];
                step /= s->window;
                if (s->window > 1)
                        loops[n++] =
                                (struct sum_loop){ "k", s->window, s->x_window, step, 0, NULL };
        }
        if (inner > 1 || !n)
                loops[n++] = (struct sum_loop){ "i", inner, p->word * p->s.x.stride[p->s.rank - 1],
                                                1,   total, words_of(p, p->s.channels) };
        struct loop_expr *x_at = plus(p->s.e, p->x_at, number(p->s.e, from * p->s.x.stride[1]));
        tile_add(t, loops, n, x_at, from * block_step);
}

static void write_sums(struct packed *p, const struct tile *t)
{
        int64_t whole = p->channels / p->inner, rest = p->channels % p->inner;
        int unroll = p->s.schedule.unroll;
        if (whole && rest && rest % unroll == 0 && p->inner % unroll == 0) {
                write_sums_of(p, t, 0, whole + 1, p->inner, p->channels);
        } else {
                if (whole)
                        write_sums_of(p, t, 0, whole, p->inner, 0);
                if (rest)
                        write_sums_of(p, t, whole, 1, rest, 0);
        }
        tile_join(t);
}

/* ---- the epilogue ---- */

/* index of the vector j of the tile at spatial position i; all but the lane */
static void vector_index(struct packed *p, struct loop_expr *vector, int i, int j, int columns,
                         struct loop_expr **index, struct loop_expr **first_lane)
{
        struct emit *e = p->s.e;
        int64_t block = op_int(p->s.op, "block"), line = p->line, in_block = block / line;
        int64_t per_group = op_result(p->s.op)->type->dims[1] / p->groups;
        struct loop_expr *n = plus(e, vector, number(e, j * p->s.lanes / line));
        struct loop_expr *within = number(e, j * p->s.lanes % line);
        stage_index(&p->s, i / columns, i % columns, index);
        index[1] = times(e, p->group, per_group);
        if (per_group == 1) {
                within = plus(e, times(e, n, line), within);
        } else {
                index[1] = plus(e, index[1], emit_op_int(e, LOOP_DIV, n, in_block));
                n = emit_op_int(e, LOOP_REM, n, in_block);
                within = plus(e, times(e, n, line), within);
        }
        *first_lane = within;
}

/* the sums as they were left: what is stored is the sums themselves */
static void resume_sums(struct packed *p, const struct tile *t, int live)
{
        struct emit *e = p->s.e;
        struct loop_expr *vector = plus(e, times(e, p->panel, p->s.panel_width / p->line), p->part);
        for (int i = 0; i < t->rows * t->columns; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *index[RANK_MAX], *first_lane;
                        vector_index(p, vector, i, j, t->columns, index, &first_lane);
                        int left = live - j * p->s.lanes;
                        struct loop_expr *at = plus(e, stage_y(&p->s, index), first_lane);
                        if (left > 0)
                                stage_set(&p->s, t->sums, i, j,
                                          stage_load(&p->s, "before", p->s.ys, at, 0, left));
                }
}

static bool write_epilogue(struct packed *p, const struct tile *t, int live)
{
        struct emit *e = p->s.e;
        struct loop_expr *vector = plus(e, times(e, p->panel, p->s.panel_width / p->line), p->part);
        /* a variable, so that what depends on it alone (a bias) is not read before the sums, which
         * need all registers */
        vector = loop_use(p->s.arena, emit_var(e, "vector", LOOP_TYPE(E_INDEX), vector));
        for (int i = 0; i < t->rows * t->columns; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct loop_expr *index[RANK_MAX], *first_lane;
                        vector_index(p, vector, i, j, t->columns, index, &first_lane);
                        int left = live - j * p->s.lanes;
                        if (left > 0 &&
                            !stage_store(&p->s, loop_tile_entry(p->s.arena, t->sums, i, j), index,
                                         first_lane, left))
                                return false;
                }
        return true;
}

/* ---- tiles ---- */

static bool write_tile(struct stage *s, int rows, int columns)
{
        struct packed *p = (struct packed *)s;
        struct emit *e = s->e;
        int live = p->live;
        const struct spatial *last = &p->s.spatial[p->s.spatial_count - 1];
        struct tile t = { .s = &p->s,
                          .xs = p->s.xs,
                          .rows = rows,
                          .columns = columns,
                          .vectors = divide_up(live, p->s.lanes),
                          .column_step = last->x_step,
                          .row_step = rows > 1 ? last[-1].x_step : 0,
                          .width = p->s.panel_width * p->word };
        if (t.vectors > p->s.schedule.vectors)
                t.vectors = p->s.schedule.vectors;
        p->x_at = emit_let(e, "x_at",
                           plus(e, stage_x(s), times(e, p->group, p->blocks * s->x.stride[1])));
        struct loop_expr *panel = plus(e, times(e, p->group, p->s.panels), p->panel);
        struct loop_expr *w =
                plus(e, times(e, panel, p->panel_size), times(e, p->part, p->line * p->word));
        if (s->first_channel)
                w = plus(e, w, times(e, words_of(p, s->first_channel), t.width));
        t.w_base = emit_let(e, "w_at", w);
        struct loop_expr *next =
                minimum(e, plus(e, panel, number(e, 1)), number(e, p->s.panels * p->groups - 1));
        tile_prefetch(&t, next, s->tile_number, p->panel_size);
        tile_open(&t);
        if (s->adds)
                resume_sums(p, &t, live);
        write_sums(p, &t);
        return write_epilogue(p, &t, live);
}

/* the panel's outputs, a tile's width at a time; the last may be narrower */
static bool write_panel(struct packed *p, struct loop_expr *from, struct loop_expr *to,
                        int64_t outputs)
{
        struct emit *e = p->s.e;
        int width = p->s.schedule.vectors * p->s.lanes, whole = (int)(outputs / width);
        bool good = true;
        if (whole) {
                p->part = emit_for(e, "part", number(e, 0), number(e, whole));
                p->part = times(e, p->part, width / p->line);
                p->live = width;
                good = stage_each_tile(&p->s, from, to, write_tile);
                emit_end(e);
        }
        p->live = (int)(outputs - (int64_t)whole * width);
        if (p->live && good) {
                p->part = number(e, whole * width / p->line);
                good = stage_each_tile(&p->s, from, to, write_tile);
        }
        return good;
}

static bool write_panels(struct packed *p, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct emit *e = p->s.e;
        int64_t width = p->s.panel_width, whole = p->outputs / width;
        bool good = true;
        if (whole) {
                struct loop_expr *stop =
                        whole < p->s.panels ? minimum(e, end, number(e, whole)) : end;
                p->panel = emit_for(e, "panel", first, stop);
                good = write_panel(p, from, to, width);
                emit_end(e);
        }
        if (whole < p->s.panels && good) {
                struct loop_expr *start = maximum(e, first, number(e, whole));
                p->panel = emit_for(e, "panel", start, end);
                good = write_panel(p, from, to, p->outputs % width);
                emit_end(e);
        }
        return good;
}

static bool write_strip(struct packed *p, struct loop_expr *from, struct loop_expr *to,
                        struct loop_expr *first, struct loop_expr *end)
{
        struct loop_expr *block = times(p->s.e, p->group, p->blocks);
        return (!p->s.prologue || prologue_write(&p->s, from, to, block)) &&
               write_panels(p, from, to, first, end);
}

static bool write_strips(struct packed *p, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        bool strips = stage_open_strips(&p->s, &from, &to),
             good = write_strip(p, from, to, first, end);
        if (strips)
                emit_end(p->s.e);
        return good;
}

/* ---- the stage ---- */

static bool write_groups(struct stage *s, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct packed *p = (struct packed *)s;
        p->group = s->group ? s->group
                            : emit_for(s->e, "group", number(s->e, 0), number(s->e, p->groups));
        bool good = write_strips(p, from, to, first, end);
        if (!s->group)
                emit_end(s->e);
        return good;
}

/* A cache line of sums where tiles, of so many, and blocks have whole ones, else a vector of w. */
static int64_t line_of(const struct op *op, int tile)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t block = op_int(op, "block"), lanes = packed_lanes(x, w);
        bool lines = packed_panel(x, w) % LINE == 0 && LINE % lanes == 0 && tile % LINE == 0 &&
                     (block % LINE == 0 || block == op_int(op, "outputs"));
        return lines ? LINE : lanes;
}

struct stage *packed_prepare(const struct stage *common)
{
        struct packed *p = ARENA_NEW(common->arena, struct packed);
        const struct op *op = common->op;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        p->s = *common;
        p->s.multiply = multiply_find(common->e->options->target, (enum element)x->element,
                                      (enum element)w->element, false, 0, (int)packed_group(x, w));
        p->s.write = write_groups;
        p->groups = op_int(op, "groups");
        p->blocks = w->dims[1];
        p->inner = w->dims[w->rank - 3];
        p->word = (int)packed_group(x, w);
        p->channels = divide_up(op_int(op, "channels"), p->word);
        p->outputs = op_result(op)->type->dims[1] / p->groups * op_int(op, "block");
        p->s.panels = w->dims[0] / p->groups;
        p->s.panel_width = packed_panel(x, w);
        int tile = p->s.schedule.vectors * p->s.lanes;  /* whole vectors that divide a panel */
        p->line = line_of(op, tile);
        p->s.last_width = p->outputs - (p->s.panels - 1) * p->s.panel_width;
        p->panel_size = type_elements(w) / w->dims[0];
        if (!p->s.multiply || p->line % p->s.lanes || tile % p->line || p->s.panel_width % tile ||
            (p->word > 1 && p->s.x.stride[p->s.rank - 1] != 1))
                return NULL;
        stage_spatial(&p->s, 2);
        stage_cut(&p->s);
        if (p->s.prologue)
                prologue_memory(&p->s, p->blocks);
        bool fits = p->s.schedule.split * p->s.row.size * p->s.column.size <= TILE_MAX &&
                    p->s.schedule.vectors <= TILE_MAX;
        return fits ? &p->s : NULL;
}
