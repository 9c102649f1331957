/* SPDX-License-Identifier: MIT */
/* Writes products whose blocks side by side are a cluster, which has whole rows of the result. The
 * results stay in distributed shared memory; after a barrier of the cluster each warp takes rows
 * out of it into memory of its own, and stores them. A kernel that reduces over rows of the result
 * can then be part of this one (engines/grid/fuse_launches_rows.c), so that it need not be
 * launched.
 *
 *                  block 0     block 1     block 2
 *                +-----------+-----------+-----------+
 *     row 0      |  made by 0   made by 1   made by 2|   stored by block 0, warp 0
 *     row 1      |                                   |            block 1, warp 0
 *     row 2      |                                   |            block 2, warp 0
 *     row 3      |                                   |            block 0, warp 1
 *                +-----------+-----------+-----------+ */
#include "engines/grid/warps.h"

bool warps_have_rows(const struct warps *w)
{
        const struct kernel_state *s = &w->s;
        int64_t step = w->outputs;
        if (s->ys->element != s->multiply->sum || s->sums->type->element != s->multiply->sum ||
            s->y.offset || s->between)
                return false;
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                if (s->spatial[d].extent > 1 && s->spatial[d].y_step != step)
                        return false;
                step *= s->spatial[d].extent;
        }
        return dim_is(op_result(s->op)->type->dims[0], 1) || s->y.stride[0] == step;
}

/* Returns the place in distributed shared memory of column number k of a lane in the row. */
static struct loop_expr *place_of(struct warps *w, struct loop_expr *row, struct loop_expr *k,
                                  struct loop_expr *lane)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int of_panel = t->vectors * t->lanes / GRID_LANES;
        struct loop_expr *block = times(e, emit_op_int(e, LOOP_DIV, k, of_panel * t->panels),
                                        t->parts * warp_tile_part(t));
        if (t->parts > 1)
                block = plus(e, block,
                             times(e, emit_op_int(e, LOOP_DIV, row, t->positions / t->parts),
                                   warp_tile_part(t)));
        struct loop_expr *panel =
                emit_op_int(e, LOOP_REM, emit_op_int(e, LOOP_DIV, k, of_panel), t->panels);
        struct loop_expr *in_panel =
                plus(e, times(e, emit_op_int(e, LOOP_REM, k, of_panel), GRID_LANES), lane);
        return plus(
                e, block,
                plus(e,
                     times(e, plus(e, times(e, panel, t->positions), row), warp_tile_part_row(t)),
                     in_panel));
}

static struct loop_buffer *alloc(struct warps *w, const char *name, int64_t extent)
{
        struct loop_buffer *b = ARENA_NEW(w->s.arena, struct loop_buffer);
        *b = (struct loop_buffer){ .name = emit_name(w->s.e, name),
                                   .element = w->s.multiply->sum,
                                   .extent = extent,
                                   .space = SPACE_STACK,
                                   .offset = -1,
                                   .access = ACCESS_INOUT };
        loop_append(w->s.arena, w->s.e->scope->block, STMT_ALLOC)->buffer = b;
        return b;
}

static struct loop_expr *open_columns(struct warps *w, int64_t count)
{
        struct loop_expr *k = emit_for(w->s.e, "k", number(w->s.e, 0), number(w->s.e, count));
        if (w->s.e->scope->stmt)
                w->s.e->scope->stmt->for_kind = FOR_UNROLL;
        return k;
}

/* A lane starts all its loads before its first store, so that they overlap. */
static void take_row(struct warps *w, struct loop_buffer *taken, struct loop_expr *row)
{
        struct emit *e = w->s.e;
        const int64_t count = taken->extent / GRID_LANES;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_buffer *values = alloc(w, "values", count);
        struct loop_expr *k = open_columns(w, count);
        emit_store(e, values, k, loop_load(e->arena, w->partial, place_of(w, row, k, lane)));
        emit_end(e);
        k = open_columns(w, count);
        emit_store(e, taken, plus(e, times(e, k, GRID_LANES), lane),
                   loop_load(e->arena, values, k));
        emit_end(e);
        emit_end(e);
}

static void store_row(struct warps *w, struct loop_buffer *taken, struct loop_expr *line)
{
        struct emit *e = w->s.e;
        const int64_t length = w->tile.length;
        struct loop_expr *lane = emit_grid(e, "lane", FOR_GPU_LANE, GRID_LANES);
        struct loop_expr *k = open_columns(w, taken->extent / GRID_LANES);
        struct loop_expr *column = emit_let(e, "column", plus(e, times(e, k, GRID_LANES), lane));
        const bool some = length % GRID_LANES != 0;
        if (some)
                emit_if(e, warps_less(w, column, length));
        emit_store(e, w->s.ys, plus(e, times(e, line, length), column),
                   loop_load(e->arena, taken, column));
        for (int closes = 2 + some; closes > 0; closes--)
                emit_end(e);
}

void warps_write_rows(struct warps *w)
{
        struct emit *e = w->s.e;
        const struct warp_tile *t = &w->tile;
        const int members = warp_tile_members(t), at_once = warps_count(w) * members;
        const bool some = warps_are_partial(w), uneven = t->positions % at_once != 0;
        struct loop_expr *warp = emit_grid(e, "warp", FOR_GPU_WARP, warps_count(w));
        struct loop_expr *iteration =
                emit_for(e, "iteration", number(e, 0), number(e, divide_up(t->positions, at_once)));
        struct loop_expr *row =
                plus(e, times(e, plus(e, times(e, iteration, warps_count(w)), warp), members),
                     w->number);
        row = emit_let(e, "row", row);
        if (uneven) {
                emit_if(e, warps_less(w, row, t->positions));
                row = emit_let(e, "within", emit_op(e, LOOP_MIN, row, number(e, t->positions - 1)));
        }
        struct loop_expr *p = emit_let(e, "p", plus(e, w->position, row));
        if (some)
                emit_if(e, warps_there(w, p));
        struct loop_buffer *taken = alloc(w, "taken", warps_row_length(t));
        take_row(w, taken, row);
        store_row(w, taken, p);
        for (int closes = 2 + uneven + some; closes > 0; closes--)
                emit_end(e);
}
