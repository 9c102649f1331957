/* The sums of a register tile. */
#include "kernels/tile.h"

enum { LINE_BYTES = 64, LINE = 16 };    /* of a cache line; channels that a counted sum has whole
                                         * turns of */

/* elements of w in a line */
static int64_t line_of(const struct stage *s)
{
        return LINE_BYTES / element_info[s->ws->element].bytes;
}

static int group_of(const struct tile *t) { return t->s->multiply ? t->s->multiply->group : 1; }

/* the words of w for vector j of outputs; w_add: to the first */
static struct loop_expr *load_w(const struct tile *t, struct loop_expr *w_at, int64_t w_add, int j)
{
        const struct stage *s = t->s;
        int group = group_of(t);
        struct loop_expr *at =
                plus(s->e, w_at, number(s->e, w_add + (int64_t)j * s->lanes * group));
        struct loop_expr *w =
                group > 1 ? loop_load_words(s->arena, s->ws, at, s->multiply->w.word, group,
                                            s->lanes)
                          : loop_cast(s->arena, s->multiply ? s->multiply->w.word : E_F32,
                                      loop_load_vector(s->arena, s->ws, at, s->lanes, NULL));
        return emit_let(s->e, "w", w);
}

/* the word of x at `at`, in every lane */
static struct loop_expr *load_x(const struct tile *t, struct loop_expr *at)
{
        const struct stage *s = t->s;
        int group = group_of(t);
        struct loop_expr *x = group > 1 ? loop_load_words(s->arena, t->xs, at, s->multiply->x.word,
                                                          group, 1)
                                        : loop_load(s->arena, t->xs, at);
        return emit_let(s->e, "a", loop_splat(s->arena, s->lanes, x));
}

void tile_open(struct tile *t)
{
        t->sums = stage_sums(t->s, t->s->schedule.split * t->rows * t->columns, t->vectors);
}

/* the products of one word of channels at one offset; set: which of the split sums */
static void add_products(const struct tile *t, struct loop_expr *x_at, struct loop_expr *w_at,
                         int64_t x_add, int64_t w_add, int set)
{
        struct emit *e = t->s->e;
        struct loop_expr *w[TILE_MAX];
        for (int j = 0; j < t->vectors; j++)
                w[j] = load_w(t, w_at, w_add, j);
        for (int i = 0; i < t->rows * t->columns; i++) {
                int64_t at = x_add + i % t->columns * t->column_step + i / t->columns * t->row_step;
                struct loop_expr *x = load_x(t, plus(e, x_at, number(e, at)));
                int row = set * t->rows * t->columns + i;
                for (int j = 0; j < t->vectors; j++)
                        stage_add(t->s, t->sums, row, j, x, w[j]);
        }
}

static void add_prefetch(const struct tile *t, struct loop_expr *done)
{
        struct emit *e = t->s->e;
        for (int i = 0; i < t->s->schedule.prefetch; i++) {
                struct loop_stmt *fetch = loop_append(t->s->arena, e->scope->block, STMT_PREFETCH);
                fetch->buffer = t->s->ws;
                fetch->a = plus(e, plus(e, t->prefetch_base, done), number(e, i * line_of(t->s)));
                fetch->code = 1;
        }
}

/* where the innermost loop begins, in x and w, and its first number in the panel */
struct run { const struct sum_loop *loop; struct loop_expr *x, *w, *number; };

/* `turn` channels from k on; set: which of the split sums the first one is for */
static void add_turn(const struct tile *t, const struct run *run, struct loop_expr *k, int turn,
                     int64_t set)
{
        struct emit *e = t->s->e;
        const struct schedule *schedule = &t->s->schedule;
        const struct sum_loop *loop = run->loop;
        int64_t w_step = loop->number_step * t->width, each = schedule->prefetch * line_of(t->s);
        struct loop_expr *x = emit_let(e, "xk", plus(e, run->x, times(e, k, loop->x_step)));
        struct loop_expr *w = emit_let(e, "wk", plus(e, run->w, times(e, k, w_step)));
        for (int u = 0; u < turn; u++)
                add_products(t, x, w, u * loop->x_step, u * w_step,
                             (int)((set + u) % schedule->split));
        if (turn == schedule->unroll && t->prefetch_base && loop->number_step == 1)
                add_prefetch(t,
                             plus(e, times(e, run->number, each / turn), times(e, k, each / turn)));
}

/* as many as are known when it runs */
static void add_counted(const struct tile *t, const struct run *run)
{
        struct emit *e = t->s->e;
        int unroll = t->s->schedule.unroll;
        struct loop_expr *count = run->loop->count, *whole = count;
        bool rest = LINE / group_of(t) % unroll || run->loop->extent % unroll;
        if (rest)
                whole = emit_let(e, "whole",
                                 minus(e, count, emit_op_int(e, LOOP_REM, count, unroll)));
        struct loop_expr *k = emit_for(e, run->loop->name, number(e, 0), whole);
        emit_loop(e, unroll, false);
        add_turn(t, run, k, unroll, 0);
        emit_end(e);
        if (!rest)
                return;
        add_turn(t, run, emit_for(e, run->loop->name, whole, count), 1, 0);
        emit_end(e);
}

void tile_add(const struct tile *t, const struct sum_loop *loops, int count, struct loop_expr *x_at,
              int64_t first)
{
        struct emit *e = t->s->e;
        struct loop_expr *w_number = number(e, first), *outermost = NULL;
        int opened = 0, unroll = t->s->schedule.unroll;
        for (int i = 0; i + 1 < count; i++, opened++) {
                struct loop_expr *k =
                        emit_for(e, loops[i].name, number(e, 0), number(e, loops[i].extent));
                x_at = emit_let(e, "xi", plus(e, x_at, times(e, k, loops[i].x_step)));
                w_number = plus(e, w_number, times(e, k, loops[i].number_step));
                outermost = i ? outermost : k;
        }
        const struct sum_loop *last = &loops[count - 1];
        const struct run run = { last, x_at, plus(e, t->w_base, times(e, w_number, t->width)),
                                 w_number };
        int64_t whole = last->extent - last->extent % unroll;
        if (last->count)
                add_counted(t, &run);
        for (int64_t from = 0; from < last->extent && !last->count;
             from += from < whole ? whole : 1) {
                bool turns = from < whole, loop = turns && (whole > unroll || last->total);
                struct loop_expr *k = number(e, from);
                if (loop) {
                        struct loop_expr *end = number(e, whole);
                        if (last->total)
                                end = minimum(e, end,
                                              emit_op(e, LOOP_SUB, number(e, last->total),
                                                      times(e, outermost, whole)));
                        k = emit_for(e, last->name, number(e, 0), end);
                        emit_loop(e, unroll, false);
                }
                add_turn(t, &run, k, turns ? unroll : 1, from);
                if (loop)
                        emit_end(e);
        }
        while (opened-- > 0)
                emit_end(e);
}

void tile_join(const struct tile *t)
{
        int entries = t->rows * t->columns;
        for (int set = 1; set < t->s->schedule.split; set++)
                for (int i = 0; i < entries * t->vectors; i++) {
                        int row = i / t->vectors, column = i % t->vectors;
                        struct loop_expr *sum = loop_tile_entry(t->s->arena, t->sums, row, column);
                        struct loop_expr *other =
                                loop_tile_entry(t->s->arena, t->sums, set * entries + row, column);
                        stage_set(t->s, t->sums, row, column, plus(t->s->e, sum, other));
                }
}

void tile_prefetch(struct tile *t, struct loop_expr *next, struct loop_expr *tile_number,
                   int64_t panel_size)
{
        struct emit *e = t->s->e;
        const struct schedule *schedule = &t->s->schedule;
        if (!schedule->prefetch)
                return;
        int64_t share =
                panel_size / schedule->unroll / t->width * schedule->prefetch * line_of(t->s);
        int64_t room = panel_size - share > 0 ? panel_size - share : 0;
        struct loop_expr *skip = minimum(e, times(e, tile_number, share), number(e, room));
        t->prefetch_base = emit_let(e, "next", plus(e, times(e, next, panel_size), skip));
}
