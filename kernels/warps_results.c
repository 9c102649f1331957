/* SPDX-License-Identifier: MIT */
/* Products by blocks of warps: what becomes of the sums (contract_warps.c). */
#include "kernels/warps.h"

void warps_write_output(struct warps *w, struct loop_expr *o, struct loop_expr *p, struct loop_expr *sum)
{
        struct stage *s = &w->s;
        struct emit *e = s->e;
        struct loop_expr *index[RANK_MAX];
        int64_t block = op_int(s->op, "block"), blocks = op_result(s->op)->type->dims[1] / w->groups;
        index[0] = w->image;
        index[1] = times(e, w->group, blocks);
        if (blocks > 1)
                index[1] = emit_let(e, "block", plus(e, index[1], emit_op_int(e, LOOP_DIV, o, block)));
        const int first = s->rank - 1 - s->spatial_count;
        for (int d = 2; d < first; d++)
                index[d] = number(e, 0);
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                int64_t extent = s->spatial[d].extent;
                index[first + d] = d ? emit_let(e, "i", emit_op_int(e, LOOP_REM, p, extent)) : p;
                p = d ? emit_let(e, "p", emit_op_int(e, LOOP_DIV, p, extent)) : p;
        }
        index[s->rank - 1] = blocks > 1 ? emit_let(e, "o", emit_op_int(e, LOOP_REM, o, block)) : o;
        sum = loop_cast(e->arena, s->sums->type->element, sum);
        struct loop_stmt *let = loop_append(e->arena, e->scope->block, STMT_LET);
        let->a = sum;
        let->variable = loop_variable_new(e->arena, emit_name(e, "sum"), sum->type, VARIABLE_LET);
        let->variable->number = e->scope->depth;
        emit_define(e, s->sums, index, let->variable);
        struct loop_expr *result = emit_element(e, s->result, index);
        struct loop_expr *to = plus(e, stage_y(s, index), index[s->rank - 1]);
        emit_store(e, s->ys, to, result);
        emit_mark_overlaps(e, e->scope->block, to);
}

static void write_row(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int part)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int width = t->vectors * t->lanes, lanes = width < GRID_LANES ? width : GRID_LANES;
        struct loop_expr *row = emit_for(e, "row", number(e, 0), number(e, t->rows));
        struct loop_expr *p = plus(e, plus(e, w->position, warps_row(w, warp)),
                                   plus(e, row, number(e, (int64_t)part * t->rows)));
        p = emit_let(e, "p", p);
        bool some = w->positions % t->positions != 0, few = w->outputs % ((int64_t)width * t->panels) != 0;
        if (some)
                emit_if(e, warps_less(w, p, w->positions));
        struct loop_expr *half = emit_for(e, "part", number(e, 0), number(e, width / lanes));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *in_panel = emit_let(e, "in_panel", plus(e, times(e, half, lanes), lane));
        struct loop_expr *panel = plus(e, w->panel, warps_panel(w, warp));
        struct loop_expr *o = emit_let(e, "o", plus(e, times(e, panel, width), in_panel));
        if (few)
                emit_if(e, warps_less(w, o, w->outputs));
        struct loop_expr *at = plus(e, sums_at, plus(e, times(e, row, warp_tile_out(t)), in_panel));
        warps_write_output(w, o, p, loop_load(e->arena, w->out, at));
        for (int closes = 3 + few + some; closes > 0; closes--)
                emit_end(e);
}

/* fragments number i of all panels' rows */
static void unload(struct warps *w, int i, struct loop_buffer *to, struct loop_expr *at, int64_t step)
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

static int fragments(const struct warps *w) { return w->tile.positions / w->tile.warps / w->tile.rows; }

void warps_write_results(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *at = emit_let(e, "sums_at", times(e, warp, t->rows * warp_tile_out(t)));
        for (int i = 0; i < fragments(w); i++) {
                unload(w, i, w->out, at, warp_tile_out(t));
                write_row(w, warp, at, i);
        }
        emit_end(e);
}

/* ---- parts: of few tiles, blocks share the turns; behind them the parts of each sum are added up ---- */

static int64_t partial_row(const struct warps *w)
{
        return round_up(w->s.panels, w->tile.panels) * w->tile.vectors * w->tile.lanes;
}

static int64_t partial_positions(const struct warps *w) { return round_up(w->positions, w->tile.positions); }
static int64_t partial_images(const struct warps *w) { return op_operand(w->s.op, 0)->type->dims[0] * w->groups; }

int64_t warps_partial_size(const struct warps *w)
{
        return w->tile.parts * partial_images(w) * partial_positions(w) * partial_row(w);
}

/* output o of position p in the part that comes first */
static struct loop_expr *partial_at(struct warps *w, struct loop_expr *p, struct loop_expr *o)
{
        struct emit *e = w->s.e;
        struct loop_expr *image = plus(e, times(e, w->image, w->groups), w->group);
        return plus(e, times(e, plus(e, times(e, image, partial_positions(w)), p), partial_row(w)), o);
}

void warps_write_partial(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int64_t size = warps_partial_size(w) / w->tile.parts;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *panel = plus(e, w->panel, warps_panel(w, warp)), *p = plus(e, w->position, warps_row(w, warp));
        struct loop_expr *at = plus(e, times(e, w->part, size), partial_at(w, p, times(e, panel, t->vectors * t->lanes)));
        at = emit_let(e, "partial_at", at);
        for (int i = 0; i < fragments(w); i++)
                unload(w, i, w->partial, plus(e, at, number(e, i * t->rows * partial_row(w))), partial_row(w));
        emit_end(e);
}

void warps_join_parts(struct warps *w)
{
        enum { WARPS = 4 };
        struct emit *e = w->s.e;
        const int64_t size = warps_partial_size(w) / w->tile.parts;
        const int64_t all = partial_images(w) * w->positions * w->outputs, of_block = (int64_t)WARPS * GRID_LANES;
        struct loop_expr *block = emit_grid(e, "b", FOR_GPU_BLOCK, divide_up(all, of_block));
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, WARPS), *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *at = emit_let(e, "at", plus(e, times(e, plus(e, times(e, block, WARPS), warp), GRID_LANES), lane));
        const bool some = all % of_block != 0;
        if (some)
                emit_if(e, warps_less(w, at, all));
        struct loop_expr *o = emit_let(e, "o", emit_op_int(e, LOOP_REM, at, w->outputs));
        at = emit_op_int(e, LOOP_DIV, at, w->outputs);
        struct loop_expr *p = emit_let(e, "p", emit_op_int(e, LOOP_REM, at, w->positions));
        at = emit_op_int(e, LOOP_DIV, at, w->positions);
        w->group = emit_let(e, "group", emit_op_int(e, LOOP_REM, at, w->groups));
        w->image = emit_let(e, "image", emit_op_int(e, LOOP_DIV, at, w->groups));
        struct loop_expr *from = emit_let(e, "partial_at", partial_at(w, p, o)), *sum = loop_load(e->arena, w->partial, from);
        for (int i = 1; i < w->tile.parts; i++)
                sum = emit_op(e, LOOP_ADD, sum, loop_load(e->arena, w->partial, plus(e, from, number(e, i * size))));
        warps_write_output(w, o, p, sum);
        for (int closes = 3 + some; closes > 0; closes--)
                emit_end(e);
}
