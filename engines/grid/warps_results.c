/* SPDX-License-Identifier: MIT */
/* Writes the epilogue and the stores of results, for products by fragments of warps
 * (contract_warps.c). */
#include "engines/grid/warps.h"

/* A lane stores this value there. */
struct result { struct loop_expr *to, *value; };

static struct loop_expr *let_value(struct warps *w, const char *name, struct loop_expr *value)
{
        struct emit *e = w->s.e;
        struct loop_stmt *let = loop_append(e->arena, e->scope->block, STMT_LET);
        let->a = value;
        let->variable = loop_variable_new(e->arena, emit_name(e, name), value->type, VARIABLE_LET);
        let->variable->number = e->scope->depth;
        return loop_use(e->arena, let->variable);
}

void warps_split_output(struct warps *w, struct loop_expr *o, struct loop_expr **block,
                        struct loop_expr **in_block)
{
        struct emit *e = w->s.e;
        const int64_t size = op_int(w->s.op, "block"),
                      blocks = type_extent(op_result(w->s.op)->type, 1) / w->groups;
        *block = times(e, w->group, blocks);
        if (blocks > 1)
                *block = emit_let(e, "block", plus(e, *block, emit_op_int(e, LOOP_DIV, o, size)));
        *in_block = blocks > 1 ? emit_let(e, "o", emit_op_int(e, LOOP_REM, o, size)) : o;
}

/* Computes the index of the result for output o of the group at position p. */
static void index_of(struct warps *w, struct loop_expr *o, struct loop_expr *p,
                     struct loop_expr **index)
{
        const int first = w->s.rank - 1 - w->s.spatial_count;
        warps_split_output(w, o, &index[1], &index[w->s.rank - 1]);
        for (int d = 2; d < first; d++)
                index[d] = number(w->s.e, 0);
        warps_split_position(w, p, index + first, &index[0]);
}

/* Returns the epilogue of a sum. `added` is the place of the residual in shared memory, if it is
 * there. */
static struct result result_at(struct warps *w, struct loop_expr **index, struct loop_expr *sum,
                               struct loop_expr *added)
{
        struct kernel_state *s = &w->s;
        struct emit *e = s->e;
        sum = let_value(w, "sum", loop_cast(e->arena, s->sums->type->element, sum));
        emit_define(e, s->sums, index, sum->variable);
        if (w->added)
                emit_define(e, warps_added(s->op), index,
                            let_value(w, "added", loop_load(e->arena, w->added, added))->variable);
        struct loop_expr *value = let_value(w, "result", emit_element(e, s->result, index));
        return (struct result){ plus(e, state_y(s, index), index[s->rank - 1]), value };
}

/* Does the same for output o of the group at position p, in a lane. */
static struct result result_of(struct warps *w, struct loop_expr *o, struct loop_expr *p,
                               struct loop_expr *sum, struct loop_expr *added)
{
        struct loop_expr *index[RANK_MAX];
        index_of(w, o, p, index);
        return result_at(w, index, sum, added);
}

void warps_write_output(struct warps *w, struct loop_expr *o, struct loop_expr *p,
                        struct loop_expr *sum)
{
        const struct result r = result_of(w, o, p, sum, NULL);
        emit_store(w->s.e, w->s.ys, r.to, r.value);
        emit_mark_overlaps(w->s.e, w->s.e->scope->block, r.to);
}

/* Sums lie here, side by side; partial sums of `parts` parts are `step` elements apart. */
struct sums { struct loop_buffer *in; struct loop_expr *at; int parts; int64_t step; };

static struct loop_expr *sum_of(struct warps *w, const struct sums *s, int k)
{
        struct emit *e = w->s.e;
        struct loop_expr *at = k ? plus(e, s->at, number(e, k)) : s->at,
                         *sum = loop_load(e->arena, s->in, at);
        for (int i = 1; i < s->parts; i++)
                sum = emit_op(e, LOOP_ADD, sum,
                              loop_load(e->arena, s->in, plus(e, at, number(e, i * s->step))));
        return sum;
}

static struct loop_expr *no_further(struct warps *w, struct loop_expr *a, int64_t last)
{
        return emit_let(w->s.e, "within", emit_op(w->s.e, LOOP_MIN, a, number(w->s.e, last)));
}

static struct loop_expr *no_position_further(struct warps *w, struct loop_expr *p)
{
        struct emit *e = w->s.e;
        return w->open ? emit_let(e, "within",
                                  emit_op(e, LOOP_MIN, p, minus(e, w->open, number(e, 1))))
                       : no_further(w, p, w->positions - 1);
}

/* A lane computes the results of several positions (BATCH) and of neighbouring outputs (SIDE)
 * before it stores any, so that its loads overlap. After the last position and output it computes
 * results that it does not store. */
enum { BATCH = 8, SIDE = 4 };
struct batch {
        int count;
        struct loop_expr *outputs[BATCH], *positions[BATCH], *stored[BATCH];
        struct result results[BATCH];
        bool few, some;
};

/* Returns the place in shared memory of the residual for row `row` of fragments number `part` of
 * the warp, and output `column` of its panel. */
static struct loop_expr *added_at(struct warps *w, struct loop_expr *warp, int part,
                                  struct loop_expr *row, struct loop_expr *column)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        if (!w->added)
                return NULL;
        row = plus(e, plus(e, warps_row(w, warp), row), number(e, (int64_t)part * t->rows));
        column = plus(e, times(e, warps_panel(w, warp), t->vectors * t->lanes), column);
        return emit_let(e, "added_at", plus(e, times(e, row, warp_tile_added_row(t)), column));
}

static void batch_add(struct warps *w, struct batch *b, struct loop_expr *o, struct loop_expr *p,
                      struct loop_expr *sum, struct loop_expr *added)
{
        const int i = b->count++;
        b->outputs[i] = o;
        b->positions[i] = p;
        b->results[i] = result_of(w, b->few ? no_further(w, o, w->outputs - 1) : o,
                                  b->some ? no_position_further(w, p) : p, sum, added);
        b->stored[i] = b->results[i].to;
}

/* Stores results over their sums in shared memory, because whole rows, or reductions over
 * positions, are computed from them later. */
static void batch_keep(struct warps *w, const struct batch *b, struct loop_expr *const *at)
{
        for (int i = 0; i < b->count; i++)
                emit_store(w->s.e, w->partial,
                           plus(w->s.e, times(w->s.e, w->number, warp_tile_part(&w->tile)), at[i]),
                           b->results[i].value);
}

/* Adds `side` outputs from o on to the batch. */
static void batch_add_side(struct warps *w, struct batch *b, int side, struct loop_expr *o,
                           struct loop_expr *p, const struct sums *sums, struct loop_expr *added)
{
        struct emit *e = w->s.e;
        struct loop_expr *index[RANK_MAX], *first;
        index_of(w, b->few ? no_further(w, o, w->outputs - side) : o,
                 b->some ? no_position_further(w, p) : p, index);
        first = index[w->s.rank - 1];
        for (int k = 0; k < side; k++) {
                const int i = b->count++;
                index[w->s.rank - 1] = plus(e, first, number(e, k));
                b->outputs[i] = o;
                b->positions[i] = p;
                b->results[i] = result_at(w, index, sum_of(w, sums, k),
                                          added && k ? plus(e, added, number(e, k)) : added);
                b->stored[i] = b->results[i].to;
        }
}

static void batch_store(struct warps *w, const struct batch *b)
{
        struct emit *e = w->s.e;
        const struct loop_block *made = e->scope->block;
        for (int i = 0; i < b->count; i++) {
                const bool last = i + 1 == b->count;
                const bool opens = b->few && (!i || b->outputs[i] != b->outputs[i - 1]),
                           closes = b->few && (last || b->outputs[i] != b->outputs[i + 1]);
                if (opens)
                        emit_if(e, warps_less(w, b->outputs[i], w->outputs));
                if (b->some && (!i || opens || b->positions[i] != b->positions[i - 1]))
                        emit_if(e, warps_there(w, b->positions[i]));
                emit_store(e, w->s.ys, b->results[i].to, b->results[i].value);
                if (b->some && (last || closes || b->positions[i] != b->positions[i + 1]))
                        emit_end(e);
                if (closes)
                        emit_end(e);
        }
        emit_mark_all_overlaps(e, made, (struct loop_expr **)(uintptr_t)b->stored, b->count);
}

static void write_rows(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int part)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int width = t->vectors * t->lanes, lanes = width < GRID_LANES ? width : GRID_LANES,
                  count = t->rows < BATCH ? t->rows : BATCH;
        struct batch b = { .some = warps_are_partial(w),
                           .few = w->outputs % ((int64_t)width * t->panels) != 0 };
        struct loop_expr *row = emit_for(e, "rows", number(e, 0), number(e, t->rows / count));
        row = times(e, row, count);
        struct loop_expr *first = emit_let(e, "first_row",
                                           plus(e, plus(e, w->position, warps_row(w, warp)),
                                                plus(e, row, number(e, (int64_t)part * t->rows))));
        struct loop_expr *half = emit_for(e, "part", number(e, 0), number(e, width / lanes));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *in_panel = emit_let(e, "in_panel", plus(e, times(e, half, lanes), lane));
        struct loop_expr *panel = plus(e, w->panel, warps_panel(w, warp));
        struct loop_expr *o = emit_let(e, "o", plus(e, times(e, panel, width), in_panel));
        for (int r = 0; r < count; r++) {
                struct loop_expr *p = emit_let(e, "p", plus(e, first, number(e, r)));
                struct loop_expr *at = plus(
                        e, sums_at,
                        plus(e, times(e, plus(e, row, number(e, r)), warp_tile_out(t)), in_panel));
                batch_add(w, &b, o, p, loop_load(e->arena, w->out, at),
                          added_at(w, warp, part, plus(e, row, number(e, r)), in_panel));
        }
        batch_store(w, &b);
        for (int closes = 3; closes > 0; closes--)
                emit_end(e);
}

/* Can a lane store neighbouring results in one vector access? */
static bool are_words(const struct warps *w)
{
        return w->outputs % SIDE == 0 && w->tile.vectors * w->tile.lanes % SIDE == 0 &&
               op_int(w->s.op, "block") % SIDE == 0;
}

/* Can the lanes of a warp store whole rows of `width` outputs in this way? */
static bool are_rows_of_words(const struct warps *w, int width)
{
        const int across = width / SIDE;
        return are_words(w) && across > 0 && across <= GRID_LANES && GRID_LANES % across == 0 &&
               w->tile.rows % (GRID_LANES / across) == 0;
}

bool warps_write_words(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int part,
                       int column, int width)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        if (!are_rows_of_words(w, width))
                return false;
        const int panel_width = t->vectors * t->lanes, across = width / SIDE,
                  down = GRID_LANES / across, most = t->rows / down,
                  count = most < BATCH / SIDE ? most : BATCH / SIDE;
        struct batch b = { .some = warps_are_partial(w),
                           .few = w->outputs % ((int64_t)panel_width * t->panels) != 0 };
        struct loop_expr *rows =
                times(e, emit_for(e, "rows", number(e, 0), number(e, t->rows / (count * down))),
                      count * down);
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *row =
                emit_let(e, "row", plus(e, rows, emit_op_int(e, LOOP_DIV, lane, across)));
        struct loop_expr *in_panel =
                emit_let(e, "in_panel", times(e, emit_op_int(e, LOOP_REM, lane, across), SIDE));
        struct loop_expr *first = emit_let(e, "first_row",
                                           plus(e, plus(e, w->position, warps_row(w, warp)),
                                                plus(e, row, number(e, (int64_t)part * t->rows))));
        struct loop_expr *panel = plus(e, w->panel, warps_panel(w, warp));
        struct loop_expr *o = emit_let(
                e, "o",
                plus(e, times(e, panel, panel_width), plus(e, number(e, column), in_panel)));
        struct loop_expr *at = emit_let(
                e, "at", plus(e, sums_at, plus(e, times(e, row, warp_tile_out(t)), in_panel)));
        struct loop_expr *added = added_at(w, warp, part, row, in_panel);
        for (int r = 0; r < count; r++) {
                struct loop_expr *p =
                        r ? emit_let(e, "p", plus(e, first, number(e, (int64_t)r * down))) : first;
                batch_add_side(w, &b, SIDE, o, p,
                               &(struct sums){
                                       w->out,
                                       plus(e, at, number(e, (int64_t)r * down * warp_tile_out(t))),
                                       1, 0 },
                               added ? plus(e, added,
                                            number(e, (int64_t)r * down * warp_tile_added_row(t)))
                                     : NULL);
        }
        batch_store(w, &b);
        emit_end(e);
        emit_end(e);
        return true;
}

/* Unloads the warp's fragments number i. */
static void unload(struct warps *w, int i, struct loop_buffer *to, struct loop_expr *at,
                   int64_t step)
{
        struct loop_stmt *s = loop_append(w->s.arena, w->s.e->scope->block, STMT_UNLOAD);
        s->variable = w->sums;
        s->buffer = to;
        s->a = at;
        s->tiles = warps_shape(w);
        s->tiles.first = i * w->tile.rows;
        s->tiles.positions = w->tile.rows;
        s->tiles.step = step;
}

static int fragments(const struct warps *w)
{
        return w->tile.positions / w->tile.warps / w->tile.rows;
}

void warps_write_results(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *at = emit_let(e, "sums_at", times(e, warp, t->rows * warp_tile_out(t)));
        for (int i = 0; i < fragments(w); i++) {
                unload(w, i, w->out, at, warp_tile_out(t));
                if (!warps_write_words(w, warp, at, i, 0, t->vectors * t->lanes))
                        write_rows(w, warp, at, i);
        }
        emit_end(e);
}

/* ---- split-K through memory: blocks share the iterations of a tile; a second phase adds up the
 * partial sums ---- */

static int64_t partial_row(const struct warps *w)
{
        return round_up(w->s.panels, w->tile.panels) * w->tile.vectors * w->tile.lanes;
}

static int64_t partial_positions(const struct warps *w)
{
        return round_up(w->positions, w->tile.positions);
}
int64_t warps_partial_size(const struct warps *w)
{
        return w->tile.parts * w->groups * partial_positions(w) * partial_row(w);
}

/* Returns the place in `partial` of output o at position p, of the first part. */
static struct loop_expr *partial_at(struct warps *w, struct loop_expr *p, struct loop_expr *o)
{
        struct emit *e = w->s.e;
        return plus(e,
                    times(e, plus(e, times(e, w->group, partial_positions(w)), p), partial_row(w)),
                    o);
}

void warps_write_partial(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int64_t size = warps_partial_size(w) / w->tile.parts;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *panel = plus(e, w->panel, warps_panel(w, warp)),
                         *p = plus(e, w->position, warps_row(w, warp));
        struct loop_expr *at = plus(e, times(e, w->part, size),
                                    partial_at(w, p, times(e, panel, t->vectors * t->lanes)));
        at = emit_let(e, "partial_at", at);
        for (int i = 0; i < fragments(w); i++)
                unload(w, i, w->partial, plus(e, at, number(e, i * t->rows * partial_row(w))),
                       partial_row(w));
        emit_end(e);
}

void warps_join_parts(struct warps *w)
{
        enum { WARPS = 4 };
        struct emit *e = w->s.e;
        const int64_t size = warps_partial_size(w) / w->tile.parts;
        const int64_t all = w->groups * w->positions * w->outputs,
                      of_block = (int64_t)WARPS * GRID_LANES;
        struct loop_expr *block = emit_grid(e, "b", FOR_GPU_BLOCK, divide_up(all, of_block));
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, WARPS),
                         *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *at = emit_let(
                e, "at",
                plus(e, times(e, plus(e, times(e, block, WARPS), warp), GRID_LANES), lane));
        const bool some = all % of_block != 0;
        if (some)
                emit_if(e, warps_less(w, at, all));
        struct loop_expr *o = emit_let(e, "o", emit_op_int(e, LOOP_REM, at, w->outputs));
        at = emit_op_int(e, LOOP_DIV, at, w->outputs);
        struct loop_expr *p = emit_let(e, "p", emit_op_int(e, LOOP_REM, at, w->positions));
        at = emit_op_int(e, LOOP_DIV, at, w->positions);
        w->group = emit_let(e, "group", emit_op_int(e, LOOP_REM, at, w->groups));
        struct loop_expr *from = emit_let(e, "partial_at", partial_at(w, p, o));
        warps_write_output(w, o, p,
                           sum_of(w, &(struct sums){ w->partial, from, w->tile.parts, size }, 0));
        for (int closes = 3 + some; closes > 0; closes--)
                emit_end(e);
}

/* ---- split-K in a cluster ---- */

void warps_leave_part(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int64_t row = warp_tile_part_row(t);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *at =
                plus(e, times(e, warps_panel(w, warp), t->positions), warps_row(w, warp));
        at = emit_let(e, "partial_at", times(e, at, row));
        for (int i = 0; i < fragments(w); i++)
                unload(w, i, w->partial,
                       plus(e, times(e, w->number, warp_tile_part(t)),
                            plus(e, at, number(e, i * t->rows * row))),
                       row);
        emit_end(e);
}

/* A block's share is some positions of the tile, or, if blocks pool, all positions of some outputs.
 * Lanes have neighbouring outputs. */
void warps_join_share(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int panel = t->vectors * t->lanes,
                  width = t->fused_pool ? warp_tile_pool_outputs(t) : panel * t->panels,
                  rows = t->fused_pool ? t->positions : t->positions / t->parts;
        struct loop_expr *first_row = times(e, w->part, t->fused_pool ? 0 : rows),
                         *first_column = times(e, w->part, t->fused_pool ? width : 0);
        int side = are_words(w) ? SIDE : 1;
        while (rows * width % (warps_count(w) * GRID_LANES * side) ||
               warp_tile_part_row(t) % side || width % side)
                side /= 2;
        const int at_once = warps_count(w) * GRID_LANES * side, iterations = rows * width / at_once;
        int count = iterations < BATCH / side ? iterations : BATCH / side;
        while (iterations % count)
                count--;
        struct batch b = { .some = warps_are_partial(w),
                           .few = w->outputs % (panel * t->panels) != 0 };
        struct loop_expr *kept[BATCH];
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *iteration =
                emit_for(e, "iteration", number(e, 0), number(e, iterations / count));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *own = times(e, plus(e, times(e, warp, GRID_LANES), lane), side);
        struct loop_expr *first =
                emit_let(e, "at", plus(e, times(e, iteration, (int64_t)count * at_once), own));
        for (int i = 0; i < count; i++) {
                struct loop_expr *at =
                        i ? emit_let(e, "at", plus(e, first, number(e, (int64_t)i * at_once)))
                          : first;
                struct loop_expr *row =
                        emit_let(e, "row", plus(e, first_row, emit_op_int(e, LOOP_DIV, at, width)));
                struct loop_expr *column = emit_let(
                        e, "column", plus(e, first_column, emit_op_int(e, LOOP_REM, at, width)));
                struct loop_expr *from =
                        t->panels > 1 ? plus(e,
                                             times(e, emit_op_int(e, LOOP_DIV, column, panel),
                                                   t->positions),
                                             row)
                                      : row;
                from = plus(e, times(e, from, warp_tile_part_row(t)),
                            emit_op_int(e, LOOP_REM, column, panel));
                struct loop_expr *own_at = from = emit_let(e, "partial_at", from);
                for (int k = 0; k < side; k++)
                        kept[b.count + k] = k ? plus(e, own_at, number(e, k)) : own_at;
                if (t->row_clusters)
                        from = plus(e,
                                    times(e, emit_op_int(e, LOOP_DIV, w->number, t->parts),
                                          t->parts * warp_tile_part(t)),
                                    from);
                struct loop_expr *o = emit_let(e, "o", plus(e, times(e, w->panel, panel), column)),
                                 *p = emit_let(e, "p", plus(e, w->position, row));
                const struct sums sums = { w->partial, from, t->parts, warp_tile_part(t) };
                struct loop_expr *added =
                        w->added ? emit_let(e, "added_at",
                                            plus(e, times(e, row, warp_tile_added_row(t)), column))
                                 : NULL;
                if (side > 1)
                        batch_add_side(w, &b, side, o, p, &sums, added);
                else
                        batch_add(w, &b, o, p, sum_of(w, &sums, 0), added);
        }
        if (t->row_clusters || t->fused_pool)
                batch_keep(w, &b, kept);
        else
                batch_store(w, &b);
        for (int closes = 3; closes > 0; closes--)
                emit_end(e);
}
