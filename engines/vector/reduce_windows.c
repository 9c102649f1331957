/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of reduce_window over lanes (pooling): a tile of columns, one
 * vector of lanes deep. As in convolve_lanes.c every vector of x is loaded once for a row of the
 * window and combined with all results whose windows contain it.
 *
 *      x      x0  x1  x2  x3  x4  x5
 *              \  |  /|  /|  /|  /
 *      best     b0  b1  b2  b3
 *
 * Windows that reach beyond x have fewer elements. Along the columns the code is specialized for
 * that (the first and the last tiles differ from those between); along the other dimensions, and
 * for single columns at the ends where a run gives how many there are, the bounds of loops express
 * it.
 *
 * Each result combines its elements in the order of the canonical lowering, so it is the same to
 * the bit. */
#include "engines/vector/vector_engine.h"
#include "ir/tensor/relation.h"
#include "kernels/kernel_state.h"
#include "kernels/meeting.h"

/* At most this many tiles have code of their own, which contains at most this many offsets. */
enum { CLIPPED_MAX = 8, OFFSETS_MAX = 512 };

struct windows {
        struct kernel_state s;                 /* This is first, because functions of the kernel
                                                * state get a pointer to it. */
        enum reducer kind;
        int64_t depth;                  /* A block has this many lanes. */
        struct tap taps[RANK_MAX];      /* The spatial dimensions have these taps. */
        struct loop_expr *block;
        struct lane_part part;
        bool one;                       /* The tile is a column whose window may reach beyond x. */
        struct loop_variable *best;     /* The tile has these results, [columns][1]. */
};

static const struct tap *columns_of(const struct windows *w)
{
        return &w->taps[w->s.spatial_count - 1];
}

/* Does a window of the columns from..to reach beyond x? */
static bool is_clipped(const struct windows *w, int64_t from, int64_t to)
{
        const struct tap *tap = columns_of(w);
        return from * tap->stride < tap->low ||
               (to - 1) * tap->stride + (tap->window - 1) * tap->dilation - tap->low >= tap->extent;
}

/* Returns the first column of a tile. */
static int64_t tile_start(const struct tiling *tiling, int64_t tile)
{
        return tile <= tiling->large ? tile * tiling->size
                                     : tiling->large + tile * (tiling->size - 1);
}

/* ---- a tile ---- */

static void combine(struct windows *w, int column, struct loop_expr *x)
{
        struct kernel_state *s = &w->s;
        struct loop_expr *args[] = { loop_tile_entry(s->arena, w->best, column, 0), x };
        state_set(s, w->best, column, 0,
                  emit_formula(s->e, reducer_info[w->kind].formula, args, 2));
}

/* Writes one row of the window, for the columns from position `start` on, which is a literal where
 * some of the row may lie outside of x. */
static void combine_row(struct windows *w, int columns, struct loop_expr *start,
                        struct loop_expr *x_at)
{
        struct kernel_state *s = &w->s;
        const struct tap *tap = columns_of(w);
        int64_t x_step = s->x.stride[s->rank - 2], known;
        struct meeting *m = arena_array(s->arena, (size_t)columns * (size_t)tap->window, sizeof *m);
        int count = meetings_find(m, columns, (int)tap->window, tap->stride, tap->dilation);
        bool clipped = loop_is_int(start, &known) && is_clipped(w, known, known + columns);
        for (int i = 0, end; i < count; i = end) {
                end = meetings_end(m, i, count);
                int64_t place = clipped ? known * tap->stride + m[i].at - tap->low : 0;
                if (place < 0 || (clipped && place >= tap->extent))
                        continue;
                struct loop_expr *x = state_load(s, "a", s->xs, x_at, (m[i].at - tap->low) * x_step,
                                                 w->part.live);
                for (int k = i; k < end; k++)
                        combine(w, m[k].position, x);
        }
}

/* Writes the row of the window of one column, which may reach beyond x. */
static void combine_clipped(struct windows *w, struct loop_expr *x_at)
{
        struct kernel_state *s = &w->s;
        const int last = s->spatial_count - 1;
        struct loop_expr *k, *at;
        int opened = emit_tap(s->e, columns_of(w), emit_spatial_suffix(s->e, last, last + 1),
                              s->position[last], &k, &at);
        x_at = plus(s->e, x_at, state_x_along(s, at, 2 + last));
        combine(w, 0, state_load(s, "a", s->xs, x_at, 0, w->part.live));
        while (opened-- > 0)
                emit_end(s->e);
}

static bool write_vectors(struct kernel_state *s, int rows, int columns)
{
        (void)rows;
        struct windows *w = (struct windows *)s;
        struct emit *e = s->e;
        int last = s->spatial_count - 1, opened = 0;
        struct loop_expr *identity = emit_identity(e, w->kind, s->multiply->sum, s->multiply->sum);
        w->best = state_sums(s, columns, 1);
        for (int i = 0; i < columns && w->kind != REDUCE_sum; i++)
                state_set(s, w->best, i, 0, loop_splat(s->arena, s->lanes, identity));
        struct loop_expr *x_at = plus(e, state_x_image(s), state_x_along(s, w->block, 1));
        x_at = plus(e, x_at, w->part.first);
        if (!w->one)
                x_at = plus(e, x_at, times(e, s->position[last],
                                           columns_of(w)->stride * s->x.stride[2 + last]));
        for (int d = 0; d < last; d++) {
                struct loop_expr *k, *at;
                opened += emit_tap(e, &w->taps[d], emit_spatial_suffix(e, d, last + 1),
                                   s->position[d], &k, &at);
                x_at = plus(e, x_at, state_x_along(s, at, 2 + d));
        }
        x_at = emit_let(e, "x_at", x_at);
        if (w->one)
                combine_clipped(w, x_at);
        else
                combine_row(w, columns, s->position[last], x_at);
        while (opened-- > 0)
                emit_end(e);
        for (int i = 0; i < columns; i++) {
                struct loop_expr *index[RANK_MAX];
                state_index(s, 0, i, index);
                index[1] = w->block;
                if (!state_store(s, loop_tile_entry(s->arena, w->best, i, 0), index, w->part.first,
                                 w->part.live))
                        return false;
        }
        return true;
}

/* ---- the kernel state ---- */

/* Writes all columns of a row: clipped tiles one by one, and the tiles of one size between them in
 * a loop. */
static bool write_columns(struct windows *w)
{
        struct kernel_state *s = &w->s;
        const struct tiling *tiling = &s->column;
        bool good = true;
        for (int64_t tile = 0, end; tile < tiling->count && good; tile = end) {
                bool clipped =
                             is_clipped(w, tile_start(tiling, tile), tile_start(tiling, tile + 1)),
                     large = tile < tiling->large;
                for (end = tile + 1;
                     end < tiling->count && !clipped && (end < tiling->large) == large; end++)
                        if (is_clipped(w, tile_start(tiling, end), tile_start(tiling, end + 1)))
                                break;
                struct loop_expr *column =
                        emit_for(s->e, "column", number(s->e, tile), number(s->e, end));
                if (end == tile + 1)
                        column = number(s->e, tile);
                column = times(s->e, column, tiling_size(tiling, large));
                s->position[s->spatial_count - 1] =
                        plus(s->e, column, number(s->e, large ? 0 : tiling->large));
                good = state_vectors(s, w->depth, &w->part, 1, tiling_size(tiling, large),
                                     write_vectors);
                emit_end(s->e);
        }
        return good;
}

static bool write_tile(struct kernel_state *s, int rows, int columns)
{
        struct windows *w = (struct windows *)s;
        return state_vectors(s, w->depth, &w->part, rows, columns, write_vectors);
}

/* Writes the columns from..to, whose windows may reach beyond x, one by one. */
static bool write_single(struct windows *w, struct loop_expr *from, struct loop_expr *to)
{
        struct kernel_state *s = &w->s;
        s->position[s->spatial_count - 1] = emit_for(s->e, "column", from, to);
        w->one = true;
        const bool good = write_tile(s, 1, 1);
        w->one = false;
        emit_end(s->e);
        return good;
}

/* Writes all columns of a row where a run gives how many there are: those whose windows begin in
 * front of x, those inside, and those whose windows end behind it. */
static bool write_open_columns(struct windows *w)
{
        struct kernel_state *s = &w->s;
        struct emit *e = s->e;
        const struct tap *tap = columns_of(w);
        struct loop_expr *from = number(e, 0), *to = s->open;
        bool good = true;
        if (tap->low) {
                from = minimum(e, number(e, divide_up(tap->low, tap->stride)), to);
                from = emit_let(e, "inside", from);
                good = write_single(w, number(e, 0), from);
        }
        if (!tap->ends) {
                const int64_t more =
                        tap->low - (tap->window - 1) * tap->dilation - 1 + tap->stride;
                struct loop_expr *reach = plus(e, emit_dim(e, tap->of), number(e, more));
                reach = emit_op_int(e, LOOP_DIV, maximum(e, reach, number(e, 0)), tap->stride);
                to = emit_let(e, "behind", maximum(e, minimum(e, reach, to), from));
        }
        good = good && state_open_row(s, 1, from, to, number(e, 0), write_tile);
        return good && (tap->ends || write_single(w, to, s->open));
}

static bool write_blocks(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct windows *w = (struct windows *)s;
        w->block = emit_for(s->e, "block", first, end);
        if (s->spatial_count > 1)
                s->position[s->spatial_count - 2] = emit_for(s->e, "row", from, to);
        bool good = s->open ? write_open_columns(w) : write_columns(w);
        if (s->spatial_count > 1)
                emit_end(s->e);
        emit_end(s->e);
        return good;
}

static bool find_taps(struct windows *w)
{
        const struct op *op = w->s.op;
        int last = op_result(op)->type->rank - 1;
        for (int d = 0; d <= last; d++)
                if (d >= 2 && d < last)
                        w->taps[d - 2] = emit_tap_of(op, d);
                else if (!relation_keeps(op, 0, d))
                        return false;
        return true;
}

/* Is the unrolled code small, and can it be computed without overflow? */
static bool is_small(const struct windows *w)
{
        const struct tiling *tiling = &w->s.column;
        const struct tap *tap = columns_of(w);
        int clipped = 0;
        if (tiling->size * tap->window > OFFSETS_MAX || tiling->size > TILE_MAX || tap->low < 0 ||
            tap->low > INT32_MAX || tap->stride > INT32_MAX || tap->dilation > INT32_MAX)
                return false;
        for (int64_t tile = 0; tile < tiling->count && clipped <= CLIPPED_MAX && !w->s.open; tile++)
                clipped += is_clipped(w, tile_start(tiling, tile), tile_start(tiling, tile + 1));
        return clipped <= CLIPPED_MAX;
}

bool windows_serve(const struct op *op, const struct target *target)
{
        (void)target;
        const struct type *y = op_result(op)->type;
        return type_is_static_from(y, 1) || (y->rank > 2 && dim_is_static(y->dims[1]) &&
                                             dim_is_static(y->dims[y->rank - 1]));
}

struct kernel_state *windows_prepare(const struct kernel_state *common)
{
        struct windows *w = ARENA_NEW(common->arena, struct windows);
        struct kernel_state *s = &w->s;
        *s = *common;
        const struct type *y = op_result(s->op)->type;
        if (s->rank < 4 || op_accumulator(s->op) != s->multiply->sum ||
            s->x.stride[s->rank - 1] != 1 || type_is_empty(y) || !find_taps(w))
                return NULL;
        w->kind = (enum reducer)op_int(s->op, "kind");
        w->depth = type_extent(y, s->rank - 1);
        s->write = write_blocks;
        s->panels = type_extent(y, 1);
        s->spatial_count = s->rank - 3;
        for (int d = 0; d < s->spatial_count; d++) {
                const dim_t extent = y->dims[2 + d];
                s->open = dim_is_static(extent) ? NULL : emit_dim(s->e, extent);
                s->spatial[d] = (struct spatial){ .extent = dim_bound(op_module(s->op), extent),
                                                  .open = s->open };
        }
        s->few_rests = true;
        s->schedule.rows = 1;
        s->all_rows = s->spatial_count == 1;      /* The columns are not shared by tasks. */
        if (s->all_rows)
                s->schedule.row_tasks = 1;
        state_tiling(s);
        return is_small(w) ? s : NULL;
}
