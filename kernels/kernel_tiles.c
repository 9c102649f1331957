/* SPDX-License-Identifier: MIT */
/* Loops over the tiles of a kernel, which are neighbouring positions that are computed together: in
 * strips, and where a run gives the number of positions, with smaller tiles for what is left. */
#include "kernels/kernel_state.h"

static bool state_tiles(struct kernel_state *s, const struct tiling *tiling, bool large,
                        const char *name, struct loop_expr *from, struct loop_expr *to,
                        struct loop_expr **tile, struct loop_expr **at)
{
        struct emit *e = s->e;
        if (large ? !tiling->large : tiling->large == tiling->count)
                return false;
        if (large && tiling->large < tiling->count)
                to = minimum(e, to, number(e, tiling->large));
        if (!large && tiling->large)
                from = maximum(e, from, number(e, tiling->large));
        *tile = emit_for(e, name, from, to);
        *at = plus(e, times(e, *tile, tiling_size(tiling, large)),
                   number(e, large ? 0 : tiling->large));
        return true;
}

struct loop_expr *state_tile_start(struct kernel_state *s, const struct tiling *tiling,
                                   struct loop_expr *tile)
{
        struct emit *e = s->e;
        if (tiling->large == tiling->count)
                return times(e, tile, tiling->size);
        struct loop_expr *start = times(e, tile, tiling->size - 1);
        return tiling->large ? plus(e, start, minimum(e, tile, number(e, tiling->large))) : start;
}

/* Writes `count` tiles of `columns` positions from *at on, which becomes the first position behind
 * them. */
static bool open_tiles(struct kernel_state *s, int rows, int columns, struct loop_expr **at,
                       struct loop_expr *count, struct loop_expr *before,
                       bool (*tile)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        struct loop_expr *column = emit_for(e, "column", number(e, 0), count);
        s->position[s->spatial_count - 1] = plus(e, *at, times(e, column, columns));
        s->tile_number = plus(e, before, column);
        bool good = tile(s, rows, columns);
        emit_end(e);
        if (columns > 1)
                *at = emit_let(e, "at", plus(e, *at, times(e, count, columns)));
        return good;
}

/* ---- what is left behind whole tiles ---- */

/* Tiles of four and of three positions make any number from six on. Eight positions are one tile,
 * unless one or two are left behind it. One, two and five positions have tiles of their own; five
 * are a tile of two and one of three where a whole tile has four. A tile of fewer than three
 * positions takes about as long as one of three, because its weights come from the second-level
 * cache: one or two positions behind a whole tile share smaller tiles with its positions. */
enum { REST_THREE = 3, REST_FOUR = 4, REST_EIGHT = 8, REST_SHORT = 2, REST_MOST = 30 };
enum { REST_EIGHTS = 12 };      /* Few numbers less than a whole tile of fewer positions, or
                                 * one or two more, have a tile of eight. */
static const int rest_alone[] = { 5, 2, 1 };
enum { REST_ALONE = sizeof rest_alone / sizeof *rest_alone };

/* Returns the numbers of positions left, a bit each, that share tiles with a whole tile. */
static unsigned rests_to_join(int columns)
{
        return columns < REST_FOUR ? 0 : 1u << 1 | 1u << REST_SHORT;
}

/* Is a bit of a constant set, by its number? */
static struct loop_expr *bit_of(struct emit *e, unsigned bits, struct loop_expr *at)
{
        return emit_op_int(e, LOOP_REM, emit_op(e, LOOP_SHR, number(e, bits), at), 2);
}

/* Returns the numbers of positions, a bit each, of which eights would leave one or two: they have a
 * tile of eight less. */
static unsigned eights_less(void)
{
        unsigned numbers = 0;
        for (int n = REST_EIGHT; n <= REST_MOST; n++)
                if (n % REST_EIGHT && n % REST_EIGHT <= REST_SHORT)
                        numbers |= 1u << n;
        return numbers;
}

/* Writes `rest` positions from `at` on. */
static bool open_rest(struct kernel_state *s, int rows, struct loop_expr *at,
                      struct loop_expr *rest, struct loop_expr *before,
                      bool (*tile)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        const int columns = s->column.size;
        if (columns >= REST_EIGHTS) {
                struct loop_expr *eights = emit_op_int(e, LOOP_DIV, rest, REST_EIGHT);
                eights = emit_let(e, "tiles", minus(e, eights, bit_of(e, eights_less(), rest)));
                if (!open_tiles(s, rows, REST_EIGHT, &at, eights, before, tile))
                        return false;
                rest = emit_let(e, "rest", minus(e, rest, times(e, eights, REST_EIGHT)));
        }
        for (int i = 0; i < REST_ALONE; i++) {
                const int size = rest_alone[i];
                unsigned rests = 1u << size;    /* What is left then has a tile of this size. */
                if (size == REST_SHORT && columns == REST_FOUR)
                        rests |= 1u << (REST_SHORT + REST_THREE);
                if (size >= columns)
                        continue;
                struct loop_expr *count = emit_let(e, "tiles", bit_of(e, rests, rest));
                if (!open_tiles(s, rows, size, &at, count, before, tile))
                        return false;
                if (columns > REST_THREE)
                        rest = emit_let(e, "rest", minus(e, rest, times(e, count, size)));
        }
        if (columns <= REST_THREE)
                return true;
        /* As many tiles of three as leave a multiple of four. */
        struct loop_expr *threes = emit_op_int(
                e, LOOP_REM, minus(e, number(e, REST_MOST + 2), rest), REST_FOUR);
        threes = emit_let(e, "tiles", threes);
        if (!open_tiles(s, rows, REST_THREE, &at, threes, before, tile))
                return false;
        if (columns <= REST_FOUR)
                return true;
        struct loop_expr *fours = minus(e, rest, times(e, threes, REST_THREE));
        fours = emit_let(e, "tiles", emit_op_int(e, LOOP_DIV, fours, REST_FOUR));
        return open_tiles(s, rows, REST_FOUR, &at, fours, before, tile);
}

/* Writes the rest in tiles of powers of two, of up to half a whole tile: less code. */
static bool open_powers(struct kernel_state *s, int rows, struct loop_expr *at,
                        struct loop_expr *end, struct loop_expr *before,
                        bool (*tile)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        const int columns = s->column.size;
        int less = 1;
        bool good = true;
        while (4 * less <= columns)
                less *= 2;
        for (; less >= 1 && less < columns && good; less /= 2) {
                struct loop_expr *count = emit_op_int(e, LOOP_DIV, minus(e, end, at), less);
                count = less > 1 ? emit_let(e, "tiles", count) : count;
                good = open_tiles(s, rows, less, &at, count, before, tile);
        }
        return good;
}

bool state_open_row(struct kernel_state *s, int rows, struct loop_expr *at, struct loop_expr *end,
                    struct loop_expr *before,
                    bool (*tile)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        const int columns = s->column.size;
        struct loop_expr *count = emit_op_int(e, LOOP_DIV, minus(e, end, at), columns),
                         *rest = NULL;
        const bool fine = !s->few_rests && columns + REST_SHORT <= REST_MOST;
        count = columns > 1 ? emit_let(e, "tiles", count) : count;
        if (fine && columns > 1) {
                rest = emit_let(e, "rest", minus(e, minus(e, end, at), times(e, count, columns)));
                const unsigned joins = rests_to_join(columns);
                if (joins) {
                        struct loop_expr *less =
                                emit_let(e, "less", minimum(e, count, bit_of(e, joins, rest)));
                        count = emit_let(e, "tiles", minus(e, count, less));
                        rest = emit_let(e, "rest", plus(e, rest, times(e, less, columns)));
                }
        }
        if (!open_tiles(s, rows, columns, &at, count, before, tile))
                return false;
        return columns == 1 ? true
               : fine       ? open_rest(s, rows, at, rest, before, tile)
                            : open_powers(s, rows, at, end, before, tile);
}

/* Writes the tiles in the rows of tiles from..to where a run gives the positions. */
static bool open_each_tile(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                           bool (*tile)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        bool good = true;
        if (s->spatial_count == 1) {
                struct loop_expr *end =
                        to == s->open_tiles
                                ? s->open
                                : emit_let(e, "end",
                                           minimum(e, times(e, to, s->column.size), s->open));
                return state_open_row(s, 1, times(e, from, s->column.size), end, number(e, 0),
                                      tile);
        }
        for (int r = 1; r >= 0 && good; r--) {
                struct loop_expr *row;
                if (!state_tiles(s, &s->row, r, "row", from, to, &row,
                                 &s->position[s->spatial_count - 2]))
                        continue;
                good = state_open_row(s, tiling_size(&s->row, r), number(e, 0), s->open,
                                times(e, minus(e, row, from), s->column.count), tile);
                emit_end(e);
        }
        return good;
}

bool state_each_tile(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                     bool (*tile)(struct kernel_state *s, int rows, int columns))
{
        struct emit *e = s->e;
        bool one = s->spatial_count == 1, good = true;
        struct loop_expr *row = number(e, 0), *column = number(e, 0);
        if (s->open)
                return open_each_tile(s, from, to, tile);
        for (int r = 1; r >= 0 && good; r--) {
                if (s->one_row && !one)
                        s->position[s->spatial_count - 2] = row = from;
                if (one || s->one_row ? !r
                                      : !state_tiles(s, &s->row, r, "row", from, to, &row,
                                                     &s->position[s->spatial_count - 2]))
                        continue;
                for (int c = 1; c >= 0 && good; c--) {
                        if (s->enter && (c ? s->column.large : s->column.large < s->column.count))
                                s->enter(s, tiling_size(&s->row, r), tiling_size(&s->column, c));
                        struct loop_expr *begin = one             ? from
                                                  : s->first_tile ? s->first_tile
                                                                  : number(e, 0);
                        struct loop_expr *end = one           ? to
                                                : s->end_tile ? s->end_tile
                                                              : number(e, s->column.count);
                        if (!state_tiles(s, &s->column, c, "column", begin, end, &column,
                                        &s->position[s->spatial_count - 1]))
                                continue;
                        struct loop_expr *before = emit_op(e, LOOP_SUB, one ? column : row, from);
                        s->tile_number =
                                one ? before : plus(e, times(e, before, s->column.count), column);
                        good = tile(s, tiling_size(&s->row, r), tiling_size(&s->column, c));
                        emit_end(e);
                }
                if (!one && !s->one_row)
                        emit_end(e);
        }
        return good;
}

bool state_open_strips(struct kernel_state *s, struct loop_expr **from, struct loop_expr **to)
{
        struct emit *e = s->e;
        int64_t strip = s->schedule.strip;
        if (!strip || strip >= (s->spatial_count == 1 ? s->column.count : s->row.count))
                return false;
        struct loop_expr *at = emit_for(e, "strip", *from, *to);
        emit_loop(e, strip, false);
        *to = emit_let(e, "strip_end", minimum(e, plus(e, at, number(e, strip)), *to));
        *from = at;
        return true;
}

/* Is a step, of `step` times the pitch, that of `count` positions? */
static bool is_step_of(struct module *m, int64_t step, dim_t pitch, dim_t count, int64_t by)
{
        const dim_t all = dim_is(pitch, 0) ? dim_of(step)
                                           : dim_binary(m, DIM_MUL, pitch, dim_of(step));
        return !dim_equal(count, DIM_NONE) &&
               dim_equal(all, dim_binary(m, DIM_MUL, count, dim_of(by)));
}

/* Merges the spatial dimensions into one, where they can be iterated as one. */
static void flatten(struct kernel_state *s)
{
        struct module *m = op_module(s->op);
        const struct type *y = op_result(s->op)->type;
        struct spatial one = s->spatial[s->spatial_count - 1];
        dim_t count = dim_of(1);
        if (s->border || (s->prologue && prologue_has_halo(s->prologue)))
                return;
        unsigned splits = emit_local(s->e, s->result)->splits;
        for (int d = s->spatial_count - 1; d >= 0; d--) {
                const struct spatial *old = &s->spatial[d];
                bool last = d == s->spatial_count - 1;
                if (old->window != 1 || (!last && splits >> (2 + d + 1) & 1) ||
                    (!last && old->extent > 1 &&
                     (!is_step_of(m, old->x_step, old->x_pitch, count, one.x_step) ||
                      !is_step_of(m, old->y_step, old->y_pitch, count, one.y_step))))
                        return;
                if (!last)
                        one.extent *= old->extent;
                count = dim_binary(m, DIM_MUL, y->dims[2 + d], count);
        }
        if (dim_equal(count, DIM_NONE))
                return;
        s->open = one.open = dim_is_static(count) ? NULL : emit_dim(s->e, count);
        s->spatial[0] = one;
        s->spatial_count = 1;
}

void state_spatial(struct kernel_state *s, int window)
{
        const struct type *y = op_result(s->op)->type, *w = op_operand(s->op, 1)->type;
        const int64_t *strides = op_ints(s->op, "strides", NULL);
        const int64_t *dilations = op_ints(s->op, "dilations", NULL);
        s->spatial_count = s->rank - 3;
        for (int d = 0; d < s->spatial_count; d++) {
                const dim_t extent = y->dims[2 + d];
                s->open = dim_is_static(extent) ? NULL : emit_dim(s->e, extent);
                s->spatial[d] =
                        (struct spatial){ .extent = dim_bound(op_module(s->op), extent),
                                          .open = s->open,
                                          .window = type_extent(w, window + d),
                                          .x_step = s->x.stride[2 + d] * strides[d],
                                          .x_window = s->x.stride[2 + d] * dilations[d],
                                          .x_pitch = s->x.pitch[2 + d],
                                          .y_step = s->y.stride[2 + d],
                                          .y_pitch = s->y.pitch[2 + d] };
        }
        if (s->prologue)
                prologue_spatial(s);
        if (s->schedule.flat)
                flatten(s);
}

void state_tiling(struct kernel_state *s)
{
        int k = s->spatial_count;
        if (k > 1 && s->spatial[k - 2].open)
                s->schedule.rows = 1;
        s->column = tiling_even(s->spatial[k - 1].extent, s->schedule.columns);
        s->row = tiling_even(k > 1 ? s->spatial[k - 2].extent : 1, s->schedule.rows);
}

struct loop_expr *state_x_image(struct kernel_state *s)
{
        const bool one = dim_is(op_operand(s->op, 0)->type->dims[0], 1);
        return one && !access_is_known(&s->x, 0)
                       ? s->x_start
                       : plus(s->e, s->x_start, state_x_along(s, s->image, 0));
}

struct loop_expr *state_x(struct kernel_state *s)
{
        struct emit *e = s->e;
        struct loop_expr *x = state_x_image(s);
        for (int d = 0; d < s->spatial_count; d++)
                x = plus(e, x, state_times(s, s->position[d], s->spatial[d].x_step,
                                           s->spatial[d].x_pitch));
        return x;
}

void state_index(struct kernel_state *s, int row, int column, struct loop_expr **index)
{
        int first = s->rank - 1 - s->spatial_count, last = s->rank - 2;
        for (int d = 0; d < s->rank; d++)
                index[d] = number(s->e, 0);
        index[0] = s->image;
        for (int d = 0; d < s->spatial_count; d++)
                index[first + d] = s->position[d];
        index[last] = plus(s->e, index[last], number(s->e, column));
        if (s->spatial_count > 1)
                index[last - 1] = plus(s->e, index[last - 1], number(s->e, row));
}
