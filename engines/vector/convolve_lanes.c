/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of convolve_lanes, where each lane is convolved by itself
 * (depthwise): a tile of rows * columns positions, one vector of lanes deep.
 *
 *      x      x0  x1  x2  x3  x4  x5
 *              \  |  /|  /|  /|  /
 *      acc      a0  a1  a2  a3                 a1 += x1 * w0; a1 += x2 * w1; a1 += x3 * w2
 *
 * Every vector of x is loaded once for a tile and added to all sums whose windows contain it: at
 * stride 1, 3 columns by 3 rows.
 *
 * A window that fits (unroll says so: unroll >= its last two extents) stays in registers for all
 * positions of a block; otherwise it is read row by row, `unroll` offsets at a time. Such a kernel
 * is bound by the memory that x and the result lie in, so the loops read it in order: tasks,
 * images, outer spatial dimensions, blocks, rows of tiles, tiles, vectors of a block. */
#include "engines/vector/vector_engine.h"

#include "ir/target/engine.h"
#include "kernels/kernel_state.h"
#include "kernels/meeting.h"

struct lanes {
        struct kernel_state s;                 /* This is first, because functions of the kernel
                                                * state get a pointer to it. */
        int64_t depth;                  /* A block has this many lanes. */
        int64_t outer, rows, columns;   /* The window has `outer` offsets in all but its last two
                                         * dimensions, and rows by columns in those. */
        struct loop_expr *block;
        struct lane_part part;
        struct loop_expr *w_at;         /* The block's weights begin at this index. */
        struct loop_expr **resident;    /* Registers hold the block's whole window; NULL: they do
                                         * not. */
        struct loop_expr **starts;      /* Rows of the window begin at these indices of a circular
                                         * buffer; NULL: they are equally far apart. */
        struct loop_variable *sums;     /* It holds the sums of the tile, [rows * columns][1]. */
        struct loop_buffer *first;      /* Sums start from this buffer, which has one number per
                                         * lane of each block; NULL: from zero. */
};

/* Loads a vector as the sums are: floats hold sums of bytes exactly. */
static struct loop_expr *load(struct kernel_state *s, const char *name, struct loop_buffer *b,
                              struct loop_expr *at, int64_t add, int live)
{
        return state_load_as(s, s->multiply->x.word, name, b, at, add, live);
}

/* ---- the sums ---- */

/* Loads number k of the window's weights, if it is not loaded yet. */
static struct loop_expr *weight(struct lanes *l, struct loop_expr **w, int k,
                                struct loop_expr *w_at)
{
        if (!w[k])
                w[k] = load(&l->s, "w", l->s.ws, w_at, k * l->depth, l->part.live);
        return w[k];
}

/* Writes the products of window_rows * window_columns offsets, unrolled. Where registers are few,
 * weights are loaded where they are used first. */
static void add_window(struct lanes *l, int rows, int columns, int window_rows, int window_columns,
                       struct loop_expr *x_at, struct loop_expr *w_at)
{
        struct kernel_state *s = &l->s;
        const struct spatial *last = &s->spatial[s->spatial_count - 1];
        struct spatial none = { .window = 1 },
                       *row = s->spatial_count > 1 ? &s->spatial[s->spatial_count - 2] : &none;
        int64_t across = (int64_t)rows * window_rows, along = (int64_t)columns * window_columns;
        struct meeting *ms = arena_array(s->arena, (size_t)(across + along), sizeof *ms),
                       *ns = ms + across;
        /* Rows in a circular buffer are those of one row of positions: none meet. */
        int m_count = meetings_find(ms, rows, window_rows, row->x_step,
                                    l->starts ? 1 : row->x_window);
        int n_count = meetings_find(ns, columns, window_columns, last->x_step, last->x_window);
        struct loop_expr **w = l->resident;
        if (!w) {
                w = arena_array(s->arena, (size_t)window_rows * (size_t)window_columns, sizeof *w);
                const bool late = target_engine(s->target)->single_sums &&
                                  (s->schedule.wide || window_rows > 1);
                for (int i = 0; i < window_rows * window_columns && !late; i++)
                        weight(l, w, i, w_at);
        }
        for (int m = 0, m_end; m < m_count; m = m_end) {
                const bool open = l->starts || (s->spatial_count > 1 &&
                                                !dim_is(row->x_pitch, 0) && ms[m].at);
                struct loop_expr *x_row = x_at;
                if (l->starts)
                        x_row = emit_let(s->e, "xi", plus(s->e, x_at, l->starts[ms[m].offset]));
                else if (open)
                        x_row = emit_let(s->e, "xi",
                                         plus(s->e, x_at, state_times(s, number(s->e, ms[m].at), 1,
                                                                      row->x_pitch)));
                m_end = meetings_end(ms, m, m_count);
                for (int n = 0, n_end; n < n_count; n = n_end) {
                        n_end = meetings_end(ns, n, n_count);
                        struct loop_expr *x =
                                load(s, "a", s->xs, x_row, (open ? 0 : ms[m].at) + ns[n].at,
                                     l->part.live);
                        for (int i = m; i < m_end; i++)
                                for (int k = n; k < n_end; k++)
                                        state_add(s, l->sums,
                                                  ms[i].position * columns + ns[k].position, 0, x,
                                                  weight(l, w,
                                                         ms[i].offset * window_columns +
                                                                 ns[k].offset, w_at));
                }
        }
}

/* Writes one row of the window, some offsets at a time. */
static void add_row(struct lanes *l, int rows, int columns, struct loop_expr *x_at,
                    struct loop_expr *w_at)
{
        struct emit *e = l->s.e;
        int unroll = l->s.schedule.unroll, rest = (int)(l->columns % unroll);
        int64_t whole = l->columns - rest, x_window = l->s.spatial[l->s.spatial_count - 1].x_window;
        if (whole) {
                struct loop_expr *k = number(e, 0);
                if (whole > unroll) {
                        k = emit_for(e, "k", k, number(e, whole));
                        emit_loop(e, unroll, false);
                }
                struct loop_expr *x = emit_let(e, "xk", plus(e, x_at, times(e, k, x_window)));
                struct loop_expr *w = emit_let(e, "wk", plus(e, w_at, times(e, k, l->depth)));
                add_window(l, rows, columns, 1, unroll, x, w);
                if (whole > unroll)
                        emit_end(e);
        }
        if (rest)
                add_window(l, rows, columns, 1, rest, plus(e, x_at, number(e, whole * x_window)),
                           plus(e, w_at, number(e, whole * l->depth)));
}

/* Sets the variable to where the next row of the window begins: rows of a circular buffer go on at
 * its front. */
static void next_slot(struct kernel_state *s, struct loop_variable *slot)
{
        struct emit *e = s->e;
        struct loop_expr *next = plus(e, loop_use(s->arena, slot), number(e, s->row_window)),
                         *size = number(e, s->slots->kept * s->slot);
        emit_set(e, slot,
                 loop_op(s->arena, LOOP_SELECT, emit_op(e, LOOP_LT, next, size), next,
                         minus(e, next, size)));
}

/* Is all of the window unrolled? Where sums have general registers, rows of a small one are
 * unrolled where they lie in a circular buffer, too, since each begins at a place of its own. */
static bool is_at_once(const struct lanes *l)
{
        enum { SMALL = 12 };
        const struct kernel_state *s = &l->s;
        const int64_t window = l->rows * l->columns;
        const bool small = s->row_start && target_engine(s->target)->single_sums && window <= SMALL;
        return (s->schedule.unroll >= window || small) && (!s->row_start || s->row_starts);
}

static void add_all(struct lanes *l, int rows, int columns, struct loop_expr *x_at,
                    struct loop_expr *w_at)
{
        struct kernel_state *s = &l->s;
        struct emit *e = s->e;
        struct loop_variable *slot = NULL;
        int opened = 0, count = s->spatial_count;
        const bool at_once = is_at_once(l);
        int64_t w_step = l->outer * l->rows * l->columns * l->depth;
        for (int d = 0; d + 1 < count && !(at_once && d == count - 2); d++, opened++) {
                const struct spatial *dimension = &s->spatial[d];
                w_step /= dimension->window;
                const bool slots = s->row_start && d == count - 2;
                /* The window begins in the slot: less than a slot behind where that begins. */
                const bool within = slots && !d && s->panels == 1;
                if (slots)
                        slot = emit_var(e, "slot", LOOP_TYPE(E_INDEX),
                                        within ? plus(e, x_at, s->row_start) : s->row_start);
                struct loop_expr *k = emit_for(e, "k", number(e, 0), number(e, dimension->window));
                struct loop_expr *along = slots ? loop_use(s->arena, slot)
                                                : state_times(s, k, dimension->x_window,
                                                              dimension->x_pitch);
                x_at = emit_let(e, "xi", within ? along : plus(e, x_at, along));
                w_at = emit_let(e, "wi", plus(e, w_at, times(e, k, w_step)));
        }
        if (at_once && s->schedule.wide)
                w_at = emit_let(e, "wi", w_at);
        l->starts = at_once ? s->row_starts : NULL;
        if (at_once)
                add_window(l, rows, columns, (int)l->rows, (int)l->columns, x_at, w_at);
        else
                add_row(l, rows, columns, x_at, w_at);
        if (slot && l->rows > 1)
                next_slot(s, slot);
        while (opened-- > 0)
                emit_end(e);
}

/* ---- tiles ---- */

static void begin_sums(struct lanes *l, int positions)
{
        struct kernel_state *s = &l->s;
        struct loop_expr *at = plus(s->e, times(s->e, l->block, l->depth), l->part.first),
                         *first = state_load(s, "first", l->first, at, 0, l->part.live);
        for (int i = 0; i < positions; i++)
                state_set(s, l->sums, i, 0, first);
}

static bool write_vectors(struct kernel_state *s, int rows, int columns)
{
        struct lanes *l = (struct lanes *)s;
        struct emit *e = s->e;
        struct loop_expr *x_at = plus(e, state_x(s), state_x_along(s, l->block, 1));
        x_at = emit_let(e, "x_at", plus(e, x_at, l->part.first));
        l->sums = state_sums(s, rows * columns, 1);
        if (l->first)
                begin_sums(l, rows * columns);
        add_all(l, rows, columns, x_at, plus(e, l->w_at, l->part.first));
        struct loop_stmt **stores = e->scope->block->end;
        for (int i = 0; i < rows * columns; i++) {
                struct loop_expr *index[RANK_MAX];
                state_index(s, i / columns, i % columns, index);
                index[1] = l->block;
                if (!state_store(s, loop_tile_entry(s->arena, l->sums, i, 0), index, l->part.first,
                                 l->part.live))
                        return false;
        }
        if (s->schedule.wide)
                state_name_loads(s, stores);
        return true;
}

static bool write_tile(struct kernel_state *s, int rows, int columns)
{
        struct lanes *l = (struct lanes *)s;
        return state_vectors(s, l->depth, &l->part, rows, columns, write_vectors);
}

/* ---- the kernel state ---- */

static bool write_blocks(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                         struct loop_expr *first, struct loop_expr *end)
{
        struct lanes *l = (struct lanes *)s;
        struct emit *e = s->e;
        int window = (int)(l->rows * l->columns);
        l->first = state_first(s);
        l->block = emit_for(e, "block", first, end);
        l->w_at = emit_let(e, "w_at", times(e, l->block, l->outer * window * l->depth));
        l->resident = NULL;
        if (s->schedule.unroll >= window && l->outer == 1 && l->depth == s->lanes &&
            !s->schedule.wide && (!s->row_start || s->row_starts)) {
                struct loop_expr **w = arena_array(s->arena, (size_t)window, sizeof *w);
                for (int i = 0; i < window; i++)
                        w[i] = load(s, "w", s->ws, l->w_at, i * l->depth, s->lanes);
                l->resident = w;
        }
        bool strips = state_open_strips(s, &from, &to),
             good = !s->prologue || prologue_write(s, from, to, l->block);
        good = good && state_each_tile(s, from, to, write_tile);
        if (strips)
                emit_end(e);
        emit_end(e);
        return good;
}

struct kernel_state *lanes_prepare(const struct kernel_state *common)
{
        struct lanes *l = ARENA_NEW(common->arena, struct lanes);
        const struct type *x = op_operand(common->op, 0)->type;
        const struct type *w = op_operand(common->op, 1)->type;
        l->s = *common;
        struct kernel_state *s = &l->s;
        if (!s->multiply || element_is_integer(op_accumulator(s->op)))
                s->multiply = multiply_find(s->target, x->element, w->element, false, s->lanes, 1,
                                             0);
        if (!s->multiply)
                return NULL;
        s->write = write_blocks;
        s->panels = type_extent(x, 1);
        s->few_rests = true;
        l->depth = type_extent(x, x->rank - 1);
        state_spatial(s, 1);
        state_tiling(s);
        if (s->prologue)
                prologue_memory(s, 1);
        int k = s->spatial_count;
        l->columns = s->spatial[k - 1].window;
        l->rows = k > 1 ? s->spatial[k - 2].window : 1;
        l->outer = 1;
        for (int d = 0; d < k - 2; d++)
                l->outer *= s->spatial[d].window;
        return s->x.stride[s->rank - 1] == 1 && s->row.size * s->column.size <= TILE_MAX ? s : NULL;
}
