/* SPDX-License-Identifier: MIT */
/* Computes the largest of windows of a convolution's sums, in the tile that holds these: rows
 * first, in place, then columns, which become contiguous.
 *
 *     for column, tap, row:   sums[row][column * step] = max(.., sums[row][column * step + tap])
 *     pooled = 0
 *     for row, column:        pooled[row][column] += sums[row * step][column * step]
 *     for tap, row, column:   pooled[row][column] = max(.., sums[row * step + tap][column * step])
 *
 * Operations that keep the order of sums are applied to the results. In place, a column is done
 * before the next one, so that it reads sums that have not been changed. Sums outside of the image
 * are -2^29, which an immediate and a shift make. */
#include "engines/stream/streams_layer.h"

static struct loop_expr *smaller(struct layer *l, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(l->e, LOOP_MIN, a, b);
}
static struct loop_expr *larger(struct layer *l, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(l->e, LOOP_MAX, a, b);
}

/* Returns the index of the sum at a place of the plane. */
static struct loop_expr *plane_at(struct layer *l, struct loop_expr *block, struct loop_expr *row,
                                  struct loop_expr *column)
{
        struct loop_expr *at = plus(l, product(l, block, l->plane_rows), row);
        return times(l, plus(l, product(l, at, l->plane_columns), column), l->lanes_out);
}

/* ---- the place of a tile ---- */

struct along { struct loop_expr *from, *count, *plane, *outside; };

static struct along open_along(struct layer *l, int d, struct loop_expr *at,
                               struct loop_expr *results, const char *const names[4])
{
        const struct stream_work *w = &l->work;
        struct along a;
        struct loop_expr *first =
                emit_let(l->e, names[0],
                         minus(l, times(l, at, w->pool_strides[d]), number(l, w->pool_pads[d])));
        a.plane = emit_let(l->e, names[1],
                           plus(l, times(l, results, w->pool_strides[d]),
                                number(l, w->pool_window[d] - w->pool_strides[d])));
        a.from = emit_let(l->e, names[2], larger(l, first, number(l, 0)));
        a.outside = minus(l, a.from, first);
        a.count = emit_let(
                l->e, names[3],
                minus(l, smaller(l, plus(l, first, a.plane), number(l, w->convolved[d])), a.from));
        return a;
}

void stream_open_pooled(struct layer *l)
{
        static const char *const rows[] = { "first_row", "plane_rows", "sum_row", "row_count" },
                                 *const columns[] = { "first_column", "plane_columns", "sum_column",
                                                      "column_count" };
        const struct schedule_stream *s = &l->schedule;
        l->pooled_row = stream_loop_tiles(l, "rows", l->work.extent[0], s->tile_rows);
        l->pooled_rows =
                stream_left(l, "pooled_rows", l->work.extent[0], l->pooled_row, s->tile_rows);
        const struct along down = open_along(l, 0, l->pooled_row, l->pooled_rows, rows);
        l->row = down.from;
        l->rows = down.count;
        l->plane_rows = down.plane;
        l->top = down.outside;
        l->x_rows = stream_reads(l, "x_rows", 0, l->rows);
        l->pooled_column = stream_loop_tiles(l, "columns", l->work.extent[1], s->tile_columns);
        l->pooled_columns = stream_left(l, "pooled_columns", l->work.extent[1], l->pooled_column,
                                        s->tile_columns);
        const struct along across = open_along(l, 1, l->pooled_column, l->pooled_columns, columns);
        l->column = across.from;
        l->columns = across.count;
        l->plane_columns = across.plane;
        l->left = across.outside;
        l->x_columns = stream_reads(l, "x_columns", 1, l->columns);
}

/* ---- outside ---- */

/* Clears `rows` by `columns` sums from a place of the plane on. */
static void clear(struct layer *l, struct loop_expr *row, struct loop_expr *column,
                  struct loop_expr *rows, struct loop_expr *columns)
{
        enum { LEAST = -(1 << 14), SHIFT = 15 };
        for (int k = 0; k < 2; k++) {
                struct loop_expr *i = loop(l, "row", rows), *j = loop(l, "column", columns),
                                 *block = loop(l, "block", l->outputs);
                struct loop_expr *at = plane_at(l, block, plus(l, row, i), plus(l, column, j));
                loop_apply_immediate(l->e->arena, here(l), k ? LOOP_SHL : LOOP_ADD,
                                     place(l->sums, at), k ? SHIFT : LEAST);
                close_loops(l, 3);
        }
}

void stream_clear_outside(struct layer *l)
{
        struct loop_expr *zero = number(l, 0), *below = plus(l, l->top, l->rows),
                         *behind = plus(l, l->left, l->columns);
        bool inside = true;
        for (int d = 0; d < 2; d++) {
                const struct stream_work *w = &l->work;
                inside &= !w->pool_pads[d] &&
                          (w->extent[d] - 1) * w->pool_strides[d] + w->pool_window[d] <=
                                  w->convolved[d];
        }
        if (inside)
                return;
        clear(l, zero, zero, l->top, l->plane_columns);
        clear(l, below, zero, minus(l, l->plane_rows, below), l->plane_columns);
        clear(l, l->top, zero, l->rows, l->left);
        clear(l, l->top, behind, l->rows, minus(l, l->plane_columns, behind));
}

/* ---- windows ---- */

static void pool_rows(struct layer *l)
{
        const int64_t step = l->work.pool_strides[1], taps = l->work.pool_window[1] - 1;
        if (!taps)
                return;
        struct loop_expr *column = loop(l, "column", l->pooled_columns),
                         *tap = loop(l, "tap", number(l, taps)),
                         *row = loop(l, "row", product(l, l->outputs, l->plane_rows));
        struct loop_expr *to = times(l, column, step), *zero = number(l, 0);
        loop_apply(l->e->arena, here(l), LOOP_MAX, place(l->sums, plane_at(l, zero, row, to)),
                   place(l->sums, plane_at(l, zero, row, plus(l, to, plus(l, tap, number(l, 1))))));
        close_loops(l, 3);
}

static void pool_columns(struct layer *l, struct loop_buffer *pooled)
{
        const int64_t *step = l->work.pool_strides;
        struct loop_expr *i =
                loop(l, "i", product(l, product(l, l->outputs, l->pooled_rows), l->pooled_columns));
        loop_reset(l->e->arena, here(l), place(pooled, times(l, i, l->lanes_out)));
        close_loops(l, 1);
        for (int64_t tap = 0; tap < l->work.pool_window[0]; tap++) {
                struct loop_expr *row = loop(l, "row", l->pooled_rows),
                                 *column = loop(l, "column", l->pooled_columns),
                                 *block = loop(l, "block", l->outputs);
                struct loop_expr *at =
                        plus(l,
                             product(l, plus(l, product(l, block, l->pooled_rows), row),
                                     l->pooled_columns),
                             column);
                loop_apply(l->e->arena, here(l), tap ? LOOP_MAX : LOOP_ADD,
                           place(pooled, times(l, at, l->lanes_out)),
                           place(l->sums,
                                 plane_at(l, block, plus(l, times(l, row, step[0]), number(l, tap)),
                                          times(l, column, step[1]))));
                close_loops(l, 3);
        }
}

void stream_pool(struct layer *l)
{
        const struct schedule_stream *s = &l->schedule;
        struct loop_buffer *pooled = memory(
                l, "pooled", l->m->sums, (int64_t)s->tile_outputs * s->tile_rows * s->tile_columns);
        pool_rows(l);
        pool_columns(l, pooled);
        l->sums = pooled;
        l->row = l->pooled_row;
        l->column = l->pooled_column;
        l->rows = l->plane_rows = l->pooled_rows;
        l->columns = l->plane_columns = l->pooled_columns;
        l->top = l->left = number(l, 0);
}
