/* SPDX-License-Identifier: MIT */
/* Sums in vectors: the register tile, the loops that add it up, and the epilogue on its vectors.
 * See contract.h. */
#include "kernels/contract.h"

#include "cost/packed_cost.h"

enum { SUMS_MAX = RANK_MAX + 2 };       /* A sum has at most this many loops. */

/* Returns the elements of w in a cache line. */
static int64_t line_of(const struct kernel_state *s)
{
        return target_line(s->target, s->ws->element);
}

static int group_of(const struct tile *t) { return t->s->multiply->channels; }

/* Loads the words of w for vector j of outputs; w_add is the distance, in elements, from w_at to
 * the first of them. */
static struct loop_expr *load_w(const struct tile *t, struct loop_expr *w_at, int64_t w_add, int j)
{
        const struct kernel_state *s = t->s;
        struct loop_expr *at =
                plus(s->e, w_at, number(s->e, w_add + (int64_t)j * s->lanes * group_of(t)));
        return emit_let(s->e, "w", state_decoded(s, &s->multiply->w, s->ws, at, s->lanes));
}

/* Loads words of x at index `at`: one word, broadcast to every lane, or a vector of them. */
static struct loop_expr *load_x(const struct tile *t, struct loop_expr *at, int words)
{
        const struct kernel_state *s = t->s;
        struct loop_expr *x = s->decoded ? loop_load(s->arena, t->xs, at)
                                         : state_decoded(s, &s->multiply->x, t->xs, at, words);
        if (words > 1 && s->multiply->x.source == SOURCE_LANE_LOADED)
                return x;
        if (s->multiply->x.source == SOURCE_SCALAR)
                return loop_splat(s->arena, s->lanes, emit_let(s->e, "a", x));
        return emit_let(s->e, "a", words > 1 ? x : loop_splat(s->arena, s->lanes, x));
}

void tile_open(struct tile *t)
{
        t->sums = state_sums(t->s, t->s->schedule.split * t->rows * t->columns, t->vectors);
}

/* Returns where position number i of a tile lies in x, in elements from the first position. */
static int64_t position_at(const struct tile *t, int i)
{
        return i % t->columns * t->column_step + i / t->columns * t->row_step;
}

static struct loop_expr *lane_of(const struct tile *t, struct loop_expr *words, int lane)
{
        struct arena *arena = t->s->arena;
        return loop_node(arena, LOOP_LANE, LOOP_TYPE(words->type.element), words,
                         loop_index(arena, lane), NULL);
}

/* These are `count` successive channels: where they begin in x and w, and the steps from one to the
 * next, in elements. lanes: words of x are loaded as whole vectors, and each lane is a channel. */
struct iteration {
        struct loop_expr *x, *w;
        int64_t x_step, w_step;
        struct loop_expr *x_pitch;      /* x_step is as many times this; NULL: it is known. */
        int count;
        bool lanes;
};

/* Returns index * step, or as many times the pitch. */
static struct loop_expr *along(struct emit *e, struct loop_expr *index, int64_t step,
                               struct loop_expr *pitch)
{
        struct loop_expr *at = times(e, index, step);
        return pitch ? emit_op(e, LOOP_MUL, at, pitch) : at;
}

/* Returns where channel u of position number i lies in x. */
static struct loop_expr *x_place(const struct tile *t, const struct iteration *iteration, int u,
                                 int i)
{
        struct emit *e = t->s->e;
        if (iteration->x_pitch)
                return plus(e, plus(e, iteration->x, along(e, number(e, u), iteration->x_step,
                                                           iteration->x_pitch)),
                            number(e, position_at(t, i)));
        return plus(e, iteration->x, number(e, u * iteration->x_step + position_at(t, i)));
}

/* Loads a vector of words at position number i: channel u and those after it. */
static struct loop_expr *load_lanes(const struct tile *t, const struct iteration *iteration, int u,
                                    int i)
{
        return load_x(t, x_place(t, iteration, u, i), MULTIPLY_LANES);
}

/* Returns x of channel u at position i, broadcast to all lanes. */
static struct loop_expr *x_of(const struct tile *t, const struct iteration *iteration,
                              struct loop_expr *const *words, int u, int i)
{
        if (iteration->lanes)
                return loop_splat(t->s->arena, t->s->lanes,
                                  lane_of(t, words[i], u % MULTIPLY_LANES));
        return load_x(t, x_place(t, iteration, u, i), 1);
}

/* Writes the products of all channels, one after the other: position by position or, where the
 * schedule says `ahead`, vector by vector of outputs; then the next channel's operands are loaded
 * as soon as the last product of what they replace is written. `set` is the number of the split
 * sums that the first channel is added to. */
static void add_products(const struct tile *t, const struct iteration *iteration, int64_t set)
{
        const int positions = t->rows * t->columns, vectors = t->vectors,
                  split = t->s->schedule.split;
        struct loop_expr *words[TILE_MAX], *w[TILE_MAX], *x[TILE_MAX];
        bool ahead = t->s->schedule.ahead;
        for (int u = 0; u < iteration->count; u++) {
                bool first = !ahead || !u, next = ahead && u + 1 < iteration->count;
                for (int i = 0;
                     i < positions && iteration->lanes && first && u % MULTIPLY_LANES == 0; i++)
                        words[i] = load_lanes(t, iteration, u, i);
                for (int j = 0; j < vectors && first; j++)
                        w[j] = load_w(t, iteration->w, u * iteration->w_step, j);
                for (int n = 0; n < positions * vectors; n++) {
                        int i = ahead ? n % positions : n / vectors,
                            j = ahead ? n / positions : n % vectors;
                        if (!j)
                                x[i] = x_of(t, iteration, words, u, i);
                        state_add(t->s, t->run ? t->run : t->sums,
                                  (int)((set + u) % split) * positions + i, j, x[i], w[j]);
                        if (next && i == positions - 1)
                                w[j] = load_w(t, iteration->w, (u + 1) * iteration->w_step, j);
                        if (next && j == vectors - 1 && iteration->lanes &&
                            (u + 1) % MULTIPLY_LANES == 0)
                                words[i] = load_lanes(t, iteration, u + 1, i);
                }
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

/* The innermost loop begins at these places of x and w; its first word has this number in the
 * panel. */
struct run { const struct sum_loop *loop; struct loop_expr *x, *w, *number; };

/* Does an iteration load whole vectors of words of x, for a multiply that takes lanes of them? */
static bool has_lanes(const struct tile *t, const struct sum_loop *loop, int iteration)
{
        return multiply_takes_lanes(t->s->multiply) && iteration % MULTIPLY_LANES == 0 &&
               loop->x_step == group_of(t) && !loop->x_pitch;
}

/* Writes the products of `iteration` channels from k on; `set` is the number of the split sums that
 * the first one is added to. */
static void add_iteration(const struct tile *t, const struct run *run, struct loop_expr *k,
                          int iteration, int64_t set)
{
        struct emit *e = t->s->e;
        const struct schedule_registers *schedule = &t->s->schedule;
        const struct sum_loop *loop = run->loop;
        int64_t w_step = loop->number_step * t->width, each = schedule->prefetch * line_of(t->s);
        struct iteration channels = { .x_step = loop->x_step,
                                      .x_pitch = loop->x_pitch,
                                      .w_step = w_step,
                                      .count = iteration,
                                      .lanes = has_lanes(t, loop, iteration) };
        channels.x = emit_let(e, "xk", plus(e, run->x, along(e, k, loop->x_step, loop->x_pitch)));
        channels.w = emit_let(e, "wk", plus(e, run->w, times(e, k, w_step)));
        add_products(t, &channels, set);
        if (iteration == schedule->unroll && t->prefetch_base && loop->number_step == 1)
                add_prefetch(t, plus(e, times(e, run->number, each / iteration),
                                     times(e, k, each / iteration)));
}

/* ---- partial sums, where the multiply has them ---- */

static void open_run(struct tile *t)
{
        t->run = state_run(t->s, t->sums->rows, t->sums->columns);
}

/* Adds the partial sums to the sums. */
static void close_run(struct tile *t)
{
        const struct kernel_state *s = t->s;
        struct loop_function *join =
                loop_library_find(s->e->library, s->multiply->join, s->multiply->sum);
        for (int i = 0; i < t->sums->rows; i++)
                for (int j = 0; j < t->sums->columns; j++) {
                        struct loop_expr *operands[] = { loop_tile_entry(s->arena, t->sums, i, j),
                                                         loop_tile_entry(s->arena, t->run, i, j) };
                        state_set(t->s, t->sums, i, j, loop_call(s->arena, join, operands));
                }
        t->run = NULL;
}

/* Partial sums extend over the loops after number `loop`, and over `share` iterations of loop
 * `loop` itself. */
struct partial_sums { int loop; int64_t share; };

/* Chooses partial sums as long as the multiply permits: as many of the innermost loops as possible,
 * and nearly equal shares of the next one. */
static struct partial_sums partial_sums_of(const struct tile *t, const struct sum_loop *loops,
                                           int count)
{
        struct partial_sums partial = { .loop = count };
        int64_t room = t->s->multiply->join ? t->s->multiply->partial : 0;
        while (room && partial.loop > 0) {
                int64_t extent = loops[--partial.loop].extent,
                        unroll = partial.loop == count - 1 ? t->s->schedule.unroll : 1;
                int64_t most = room > unroll ? room - room % unroll : unroll;
                partial.share = round_up(divide_up(extent, divide_up(extent, most)), unroll);
                if (extent > most)
                        break;
                room /= extent;
        }
        return partial;
}

/* Opens the loop over from..to with the given step, in shares of `share` iterations, each with
 * partial sums of its own (0: it is part of a share already, or there are no partial sums). */
static struct loop_expr *open_shares(struct tile *t, const char *name, struct loop_expr *from,
                                     struct loop_expr *to, int64_t step, int64_t share)
{
        struct emit *e = t->s->e;
        if (share) {
                int64_t a, b;
                if (loop_is_int(from, &a) && loop_is_int(to, &b) && b - a <= share) {
                        emit_for(e, "first", number(e, 0), number(e, 1));
                } else {
                        from = emit_for(e, "first", from, to);
                        emit_loop(e, share, false);
                        to = emit_let(e, "end", minimum(e, plus(e, from, number(e, share)), to));
                }
                open_run(t);
        }
        struct loop_expr *k = emit_for(e, name, from, to);
        emit_loop(e, step, false);
        return k;
}

static void close_shares(struct tile *t, int64_t share)
{
        emit_end(t->s->e);
        if (!share)
                return;
        close_run(t);
        emit_end(t->s->e);
}

/* Adds up a number of channels that is known at run time. */
static void add_counted(struct tile *t, const struct run *run, int64_t share)
{
        struct emit *e = t->s->e;
        int unroll = t->s->schedule.unroll;
        struct loop_expr *count = run->loop->count, *whole = count;
        bool rest = (run->loop->any && unroll > 1) || COUNTED_CHANNELS / group_of(t) % unroll ||
                    run->loop->extent % unroll;
        if (rest)
                whole = emit_let(e, "whole",
                                 minus(e, count, emit_op_int(e, LOOP_REM, count, unroll)));
        add_iteration(t, run, open_shares(t, run->loop->name, number(e, 0), whole, unroll, share),
                      unroll, 0);
        close_shares(t, share);
        if (!rest)
                return;
        add_iteration(t, run, open_shares(t, run->loop->name, whole, count, 1, share), 1, 0);
        close_shares(t, share);
}

/* Adds up a number of channels that is constant. */
static void add_known(struct tile *t, const struct run *run, struct loop_expr *outermost,
                      int64_t share)
{
        struct emit *e = t->s->e;
        const struct sum_loop *last = run->loop;
        int unroll = t->s->schedule.unroll;
        int64_t whole = last->extent - last->extent % unroll;
        bool one = share >= last->extent;
        if (one)
                open_run(t);
        if (whole > unroll || (whole && last->total)) {
                struct loop_expr *end = number(e, whole);
                if (last->total)
                        end = minimum(e, end,
                                      emit_op(e, LOOP_SUB, number(e, last->total),
                                              times(e, outermost, whole)));
                add_iteration(
                        t, run,
                        open_shares(t, last->name, number(e, 0), end, unroll, one ? 0 : share),
                        unroll, 0);
                close_shares(t, one ? 0 : share);
        } else if (whole) {
                add_iteration(t, run, number(e, 0), unroll, 0);
        }
        if (share && !one && whole < last->extent)
                open_run(t);
        for (int64_t from = whole; from < last->extent; from++)
                add_iteration(t, run, number(e, from), 1, from);
        if (share && t->run)
                close_run(t);
}

void tile_add(const struct tile *of, const struct sum_loop *loops, int count,
              struct loop_expr *x_at, int64_t first)
{
        struct tile t = *of;
        struct emit *e = t.s->e;
        struct loop_expr *w_number = number(e, first), *outermost = NULL;
        const struct sum_loop *last = &loops[count - 1];
        const struct partial_sums partial = partial_sums_of(&t, loops, count);
        for (int i = 0; i + 1 < count; i++) {
                struct loop_expr *k =
                        open_shares(&t, loops[i].name, number(e, 0), number(e, loops[i].extent), 1,
                                    i == partial.loop ? partial.share : 0);
                x_at = emit_let(e, "xi",
                                plus(e, x_at, along(e, k, loops[i].x_step, loops[i].x_pitch)));
                w_number = plus(e, w_number, times(e, k, loops[i].number_step));
                outermost = i ? outermost : k;
        }
        const struct run run = { last, x_at, plus(e, t.w_base, times(e, w_number, t.width)),
                                 w_number };
        const int64_t share = partial.loop == count - 1 ? partial.share : 0;
        if (last->count)
                add_counted(&t, &run, share);
        else
                add_known(&t, &run, outermost, share);
        for (int i = count - 2; i >= 0; i--)
                close_shares(&t, i == partial.loop ? partial.share : 0);
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
                        state_set(t->s, t->sums, row, column, plus(t->s->e, sum, other));
                }
}

void tile_prefetch(struct tile *t, struct loop_expr *next, struct loop_expr *tile_number,
                   int64_t panel_size)
{
        struct emit *e = t->s->e;
        const struct schedule_registers *schedule = &t->s->schedule;
        if (!schedule->prefetch)
                return;
        int64_t share =
                panel_size / schedule->unroll / t->width * schedule->prefetch * line_of(t->s);
        int64_t room = panel_size - share > 0 ? panel_size - share : 0;
        struct loop_expr *skip = minimum(e, times(e, tile_number, share), number(e, room));
        t->prefetch_base = emit_let(e, "next", plus(e, times(e, next, panel_size), skip));
}

/* ---- the sums of a contraction ---- */

/* These are blocks from .. from + count of x, each of `inner` words. `total` is the number of words
 * of all of them where the last one has fewer, otherwise 0. */
struct blocks { int64_t from, count, inner, total; };

static struct loop_expr *pitch_of(struct kernel_state *s, dim_t pitch)
{
        return dim_is(pitch, 0) ? NULL : emit_dim(s->e, pitch);
}

/* Returns the elements of x from a word of a position to its next one. */
static int64_t word_step(const struct contract *c)
{
        return (c->s.decoded ? 1 : c->word) * c->s.x.stride[c->s.rank - 1];
}

/* Do the words of a row of the window lie side by side in x, as in w? Then one loop goes over
 * them. */
static bool row_is_one_loop(const struct contract *c, struct blocks b)
{
        const struct spatial *last = &c->s.spatial[c->s.spatial_count - 1];
        const bool alone = c->s.decoded || multiply_by_vectors(c->s.multiply);
        return alone && !b.total && !c->s.channels && b.inner == c->inner && last->window > 1 &&
               dim_is(last->x_pitch, 0) &&
               last->x_window == b.inner * word_step(c);
}

static void write_blocks(struct contract *c, const struct tile *t, struct loop_expr *x_at,
                         struct blocks b)
{
        struct kernel_state *s = &c->s;
        struct sum_loop loops[SUMS_MAX];
        const bool joined = row_is_one_loop(c, b);
        int n = 0;
        int64_t step = c->inner;
        for (int d = s->spatial_count - 1; d >= 0; d--)
                step *= s->spatial[d].window;
        int64_t block_step = step;
        if (b.count > 1)
                loops[n++] = (struct sum_loop){ .name = "c",
                                                .extent = b.count,
                                                .x_step = s->x.stride[1],
                                                .number_step = step,
                                                .x_pitch = pitch_of(s, s->x.pitch[1]) };
        for (int d = 0; d < s->spatial_count; d++) {
                const struct spatial *spatial = &s->spatial[d];
                step /= spatial->window;
                if (joined && d == s->spatial_count - 1)
                        b.inner *= spatial->window;
                else if (spatial->window > 1)
                        loops[n++] = (struct sum_loop){ .name = "k",
                                                        .extent = spatial->window,
                                                        .x_step = spatial->x_window,
                                                        .number_step = step,
                                                        .x_pitch = pitch_of(s, spatial->x_pitch) };
        }
        if (b.inner > 1 || !n)
                loops[n++] = (struct sum_loop){ .name = "i",
                                                .extent = b.inner,
                                                .x_step = word_step(c),
                                                .number_step = 1,
                                                .total = b.total,
                                                .count = contract_units(c, s->channels, c->word) };
        tile_add(t, loops, n, plus(s->e, x_at, state_x_along(s, number(s->e, b.from), 1)),
                 b.from * block_step);
}

static void write_sums(struct contract *c, const struct tile *t, struct loop_expr *x_at)
{
        int64_t whole = c->words / c->inner, rest = c->words % c->inner;
        int unroll = c->s.schedule.unroll;
        if (whole && rest && rest % unroll == 0 && c->inner % unroll == 0) {
                write_blocks(c, t, x_at, (struct blocks){ 0, whole + 1, c->inner, c->words });
        } else {
                if (whole)
                        write_blocks(c, t, x_at, (struct blocks){ 0, whole, c->inner, 0 });
                if (rest)
                        write_blocks(c, t, x_at, (struct blocks){ whole, 1, rest, 0 });
        }
        tile_join(t);
}

/* ---- the epilogue ---- */

/* Returns the number of the line of outputs that the tile begins with, in the group. */
static struct loop_expr *first_line(struct contract *c)
{
        struct emit *e = c->s.e;
        return plus(e, times(e, c->panel, c->s.panel_width / c->line), c->part);
}

/* Vector j of position number i of a tile is stored at this place, and this many of its lanes
 * exist. */
struct place { struct loop_expr *index[RANK_MAX], *first_lane; int live; };
static struct place place_of(struct contract *c, const struct tile *t, struct loop_expr *line,
                             int i, int j, int live)
{
        struct place place = { .live = live - j * c->s.lanes };
        contract_index(c, line, i / t->columns, i % t->columns, j, place.index, &place.first_lane);
        return place;
}

void contract_sums_begin(struct contract *c)
{
        c->first = state_first(&c->s);
        c->first_step = op_int(c->s.op, "block");
}

static void begin_sums(struct contract *c, const struct tile *t, int live)
{
        struct emit *e = c->s.e;
        struct loop_expr *line = first_line(c);
        for (int j = 0; j < t->vectors; j++) {
                struct place of = place_of(c, t, line, 0, j, live);
                struct loop_expr *at = plus(e, times(e, of.index[1], c->first_step), of.first_lane);
                struct loop_expr *first = state_load(&c->s, "first", c->first, at, 0, of.live);
                for (int i = 0; i < t->rows * t->columns; i++)
                        state_set(&c->s, t->sums, i, j, first);
        }
}

/* Loads the sums that the kernel has stored before. Here the sums themselves are stored, without an
 * epilogue. */
static void resume_sums(struct contract *c, const struct tile *t, int live)
{
        struct emit *e = c->s.e;
        struct loop_expr *line = first_line(c);
        for (int i = 0; i < t->rows * t->columns; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct place to = place_of(c, t, line, i, j, live);
                        struct loop_expr *at = plus(e, state_y(&c->s, to.index), to.first_lane);
                        if (to.live > 0)
                                state_set(&c->s, t->sums, i, j,
                                          state_load(&c->s, "before", c->s.ys, at, 0, to.live));
                }
}

static bool write_epilogue(struct contract *c, const struct tile *t, int live)
{
        struct emit *e = c->s.e;
        struct loop_expr *line = first_line(c);
        /* The line is a variable, so that loads that depend on it alone (a bias) are not hoisted
         * above the sums, which need all registers. */
        line = loop_use(c->s.arena, emit_var(e, "vector", LOOP_TYPE(E_INDEX), line));
        for (int i = 0; i < t->rows * t->columns; i++)
                for (int j = 0; j < t->vectors; j++) {
                        struct place to = place_of(c, t, line, i, j, live);
                        struct loop_expr *sum = loop_tile_entry(c->s.arena, t->sums, i, j);
                        if (to.live > 0 &&
                            !state_store(&c->s, sum, to.index, to.first_lane, to.live))
                                return false;
                }
        return true;
}

/* Returns what the schedule's `split` is to be for a tile of few positions, so that the latency of
 * sums is hidden: of those that registers have room for, the one that takes least. */
static int tile_split(const struct tile *t)
{
        const struct kernel_state *s = t->s;
        const int positions = t->rows * t->columns,
                  most = s->schedule.split * s->row.size * s->column.size;
        int best = s->schedule.split;
        double least = 0;
        for (int split = best;
             split <= s->schedule.unroll && split * positions <= most; split *= 2) {
                double step = packed_step(s->multiply, positions, t->vectors, positions, split,
                                          s->target);
                if (least > 0 && step >= least)
                        continue;
                least = step;
                best = split;
        }
        return best;
}

struct schedule_registers tile_schedule(const struct tile *t)
{
        enum { ITERATION = 16 };        /* The fewest products that hide the cost of an iteration
                                         * of the innermost loop. */
        struct schedule_registers schedule = t->s->schedule;
        const int products = t->rows * t->columns * t->vectors;
        if (t->columns < t->s->column.size)
                schedule.split = tile_split(t);
        if (schedule.ahead || multiply_takes_lanes(t->s->multiply))
                return schedule;        /* An iteration is what they are about. */
        while (schedule.unroll % 2 == 0 && schedule.unroll / 2 % schedule.split == 0 &&
               products * schedule.unroll / 2 >= ITERATION)
                schedule.unroll /= 2;
        return schedule;
}

bool contract_sums(struct contract *c, int rows, int columns)
{
        struct kernel_state *s = &c->s;
        struct emit *e = s->e;
        int live = c->live;
        const struct spatial *last = &s->spatial[s->spatial_count - 1];
        struct tile t = { .s = s,
                          .xs = s->xs,
                          .rows = rows,
                          .columns = columns,
                          .vectors = divide_up(live, s->lanes),
                          .column_step = last->x_step,
                          .row_step = rows > 1 ? last[-1].x_step : 0,
                          .width = s->panel_width * c->word };
        if (t.vectors > s->schedule.vectors)
                t.vectors = s->schedule.vectors;
        struct loop_expr *x_at = emit_let(e, "x_at", contract_x(c)), *panel = contract_panel(c);
        struct loop_expr *w =
                plus(e, times(e, panel, c->panel_size), times(e, c->part, c->line * c->word));
        if (s->first_channel)
                w = plus(e, w, times(e, contract_units(c, s->first_channel, c->word), t.width));
        t.w_base = emit_let(e, "w_at", w);
        const struct schedule_registers schedule = s->schedule;
        if (s->open)
                s->schedule = tile_schedule(&t);
        tile_prefetch(&t, contract_next(c, panel), s->tile_number, c->panel_size);
        tile_open(&t);
        if (s->adds)
                resume_sums(c, &t, live);
        else if (c->first)
                begin_sums(c, &t, live);
        write_sums(c, &t, x_at);
        s->schedule = schedule;
        return write_epilogue(c, &t, live);
}
