/* SPDX-License-Identifier: MIT */
/* Products of four warps together (contract_warps.c): a block has one panel, and its warps one fragment's rows of positions each.
 *
 *      turn t      wait for its copies      x  words of positions side by side, by all lanes; w  one run, which lies in memory as
 *                                              the instruction wants it: the order of panels is that of words
 *                  multiply, all warps as one; settle but for this product: while it runs
 *                  copy turn t + stages - 2, whose stage all warps had settled when they waited
 *
 * The sums leave fragments a few vectors at a time: all of them would not fit beside the stages. */
#include "kernels/warps.h"

static void copy_turn(struct warps *w, struct loop_expr *turn)
{
        struct emit *e = w->s.e;
        warps_copy_x(w, emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w)), turn);
        emit_end(e);
        warps_copy_run(w, turn);
}

void groups_add_up(struct warps *w)
{
        struct emit *e = w->s.e;
        const int ahead = w->tile.stages - 2;
        const int64_t turns = w->turns / w->tile.parts, first = turns < ahead ? turns : ahead;
        struct loop_expr *stage = emit_for(e, "stage", number(e, 0), number(e, first));
        copy_turn(w, warps_turn(w, stage));
        warps_add(w, STMT_COMMIT, 0);
        emit_end(e);
        for (int64_t i = first; i < ahead; i++)
                warps_add(w, STMT_COMMIT, 0);   /* of nothing: waits count groups */
        struct loop_expr *turn = emit_for(e, "turn", number(e, 0), number(e, turns));
        warps_add(w, STMT_WAIT, ahead - 1);
        warps_add_product(w, number(e, 0), number(e, 0), warps_turn(w, turn))->tiles.together = true;
        warps_add(w, STMT_SETTLE, 1);
        if (turns > ahead) {
                struct loop_expr *next = emit_let(e, "next", plus(e, turn, number(e, ahead)));
                emit_if(e, warps_less(w, next, turns));
                copy_turn(w, warps_turn(w, next));
                emit_end(e);
        }
        warps_add(w, STMT_COMMIT, 0);
        emit_end(e);
        warps_add(w, STMT_SETTLE, 0);
        warps_add(w, STMT_WAIT, 0);
}

/* 16 positions of a warp, from vector `first` on */
static void write_rows(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int first)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int width = warp_tile_part(t) * t->lanes, lanes = width < GRID_LANES ? width : GRID_LANES;
        const bool some = w->positions % t->positions != 0, few = w->outputs % ((int64_t)t->vectors * t->lanes) != 0;
        struct loop_expr *row = emit_for(e, "row", number(e, 0), number(e, t->rows));
        struct loop_expr *p = emit_let(e, "p", plus(e, plus(e, w->position, warps_row(w, warp)), row));
        if (some)
                emit_if(e, warps_less(w, p, w->positions));
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, lanes);
        struct loop_expr *o = plus(e, times(e, w->panel, t->vectors * t->lanes), plus(e, number(e, first * t->lanes), lane));
        o = emit_let(e, "o", o);
        if (few)
                emit_if(e, warps_less(w, o, w->outputs));
        struct loop_expr *at = plus(e, sums_at, plus(e, times(e, row, warp_tile_out(t)), lane));
        warps_write_output(w, o, p, loop_load(e->arena, w->out, at));
        for (int closes = 2 + few + some; closes > 0; closes--)
                emit_end(e);
}

void groups_write_results(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int part = warp_tile_part(t);
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *at = emit_let(e, "sums_at", times(e, warp, t->rows * warp_tile_out(t)));
        for (int first = 0; first < t->vectors; first += part) {
                struct loop_stmt *s = warps_add(w, STMT_UNLOAD, 0);
                s->variable = w->sums;
                s->buffer = w->out;
                s->a = at;
                s->tiles = warps_shape(w);
                s->tiles.column = first;
                s->tiles.columns = part < t->vectors ? part : 0;
                s->tiles.step = warp_tile_out(t);
                write_rows(w, warp, at, first);
        }
        emit_end(e);
}
